// SPDX-License-Identifier: Apache-2.0
//
// MSCCL files as users meet them: written by one command, taken by the others.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

using nlohmann::json;

// Four ranks on a switch; `collective` has the rest.
std::string on_a_switch(const std::string& collective) {
  return R"({ "scenario": 1, "cluster": { "shape": "switch", "ranks": 4,
    "link": { "bandwidth": "25GB/s", "overhead": "2us", "latency": "1us" } },
  "collective": { "op": "all-reduce", "size": "96KiB", )" +
         collective + "} }\n";
}

json first_row(const std::string& file) {
  const Ran ran = run_collsim({"run", file, "--format", "json"});
  EXPECT_EQ(ran.code, exit_fine) << ran.err << ran.out;
  return json::parse(ran.out)["rows"][0];
}

class MscclFiles : public ::testing::Test {
 protected:
  // In its own folder, as `algorithm`.xml.
  std::string exported(const std::string& algorithm) {
    const std::string scenario = folder_.write(
        "ours.json", on_a_switch("\"chunks\": 2, \"algorithm\": \"" + algorithm + "\""));
    const Ran ran =
        run_collsim({"export", "msccl", scenario, "-o", folder_.path(algorithm + ".xml")});
    EXPECT_EQ(ran.code, exit_fine) << ran.err;
    return scenario;
  }
  std::string importing(const std::string& file, const std::string& more = "") {
    return folder_.write("theirs.json",
                         on_a_switch("\"algorithm\": { \"msccl\": \"" + file + "\" }" + more));
  }
  Folder folder_;
};

TEST_F(MscclFiles, TakeTheSameTimesAsWhatTheyWereMadeOf) {
  for (const char* algorithm : {"ring", "double-tree", "halving-doubling", "two-shot"}) {
    const json ours = first_row(exported(algorithm));
    const json theirs = first_row(importing(std::string(algorithm) + ".xml"));
    EXPECT_EQ(ours["fingerprint"], theirs["fingerprint"]) << algorithm;
    EXPECT_EQ(ours["time_s"], theirs["time_s"]) << algorithm;
    EXPECT_EQ(theirs["algorithm"], "msccl:" + folder_.path(std::string(algorithm) + ".xml"));
  }
}

TEST_F(MscclFiles, AreTakenByEveryCommandAboutOneCase) {
  exported("ring");
  const std::string file = importing("ring.xml");
  expect_contains(run_collsim({"check", file}).out, "1 of 1 schedules proved");
  expect_contains(run_collsim({"explain", file}).out, "\"ring\" for 4 ranks, Simple, 8 blocks");
  const Ran shown = run_collsim({"show", file});
  EXPECT_EQ(shown.code, exit_fine) << shown.err;
  expect_contains(shown.out, "shown with 8 elements");
  EXPECT_EQ(run_collsim({"trace", file, "-o", folder_.path("trace.json")}).code, exit_fine);
  EXPECT_EQ(run_collsim({"run", file, "--set", "collective.chunks=3"}).code, exit_fine);
  EXPECT_EQ(run_collsim({"check", file, "--set", "collective.chunks=3"}).code, exit_fine);
}

TEST_F(MscclFiles, ComeBackFromAResultsFile) {
  exported("ring");
  const std::string results = folder_.path("results.json");
  ASSERT_EQ(run_collsim({"run", importing("ring.xml"), "-o", results}).code, exit_fine);
  const Ran report = run_collsim({"report", results, "-o", folder_.path("report.html")});
  EXPECT_EQ(report.code, exit_fine) << report.err;
}

TEST_F(MscclFiles, StandBesideOthersInASweep) {
  exported("ring");
  const std::string file =
      folder_.write("sweep.json", R"({ "scenario": 1, "cluster": { "shape": "switch", "ranks": 4,
    "link": { "bandwidth": "25GB/s" } }, "collective": { "op": "all-reduce", "size": "96KiB" },
    "sweep": { "collective.algorithm": [{ "msccl": "ring.xml" }, "two-shot"] },
    "expect": [{ "id": "of-the-file", "when": { "collective.algorithm": { "msccl": "ring.xml" } },
                 "metric": "messages", "equals": 48 }] })");
  const Ran ran = run_collsim({"run", file});
  EXPECT_EQ(ran.code, exit_fine) << ran.err << ran.out;
  expect_contains(ran.out, "msccl:" + folder_.path("ring.xml"));
  expect_lacks(ran.out, "chosen");
}

TEST_F(MscclFiles, ThatAreWrongAreWarnedAboutAndRefused) {
  exported("ring");
  std::string text = folder_.read("ring.xml");
  text.replace(text.find("type=\"rrs\""), 10, "type=\"rcs\"");
  folder_.write("wrong.xml", text);
  const std::string file = importing("wrong.xml");
  const Ran run = run_collsim({"run", file});
  EXPECT_EQ(run.code, exit_fine);
  expect_contains(run.err, "wrong.xml does not do what it says");
  const Ran check = run_collsim({"check", file});
  EXPECT_EQ(check.code, exit_failed);
  expect_contains(check.out, "REFUSED");
  expect_contains(check.out, "wrong.xml, in chunks: gpu ");
  expect_contains(check.out, "(line ");
  const Ran as_json = run_collsim({"check", file, "--format", "json"});
  expect_contains(std::string(json::parse(as_json.out)["proofs"][0]["fault"]["in_file"]),
                  "in chunks");
}

