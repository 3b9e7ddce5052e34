// SPDX-License-Identifier: Apache-2.0
#include "app/output/text_table.hpp"

#include <gtest/gtest.h>

namespace collsim::testing {
namespace {

using Numbers = std::vector<std::optional<double>>;
using Cells = std::vector<std::string>;

TEST(ColumnUnits, OneUnitForAllWithTheDecimalsOfTheSmallest) {
  EXPECT_EQ(column_cells(Numbers{18.825e-3, 3.282e-3, 43.676e-3}, time_units()),
            (Cells{"18.825 ms", "3.282 ms", "43.676 ms"}));
  EXPECT_EQ(column_cells(Numbers{120e-6, 456.7e-6}, time_units()), (Cells{"120.0 us", "456.7 us"}));
  EXPECT_EQ(column_cells(Numbers{25e9, 12.5e9}, rate_units()), (Cells{"25.00 GB/s", "12.50 GB/s"}));
}

TEST(ColumnUnits, TheUnitIsThatOfTheMiddleOfTheSpan) {
  EXPECT_EQ(column_cells(Numbers{0.2e-3, 1.5}, time_units()), (Cells{"0.200 ms", "1500.000 ms"}));
}

TEST(ColumnUnits, RatesTakeTheUnitOfTheLargest) {
  EXPECT_EQ(column_cells(Numbers{28.485e9, 32.18e6}, rate_units()),
            (Cells{"28.485 GB/s", "0.032 GB/s"}));
}

TEST(ColumnUnits, EachItsOwnUnitBeyondFourDecades) {
  EXPECT_EQ(column_cells(Numbers{5e-6, 1.5, 0.25}, time_units()),
            (Cells{"5.000 us", "1.500 s", "250.0 ms"}));
}

TEST(ColumnUnits, NothingIsADash) {
  EXPECT_EQ(column_cells(Numbers{std::nullopt, 1e-3}, time_units()), (Cells{"-", "1.000 ms"}));
  EXPECT_EQ(column_cells(Numbers{std::nullopt}, time_units()), (Cells{"-"}));
}

TEST(ColumnUnits, ZeroTakesTheUnitOfTheOthers) {
  EXPECT_EQ(column_cells(Numbers{0.0, 2e-6}, time_units()), (Cells{"0.000 us", "2.000 us"}));
  EXPECT_EQ(column_cells(Numbers{0.0}, time_units()), (Cells{"0 ps"}));
  EXPECT_EQ(column_cells(Numbers{0.0, 1e-6, 1.0}, time_units()),
            (Cells{"0 ps", "1.000 us", "1.000 s"}));
}

TEST(ColumnUnits, NothingInNothingOut) {
  EXPECT_TRUE(column_cells(Numbers{}, time_units()).empty());
}

}  // namespace
}  // namespace collsim::testing
