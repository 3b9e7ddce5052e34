// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/json/screen_text.hpp"
#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

using nlohmann::json;

const std::string example = COLLSIM_SOURCE_DIR "/scenarios/measured/two-dgx-h100.log";
const std::string slow_example = COLLSIM_SOURCE_DIR "/scenarios/measured/two-dgx-h100-slow.log";

// All-reduce of 8 ranks on a box; what is not known is an empty column.
std::string table(const std::string& gpu, const std::string& rows, const std::string& ranks = "8",
                  const std::string& nodes = "1") {
  std::string text = "op,dtype,reduction,ranks,nodes,gpu,size,time_us,in_place_time_us,wrong\n";
  for (const std::string& row : split(rows, ' '))
    text += "all_reduce,float,sum," + ranks + "," + nodes + "," + gpu + "," + row + "\n";
  return text;
}

json compared(const std::vector<std::string>& arguments, int code = exit_fine) {
  std::vector<std::string> all{"compare"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), {"--format", "json", "--quiet"});
  const Ran ran = run_collsim(all);
  EXPECT_EQ(ran.code, code) << ran.err;
  return json::parse(ran.out, nullptr, false);
}

TEST(Compare, PredictsAsPredictDoes) {
  const json compare = compared({example});
  const Ran ran =
      run_collsim({"predict", "all-reduce", "-b", "1K", "-e", "2G", "-f", "8", "--preset",
                   "dgx-h100", "--nodes", "2", "--format", "json", "--quiet"});
  const json predict = json::parse(ran.out);
  ASSERT_EQ(compare["rows"].size(), 8U);
  ASSERT_EQ(predict["rows"].size(), 8U);
  for (std::size_t i = 0; i < 8; ++i)
    for (const char* key : {"size_bytes", "algorithm", "ranks", "time_s", "fingerprint"})
      EXPECT_EQ(compare["rows"][i][key], predict["rows"][i][key]) << key;
}

TEST(Compare, PutsMeasuredBesidePredicted) {
  const json compare = compared({example});
  const json& row = compare["rows"][2];
  EXPECT_EQ(row["size_bytes"], 65536);
  EXPECT_EQ(row["measured"]["time_s"], 35.62e-6);
  EXPECT_EQ(row["measured"]["ran"], "Tree/LL");
  EXPECT_EQ(row["measured"]["data"], "right");
  EXPECT_EQ(row["measured"]["average"], true);
  EXPECT_TRUE(row["measured"]["spread"].is_null()) << "a log does not say";
  EXPECT_EQ(row["measured"]["iters"], 20);
  const double error = row["time_s"].get<double>() / 35.62e-6 - 1;
  EXPECT_NEAR(row["measured"]["error"].get<double>(), error, 1e-12);
  for (const char* key : {"median_error", "p95_error", "worst_error"})
    EXPECT_GT(compare["comparison"][key].get<double>(), 0) << key;
  EXPECT_EQ(compare["warnings"][0]["code"], "log") << "that the preset is assumed";
  EXPECT_EQ(compared({example, "--in-place"})["rows"][2]["measured"]["time_s"], 35.87e-6);
}

TEST(Compare, ShowsErrorsAndLostBandwidth) {
  const Folder folder;
  const std::string log = folder.write("log.csv", table("x", "1048576,100,,0 8388608,400,,0"));
  const std::string machine =
      folder.write("machine.json", R"({"cluster": {"shape": "switch", "ranks": 8,
        "link": {"bandwidth": "100GB/s"}}, "collective": {"op": "all-reduce", "algorithm": "ring"},
        "sweep": {"collective.chunks": [1, 2]}})");
  const Ran ran = run_collsim({"compare", log, machine});
  EXPECT_EQ(ran.code, exit_fine);
  expect_text(ran.out.substr(ran.out.find("\n\n") + 2),
              "  size  predicted   measured  error  busbw: predicted    measured        lost\n"
              "  1MiB   18.35 us  100.00 us   -82%       100.00 GB/s  18.35 GB/s  81.65 GB/s\n"
              "  8MiB  146.80 us  400.00 us   -63%       100.00 GB/s  36.70 GB/s  63.30 GB/s\n"
              "\n"
              "2 rows: median error 72%, worst 82%\n"
              "furthest off: 1MiB -82%, 8MiB -63%\n"
              "busbw lost: 81.65 GB/s at 1MiB, 82% of the predicted 100 GB/s\n"
              "device: x\n");
  expect_contains(ran.out, "ring all-reduce; switch of 8 ranks");
}

