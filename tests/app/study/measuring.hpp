// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "app/study/measure_rows.hpp"

namespace collsim::testing {

// What a measurement would give whose times scatter by little or much around a median.
inline Measurement measurement_of(double median_s, double spread = 0.01,
                                  DataVerdict data = DataVerdict::right) {
  const double step = median_s * spread / 2;
  Measurement measurement;
  measurement.times_s = {median_s - step, median_s - step, median_s, median_s + step,
                         median_s + step};
  measurement.data = data;
  if (data == DataVerdict::wrong) measurement.wrong_data = "rank 1 element 5 is 3, not 4";
  measurement.device = "2 cores of a test";
  return measurement;
}

// In place of a backend: remembers what it was asked, answers in turn.
struct FakeRuns {
  std::vector<RunOutcome> answers = {};  // the last one again and again
  std::vector<RunCase> cases = {};
  std::vector<RunOptions> options = {};

  RunForReal runner() {
    return [this](const RunCase& run_case, const RunOptions& run_options) {
      cases.push_back(run_case);
      options.push_back(run_options);
      return answers[std::min(cases.size(), answers.size()) - 1];
    };
  }
};

// A row as measure_rows() fills it.
inline Measured measured_with(double median_s, double spread = 0.01,
                              DataVerdict data = DataVerdict::right) {
  Measurement measurement = measurement_of(median_s, spread, data);
  Measured measured;
  measured.backend = "host";
  measured.iterations = static_cast<int>(measurement.times_s.size());
  measured.times = summary_of(measurement.times_s);
  measured.data = data;
  measured.wrong_data = measurement.wrong_data;
  measured.device = measurement.device;
  return measured;
}

}  // namespace collsim::testing
