// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/results/results.hpp"

namespace collsim {

// What an earlier `collsim validate`, perhaps of another machine, wrote with --format json.
class MeasuredFile {
 public:
  MeasuredFile() = default;
  MeasuredFile(MeasuredFile&&) = default;
  MeasuredFile& operator=(MeasuredFile&&) = default;
  MeasuredFile(const MeasuredFile&) = delete;
  MeasuredFile& operator=(const MeasuredFile&) = delete;
  ~MeasuredFile() = default;

  // Reports what cannot be read and what is no results file of one scenario.
  [[nodiscard]] static std::optional<MeasuredFile> read(const std::string& file, Sources& sources,
                                                        Diagnostics& diagnostics);

  // Fills CaseResult::measured from the row of the file with the same swept values, operation,
  // algorithm, ranks, size, chunks and channels; what the file predicted does not matter.  Where
  // the file has them, these must be the same too: dtype, reduction, root; in_place and slots of
  // its scenario; and cluster and model of what was paced, which emulates them.  A row that is not
  // there, or was not measured, gets a CaseResult::not_measured.
  void fill(Results& results, std::optional<double> max_error) const;

 private:
  // The first part of the file's scenario that is not as ours; empty: all are.
  struct OtherScenario {
    std::string_view collective, machine;
  };
  [[nodiscard]] OtherScenario compare_scenarios(const Results& results) const;
  // Why nothing was filled in.
  std::string fill(CaseResult& row, const OtherScenario& other) const;

  std::string file_;
  JsonValue document_;
  std::unordered_map<std::string, const JsonValue*> rows_;  // by what they are about
};

}  // namespace collsim
