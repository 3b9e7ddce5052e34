// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/prior_fit.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace collsim {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr int most_steps = 80;
constexpr double longest_move = 0.7;  // of a logarithm, at a time
constexpr double most_damping = 1e8;
constexpr double least_gain = 1e-7;  // of the objective: no step is worth less

double loss(double scaled) {
  return 2 * (std::sqrt(1 + scaled * scaled) - 1);
}

double objective_of(const PriorFitProblem& problem, const std::vector<FitError>& errors,
                    const std::vector<double>& unknowns) {
  double sum = 0;
  for (std::size_t i = 0; i < errors.size(); ++i)
    sum += problem.weights[i] * loss(errors[i].error / problem.scale);
  for (std::size_t u = 0; u < unknowns.size(); ++u) {
    const Unknown& unknown = problem.unknowns[u];
    const double off = (unknowns[u] - unknown.mean) / unknown.sigma;
    sum += off * off;
  }
  return sum;
}

// The measurements' part of the normal equations, each weighed down as far as it is off.
struct NormalEquations {
  Matrix curvature;
  Vector gradient;
};

NormalEquations normal_equations(const PriorFitProblem& problem,
                                 const std::vector<FitError>& errors) {
  const auto size = static_cast<Eigen::Index>(problem.unknowns.size());
  NormalEquations made{Matrix::Zero(size, size), Vector::Zero(size)};
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double scaled = errors[i].error / problem.scale;
    const double weight =
        problem.weights[i] / std::sqrt(1 + scaled * scaled) / (problem.scale * problem.scale);
    for (const auto& [u, slope] : errors[i].slopes) {
      const auto row = static_cast<Eigen::Index>(u);
      made.gradient[row] += weight * slope * errors[i].error;
      for (const auto& [v, other] : errors[i].slopes)
        made.curvature(row, static_cast<Eigen::Index>(v)) += weight * slope * other;
    }
  }
  return made;
}

// How many times more the errors of groups vary than if their members were independent, and how
// much more they scatter than `scale` says.
double excess(const PriorFitProblem& problem, const std::vector<FitError>& errors, double freedom) {
  std::map<std::size_t, double> sums;
  double single = 0, weights = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double scaled = errors[i].error / problem.scale;
    const double bent = scaled / std::sqrt(std::sqrt(1 + scaled * scaled));
    sums[problem.groups[i]] += problem.weights[i] * bent;
    single += problem.weights[i] * problem.weights[i] * bent * bent;
    weights += problem.weights[i];
  }
  if (single <= 0 || weights <= 0) return 1;
  double grouped = 0, spread = 0;
  for (const auto& [group, sum] : sums) grouped += sum * sum;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double scaled = errors[i].error / problem.scale;
    spread += problem.weights[i] * scaled * scaled / std::sqrt(1 + scaled * scaled);
  }
  const double left = std::max(1.0, static_cast<double>(errors.size()) - freedom);
  const double variance = spread / weights * static_cast<double>(errors.size()) / left;
  return std::max(1.0, grouped / single) * variance;
}

}  // namespace

double objective(const PriorFitProblem& problem, const std::vector<double>& unknowns) {
  return objective_of(problem, problem.errors(unknowns), unknowns);
}

std::vector<double> prior_fit(const PriorFitProblem& problem, std::vector<double> start) {
  const std::size_t size = problem.unknowns.size();
  std::vector<FitError> now = problem.errors(start);
  double best = objective_of(problem, now, start);
  double damping = 1e-3;
  for (int step = 0; step < most_steps && damping < most_damping; ++step) {
    NormalEquations equations = normal_equations(problem, now);
    for (std::size_t u = 0; u < size; ++u) {
      const auto at = static_cast<Eigen::Index>(u);
      const Unknown& unknown = problem.unknowns[u];
      const double precision = 1 / (unknown.sigma * unknown.sigma);
      equations.gradient[at] += (start[u] - unknown.mean) * precision;
      equations.curvature(at, at) += precision;
      equations.curvature(at, at) *= 1 + damping;
    }
    const Vector move = equations.curvature.ldlt().solve(-equations.gradient);
    std::vector<double> next = start;
    for (std::size_t u = 0; u < size; ++u)
      next[u] += std::clamp(move[static_cast<Eigen::Index>(u)], -longest_move, longest_move);
    std::vector<FitError> then = problem.errors(next);
    const double reached = objective_of(problem, then, next);
    if (!(reached < best)) {
      damping *= 6;
      continue;
    }
    const double gain = best - reached;
    start = std::move(next);
    now = std::move(then);
    best = reached;
    damping = std::max(damping / 5, 1e-9);
    if (gain < least_gain * best) break;
  }
  return start;
}

Certainty::Certainty(const PriorFitProblem& problem, const std::vector<double>& unknowns)
    : size_(unknowns.size()) {
  const std::vector<FitError> errors = problem.errors(unknowns);
  const Matrix measured = normal_equations(problem, errors).curvature;
  Vector precision(static_cast<Eigen::Index>(size_));
  for (std::size_t u = 0; u < size_; ++u)
    precision[static_cast<Eigen::Index>(u)] =
        1 / (problem.unknowns[u].sigma * problem.unknowns[u].sigma);
  Matrix all = measured;
  all.diagonal() += precision;
  const Matrix inverse = all.ldlt().solve(Matrix::Identity(all.rows(), all.cols()));
  double freedom = 0;
  for (std::size_t u = 0; u < size_; ++u) {
    const auto at = static_cast<Eigen::Index>(u);
    told_.push_back(std::clamp(1 - precision[at] * inverse(at, at), 0.0, 1.0));
    freedom += told_.back();
  }
  const Matrix scatter = measured * excess(problem, errors, freedom);
  const Matrix covariance = inverse * (scatter + Matrix(precision.asDiagonal())) * inverse;
  covariance_.assign(covariance.data(), covariance.data() + covariance.size());
}

double Certainty::standard_error(const std::vector<std::size_t>& sum) const {
  double variance = 0;
  for (const std::size_t u : sum)
    for (const std::size_t v : sum) variance += covariance_[u * size_ + v];
  return std::sqrt(std::max(0.0, variance));
}

double Certainty::degrees_of_freedom() const {
  return std::accumulate(told_.begin(), told_.end(), 0.0);
}

}  // namespace collsim
