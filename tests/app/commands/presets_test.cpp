// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/presets.hpp"

#include <gtest/gtest.h>

#include "app/json/parse_json.hpp"
#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

TEST(PresetsCommand, ListsAllMachines) {
  const Ran ran = run_collsim({"presets"});
  EXPECT_EQ(ran.code, exit_fine);
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(
      ran.out.starts_with("preset             GPUs  calibrated  description\n"
                          "a100-nvlink-pair      2  yes         2 A100 joined by an"))
      << ran.out;
  for (const Preset& preset : presets()) expect_contains(ran.out, "\n" + preset.name + " ");
}

TEST(PresetsCommand, ShowsEveryNumberWithItsSource) {
  for (const Preset& preset : presets()) {
    const Ran ran = run_collsim({"presets", "show", preset.name});
    EXPECT_EQ(ran.code, exit_fine);
    EXPECT_TRUE(ran.out.starts_with(preset.name + ": " + preset.title + "\n"));
    for (const JsonValue::Member& type : preset.document.find("link_types")->members())
      expect_contains(ran.out, "\n" + type.key + ": ");
    std::size_t column = 0;
    for (const char c : ran.out) {
      column = c == '\n' ? 0 : column + 1;
      EXPECT_LE(column, 110U) << preset.name;
    }
  }
  const std::string text = run_collsim({"presets", "show", "dgx-h100"}).out;
  expect_contains(text,
                  "\nnvlink: the 18 NVLink 4 links of a GPU into the NVSwitches together, one "
                  "direction\n"
                  "  bandwidth  370.8 GB/s  18 links of 20.6 GB/s, NCCL 2.28's rate for sm_90 "
                  "(topo.h); raw 18 x 25\n"
                  "                         = 450 GB/s in the data sheet\n");
  expect_contains(text,
                  "\n- calibrated: what NCCL's protocols cost was fitted to published tables");
  expect_contains(text, "\n  protocols  LL ");
  expect_contains(text, "\nkernels of NCCL: ");
  expect_contains(text, "\n95% intervals of hopper: LL.hop ");
  expect_contains(text, "\n95% intervals of ib: LL.hop ");
  const std::string guessed = run_collsim({"presets", "show", "a3-mega"}).out;
  expect_contains(guessed, "\nbelieved, for want of tables, of tcp: LL.hop ");
  expect_lacks(guessed, "95% intervals of tcp");
  const std::string slow = run_collsim({"presets", "show", "p5"}).out;
  expect_contains(slow, " .. 1.12 ms");
  expect_lacks(slow, "e+0");
  expect_contains(text, "\nnetwork: ib; \"network\" may also be efa, roce, tcp\n");
}

TEST(PresetsCommand, GivesAllNumbersAsJson) {
  const Ran ran = run_collsim({"presets", "show", "h100", "--format", "json"});
  EXPECT_EQ(ran.code, exit_fine);
  Sources sources;
  Diagnostics diagnostics;
  const auto value =
      parse_json(sources.add(Sources::Kind::file, "out", ran.out), sources, diagnostics);
  ASSERT_TRUE(value && diagnostics.empty());
  EXPECT_EQ(*value, find_preset("dgx-h100")->document);
}

TEST(PresetsCommand, SaysWhatComputesTransformers) {
  const std::string text = run_collsim({"presets", "show", "dgx-h100"}).out;
  expect_contains(text,
                  "device of workloads: NVIDIA H100 SXM: flops 989TFLOP/s, "
                  "flops_float8 1979TFLOP/s, efficiency");
  expect_contains(text, "NVIDIA H100 data sheet");
}

TEST(PresetsCommand, MistakesAreExplained) {
  const Ran unknown = run_collsim({"presets", "show", "dgx-h10"});
  EXPECT_EQ(unknown.code, exit_usage);
  EXPECT_TRUE(unknown.err.starts_with(
      "collsim presets show: there is no preset \"dgx-h10\"; did you mean \"dgx-h100\"?\n"))
      << unknown.err;
  expect_text(run_collsim({"presets", "show"}).err,
              "collsim presets show: PRESET is missing\n"
              "  see collsim presets show --help\n");
}

}  // namespace
}  // namespace collsim
