// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/prior_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace collsim {
namespace {

// ln(x0 + n x1) of unknowns that are logarithms, for sizes n.
PriorFitProblem line(const std::vector<double>& measured) {
  PriorFitProblem problem;
  problem.unknowns = {{0, 3}, {0, 3}, {1.5, 0.2}};  // the last one plays no part
  problem.weights.assign(measured.size(), 1);
  for (std::size_t i = 0; i < measured.size(); ++i) problem.groups.push_back(i);
  problem.errors = [measured](const std::vector<double>& x) {
    std::vector<FitError> errors;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const double first = std::exp(x[0]), second = std::exp(x[1]) * static_cast<double>(i);
      errors.push_back({std::log((first + second) / measured[i]),
                        {{0, first / (first + second)}, {1, second / (first + second)}}});
    }
    return errors;
  };
  return problem;
}

std::vector<double> made_with(double first, double second) {
  std::vector<double> measured;
  for (int i = 0; i < 40; ++i) measured.push_back(first + second * i);
  return measured;
}

TEST(PriorFit, FindsWhatMadeTheMeasurements) {
  const std::vector<double> x = prior_fit(line(made_with(20, 3)), {0, 0, 0});
  EXPECT_NEAR(std::exp(x[0]), 20, 0.05);
  EXPECT_NEAR(std::exp(x[1]), 3, 0.01);
}

TEST(PriorFit, FewWildMeasurementsDoNotPullTheOthersAway) {
  std::vector<double> measured = made_with(20, 3);
  measured[10] *= 8;
  measured[30] *= 5;
  const std::vector<double> x = prior_fit(line(measured), {0, 0, 0});
  EXPECT_NEAR(std::exp(x[0]), 20, 0.6);
  EXPECT_NEAR(std::exp(x[1]), 3, 0.1);
}

TEST(PriorFit, WhatNoMeasurementDependsOnIsWhatIsBelieved) {
  const PriorFitProblem problem = line(made_with(20, 3));
  const std::vector<double> x = prior_fit(problem, {0, 0, 0});
  EXPECT_NEAR(x[2], 1.5, 1e-6);
  const Certainty certainty(problem, x);
  EXPECT_NEAR(certainty.told(2), 0, 1e-9);
  EXPECT_NEAR(certainty.standard_error({2}), 0.2, 1e-9);
  EXPECT_GT(certainty.told(0), 0.99);
  EXPECT_NEAR(certainty.degrees_of_freedom(), 2, 0.02);
}

TEST(PriorFit, MeasurementsWithoutWeightDoNotCount) {
  std::vector<double> measured = made_with(20, 3);
  for (std::size_t i = 20; i < 40; ++i) measured[i] *= 2;
  PriorFitProblem problem = line(measured);
  for (std::size_t i = 20; i < 40; ++i) problem.weights[i] = 0;
  EXPECT_NEAR(std::exp(prior_fit(problem, {0, 0, 0})[1]), 3, 0.02);
}

// Errors that a group's members share tell less than as many independent ones.
TEST(PriorFit, ErrorsThatGroupsShareMakeIntervalsWider) {
  std::vector<double> measured = made_with(20, 3);
  for (std::size_t i = 0; i < 40; ++i) measured[i] *= (i / 10) % 2 == 0 ? 1.1 : 0.9;
  PriorFitProblem alone = line(measured);
  PriorFitProblem grouped = alone;
  for (std::size_t i = 0; i < 40; ++i) grouped.groups[i] = i / 10;
  const std::vector<double> x = prior_fit(alone, {0, 0, 0});
  EXPECT_GT(Certainty(grouped, x).standard_error({1}),
            1.5 * Certainty(alone, x).standard_error({1}));
}

}  // namespace
}  // namespace collsim
