// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/app/study/scenarios.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim::testing {
namespace {

std::string all_reduce(const std::string& more, const std::string& collective = "",
                       const std::string& cluster = "", const std::string& size = "64MiB") {
  return R"({"scenario": 1, "cluster": {"shape": "switch", "ranks": 8,
             "link": {"bandwidth": "25GB/s", "overhead": "5us"})" +
         cluster + R"(}, "collective": {"op": "all-reduce", "algorithm": "ring", "size": ")" +
         size + "\"" + collective + "}" + more + "}";
}

TEST(Warnings, TheLectureHasNone) {
  EXPECT_EQ(results_of(lecture(R"(, "sweep": {"collective.chunks": [1, 8, 57, 64, 4096]})"))
                .all_warnings(),
            "");
}

TEST(Warnings, ASweepThatChangesNothingSaysWhy) {
  const auto warning = [](const std::string& text) {
    return results_of(text).warning("sweep-changes-nothing");
  };
  expect_text(
      warning(lecture(R"(, "sweep": {"model.reduce_bandwidth": ["1GB/s", "2GB/s", "3GB/s"]})")),
      "sweeping model.reduce_bandwidth changes nothing: the time is the same for all 3 "
      "values, 1GB/s to 3GB/s, because nothing is added up in this collective (broadcast)");
  expect_text(warning(all_reduce(R"(, "sweep": {"collective.dtype": ["f32", "bf16"]})")),
              "sweeping collective.dtype changes nothing: the time is the same for f32 and bf16, "
              "because the size is given in bytes, whatever their type");
  expect_text(
      warning(all_reduce(R"(, "sweep": {"collective.reduction": ["sum", "max"]})")),
      "sweeping collective.reduction changes nothing: the time is the same for sum and max, "
      "because the model charges all reductions alike");
  expect_contains(warning(all_reduce(R"(, "sweep": {"collective.slots": [4, 8]})")),
                  "because no wait for a slot affects the time");
}

TEST(Warnings, ASweepOfWhichOneAxisChangesNothingNamesThatOne) {
  const Studied studied = results_of(all_reduce(
      R"(, "sweep": {"collective.size": ["1MiB", "2MiB"], "collective.reduction": ["sum", "max"]})"));
  EXPECT_EQ(studied.results->warnings.size(), 1U) << studied.all_warnings();
  EXPECT_EQ(studied.warning("sweep-changes-nothing").find("sweeping collective.reduction "), 0U);
}

TEST(Warnings, AnAxisThatMattersSomewhereIsNoWarning) {
  expect_lacks(results_of(all_reduce(
                              R"(, "sweep": {"collective.algorithm": ["ring", "naive"],
                                          "collective.root": [0, 3]})",
                              ""))
                   .warning("sweep-changes-nothing"),
               "sweeping collective.algorithm");
}

TEST(Warnings, OperationsMayTakeEquallyLong) {
  EXPECT_EQ(results_of(R"({"scenario": 1, "cluster": {"shape": "chain", "ranks": 8,
                           "link": {"bandwidth": "25GB/s", "overhead": "5us"}},
                           "collective": {"algorithm": "chain", "size": "64MiB"},
                           "sweep": {"collective.op": ["broadcast", "reduce"]}})")
                .all_warnings(),
            "");
}

TEST(Warnings, MoreChunksThanElements) {
  const Studied studied =
      results_of(lecture(R"(, "sweep": {"collective.chunks": [1, 2, 100]})", R"(, "dtype": "f32")",
                         R"("bandwidth": "25GB/s", "overhead": "5us")", "64B"));
  expect_text(
      studied.warning("chunks-above-elements"),
      "in 1 of 3 rows: there are more chunks than elements to cut (such as 100 chunks for 16 "
      "elements), so some messages are empty; they are sent and cost their startup; use "
      "fewer chunks or a larger size");
}

TEST(Warnings, MoreChannelsThanElements) {
  expect_text(results_of(all_reduce("", R"(, "dtype": "f32", "channels": 8)", "", "8B"))
                  .warning("channels-above-elements"),
              "there are more channels than elements (such as 8 channels for 2 elements), so most "
              "channels carry nothing; their messages are sent and cost their startup; use fewer "
              "channels or a larger size");
}