TEST(Compare, FindsTheMachineByItsGpus) {
  const Folder folder;
  const std::string log =
      folder.write("log.csv", table("Tesla V100-SXM3-32GB", "1048576,100,,", "12"));
  const Ran ran = run_collsim({"compare", log});
  EXPECT_EQ(ran.code, exit_fine);
  expect_contains(ran.err,
                  "warning: assumed: preset dgx-2, because the GPUs are \"Tesla "
                  "V100-SXM3-32GB\"; --preset NAME says otherwise");
  EXPECT_EQ(compared({log})["scenario"]["collective"]["ranks"].size(), 12U);
  EXPECT_EQ(compared({log, "--preset", "h200", "--nodes", "2"})["scenario"]["collective"]["ranks"],
            json::parse("[0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13]"));
  const std::string other = folder.write("other.csv", table("Voodoo 2", "1048576,100,,"));
  const Ran unknown = run_collsim({"compare", other});
  EXPECT_EQ(unknown.code, exit_usage);
  expect_contains(unknown.err,
                  "other.csv:2: no preset is known for \"Voodoo 2\"; --preset NAME, or a "
                  "FILE with a \"cluster\"\n  presets: a100-nvlink-pair, ");
  expect_contains(run_collsim({"compare", other, "--preset", "dgx-h10"}).err,
                  "did you mean \"dgx-h100\"?");
}

TEST(Compare, SaysHowManyNodesItAssumes) {
  const Folder folder;
  const std::string log = folder.write("log.csv", table("H200", "1048576,100,,", "16", ""));
  expect_contains(
      run_collsim({"compare", log}).err,
      "assumed: 2 nodes, because the log does not say how many; --nodes N says otherwise");
  const std::string dense = folder.write("dense.csv", table("H200", "1048576,100,,", "16", "1"));
  expect_contains(run_collsim({"compare", dense}).err,
                  "16 ranks on 1 node, but a hgx-h200 has 8 GPUs; --nodes 2 has enough");
  const std::string uneven = folder.write("uneven.csv", table("H200", "1048576,100,,", "9", "2"));
  expect_contains(run_collsim({"compare", uneven}).err,
                  "9 ranks on 2 nodes are not as many on each");
  const std::string rack = folder.write("rack.csv", table("GB200", "1048576,100,,", "8", "2"));
  EXPECT_EQ(compared({rack})["scenario"]["cluster"]["nodes"], 1) << "its trays are one network";
}

TEST(Compare, AsksForExactlyWhatIsMissing) {
  const Folder folder;
  const std::string log =
      folder.write("log.csv", "size,time_us,dtype,gpu\n1048576,100,half,H200\n");
  const Ran ran = run_collsim({"compare", log});
  EXPECT_EQ(ran.code, exit_usage);
  EXPECT_EQ(ran.out, "");
  expect_contains(ran.err,
                  "collsim compare: the log does not say\n  " + log +
                      ":2: which collective ran? --op send-recv or --op all-gather or --op "
                      "all-to-all\n  " +
                      log + ":2: how many ranks took part? --ranks N\n");
  EXPECT_EQ(compared({log, "--op", "all_gather_perf", "--ranks", "8"})["rows"][0]["op"],
            "all-gather");
  const std::string other = folder.write("other.csv", "size,time_us,dtype\n1048576,100,half\n");
  expect_contains(run_collsim({"compare", other, "--ranks", "8"}).err,
                  ":2: which GPUs ran? --preset NAME, of \"collsim presets\"\n");
  expect_contains(run_collsim({"compare", log, "--op", "all-gahter"}).err,
                  "did you mean \"all-gather\"?");
  expect_contains(
      run_collsim({"compare", log, "--op", "reduce", "--ranks", "9", "--nodes", "2"}).err,
      "--ranks 9 on --nodes 2: not as many on each");
}

TEST(Compare, FailsBeyondTheLimits) {
  const auto code = [](const std::vector<std::string>& more) {
    std::vector<std::string> all{"compare", example, "--quiet"};
    all.insert(all.end(), more.begin(), more.end());
    return run_collsim(all).code;
  };
  EXPECT_EQ(code({"--max-error", "1%"}), exit_failed);
  EXPECT_EQ(code({"--max-error", "100000%"}), exit_fine);
  EXPECT_EQ(code({"--max-error", "1"}), exit_failed) << "percent";
  EXPECT_EQ(code({"--max-error", "7"}), exit_failed) << "percent";
  EXPECT_EQ(code({"--max-error", "8"}), exit_fine);
  EXPECT_EQ(code({"--max-error", "0.07"}), exit_failed) << "a part";
  EXPECT_EQ(code({"--max-error", "0.08"}), exit_fine);
  EXPECT_EQ(code({"--min-busbw", "300GB/s"}), exit_fine);
  EXPECT_EQ(code({"--min-busbw", "500GB/s"}), exit_failed);
  EXPECT_EQ(code({"--min-busbw", "99.9%"}), exit_failed);
  EXPECT_EQ(code({"--min-busbw", "0%"}), exit_fine);
  EXPECT_EQ(code({"--min-busbw", "fast"}), exit_usage);
  expect_contains(run_collsim({"compare", example, "--min-busbw", "500GB/s"}).err,
                  "the largest busbw is 465.8 GB/s, less than 500GB/s");
}

