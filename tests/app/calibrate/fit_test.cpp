// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace collsim {
namespace {

const std::vector<double> sizes = {1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7};

std::vector<double> alpha_beta(const std::vector<double>& x) {
  std::vector<double> times;
  for (const double n : sizes) times.push_back(x[0] + n / x[1]);
  return times;
}

TEST(Fit, FindsTheParametersThatMadeTheMeasurements) {
  const std::vector<Fitted> fitted = fit(alpha_beta, alpha_beta({3e-6, 2e9}), {1e-3, 1e6});
  EXPECT_NEAR(fitted[0].value, 3e-6, 1e-9);
  EXPECT_NEAR(fitted[1].value, 2e9, 1e6);
}

// The larger of two costs, as on a critical path: not linear, not smooth.
TEST(Fit, WorksThroughAMaximum) {
  const auto larger = [](const std::vector<double>& x) {
    std::vector<double> times;
    for (const double n : sizes) times.push_back(std::max(x[0], n / x[1]));
    return times;
  };
  const std::vector<Fitted> fitted = fit(larger, larger({5e-5, 1e8}), {1e-6, 1e9});
  EXPECT_NEAR(fitted[0].value, 5e-5, 1e-7);
  EXPECT_NEAR(fitted[1].value, 1e8, 1e6);
}

TEST(Fit, ErrorsCountInProportion) {
  std::vector<double> measured = alpha_beta({3e-6, 2e9});
  measured.back() *= 1.1;  // a millisecond more, but only 10%
  const std::vector<Fitted> fitted = fit(alpha_beta, measured, {1e-6, 1e9});
  EXPECT_NEAR(fitted[0].value, 3e-6, 1.5e-7);
}

TEST(Fit, WhatNothingDependsOnStaysAndIsUnknown) {
  const auto first_only = [](const std::vector<double>& x) {
    return std::vector<double>(sizes.size(), x[0]);
  };
  const std::vector<Fitted> fitted = fit(first_only, first_only({2, 1}), {1, 7});
  EXPECT_NEAR(fitted[0].value, 2, 1e-6);
  EXPECT_EQ(fitted[1].value, 7);
  EXPECT_EQ(fitted[1].low, 0);
  EXPECT_TRUE(std::isinf(fitted[1].high));
}

// A parameter that no measurement depends on is what is believed of it, and unknown all the same.
TEST(Fit, BeliefsDecideWhatNothingElseDoesAndAreNoMeasurements) {
  const auto with_belief = [](const std::vector<double>& x) {
    std::vector<double> times(sizes.size(), x[0]);
    times.push_back(x[1] / x[0]);  // believed to be 1
    return times;
  };
  std::vector<double> measured(sizes.size(), 2);
  measured[0] = 2.2;
  measured.push_back(1);
  const std::vector<Fitted> fitted = fit(with_belief, measured, {1, 7}, 1);
  EXPECT_NEAR(fitted[1].value, fitted[0].value, 1e-6);
  EXPECT_TRUE(std::isinf(fitted[1].high));
  measured.pop_back();
  const auto without = [](const std::vector<double>& x) {
    return std::vector<double>(sizes.size(), x[0]);
  };
  // The scatter is of 8 measurements with 2 parameters against 8 with 1.
  const double width = std::log(fitted[0].high / fitted[0].low);
  const std::vector<Fitted> alone = fit(without, measured, {1});
  EXPECT_NEAR(width / std::log(alone[0].high / alone[0].low), std::sqrt(7.0 / 6.0), 1e-3);
}

TEST(Fit, WhatIsOnlyToldTogetherIsUnknownByItself) {
  const auto sum = [](const std::vector<double>& x) {
    return std::vector<double>(sizes.size(), x[0] + x[1]);
  };
  std::vector<double> measured(sizes.size(), 2);
  measured[0] = 2.2;
  const std::vector<Fitted> fitted = fit(sum, measured, {1, 1});
  EXPECT_NEAR(fitted[0].value + fitted[1].value, 2, 0.1);
  for (const Fitted& one : fitted) {
    EXPECT_EQ(one.low, 0);
    EXPECT_TRUE(std::isinf(one.high));
  }
}

// 95% means that 19 of 20 intervals hold the truth.
TEST(Fit, IntervalsHoldTheTruthAsOftenAsTheySay) {
  std::mt19937 random(1);
  std::normal_distribution<double> scatter(0, 0.05);
  int held = 0, all = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<double> measured = alpha_beta({3e-6, 2e9});
    for (double& time : measured) time *= std::exp(scatter(random));
    const std::vector<Fitted> fitted = fit(alpha_beta, measured, {1e-6, 1e9});
    for (const auto& [found, truth] : {std::pair(fitted[0], 3e-6), std::pair(fitted[1], 2e9)}) {
      held += found.low <= truth && truth <= found.high;
      ++all;
    }
  }
  EXPECT_GT(held, all * 85 / 100);
  EXPECT_LT(held, all * 99 / 100);
}

}  // namespace
}  // namespace collsim