TEST(Warnings, SmallChunks) {
  expect_text(results_of(lecture("", R"(, "chunks": 65536)")).warning("small-chunks"),
              "a message has less than 4 KiB on average (down to 1 KiB): most of the time is then "
              "startup on real networks; use fewer chunks");
  EXPECT_EQ(results_of(lecture("", R"(, "chunks": 16384)")).all_warnings(), "");
}

TEST(Warnings, ChunksThatCostNothing) {
  const std::string link = R"("bandwidth": "25GB/s")";
  const std::string sweep = R"(, "sweep": {"collective.chunks": [1, 2]})";
  expect_text(results_of(lecture(sweep, "", link)).warning("free-startup"),
              "in all rows: starting a message costs nothing; set cluster.link.overhead (such as "
              "\"5us\") to see what too many chunks cost on a network");
  EXPECT_EQ(results_of(lecture("", "", link)).all_warnings(), "");
}

TEST(Warnings, ShortMessagesThatCostNothing) {
  const std::string link = R"("bandwidth": "25GB/s")";
  expect_contains(
      results_of(lecture(R"(, "sweep": {"collective.size": ["1KiB", "1MiB"]})", "", link))
          .warning("free-messages"),
      "in 1 of 2 rows: messages are short and the link has neither overhead nor "
      "latency");
}

// The best of the rows is free, but no message is as short as that.
TEST(Warnings, LinksWithSegmentsAreNotSaidToBeFree) {
  const std::string link =
      R"("segments": [{"up_to": "1B", "bandwidth": "25GB/s"},
                      {"overhead": "5us", "latency": "1us", "bandwidth": "25GB/s"}])";
  const std::string sizes = R"(, "sweep": {"collective.size": ["64KiB", "1MiB"]})";
  const std::string chunks = R"(, "sweep": {"collective.chunks": [1, 2]})";
  for (const std::string& sweep : {sizes, chunks})
    EXPECT_EQ(results_of(lecture(sweep, "", link)).all_warnings(), "");
}

TEST(Warnings, AFormulaThatIsOnlyApproximate) {
  const Studied studied = results_of(all_reduce("", R"(, "dtype": "u8")", "", "20B"));
  EXPECT_NE(studied.results->rows[0].analytic, std::nullopt);
  EXPECT_EQ(results_of(lecture("", R"(, "chunks": 57)")).warning("approximate-formula"), "")
      << "too little to mention";
}

TEST(Warnings, PartsThatWereMadeEqual) {
  const auto warning = [](const std::string& size) {
    return results_of(R"({"scenario": 1, "cluster": {"shape": "ring", "ranks": 8192, "link":
               {"bandwidth": "25GB/s", "overhead": "1us"}}, "collective": {"op": "all-gather",
               "algorithm": "ring", "size": ")" +
                      size + R"("}})")
        .warning("evened-parts");
  };
  EXPECT_EQ(warning("32MiB"), "");
  expect_contains(warning("33000000B"), "no part is longer by more than an element");
  const auto warning_of_step = [](const std::string& ranks) {
    return results_of(R"({"scenario": 1, "cluster": {"shape": "switch", "ranks": )" + ranks +
                      R"(, "link": {"bandwidth": "25GB/s"}}, "workload": {"ddp": {"bucket": 0,
               "first_bucket": 0}, "model": {"layers": [{"times": 12, "forward":
               "1ms", "backward": "2ms", "gradients": "8MiB"}]}}})")
        .warning("evened-parts");
  };
  EXPECT_EQ(warning_of_step("512"), "");
  expect_contains(warning_of_step("513"), "no part is longer by more than an element");
}

TEST(Warnings, UncalibratedPresets) {
  const Studied studied = results_of(
      R"({"scenario": 1, "cluster": {"preset": "dgx-h100"},
          "collective": {"op": "all-reduce", "algorithm": "ring", "size": "64MiB"}})");
  expect_text(studied.warning("uncalibrated-preset"),
              "latency and overhead of preset dgx-h100 are taken from NCCL's source, not measured, "
              "and algorithms other than nccl stand on them; compare with measurements before "
              "relying on them");
  const auto as_nccl = [](const std::string& preset) {
    return results_of(R"({"scenario": 1, "cluster": {"preset": ")" + preset + R"("},
                          "collective": {"op": "all-reduce", "size": "64MiB"}})")
        .warning("uncalibrated-preset");
  };
  EXPECT_EQ(as_nccl("dgx-h100"), "");
  expect_text(as_nccl("mi300x"),
              "no published measurement of mi300x was used: what NCCL's protocols cost is taken "
              "from similar machines; compare with measurements before relying on it");
}

