// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/tables_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "app/calibrate/fit_record.hpp"
#include "app/calibrate/machine_file.hpp"
#include "app/calibrate/nccl_tangent.hpp"
#include "app/scenario/fitted.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

const MachineConstants& present() {
  static const MachineConstants constants = MachineConstants::read(fitted_constants());
  return constants;
}

std::size_t at(Quantity quantity, std::optional<LinkProtocol> protocol = {}) {
  return index_of({quantity, protocol});
}

// Sizes of a table of four GPUs, without times.
MeasuredTable empty_table(const std::string& operation) {
  MeasuredTable table;
  table.id = "made-" + operation;
  table.owner = "us";
  table.preset = "dgx-h100";
  table.operation = operation;
  table.dtype = "float32";
  table.ranks = 4;
  table.nodes = 1;
  table.launch = MeasuredLaunch::process_per_gpu;
  for (Bytes size = 1024; size <= Bytes{1} << 28; size *= 4) table.rows.push_back({size, 1});
  return table;
}

std::vector<FitRow> rows_of(const MeasuredTable& table) {
  std::vector<FitRow> rows;
  const MeasuredCases cases = cases_of(table);
  for (const MeasuredCase& row : cases.rows) rows.push_back({row, cases.kinds, 0, 0});
  return rows;
}

// With times that the simulator gives for these constants.
MeasuredTable made_with(const MachineConstants& constants, const std::string& operation) {
  MeasuredTable table = empty_table(operation);
  const std::vector<RowPrediction> times = predict_rows(rows_of(table), present(), constants);
  for (std::size_t i = 0; i < times.size(); ++i) table.rows[i].time_s = times[i].time_s;
  return table;
}

MachineConstants changed() {
  MachineConstants constants = present();
  KindConstants& hopper = constants.gpus.at("hopper");
  *hopper[at(Quantity::hop, LinkProtocol::ll)] *= 1.3;
  *hopper[at(Quantity::rate, LinkProtocol::simple)] *= 0.85;
  *hopper[at(Quantity::per_chunk, LinkProtocol::nvls)] *= 1.1;
  *hopper[at(Quantity::base)] *= 1.25;
  return constants;
}

TEST(TablesFit, FindsTheConstantsWithWhichTablesWereMade) {
  const MachineConstants truth = changed();
  TablesFitOptions options;
  options.fit.kinds = {"hopper"};
  options.fit.within = 1.5;
  const TablesFit fit = fit_tables({made_with(truth, "all-gather"), made_with(truth, "broadcast"),
                                    made_with(truth, "reduce-scatter")},
                                   fitted_constants(), options);
  const Accuracy all = accuracy_of(fit.errors);
  EXPECT_EQ(all.tables, 3U);
  EXPECT_LT(all.half, 0.01);
  EXPECT_LT(all.most, 0.03);
  const KindConstants& found = fit.fit.constants.gpus.at("hopper");
  const KindConstants& wanted = truth.gpus.at("hopper");
  for (const std::size_t one : {at(Quantity::hop, LinkProtocol::ll),
                                at(Quantity::rate, LinkProtocol::simple), at(Quantity::base)})
    EXPECT_NEAR(*found[one] / *wanted[one], 1, 0.1) << name_of(all_constants()[one]);
  const JsonValue& intervals = *fit.constants.find("intervals")->find("gpus");
  EXPECT_EQ(intervals.find("hopper")->find("LL.hop")->string(),
            interval_text(fit.fit.fitted.front()));
  EXPECT_EQ(*intervals.find("a100"),
            *fitted_constants().find("intervals")->find("gpus")->find("a100"))
      << "not fitted now";
}

TEST(TablesFit, ConstantsThatNoRowDependsOnStayAndSaySo) {
  TablesFitOptions options;
  options.fit.kinds = {"hopper"};
  options.fit.within = 1.25;
  const TablesFit fit =
      fit_tables({made_with(changed(), "broadcast")}, fitted_constants(), options);
  for (const FittedConstant& one : fit.fit.fitted) {
    if (one.constant.protocol != LinkProtocol::p2p_simple) continue;
    EXPECT_LT(one.told, 0.01) << name_of(one.constant);
    const double before = *present().gpus.at("hopper")[index_of(one.constant)];
    EXPECT_NEAR(one.value / before, 1, 0.01) << name_of(one.constant);
    EXPECT_LT(one.low, one.value);
    EXPECT_GT(one.high, one.value);
  }
  expect_contains(machine_fit_text(fit, present()), "the logs cannot tell");
}