TEST(Compare, SaysWhereAMachineIsBelowItsClass) {
  const std::string said = "below its class: ";
  expect_lacks(run_collsim({"compare", example}).out, said);
  const Ran slow = run_collsim({"compare", slow_example});
  expect_contains(slow.out, "\n" + said + "from 32MiB on busbw is ");
  expect_contains(slow.out, "Check that each GPU uses a NIC near to it");
  expect_lacks(run_collsim({"compare", slow_example, "--network", "tcp"}).out, said);
  expect_lacks(run_collsim({"compare", slow_example, "--algorithm", "ring"}).out, said);
}

TEST(Compare, DoubtsTheMachine) {
  const Folder folder;
  const std::string log = folder.write("log.csv", table("H200", "1048576,100,,"));
  const Ran other = run_collsim({"compare", log, "--preset", "dgx-a100"});
  expect_contains(other.err,
                  "assumed: \"H200\", as the log calls its GPUs, are as fast as those of dgx-a100");
  expect_lacks(other.out, "how sure");
  expect_lacks(run_collsim({"compare", log, "--preset", "dgx-h100"}).err, "as fast as");
  const std::string one = folder.write("one.csv", table("H200", "1048576,100,,", "1"));
  const Ran alone = run_collsim({"compare", one});
  EXPECT_EQ(alone.code, exit_usage);
  expect_contains(alone.err, "one rank sends nothing, so there is nothing to predict");
}

TEST(Compare, TakesElementsOfFourBytesWhereNobodySaysTheType) {
  const Folder folder;
  const std::string log =
      folder.write("log.csv", "op,ranks,nodes,gpu,size,time_us\nall_reduce,8,1,H100,1048576,30\n");
  const Ran ran = run_collsim({"compare", log});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  expect_contains(ran.err, "assumed: the elements are float32, as of nccl-tests");
  const Ran half = run_collsim({"compare", log, "--dtype", "f8e4m3"});
  EXPECT_EQ(half.code, exit_fine) << half.err;
  expect_lacks(half.err, "float32");
  expect_contains(half.err, "f8e4m3 is taken as int8");
}

// As PowerShell's > writes it.
TEST(Compare, ReadsALogInUtf16) {
  const Folder folder;
  std::string wide = "\xFF\xFE";
  std::ifstream file(example, std::ios::binary);
  for (const char c : std::string(std::istreambuf_iterator<char>(file), {})) wide += {c, '\0'};
  const std::string log = folder.write("run.log", wide);
  EXPECT_EQ(compared({log})["rows"].size(), compared({example})["rows"].size());
}

TEST(Compare, NamesBothWhereAnOptionContradictsTheLog) {
  const auto err = [](const std::string& option, const std::string& value) {
    return run_collsim({"compare", example, option, value}).err;
  };
  const std::string place = ", which the log says";
  expect_contains(err("--op", "broadcast"), "--op broadcast takes the place of all-reduce" + place);
  expect_contains(err("--dtype", "half"), "--dtype float16 takes the place of float32" + place);
  expect_contains(err("--gpu", "A100-SXM4"),
                  "--gpu A100-SXM4 takes the place of NVIDIA H100 80GB HBM3" + place);
  expect_contains(err("--nodes", "4"), "--nodes 4 takes the place of 2" + place);
  expect_lacks(err("--gpu", "h100"), "takes the place");
  expect_lacks(err("--op", "all_reduce_perf"), "takes the place");
}

double predicted_s(std::vector<std::string> machine, const char* nodes) {
  std::vector<std::string> words{"predict", "all-reduce", "-b",       "1G",  "--nodes",
                                 nodes,     "--quiet",    "--format", "json"};
  words.insert(words.end(), machine.begin(), machine.end());
  return json::parse(run_collsim(words).out)["rows"][0]["time_s"];
}

