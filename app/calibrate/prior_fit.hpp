// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace collsim {

// Fits many unknowns to many measurements, each of which depends on few of them, when something is
// thought of every unknown beforehand:
//
//   minimise  sum_i w_i rho(ln(predicted_i / measured_i) / s)
//             + sum_u ((x_u - mean_u) / sigma_u)^2
//
// with rho(r) = 2 (sqrt(1 + r^2) - 1): a square for errors below s, and their size beyond, so that
// a few rows that nothing explains do not pull the others away.  Steps are Levenberg's and
// Marquardt's.
struct Unknown {
  double mean = 0, sigma = 1;  // believed beforehand; of logarithms, mostly
};

// ln(predicted / measured) of a measurement, and how it changes with the unknowns that matter.
struct FitError {
  double error = 0;
  std::vector<std::pair<std::size_t, double>> slopes = {};  // an unknown may be there twice
};
using FitErrors = std::function<std::vector<FitError>(const std::vector<double>& unknowns)>;

struct PriorFitProblem {
  std::vector<Unknown> unknowns;
  FitErrors errors;
  std::vector<double> weights;      // of measurements
  std::vector<std::size_t> groups;  // which measurements belong together: a table's
  double scale = 0.05;              // s
};

// What is minimised.
[[nodiscard]] double objective(const PriorFitProblem& problem, const std::vector<double>& unknowns);

[[nodiscard]] std::vector<double> prior_fit(const PriorFitProblem& problem,
                                            std::vector<double> start);

// How sure the unknowns are, there where the fit ended.  Measurements of a group share much of
// their errors; as far as they do, they count as fewer.
class Certainty {
 public:
  Certainty(const PriorFitProblem& problem, const std::vector<double>& unknowns);

  // The standard error of a sum of unknowns.
  [[nodiscard]] double standard_error(const std::vector<std::size_t>& sum) const;
  // How much of what is known of an unknown the measurements tell: 0 nothing, 1 all.
  [[nodiscard]] double told(std::size_t unknown) const { return told_[unknown]; }
  // The sum of that over all unknowns, which is the trace of the hat matrix.
  [[nodiscard]] double degrees_of_freedom() const;

 private:
  std::size_t size_;
  std::vector<double> covariance_;  // by rows
  std::vector<double> told_;
};

}  // namespace collsim
