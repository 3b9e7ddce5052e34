// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/units.hpp"

#include <gtest/gtest.h>

namespace collsim {
namespace {

TEST(Exponent, IsFoundForSimpleFractions) {
  EXPECT_EQ(Exponent::from(2), (Exponent{2, 1}));
  EXPECT_EQ(Exponent::from(-0.5), (Exponent{-1, 2}));
  EXPECT_EQ(Exponent::from(1.0 / 3), (Exponent{1, 3}));
  EXPECT_EQ(Exponent::from(0), (Exponent{0, 1}));
  EXPECT_EQ(Exponent::from(3.14159265), std::nullopt);
  EXPECT_EQ(Exponent::from(1e9), std::nullopt);
  EXPECT_EQ(Exponent::from(1e300), std::nullopt);
}

TEST(Units, MultiplyDivideAndTakePowers) {
  EXPECT_EQ(units_size.over(units_bandwidth), units_time);
  EXPECT_EQ(units_bandwidth.times(units_time), units_size);
  EXPECT_EQ(units_size.power({2, 1})->power({1, 2}), units_size);
}

TEST(Units, RefuseAbsurdPowers) {
  EXPECT_EQ(units_size.power({10'000, 1})->power({10'000, 1}), std::nullopt);
  EXPECT_EQ(units_size.power({10'000, 1})->times(units_size), std::nullopt);
  EXPECT_EQ(units_size.power({1, 64})->power({1, 2}), std::nullopt);
}

TEST(Units, HaveNames) {
  EXPECT_EQ(units_none.description(), "a plain number");
  EXPECT_EQ(units_time.description(), "a time (s)");
  EXPECT_EQ(units_size.description(), "a size (bytes)");
  EXPECT_EQ(units_bandwidth.description(), "a bandwidth (bytes/s)");
  EXPECT_EQ(units_size.times(units_bandwidth)->description(), "in bytes^2/s");
  EXPECT_EQ(units_none.over(units_time)->symbol(), "1/s");
  EXPECT_EQ(units_time.power({1, 2})->symbol(), "s^(1/2)");
  EXPECT_EQ(units_none.over(*units_time.times(units_size))->symbol(), "1/(bytes*s)");
  EXPECT_EQ(units_time.plural(), "seconds");
  EXPECT_EQ(units_none.plural(), "a plain number");
}

TEST(ValueText, IsInTheUnitThatPeopleUse) {
  EXPECT_EQ(value_text(0.003801, units_time), "3.801 ms");
  EXPECT_EQ(value_text(-5e-6, units_time), "-5 us");
  EXPECT_EQ(value_text(0, units_time), "0 s");
  EXPECT_EQ(value_text(-0.0, units_none), "0");
  EXPECT_EQ(value_text(67108864, units_size), "64 MiB");
  EXPECT_EQ(value_text(25e9, units_bandwidth), "25 GB/s");
  EXPECT_EQ(value_text(12345678, units_none), "12345678");
  EXPECT_EQ(value_text(0.123456, units_none), "0.1235");
  EXPECT_EQ(value_text(0.123456, units_none, 6), "0.123456");
  EXPECT_EQ(value_text(12345, units_time), "12345 s");
  EXPECT_EQ(value_text(1e300, units_time), "1e+300 s");
  EXPECT_EQ(value_text(2.5, *units_size.times(units_size)), "2.5 bytes^2");
}

}  // namespace
}  // namespace collsim
