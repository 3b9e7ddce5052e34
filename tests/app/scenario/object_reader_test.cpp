// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/object_reader.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "app/json/parse_json.hpp"
#include "app/json/value.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

struct Result {
  std::string resolved;
  std::string mistakes;
};

// Reads `text` as the object at `pointer` with `read`, then finishes.
Result read(std::string text, const std::function<void(ObjectReader&)>& read,
            const std::string& pointer = "/link") {
  Sources sources;
  Diagnostics diagnostics;
  const auto source = sources.add(Sources::Kind::file, "f.json", std::move(text));
  const auto value = parse_json(source, sources, diagnostics);
  EXPECT_TRUE(value);
  if (!value) return {};
  ObjectReader reader(*value, pointer, diagnostics);
  read(reader);
  Result result;
  result.resolved = to_json(reader.finish(), -1);
  result.mistakes = to_text(diagnostics, sources);
  return result;
}

std::string mistakes(std::string text, const std::function<void(ObjectReader&)>& reading) {
  return read(std::move(text), reading).mistakes;
}

const Vocabulary shapes{"shape",
                        {"chain", "ring", "fully-connected", "two-shot"},
                        {{"line", "chain"}, {"alltoall", "fully-connected"}}};

TEST(Vocabulary, ForgivesCaseHyphensAndUnderscores) {
  EXPECT_EQ(shapes.canonical("chain"), "chain");
  EXPECT_EQ(shapes.canonical("Fully_Connected"), "fully-connected");
  EXPECT_EQ(shapes.canonical("fullyconnected"), "fully-connected");
  EXPECT_EQ(shapes.canonical("LINE"), "chain");
  EXPECT_EQ(shapes.canonical("all-to-all"), "fully-connected");
  EXPECT_EQ(shapes.canonical("chian"), std::nullopt);
  EXPECT_EQ(shapes.canonical(""), std::nullopt);
}