TEST(Warnings, AlgorithmsThatNcclLacks) {
  const auto warning = [](const std::string& collective) {
    return results_of(R"({"scenario": 1, "cluster": {"preset": "dgx-h100"}, "collective": {)" +
                      collective + "}}")
        .warning("not-in-nccl");
  };
  expect_text(warning(R"("op": "all-reduce", "size": "1MiB", "algorithm": "auto")"),
              "NCCL has no two-shot all-reduce; the algorithm nccl is what it would run");
  expect_text(warning(R"("op": "barrier")"),
              "NCCL has no barrier; this is the first algorithm of the table");
  EXPECT_EQ(warning(R"("op": "all-reduce", "size": "1MiB")"), "");
  EXPECT_EQ(warning(R"("op": "all-reduce", "size": "1MiB", "algorithm": "two-shot")"), "")
      << "it was asked for";
}

TEST(Warnings, ALateRankThatTakesNoPart) {
  const Studied studied = results_of(
      all_reduce("", R"(, "ranks": [0, 1, 2, 3])", R"(, "late": {"5": "1ms", "1": "1us"})"));
  expect_text(studied.warning("late-outsider"),
              "rank 5 is late but takes no part (collective.ranks), which has no effect");
}

// All messages from leaf to leaf take the first of four spines; where ports limit it matters not.
TEST(Warnings, EqualLinksThatCarryNothing) {
  const auto warning = [](const std::string& algorithm, const std::string& uplink,
                          const std::string& more = "") {
    return results_of(R"({"scenario": 1, "collective": {"op": "all-to-all", "size": "64MiB"},
              "cluster": {"shape": "leaf-spine", "leaves": 2, "ranks_per_leaf": 8, "spines": 4,
                          "link": {"bandwidth": "50GB/s", "latency": "1us"}, "uplink": )" +
                      uplink + more + R"(}, "sweep": {"collective.algorithm": [")" + algorithm +
                      R"("], "cluster.routing": ["d-mod-k", "first"]}})")
        .warning("idle-links");
  };
  expect_text(warning("direct", R"({"bandwidth": "50GB/s"})"),
              "in 1 of 2 rows: 3 of 4 equal links carry nothing, while leaf0->spine0, whose "
              "messages could take them, is the busiest: the routing chose so; "
              "cluster.routing=spray uses them all");
  EXPECT_EQ(warning("direct", R"({"bandwidth": "800GB/s"})"), "");
  // Spraying would wait for this one.
  EXPECT_EQ(warning("direct", R"({"bandwidth": "50GB/s"})",
                    R"(, "links_override": [{"from": "leaf0", "to": "spine3", "both": true,
                                             "bandwidth": "5GB/s"}])"),
            "");
}

TEST(Warnings, ALinkAThousandTimesSlowerThanItsSiblings) {
  const auto warning = [](const std::string& bandwidth) {
    return results_of(R"({"scenario": 1, "collective": {"op": "all-to-all", "size": "1MiB"},
              "cluster": {"shape": "leaf-spine", "leaves": 2, "ranks_per_leaf": 4, "spines": 2,
                          "link": {"bandwidth": "50GB/s", "latency": "1us"},
                          "links_override": [{"from": "leaf0", "to": "spine0", "bandwidth": ")" +
                      bandwidth + R"("}]}})")
        .warning("far-slower-link");
  };
  expect_text(warning("1kB/s"),
              "leaf0->spine0 (1 kB/s) is 50,000,000 times slower than spine0->leaf0; routes of a "
              "fixed rule cross it all the same. A cable that is broken is \"down\": true");
  EXPECT_EQ(warning("100MB/s"), "");
}

