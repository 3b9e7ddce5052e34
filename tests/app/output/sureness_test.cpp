// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/app/output/testing.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

const ErrorClass small_sizes{.machines = "NVSwitch Hopper",
                             .up_to = kibibytes(64),
                             .half = 0.02,
                             .most = 0.13,
                             .rows = 106,
                             .tables = 12,
                             .unseen_half = 0.05,
                             .unseen_most = 0.4};
const ErrorClass large_sizes{.machines = "NVSwitch Hopper",
                             .above = kibibytes(64),
                             .half = 0.049,
                             .most = 0.17,
                             .rows = 70,
                             .tables = 13,
                             .unseen_half = 0.1,
                             .unseen_most = 0.52};

// Below the rows.
std::vector<std::string> said(const std::vector<ErrorClass>& classes,
                              Format format = Format::table) {
  Results results = lecture_results({1, 16, 57});
  for (std::size_t i = 0; i < classes.size(); ++i) results.rows[i].error_class = classes[i];
  std::vector<std::string> lines = lines_of(written(results, format));
  const auto first = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("how sure") != line.npos;
  });
  return {first, lines.end()};
}

using Lines = std::vector<std::string>;

TEST(Sureness, IsSaidOfEachRangeOfSizesOnce) {
  const std::vector<ErrorClass> classes{large_sizes, small_sizes, large_sizes};
  EXPECT_EQ(said(classes),
            (Lines{"how sure: NVSwitch Hopper, fitted to 13 published tables; in brackets: owners "
                   "left out of the fit",
                   "  up to 64 KiB: half of the times within 2% (5%), 95% within 13% (40%)",
                   "  above 64 KiB: half of the times within 5% (10%), 95% within 17% (52%)"}));
  EXPECT_EQ(said(classes, Format::markdown),
            (Lines{"how sure: NVSwitch Hopper, fitted to 13 published tables; in brackets: owners "
                   "left out of the fit",
                   "- up to 64 KiB: half of the times within 2% (5%), 95% within 13% (40%)",
                   "- above 64 KiB: half of the times within 5% (10%), 95% within 17% (52%)"}));
  EXPECT_EQ(said(classes, Format::nccl_tests),
            (Lines{"# how sure: NVSwitch Hopper, fitted to 13 published tables; in brackets: "
                   "owners left out of the fit",
                   "#   up to 64 KiB: half of the times within 2% (5%), 95% within 13% (40%)",
                   "#   above 64 KiB: half of the times within 5% (10%), 95% within 17% (52%)"}));
  EXPECT_EQ(said({}), Lines{}) << "of other predictions nothing";
}

TEST(Sureness, IsWantingWhereNothingWasMeasured) {
  const std::string line =
      "how sure: unknown, because no published table of such machines (EFA) was used; it may be "
      "far off";
  EXPECT_EQ(said({{.machines = "EFA"}}), Lines{line});
  EXPECT_EQ(said({{.machines = "EFA"}}, Format::nccl_tests), Lines{"# " + line});
  ErrorClass no_other_owner = large_sizes;
  no_other_owner.tables = 1;
  no_other_owner.unseen_half = no_other_owner.unseen_most = std::nullopt;
  EXPECT_EQ(said({no_other_owner}),
            (Lines{"how sure: NVSwitch Hopper, fitted to 1 published table",
                   "  above 64 KiB: half of the times within 5%, 95% within 17%"}));
}

TEST(Sureness, IsOutsideOfWhatWasMeasured) {
  ErrorClass outside = large_sizes;
  outside.outside = "no published table of more than 4 nodes";
  const std::string heading =
      "how sure: outside of what was measured: no published table of more than 4 nodes; likely "
      "further off than NVSwitch Hopper";
  EXPECT_EQ(said({outside}),
            (Lines{heading + " with owners left out of the fit:",
                   "  above 64 KiB: half of the times within 10%, 95% within 52%"}));
  outside.unseen_half = outside.unseen_most = std::nullopt;
  EXPECT_EQ(said({outside, large_sizes}).at(0),
            "how sure: NVSwitch Hopper, fitted to 13 published tables; in brackets: owners left "
            "out of the fit");
  EXPECT_EQ(said({outside}),
            (Lines{heading + ":", "  above 64 KiB: half of the times within 5%, 95% within 17%"}));
  EXPECT_EQ(said({{.machines = "this machine", .outside = "nothing was measured on this machine"}}),
            Lines{"how sure: unknown, because nothing was measured on this machine; it may be far "
                  "off"});
}

TEST(Sureness, OfACalibratedMachineIsTheErrorOfItsFit) {
  EXPECT_EQ(said({{.machines = "this machine",
                   .half = 0.03,
                   .most = 0.12,
                   .rows = 45,
                   .tables = 2,
                   .own_logs = true}}),
            Lines{"how sure: calibrated from 2 logs, 45 rows: half of the times within 3%, 95% "
                  "within 12% of them; other collectives and sizes may be further off"});
}

TEST(Sureness, IsAboutWhatNcclChooses) {
  ErrorClass forced = large_sizes;
  forced.forced = true;
  EXPECT_EQ(said({forced}).front(),
            "how sure: NVSwitch Hopper, fitted to 13 published tables, in which NCCL chose "
            "freely, so that none shows what it would not choose; in brackets: owners left out of "
            "the fit");
}

}  // namespace
}  // namespace collsim::testing