// Two nodes alone do not show their NVLinks, which hardly ever are the fault.
TEST(CalibrateTables, TakesSlowNodesForASlowNetwork) {
  const Folder folder;
  const std::string to = folder.path("machine.json");
  const std::string log = COLLSIM_SOURCE_DIR "/scenarios/measured/two-dgx-h100-slow.log";
  const Ran ran = run_collsim({"calibrate", "--from", log, "-o", to});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  const std::vector<std::string> fitted{"--machine", to}, usual{"--preset", "dgx-h100"};
  EXPECT_NEAR(predicted_s(fitted, "1") / predicted_s(usual, "1"), 1, 0.1);
  EXPECT_GT(predicted_s(fitted, "2") / predicted_s(usual, "2"), 2);
  EXPECT_EQ(run_collsim({"compare", log, to, "--max-error", "20%", "--quiet"}).code, exit_fine);
}

TEST(CalibrateTables, FindsThePresetByTheGpus) {
  const Folder folder;
  const std::string to = folder.path("machine.json");
  const std::string log = folder.write("h100.csv", table("NVIDIA H100 SXM", "1024,20,,", "2"));
  const Ran found = run_collsim({"calibrate", "--from", log, "-o", to});
  EXPECT_EQ(found.code, exit_fine) << found.err;
  expect_contains(found.err, "preset dgx-h100, because the GPUs are \"NVIDIA H100 SXM\"");
  expect_contains(folder.read("machine.json"), "\"preset\": \"dgx-h100\"");
  expect_contains(folder.read("machine.json"), "\"fitted\": { \"logs\": 1, \"rows\": 1, ");
  const Ran wrong = run_collsim({"calibrate", "--from", log, "--preset", "dgx-a100", "-o", to});
  EXPECT_EQ(wrong.code, exit_fine) << wrong.err;
  expect_contains(wrong.err,
                  "the log calls its GPUs \"NVIDIA H100 SXM\", which are none of dgx-a100");
  const std::string other = folder.write("log.csv", table("NVIDIA L40S", "1048576,100,,"));
  const Ran two = run_collsim({"calibrate", "--from", log, other, "-o", to});
  EXPECT_EQ(two.code, exit_usage);
  expect_contains(two.err, "is of l40s, but ");
  const std::string unknown = folder.write("log.csv", table("abacus", "1048576,100,,"));
  const Ran none = run_collsim({"calibrate", "--from", unknown});
  EXPECT_EQ(none.code, exit_usage);
  expect_contains(none.err, "no preset is known for \"abacus\"; say which machine it was");
}

TEST(Compare, TakesTheNetworkOfTheLog) {
  const Folder folder;
  std::ifstream file(example);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string before = "node-a:4100:4188 [0] NCCL INFO NCCL version";
  const auto network = [&](const std::string& line, const std::vector<std::string>& more = {}) {
    std::string changed = text;
    changed.replace(changed.find(before), 0, "node-a:4100:4188 [0] NCCL INFO " + line + "\n");
    std::vector<std::string> arguments{folder.write("net.log", changed)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return compared(arguments)["scenario"]["cluster"].value("network", "");
  };
  EXPECT_EQ(network("Using network Socket"), "tcp");
  EXPECT_EQ(network("NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]"), "roce");
  EXPECT_EQ(network("Using network AWS Libfabric"), "efa");
  EXPECT_EQ(network("Using network Socket", {"--network", "roce"}), "roce");
  expect_contains(run_collsim({"compare", example}).err,
                  "assumed: network ib, which is that of dgx-h100; --network KIND says otherwise");
}

TEST(Compare, TakesTheNetworkOfATablesClass) {
  const Folder folder;
  const std::string table = folder.write("a.json", R"({ "measured": 1, "op": "all-reduce",
    "ranks": 16, "nodes": 2, "dtype": "float32", "preset": "dgx-a100", "class": "multi-node RoCE",
    "rows": [ { "size_bytes": 1048576, "time_s": 1e-4 } ] })");
  const json results = json::parse(run_collsim({"compare", table, "--format", "json"}).out);
  EXPECT_EQ(results["scenario"]["cluster"].value("network", ""), "roce");
}

TEST(Compare, TellsOfWrongData) {
  const Folder folder;
  const std::string log = folder.write("log.csv", table("H200", "1048576,100,,3"));
  const Ran ran = run_collsim({"compare", log});
  EXPECT_EQ(ran.code, exit_wrong_data);
  expect_contains(ran.out, "3 elements were wrong");
}