// Two leaves of four GPUs below two spines, one cable of which has another bandwidth.
std::string leaf_spine_by_hand(const std::string& bandwidth) {
  return R"({"scenario": 1, "collective": {"op": "all-to-all", "size": "1MiB"},
             "cluster": {"devices": [{"id": "gpu", "kind": "gpu", "count": 8},
                                     {"id": "leaf", "kind": "switch", "count": 2},
                                     {"id": "spine", "kind": "switch", "count": 2}],
                         "links": [
      {"from": "gpu[0-3]", "to": "leaf0", "bandwidth": "50GB/s", "latency": "1us"},
      {"from": "gpu[4-7]", "to": "leaf1", "bandwidth": "50GB/s", "latency": "1us"},
      {"from": "leaf[0-1]", "to": "spine1", "bandwidth": "50GB/s", "latency": "1us"},
      {"from": "leaf1", "to": "spine0", "bandwidth": "50GB/s", "latency": "1us"},
      {"from": "leaf0", "to": "spine0", "latency": "1us", "bandwidth": ")" +
         bandwidth + R"("}]}})";
}

TEST(Warnings, OfEqualWaysOfAGraphOnlyTheWidestCarry) {
  const Studied slower = results_of(leaf_spine_by_hand("1kB/s"));
  expect_contains(slower.all_warnings(),
                  "50,000,000 times slower than leaf0->spine1; messages take the widest of "
                  "equally short ways, and cross it where no other is");
  const Studied narrower = results_of(leaf_spine_by_hand("49GB/s"));
  expect_contains(narrower.all_warnings(),
                  "leaf0->spine0 (49 GB/s) carries nothing: messages take the widest of equally "
                  "short ways, as by leaf0->spine1 (50 GB/s)");
  EXPECT_EQ(narrower.warning("far-slower-link"), "");
  expect_lacks(results_of(leaf_spine_by_hand("50GB/s")).all_warnings(), "carries nothing:");
  std::string one_way = leaf_spine_by_hand("50GB/s");
  one_way.insert(one_way.find(R"("links")"), R"("links_override": [{"from": "leaf1",
      "to": "spine0", "bandwidth": "49GB/s"}], )");
  expect_contains(results_of(one_way).all_warnings(),
                  "leaf1->spine0 (49 GB/s) carries nothing: messages take the widest of equally "
                  "short ways, as by leaf1->spine1 (50 GB/s)");
}

TEST(Warnings, AnOverrideThatNothingReads) {
  const auto study = [](const std::string& override, const std::string& collective = "",
                        const std::string& more = "") {
    return results_of(R"({"scenario": 1, "cluster": {"preset": "dgx-h100", "nodes": 2,
                          "override": {)" +
                      override + R"(}}, "collective": {"op": "all-reduce", "size": "8B")" +
                      collective + "}" + more + "}");
  };
  const auto warning = [&](const std::string& override, const std::string& collective = "") {
    return study(override, collective).warning("override-changes-nothing");
  };
  expect_text(warning(R"("nic.latency": "5us")"),
              "nic.latency of the override changes nothing: the algorithm nccl takes what a hop "
              "costs from \"protocols\", such as --set "
              "cluster.override.nic.protocols.LL.hop=5us");
  expect_contains(warning(R"("nic.latency": "5us", "nvlink.overhead": "1us")"),
                  "nic.latency, nvlink.overhead of the override change nothing");
  EXPECT_EQ(warning(R"("nic.protocols": {"LL": {"hop": "5us"}})"), "");
  EXPECT_EQ(warning(R"("nic.latency": "850ns")"), "") << "the preset's own";
  const std::string ring = R"(, "algorithm": "ring")";
  EXPECT_EQ(warning(R"("nic.latency": "5us")", ring), "");
  expect_text(warning(R"("nic.protocols": {"LL": {"hop": "5us"}})", ring),
              "nic.protocols of the override changes nothing: only the algorithm nccl reads what "
              "protocols cost");
  const Studied swept =
      study("", "", R"(, "sweep": {"cluster.override.nic.latency": ["1us", "5us"]})");
  EXPECT_EQ(swept.warning("override-changes-nothing"), "");
  expect_contains(swept.warning("sweep-changes-nothing"),
                  "because of NCCL's protocols \"protocols\" says what a hop costs");
}

TEST(Warnings, MeasurementsAreNotMade) {
  EXPECT_NE(results_of(lecture(R"(, "measure": {"backend": "nccl"})")).warning("not-measured"), "");
}

}  // namespace
}  // namespace collsim::testing
