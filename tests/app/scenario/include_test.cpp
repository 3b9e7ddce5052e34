// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/include.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "app/json/value.hpp"
#include "app/scenario/scenario.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

namespace fs = std::filesystem;

class Include : public ::testing::Test {
 protected:
  Include() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Include() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  // The merged document, or the mistakes with the folder left out.
  std::string read(const std::string& name) {
    Sources sources;
    Diagnostics diagnostics;
    const auto document = read_with_includes((folder_ / name).string(), sources, diagnostics);
    if (diagnostics.empty()) return to_json(*document, -1);
    std::string text;
    for (const Diagnostic& d : diagnostics.sorted()) {
      text += text.empty() ? "" : " | ";
      if (d.place.source != SourceRange::nowhere) text += sources.describe(d.place) + ": ";
      text += d.message + (d.pointer.empty() ? "" : " at " + d.pointer);
      text += d.hint.empty() ? "" : "; " + d.hint;
    }
    for (std::size_t at = 0; (at = text.find(prefix())) != std::string::npos;)
      text.erase(at, prefix().size());
    return text;
  }
  std::string prefix() const { return folder_.string() + "/"; }

  fs::path folder_ =
      fs::canonical(fs::temp_directory_path()) / ("collsim-include-" + std::to_string(::getpid()));
};

TEST_F(Include, FilesMergeDeeplyUnderTheOneThatNamesThem) {
  write("a.json",
        R"({"cluster": {"link": {"bandwidth": "1GB/s", "latency": "1us"}}, "x": [1, 2]})");
  write("b.json", R"({"cluster": {"link": {"bandwidth": "2GB/s"}, "ranks": 2}, "y": 1})");
  write("top.json", R"({"scenario": 1, "include": ["a.json", "b.json"],
                        "cluster": {"ranks": 4}, "x": [3]})");
  EXPECT_EQ(read("top.json"),
            R"({"scenario":1,"cluster":{"ranks":4,"link":{"bandwidth":"2GB/s","latency":"1us"}},)"
            R"("x":[3],"y":1})");
}

// As collsim-mpi calibrate writes it.
TEST_F(Include, MeasurementsOfAMachineStayInItsFile) {
  write("machine.json", R"({"scenario": 1, "cluster": {"ranks": 2}, "measured": {"raw": []}})");
  write("top.json", R"({"scenario": 1, "include": ["machine.json"]})");
  EXPECT_EQ(read("top.json"), R"({"scenario":1,"cluster":{"ranks":2}})");
  write("top.json", R"({"scenario": 1, "measured": 1})");
  EXPECT_EQ(read("top.json"), R"({"scenario":1,"measured":1})") << "an unknown key, for others";
}

TEST_F(Include, NamesAreRelativeToTheIncludingFile) {
  write("common/link.json", R"({"include": ["deep/er.json"], "a": 1})");
  write("common/deep/er.json", R"({"scenario": 1, "b": 2})");
  write("top.json", R"({"scenario": 1, "include": ["./common/link.json"]})");
  EXPECT_EQ(read("top.json"), R"({"scenario":1,"a":1,"b":2})");
}

TEST_F(Include, AMistakeInAnIncludedFileNamesThatFile) {
  write("link.json", "{\"cluster\": {\n  \"rnks\": 4}}");
  const std::string top = write("top.json", R"({"scenario": 1, "include": ["link.json"],
                      "cluster": {"shape": "ring", "ranks": 4, "link": {"bandwidth": "1GB/s"}},
                      "collective": {"op": "broadcast", "size": "4B"}})");
  Sources sources;
  Diagnostics diagnostics;
  EXPECT_FALSE(load_scenario(top, {}, sources, diagnostics));
  ASSERT_EQ(diagnostics.size(), 1);
  EXPECT_EQ(sources.describe(diagnostics.sorted()[0].place), prefix() + "link.json:2:3");
}

TEST_F(Include, MayGoUpToTheFolderCalledScenarios) {
  write("scenarios/common/link.json", R"({"a": 1})");
  write("scenarios/lecture/top.json", R"({"scenario": 1, "include": ["../common/link.json"]})");
  EXPECT_EQ(read("scenarios/lecture/top.json"), R"({"scenario":1,"a":1})");
}