TEST(Vocabulary, FindsTheNearestWord) {
  EXPECT_EQ(shapes.nearest("chian"), "chain");
  EXPECT_EQ(shapes.nearest("rnig"), "ring");
  EXPECT_EQ(shapes.nearest("rg"), "");
  EXPECT_EQ(shapes.nearest("rings"), "ring");
  EXPECT_EQ(shapes.nearest("Fully-Conected"), "fully-connected");
  EXPECT_EQ(shapes.nearest("lines"), "chain");
  EXPECT_EQ(shapes.nearest("full"), "fully-connected");
  EXPECT_EQ(shapes.nearest("torus"), "");
  EXPECT_EQ(shapes.nearest(""), "");
  EXPECT_EQ(shapes.nearest(std::string(100'000, 'c')), "");
}

TEST(ObjectReader, ReadsEveryKindAndBuildsTheResolvedObject) {
  const Result result = read(
      R"({"flag": true, "count": 8.0, "text": "x y", "shape": "LINE", "size": "65536 KiB",
          "latency": 0, "late": "5000us", "bandwidth": "400Gbps"})",
      [](ObjectReader& reader) {
        EXPECT_EQ(reader.boolean("flag"), true);
        EXPECT_EQ(reader.integer("count", 1, 8), 8);
        EXPECT_EQ(reader.text("text"), "x y");
        EXPECT_EQ(reader.word("shape", shapes), "chain");
        EXPECT_EQ(reader.size("size"), 64 << 20);
        EXPECT_EQ(reader.time("latency"), Time{});
        EXPECT_EQ(reader.time("late", Time{}), milliseconds(5));
        EXPECT_EQ(reader.bandwidth("bandwidth"), gigabytes_per_second(50));
        EXPECT_EQ(reader.boolean("flag2", true), true);
        EXPECT_EQ(reader.integer("count2", 1, 8, 3), 3);
        EXPECT_EQ(reader.word("shape2", shapes, "ring"), "ring");
        EXPECT_EQ(reader.time("overhead", microseconds(5)), microseconds(5));
        EXPECT_EQ(reader.size("absent"), std::nullopt);
      });
  EXPECT_EQ(result.mistakes, "");
  EXPECT_EQ(result.resolved,
            R"({"flag":true,"count":8,"text":"x y","shape":"chain","size":"64MiB","latency":"0s",)"
            R"("late":"5ms","bandwidth":"50GB/s","flag2":true,"count2":3,"shape2":"ring",)"
            R"("overhead":"5us"})");
}

TEST(ObjectReader, ResolvedValuesKnowWhereTheyComeFrom) {
  Sources sources;
  Diagnostics diagnostics;
  const auto source = sources.add(Sources::Kind::file, "f.json", R"({"size": "1MiB"})");
  const auto value = parse_json(source, sources, diagnostics);
  ASSERT_TRUE(value);
  ObjectReader reader(*value, "", diagnostics);
  EXPECT_EQ(reader.size("size"), 1 << 20);
  EXPECT_EQ(reader.time("latency", Time{}), Time{});
  const JsonValue resolved = reader.finish();
  EXPECT_EQ(resolved.place, value->place);
  EXPECT_EQ(sources.describe(resolved.find("size")->place), "f.json:1:10");
  EXPECT_EQ(sources.describe(resolved.find("latency")->place), "default");
}

TEST(ObjectReader, KeysAreSuggestedForTheNamesThatFormulasGiveThem) {
  const std::string found =
      mistakes(R"({"alpha": "1us", "startup": "1us", "gamma": 1})", [](ObjectReader& reader) {
        EXPECT_FALSE(reader.time("overhead"));
        EXPECT_FALSE(reader.bandwidth("reduce_bandwidth"));
      });
  expect_contains(found, "^^^^^^^ did you mean \"overhead\"?");
  expect_contains(found, "^^^^^^^^^ did you mean \"overhead\"?");
  expect_contains(found, "^^^^^^^ did you mean \"reduce_bandwidth\"?");
}

TEST(ObjectReader, UnknownKeysAreReportedWithTheNearest) {
  expect_text(mistakes(R"({"op": "x", "algoritm": "ring", "colour": 1})",
                       [](ObjectReader& reader) {
                         EXPECT_TRUE(reader.text("op"));
                         EXPECT_FALSE(reader.text("algorithm"));
                       }),
              "f.json:1:13: unknown key \"algoritm\" at /link/algoritm\n"
              "  1 | {\"op\": \"x\", \"algoritm\": \"ring\", \"colour\": 1}\n"
              "    |             ^^^^^^^^^^ did you mean \"algorithm\"?\n"
              "f.json:1:33: unknown key \"colour\" at /link/colour\n"
              "  1 | {\"op\": \"x\", \"algoritm\": \"ring\", \"colour\": 1}\n"
              "    |                                 ^^^^^^^^\n"
              "    |   allowed: op, algorithm\n"
              "2 errors; nothing was run\n");
}

TEST(ObjectReader, MissingKeysAreReportedAtTheObject) {
  expect_text(mistakes(R"({"latency": "1us"})",
                       [](ObjectReader& reader) {
                         EXPECT_TRUE(reader.time("latency"));
                         reader.need({"latency", "bandwidth"});
                       }),
              "f.json:1:1: \"bandwidth\" is missing at /link\n"
              "  1 | {\"latency\": \"1us\"}\n"
              "    | ^^^^^^^^^^^^^^^^^^\n"
              "1 error; nothing was run\n");
}

TEST(ObjectReader, AMisspelledKeyIsOneMistakeNotTwo) {
  expect_text(mistakes(R"({"bandwith": "25GB/s"})",
                       [](ObjectReader& reader) {
                         EXPECT_FALSE(reader.bandwidth("bandwidth"));
                         reader.need({"bandwidth"});
                       }),
              "f.json:1:2: unknown key \"bandwith\" at /link/bandwith\n"
              "  1 | {\"bandwith\": \"25GB/s\"}\n"
              "    |  ^^^^^^^^^^ did you mean \"bandwidth\"?\n"
              "1 error; nothing was run\n");
}

TEST(ObjectReader, KeysThatExcludeEachOther) {
  expect_text(mistakes(R"({"chunks": 2, "chunk_size": "1MiB"})",
                       [](ObjectReader& reader) {
                         EXPECT_TRUE(reader.raw("chunks"));
                         EXPECT_TRUE(reader.raw("chunk_size"));
                         reader.at_most_one_of({"chunk_size", "chunks", "other"});
                       }),
              "f.json:1:15: \"chunks\" and \"chunk_size\" exclude each other at /link\n"
              "  1 | {\"chunks\": 2, \"chunk_size\": \"1MiB\"}\n"
              "    |               ^^^^^^^^^^^^\n"
              "    |   remove one of them\n"
              "1 error; nothing was run\n");
}

// The first line of the only mistake in {"k": <json>}, and its hint.
std::string mistake_in(const std::string& json, const std::function<void(ObjectReader&)>& reading) {
  const std::string text = mistakes("{\"k\": " + json + "}", reading);
  EXPECT_TRUE(text.ends_with("\n1 error; nothing was run\n")) << text;
  const std::string start = "f.json:1:7: ";
  EXPECT_TRUE(text.starts_with(start)) << text;
  std::string result = text.substr(start.size(), text.find('\n') - start.size());
  std::size_t line =
      text.find("\n    | ", text.find('^') == std::string::npos ? 0 : text.find('^'));
  const std::size_t suggestion = text.find("did you mean");
  if (suggestion != std::string::npos)
    result += "; " + text.substr(suggestion, text.find('\n', suggestion) - suggestion);
  if (line != std::string::npos) {
    line += std::string("\n    |   ").size();
    result += "; " + text.substr(line, text.find('\n', line) - line);
  }
  return result;
}

TEST(ObjectReader, WrongIntegers) {
  const auto mistake = [](const std::string& json) {
    return mistake_in(
        json, [](ObjectReader& reader) { EXPECT_EQ(reader.integer("k", 1, 65536), std::nullopt); });
  };
  expect_text(mistake("0"), "0 is too small at /link/k; allowed: 1 to 65536");
  expect_text(mistake("65537"), "65537 is too large at /link/k; allowed: 1 to 65536");
  expect_text(mistake("1e12"), "1000000000000 is too large at /link/k; allowed: 1 to 65536");
  expect_text(mistake("1e300"), "1e+300 is too large at /link/k; allowed: 1 to 65536");
  expect_text(mistake("-1e300"), "-1e+300 is too small at /link/k; allowed: 1 to 65536");
  expect_text(mistake("8.5"), "8.5 is not a whole number at /link/k; allowed: 1 to 65536");
  expect_text(mistake("0.5"), "0.5 is too small at /link/k; allowed: 1 to 65536");
  expect_text(
      mistake("\"8\""),
      "expected a whole number, but this is a string at /link/k; write 8 without the quotes");
  expect_text(mistake("\"x\""),
              "expected a whole number, but this is a string at /link/k; allowed: 1 to 65536");
  expect_text(mistake("null"),
              "expected a whole number, but this is null at /link/k; allowed: 1 to 65536");
  expect_text(mistake("[1]"),
              "expected a whole number, but this is an array at /link/k; allowed: 1 to 65536");
  expect_text(mistake_in("-1",
                         [](ObjectReader& reader) {
                           const auto most = std::numeric_limits<std::int64_t>::max();
                           EXPECT_EQ(reader.integer("k", 0, most, 7), 7);
                         }),
              "-1 is too small at /link/k; allowed: 0 or more");
}

TEST(ObjectReader, WrongBooleansTextsAndWords) {
  const auto boolean = [](ObjectReader& reader) { EXPECT_EQ(reader.boolean("k"), std::nullopt); };
  expect_text(mistake_in("1", boolean), "expected true or false, but this is a number at /link/k");
  expect_text(
      mistake_in("\"true\"", boolean),
      "expected true or false, but this is a string at /link/k; write true without the quotes");
  expect_text(mistake_in("5", [](ObjectReader& reader) { EXPECT_FALSE(reader.text("k")); }),
              "expected a string, but this is a number at /link/k; write text in double quotes");
  const auto word = [](ObjectReader& reader) { EXPECT_FALSE(reader.word("k", shapes)); };
  expect_text(mistake_in("\"chian\"", word),
              "unknown shape \"chian\" at /link/k; did you mean \"chain\"?; allowed: chain, ring, "
              "fully-connected, two-shot");
  expect_text(
      mistake_in("\"torus\"", word),
      "unknown shape \"torus\" at /link/k; allowed: chain, ring, fully-connected, two-shot");
  expect_text(mistake_in("8", word),
              "expected a string, but this is a number at /link/k; allowed: chain, ring, "
              "fully-connected, two-shot");
}

TEST(ObjectReader, WrongQuantities) {
  const auto bandwidth = [](ObjectReader& reader) { EXPECT_FALSE(reader.bandwidth("k")); };
  const auto time = [](ObjectReader& reader) { EXPECT_FALSE(reader.time("k")); };
  const auto size = [](ObjectReader& reader) { EXPECT_FALSE(reader.size("k")); };
  const std::string readings = "write \"25GB/s\" (bytes) or \"25Gb/s\" (bits; 8 times slower)";
  EXPECT_EQ(mistake_in("\"25\"", bandwidth), "\"25\" has no unit at /link/k; " + readings);
  EXPECT_EQ(mistake_in("25", bandwidth), "25 has no unit at /link/k; " + readings);
  expect_text(mistake_in("0", bandwidth), "a bandwidth must not be 0 at /link/k");
  expect_text(
      mistake_in("\"25GBps\"", bandwidth),
      "\"25GBps\" has the unknown unit \"GBps\" at /link/k; did you mean \"25GB/s\"?; units of "
      "bandwidths: B/s kB/s MB/s GB/s TB/s, KiB/s MiB/s GiB/s TiB/s (bytes), b/s kb/s Mb/s "
      "Gb/s Tb/s (bits)");
  expect_text(mistake_in("0.5", time),
              "0.5 has no unit at /link/k; write \"0.5us\" (microseconds), \"0.5ns\", \"0.5ms\" or "
              "\"0.5s\"");
  expect_text(mistake_in("-5", time), "-5 is negative; use a time of at least 0 at /link/k");
  expect_text(mistake_in("1e300", size),
              "1e+300 has an exponent at /link/k; use a larger or smaller unit, such as \"64MiB\"");
  expect_text(mistake_in("[1]", size),
              "expected a string, such as \"64MiB\", but this is an array at /link/k");
  expect_text(mistake_in("null", time),
              "expected a string, such as \"12.5us\", but this is null at /link/k");
  expect_text(mistake_in("true", bandwidth),
              "expected a string, such as \"25GB/s\", but this is true at /link/k");
}

TEST(ObjectReader, WhatIsNotAnObjectIsReadAsAnEmptyOne) {
  const Result result = read("[1]", [](ObjectReader& reader) {
    EXPECT_FALSE(reader.has("a"));
    EXPECT_EQ(reader.integer("a", 1, 2, 1), 1);
    reader.need({"b"});
    reader.at_most_one_of({"a", "b"});
  });
  expect_text(result.mistakes,
              "f.json:1:1: expected an object, but this is an array at /link\n"
              "  1 | [1]\n"
              "    | ^^^\n"
              "    |   write { \"key\": value, ... }\n"
              "1 error; nothing was run\n");
  EXPECT_EQ(result.resolved, R"({"a":1})");
}

TEST(ObjectReader, MistakesOfTheCallerAndOfTheCore) {
  const std::string text = mistakes(R"({"a": 1})", [](ObjectReader& reader) {
    EXPECT_TRUE(reader.has("a"));
    EXPECT_FALSE(reader.has("b"));
    EXPECT_TRUE(reader.raw("a"));
    reader.wrong("a", "code", "one", "x", "hint");
    reader.wrong("b", Error(ErrorCode::too_large, "two"));
  });
  expect_text(text,
              "f.json:1:1: two at /link\n"
              "  1 | {\"a\": 1}\n"
              "    | ^^^^^^^^\n"
              "f.json:1:7: one at /link/a\n"
              "  1 | {\"a\": 1}\n"
              "    |       ^ did you mean \"x\"?\n"
              "    |   hint\n"
              "2 errors; nothing was run\n");
}

TEST(ObjectReader, LongKeysAndWordsAreShortened) {
  const std::string text = mistakes("{\"" + std::string(900, 'k') + "\": 1}", [](ObjectReader&) {});
  EXPECT_TRUE(text.starts_with("f.json:1:2: unknown key \"" + std::string(57, 'k') + "...\" at /"))
      << text;
}

}  // namespace
}  // namespace collsim
