// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/fit.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace collsim {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int most_rounds = 60;
constexpr double small_step = 0.02;      // of a logarithm: 2%
constexpr double longest_step = 1.0;     // a factor e at a time
constexpr double no_influence = 1e-3;    // of a parameter on anything: smaller is rounding
constexpr double widest = 7;             // e^7: who knows only a factor of 1,000 knows nothing
constexpr double almost_nothing = 1e-9;  // makes normal equations solvable

class LogFit {
 public:
  LogFit(const Predictions& predicted, const std::vector<double>& measured)
      : predicted_(predicted), measured_(measured) {}

  // ln(predicted / measured) of each measurement.
  [[nodiscard]] VectorXd errors(const VectorXd& logs) const {
    std::vector<double> parameters;
    for (const double log : logs) parameters.push_back(std::exp(log));
    const std::vector<double> times = predicted_(parameters);
    VectorXd errors(static_cast<Eigen::Index>(measured_.size()));
    for (std::size_t j = 0; j < measured_.size(); ++j)
      errors[static_cast<Eigen::Index>(j)] = std::log(times[j] / measured_[j]);
    return errors;
  }

  [[nodiscard]] MatrixXd derivatives(const VectorXd& logs) const {
    MatrixXd slopes(static_cast<Eigen::Index>(measured_.size()), logs.size());
    for (Eigen::Index p = 0; p < logs.size(); ++p) {
      VectorXd more = logs, less = logs;
      more[p] += small_step;
      less[p] -= small_step;
      slopes.col(p) = (errors(more) - errors(less)) / (2 * small_step);
    }
    return slopes;
  }

  [[nodiscard]] VectorXd minimum(VectorXd logs) const {
    VectorXd now = errors(logs);
    double damping = 1e-3;
    for (int round = 0; round < most_rounds && damping < 1e9; ++round) {
      const MatrixXd slopes = derivatives(logs);
      MatrixXd normal = slopes.transpose() * slopes;
      normal.diagonal().array() += damping * normal.diagonal().array() + almost_nothing;
      VectorXd step = normal.ldlt().solve(-slopes.transpose() * now);
      for (double& s : step) s = std::clamp(s, -longest_step, longest_step);
      const VectorXd next = errors(logs + step);
      if (next.squaredNorm() < now.squaredNorm()) {
        const double gain = now.squaredNorm() - next.squaredNorm();
        logs += step;
        damping = std::max(damping / 4, 1e-9);
        if (gain < 1e-9 * now.squaredNorm()) break;
        now = next;
      } else {
        damping *= 8;
      }
    }
    return logs;
  }

 private:
  const Predictions& predicted_;
  const std::vector<double>& measured_;
};

}  // namespace

std::vector<Fitted> fit(const Predictions& predicted, const std::vector<double>& measured,
                        const std::vector<double>& start, std::size_t beliefs) {
  const LogFit problem(predicted, measured);
  VectorXd logs(static_cast<Eigen::Index>(start.size()));
  for (std::size_t p = 0; p < start.size(); ++p)
    logs[static_cast<Eigen::Index>(p)] = std::log(start[p]);
  logs = problem.minimum(logs);

  const MatrixXd slopes = problem.derivatives(logs);
  const auto measurements = static_cast<Eigen::Index>(measured.size() - beliefs);
  const auto freedom = static_cast<double>(
      std::max<Eigen::Index>(1, measurements - static_cast<Eigen::Index>(start.size())));
  const double variance = problem.errors(logs).head(measurements).squaredNorm() / freedom;
  // Parameters that can only be told together get a large variance each.
  MatrixXd normal = slopes.transpose() * slopes;
  normal.diagonal().array() += almost_nothing;
  const MatrixXd inverse = normal.ldlt().solve(MatrixXd::Identity(normal.rows(), normal.cols()));
  std::vector<Fitted> fitted;
  for (std::size_t p = 0; p < start.size(); ++p) {
    const auto at = static_cast<Eigen::Index>(p);
    const double influence = slopes.col(at).head(measurements).cwiseAbs().maxCoeff();
    if (influence < no_influence) {
      // Either nothing ever depended on it, or it grew until it costs nothing.
      const bool moved = std::abs(logs[at] - std::log(start[p])) > small_step;
      fitted.push_back(
          {moved ? std::exp(logs[at]) : start[p], 0, std::numeric_limits<double>::infinity()});
      continue;
    }
    const double value = std::exp(logs[at]);
    const double width = confidence * std::sqrt(std::max(0.0, variance * inverse(at, at)));
    if (width > widest)
      fitted.push_back({value, 0, std::numeric_limits<double>::infinity()});
    else
      fitted.push_back({value, value / std::exp(width), value * std::exp(width)});
  }
  return fitted;
}

}  // namespace collsim