TEST_F(Include, MustNotLeaveTheScenarios) {
  write("secret.json", R"({"a": 1})");
  write("scenarios/lecture/top.json", R"({"scenario": 1, "include": ["../../secret.json"]})");
  expect_contains(read("scenarios/lecture/top.json"),
                  "top.json:1:29: include \"../../secret.json\" leaves the scenarios at "
                  "/include/0; included files must lie in ");
  write("plain/top.json", R"({"scenario": 1, "include": ["../secret.json"]})");
  expect_contains(read("plain/top.json"), "leaves the scenarios");
  write("plain/root.json", R"({"scenario": 1, "include": ["/etc/hostname"]})");
  expect_contains(read("plain/root.json"), "must not be an absolute path");
}

TEST_F(Include, MustNotLeaveTheScenariosThroughALink) {
  write("secret.json", R"({"a": 1})");
  write("plain/top.json", R"({"scenario": 1, "include": ["inside.json"]})");
  fs::create_symlink(folder_ / "secret.json", folder_ / "plain/inside.json");
  expect_contains(read("plain/top.json"), "leaves the scenarios");
}

TEST_F(Include, CirclesAreRefused) {
  write("a.json", R"({"include": ["b.json"]})");
  write("b.json", R"({"include": ["a.json"]})");
  write("top.json", R"({"scenario": 1, "include": ["a.json"]})");
  expect_text(read("top.json"),
              "b.json:1:14: include \"a.json\" is circular at /include/0; a.json "
              "includes b.json includes a.json");
}

TEST_F(Include, TheSameFileTwiceIsNoCircle) {
  write("a.json", R"({"a": 1})");
  write("top.json", R"({"scenario": 1, "include": ["a.json", "a.json"]})");
  EXPECT_EQ(read("top.json"), R"({"scenario":1,"a":1})");
}

TEST_F(Include, DepthAndNumberAreLimited) {
  for (int i = 0; i < 20; ++i)
    write("deep" + std::to_string(i) + ".json",
          "{\"scenario\": 1, \"include\": [\"deep" + std::to_string(i + 1) + ".json\"]}");
  expect_text(read("deep0.json"), "deep16.json:1:29: includes are more than 16 deep at /include/0");
  // Every level doubles the number of files.
  write("wide15.json", "{}");
  for (int i = 0; i < 15; ++i) {
    const std::string next = "\"wide" + std::to_string(i + 1) + ".json\"";
    write("wide" + std::to_string(i) + ".json",
          "{\"scenario\": 1, \"include\": [" + next + ", " + next + "]}");
  }
  expect_contains(read("wide0.json"), "more than 100 files are included");
}

TEST_F(Include, WhatCannotBeReadIsSaid) {
  fs::create_directories(folder_ / "folder.json");
  write("top.json", R"({"scenario": 1, "include": ["none.json", "folder.json", 3, ""]})");
  expect_text(read("top.json"),
              "top.json:1:29: cannot read none.json: no such file at /include/0; an "
              "include is relative to the file that names it | "
              "top.json:1:42: cannot read folder.json: it is a folder at /include/1; an include is "
              "relative to the file that names it | "
              "top.json:1:57: an include is the name of a file at /include/2 | "
              "top.json:1:60: an include is the name of a file at /include/3");
  write("word.json", R"({"scenario": 1, "include": "none.json"})");
  expect_text(read("word.json"),
              "word.json:1:28: \"include\" is a list of files, not a string at /include; write "
              "\"include\": [\"common/links.json\"]");
  expect_text(read("none.json"), "cannot read none.json: no such file");
  expect_text(read("folder.json"), "cannot read folder.json: it is a folder");
}