TEST_F(MscclFiles, SayForWhichSizesTheyAre) {
  exported("ring");
  std::string text = folder_.read("ring.xml");
  text.replace(text.find("maxBytes=\"2147483647\""), 21, "maxBytes=\"65536\"");
  folder_.write("small.xml", text);
  expect_contains(run_collsim({"run", importing("small.xml")}).err,
                  "small.xml from 0 B to 64 KiB only");
}

TEST_F(MscclFiles, FitTheirScenario) {
  exported("ring");
  const std::string file = importing("ring.xml");
  const auto refusal = [&](const std::string& set) {
    const Ran ran = run_collsim({"run", file, "--set", set});
    EXPECT_EQ(ran.code, exit_usage) << set;
    return ran.err;
  };
  expect_contains(refusal("collective.op=all-gather"),
                  "holds a program for all-reduce, not for all-gather at /collective/algorithm");
  expect_contains(refusal("cluster.ranks=5"), "holds programs for 4 ranks, not 5");
  expect_contains(refusal("collective.in_place=true"), "for buffers that are not in place");
  expect_contains(refusal("collective.size=100B"), "use 96B or 128B at /collective/size");
  expect_contains(refusal("collective.channels=2"), "which has its own channels");
  expect_contains(refusal("collective.radix=2"), "is only for");
  expect_contains(refusal(R"(collective.algorithm={"mscl":"ring.xml"})"),
                  "did you mean \"msccl\"?");
  expect_contains(refusal(R"(collective.algorithm={"msccl":"no-such.xml"})"), "no-such.xml");
}

TEST_F(MscclFiles, AreRefusedWithLineAndColumn) {
  exported("ring");
  const std::string text = folder_.read("ring.xml");
  folder_.write("cut.xml", text.substr(0, text.size() / 2));
  const Ran ran = run_collsim({"run", importing("cut.xml")});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "cut.xml:");
  expect_contains(ran.err, "the file is cut off: it ends inside");
}

TEST_F(MscclFiles, ExportSaysWhatDoesNotFit) {
  const std::string scenario =
      folder_.write("a.json", on_a_switch("\"algorithm\": \"ring\", \"chunks\": 200"));
  const Ran ran = run_collsim({"export", "msccl", scenario});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "needs more than 256 steps");
  EXPECT_EQ(ran.out, "");
  expect_contains(
      run_collsim({"export", "msccl", scenario, "--minbytes", "2M", "--maxbytes", "1M"}).err,
      "--minbytes is larger than --maxbytes");
  expect_contains(run_collsim({"export", "msccl", scenario, "--maxbytes", "1X"}).err,
                  "--maxbytes 1X");
}

std::string on_dgx(const std::string& cluster, const std::string& algorithm) {
  return R"({ "scenario": 1, "cluster": { "preset": "dgx-h100")" + cluster + R"( },
  "collective": { "op": "all-reduce", "size": "64KiB", "algorithm": )" +
         algorithm + " } }\n";
}

// What a file would leave out is half of the algorithm.
TEST_F(MscclFiles, ExportRefusesWhatSwitchesDo) {
  const auto said = [&](const std::string& cluster, const std::string& algorithm) {
    const Ran ran =
        run_collsim({"export", "msccl", folder_.write("a.json", on_dgx(cluster, algorithm))});
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  const std::string two = R"(, "nodes": 2)", adding = R"(, "nodes": 2, "sharp": true)";
  const std::string node = "here NVSwitches add and multicast";
  expect_contains(said("", R"("nvls")"), "nvls does not fit into an MSCCL file: " + node);
  expect_contains(said(two, R"("nvls")"), node);
  expect_contains(said(two, R"("nvls-sharp")"), node);
  expect_contains(said(adding, R"("nvls-sharp")"), "here the network's switches add");
  expect_contains(said(adding, R"("collnet-chain")"), "here the network's switches add");
}

TEST_F(MscclFiles, NameTheProtocolThatNcclTakes) {
  const std::string scenario = folder_.write("a.json", on_dgx("", R"("nccl")"));
  const auto proto = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"export", "msccl", scenario};
    words.insert(words.end(), more.begin(), more.end());
    return run_collsim(words).out;
  };
  expect_contains(proto({}), R"(<algo name="ring" proto="LL" )");
  expect_contains(proto({"--protocol", "Simple"}), R"(<algo name="ring" proto="Simple" )");
}

TEST_F(MscclFiles, OutsideOfTheFolderAreOneMistake) {
  const Ran ran = run_collsim({"run", importing("/nowhere/x.xml")});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "leaves the folder of the scenario");
  expect_contains(ran.err, "1 error;");
}

TEST_F(MscclFiles, HaveNoMoreChannelsThanMsccl) {
  exported("ring");
  std::string text = folder_.read("ring.xml");
  const std::string one = R"(nchannels="1")";
  text.replace(text.find(one), one.size(), R"(nchannels="33")");
  folder_.write("many.xml", text);
  const Ran ran = run_collsim({"run", importing("many.xml")});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "nchannels");
}

}  // namespace
}  // namespace collsim
