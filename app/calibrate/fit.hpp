// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace collsim {

inline constexpr double confidence = 1.96;  // standard errors, for 95%

// A number found by fitting, with the interval in which it lies with 95% confidence, as far as the
// scatter of the measurements tells.
struct Fitted {
  double value = 0, low = 0, high = 0;
};

// Positive parameters x that make predicted(x) fit what was measured:
//
//   minimise  sum_j ln(predicted_j(x) / measured_j)^2
//
// so that errors count in proportion, and a microsecond that is 10% off as much as a second that
// is.  Logarithms of x are the unknowns, so nothing gets negative; the steps are Levenberg's and
// Marquardt's, with derivatives by finite differences.  Works for any model that can be evaluated,
// sums and maxima (critical paths) included.  A parameter that the measurements say nothing about
// stays where it began; one that the fit makes free (a rate without end, a time of nothing) stays
// where it stopped to matter; both have an interval from 0 to infinity, as have those that the
// measurements tell only together.
//
// `predicted` gives as many positive numbers as were measured.  The last `beliefs` of both are no
// measurements but what is thought likely beforehand: they pull at the answer where measurements
// say little, and say nothing about how far measurements scatter.
using Predictions = std::function<std::vector<double>(const std::vector<double>& parameters)>;
[[nodiscard]] std::vector<Fitted> fit(const Predictions& predicted,
                                      const std::vector<double>& measured,
                                      const std::vector<double>& start, std::size_t beliefs = 0);

}  // namespace collsim