TEST_F(Include, WhatIsNotUtf8IsSaid) {
  write("latin1.json", "{\"scenario\": 1,\n \"title\": \"\xE9t\xE9\"}");
  expect_text(read("latin1.json"),
              "latin1.json:2:12: the file is not UTF-8 text; save it as UTF-8");
  write("overlong.json", "{\"\xC0\xAF\": 1}");
  expect_contains(read("overlong.json"), "not UTF-8");
  write("cut.json", "\"\xE2\x82");
  expect_contains(read("cut.json"), "not UTF-8");
  write("fine.json", "{\"scenario\": 1, \"title\": \"\xC2\xB5s \xE2\x82\xAC \xF0\x9F\x98\x80\"}");
  expect_lacks(read("fine.json"), "not UTF-8");
}

TEST_F(Include, FilesOfOtherProgramsAreNamed) {
  const auto said = [&](const std::string& text) {
    write("other.txt", text);
    return read("other.txt");
  };
  const std::string begin = "other.txt:1:1: this is ";
  expect_text(said("<system version=\"1\"><cpu numaid=\"0\"/></system>"),
              begin +
                  "a topology that NCCL wrote, not a scenario; collsim topo import FILE reads it; "
                  "a scenario takes it as \"cluster\": {\"nccl_topo\": \"FILE\"}");
  expect_contains(said("\n<?xml version=\"1.0\"?>\n<algo name=\"x\">"),
                  begin + "an MSCCL file, not a scenario; ");
  expect_contains(said("# nThread 1 nGpus 8 minBytes 8"),
                  begin + "a log of nccl-tests, not a scenario; collsim compare FILE");
  expect_contains(said("      GPU0  GPU1\nGPU0   X   NV12\n"),
                  begin + "a table of links between GPUs, not a scenario; collsim topo import");
  expect_contains(said(R"({"traceEvents": []})"), "a trace, not a scenario; collsim import FILE");
  expect_contains(said(R"([{"measured": 1, "rows": []}])"),
                  "a measured table, not a scenario; collsim compare FILE");
  expect_contains(said(R"({"collsim": "0.1.0", "format": 1, "scenario": {"scenario": 1}})"),
                  "a file of results, not a scenario; collsim report FILE");
  const std::string hint = ", not a scenario; collsim run SCENARIO -o results.json";
  expect_contains(said("op,busbw_bytes_per_s,engine,fingerprint,measured\nall-reduce,1,event,0,"),
                  begin + "a table of rows as CSV" + hint);
  expect_contains(said("{\"params\":{},\"op\":\"barrier\"}\n{\"params\":{}}"),
                  begin + "a list of rows as JSON lines" + hint);
  expect_lacks(said("{\"scenario\": 1, \"title\": \"nThread\"}"), "this is");
  expect_lacks(said("// busbw\n{\"scenario\": 1}"), "this is");
}

TEST_F(Include, TheVersionMustBeOne) {
  write("none.json", "{\"name\": \"a\"}");
  expect_text(read("none.json"),
              "none.json:1:1: the key \"scenario\" is missing; write \"scenario\": 1, the version "
              "of the format");
  write("two.json", "{\"scenario\": 2, \"name\": 3}");
  expect_text(read("two.json"),
              "two.json:1:14: unknown format version 2 at /scenario; this program reads version 1: "
              "write \"scenario\": 1");
  write("top.json", R"({"scenario": 1, "include": ["two.json"]})");
  expect_text(read("top.json"),
              "two.json:1:14: unknown format version 2 at /scenario; this program reads version 1: "
              "write \"scenario\": 1");
  write("list.json", "[]");
  expect_text(read("list.json"),
              "list.json:1:1: a scenario is an object, not an array; begin with {\"scenario\": 1, "
              "\"cluster\": ...}");
}

TEST(Merged, LargeObjectsMergeInTheTimeOfASort) {
  JsonValue over = JsonValue::object();
  JsonValue under = JsonValue::object();
  for (int i = 0; i < 100'000; ++i) {
    over.members().push_back({"a" + std::to_string(i), {}, JsonValue(i)});
    under.members().push_back({"a" + std::to_string(i + 50'000), {}, JsonValue(-1)});
  }
  const JsonValue both = merged(std::move(over), std::move(under));
  EXPECT_EQ(both.members().size(), 150'000);
  EXPECT_EQ(both.members()[99'999].value.integer(), 99'999);
  EXPECT_EQ(both.members().back().value.integer(), -1);
}

}  // namespace
}  // namespace collsim