TEST(TablesFit, TablesThatCannotBePredictedAreLeftOutAndSaySo) {
  MeasuredTable nowhere = empty_table("all-reduce");
  nowhere.preset = "abacus";
  MeasuredTable crowded = empty_table("all-reduce");
  crowded.ranks = 9;
  MeasuredTable unsaid = empty_table("");
  const TablesFit fit = fit_tables({nowhere, crowded, unsaid}, fitted_constants(), {});
  EXPECT_TRUE(fit.errors.empty());
  EXPECT_EQ(fit.tables.at(0).why_not, "there is no preset abacus");
  EXPECT_EQ(fit.tables.at(1).why_not, "9 ranks do not fit on 1 nodes of dgx-h100");
  EXPECT_EQ(fit.tables.at(2).why_not, "which collective ran is not said");
}

TEST(MeasuredCases, LeavesOutWhatWasDisturbedAndTakesTheModeOfLaunch) {
  MeasuredTable table = empty_table("all-reduce");
  table.rows[0].suspect = true;
  table.rows[1].time_s = 0;
  table.launch = MeasuredLaunch::one_thread;
  const MeasuredCases cases = cases_of(table);
  EXPECT_EQ(cases.rows.size(), table.rows.size() - 2);
  EXPECT_EQ(cases.rows.front().asked.launch.mode, LaunchMode::one_thread);
  table.launch = MeasuredLaunch::unknown;
  EXPECT_EQ(cases_of(table).rows.front().asked.launch.mode, LaunchMode::process_per_gpu);
}

TEST(MeasuredCases, TakesTheKindOfNetworkThatATableNames) {
  MeasuredTable table = empty_table("all-reduce");
  table.ranks = 16;
  table.nodes = 2;
  EXPECT_EQ(cases_of(table).kinds.network, "ib");
  table.interconnect = "NVSwitch + 8x 200 Gb/s RoCE";
  EXPECT_EQ(cases_of(table).kinds.network, "roce");
  table.interconnect = "32x EFA 100 Gb/s";
  EXPECT_EQ(cases_of(table).kinds.network, "efa");
}

// A tangent continues times to other constants as if they had been simulated, as long as the
// critical path stays the same.
TEST(NcclTangent, SaysWhatASimulationWithOtherConstantsWould) {
  const MachineConstants other = changed();
  for (const char* operation : {"all-gather", "broadcast", "all-to-all"}) {
    const std::vector<FitRow> rows = rows_of(empty_table(operation));
    const std::vector<RowPrediction> simulated = predict_rows(rows, present(), other);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const NcclTangent tangent(rows[i].measured.asked, rows[i].kinds, present(), present());
      const double said = tangent.at(constants_seen(rows[i].kinds, other)).time_s;
      EXPECT_NEAR(said / simulated[i].time_s, 1, 0.01) << operation << ' ' << i;
    }
  }
}

TEST(MachineFile, IsAPresetWithTheChangedConstants) {
  const JsonValue file = machine_file("dgx-h100", 1, "", present(), changed(), {0.03, 0.12, 45, 2});
  const JsonValue& changed_hop =
      *file.find("cluster")->find("override")->find("nvlink.protocols")->find("LL")->find("hop");
  const JsonValue same = machine_file("dgx-h100", 1, "", present(), present(), {});
  EXPECT_NE(
      changed_hop,
      *same.find("cluster")->find("override")->find("nvlink.protocols")->find("LL")->find("hop"));
  EXPECT_NE(*file.find("model")->find("launch")->find("base"),
            *same.find("model")->find("launch")->find("base"));
  EXPECT_EQ(*file.find("model")->find("per_peer"), *same.find("model")->find("per_peer"));
  EXPECT_EQ(to_json(*file.find("cluster")->find("fitted"), -1),
            R"({"logs":2,"rows":45,"half":0.03,"most":0.12})");
}

}  // namespace
}  // namespace collsim