TEST(Compare, TellsOfWrongDataInPlaceAndAtTheEnd) {
  const Folder folder;
  const std::string in_place =
      folder.write("in_place.csv",
                   "op,dtype,ranks,nodes,gpu,size,time_us,in_place_time_us,wrong,in_place_wrong\n"
                   "all_reduce,float,8,1,H200,1048576,100,100,0,7\n");
  const Ran ran = run_collsim({"compare", in_place});
  EXPECT_EQ(ran.code, exit_wrong_data);
  expect_contains(ran.out, "7 elements were wrong in place");
  std::ifstream file(example);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string right = "# Out of bounds values : 0 OK";
  ASSERT_NE(text.find(right), std::string::npos);
  text.replace(text.find(right), right.size(), "# Out of bounds values : 12 FAILED");
  for (const char* format : {"table", "json"}) {
    const Ran end =
        run_collsim({"compare", folder.write("end.log", text), "--format", format, "--quiet"});
    EXPECT_EQ(end.code, exit_wrong_data) << format;
  }
}

TEST(CalibrateTables, AssumesNodesAsCompareDoes) {
  const Folder folder;
  const std::string to = folder.path("machine.json");
  const std::string log = folder.write("log.csv", table("H100", "1048576,100,,", "16", ""));
  const Ran ran = run_collsim({"calibrate", "--from", log, "-o", to});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  expect_contains(ran.err, " ran on 2 nodes, because the log does not say how many; --nodes N");
  expect_contains(folder.read("machine.json"), "\"nodes\": 2");
  EXPECT_EQ(run_collsim({"compare", log, to, "--quiet"}).code, exit_fine);
}

TEST(Compare, TakesEveryRunOfAPaste) {
  const Folder folder;
  std::string paste;
  for (int i = 0; i < 2; ++i) {
    std::ifstream file(example);
    paste.append(std::istreambuf_iterator<char>(file), {});
  }
  const std::string log = folder.write("two.log", paste);
  const json both = compared({log});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0]["rows"].size(), 8U);
  EXPECT_EQ(both[0]["rows"][0]["time_s"], both[1]["rows"][0]["time_s"]);
  expect_contains(run_collsim({"compare", log}).out, "# " + log + ":67");
}

TEST(Compare, RefusesAMachineOfOtherRanks) {
  const Folder folder;
  const std::string machine = folder.write("machine.json", chain_scenario());
  const Ran ran = run_collsim({"compare", example, machine});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "the log has 16 ranks, but " + machine + " has 4");
  EXPECT_EQ(run_collsim({"compare", example, machine, "--set", "cluster.ranks=16"}).code,
            exit_fine);
  const std::string none = folder.write("none.json", R"({"model": {}})");
  expect_contains(run_collsim({"compare", example, none}).err, "has no \"cluster\"");
}

TEST(Compare, DrawsAPageAndWritesResults) {
  const Folder folder;
  const Ran ran = run_collsim({"compare", example, "-q", "-o", folder.path("a.html"), "-o",
                               folder.path("a.json"), "-o", folder.path("a.csv")});
  EXPECT_EQ(ran.code, exit_fine) << ran.err;
  EXPECT_EQ(ran.out, "");
  expect_contains(folder.read("a.html"), "<html");
  expect_contains(folder.read("a.csv"), "measured_ran");
  EXPECT_EQ(run_collsim({"report", folder.path("a.json"), "-o", folder.path("b.html")}).code,
            exit_fine);
  const Ran results = run_collsim({"compare", folder.path("a.json")});
  EXPECT_EQ(results.code, exit_usage);
  expect_contains(results.err,
                  "holds results of collsim; a scenario compares with them by \"measure\"");
  expect_contains(run_collsim({"compare", folder.path("a.csv"), "-o", folder.path("a.csv")}).err,
                  "would overwrite");
}

// The same log by way of a scenario's measure.file.
TEST(Compare, AgreesWithValidate) {
  const Folder folder;
  std::ifstream file(example);
  folder.write("run.log", {std::istreambuf_iterator<char>(file), {}});
  const std::string scenario = folder.write("case.json", R"({"scenario": 1,
    "cluster": {"preset": "dgx-h100", "nodes": 2},
    "collective": {"op": "all-reduce", "size": "64KiB"},
    "measure": {"file": "run.log"}})");
  const Ran ran = run_collsim({"validate", scenario, "--format", "json", "--quiet"});
  ASSERT_EQ(ran.code, exit_fine) << ran.err;
  const json row = json::parse(ran.out)["rows"][0];
  const json other = compared({example})["rows"][2];
  EXPECT_EQ(row["time_s"], other["time_s"]);
  EXPECT_EQ(row["measured"]["error"], other["measured"]["error"]);
}

}  // namespace
}  // namespace collsim
