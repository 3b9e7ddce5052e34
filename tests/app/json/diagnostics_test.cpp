// SPDX-License-Identifier: Apache-2.0
#include "app/json/diagnostics.hpp"

#include <gtest/gtest.h>

#include <string>

#include "app/json/value.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

// Reports `message` about the first occurrence of `token`.
std::string about(const std::string& text, const std::string& token,
                  Diagnostic diagnostic = {"code", "wrong", {}, "", "", ""}, bool colour = false) {
  Sources sources;
  const auto source = sources.add(Sources::Kind::file, "f.json", text);
  const std::size_t begin = text.find(token);
  EXPECT_NE(begin, std::string::npos);
  diagnostic.place = {source, static_cast<std::uint32_t>(begin),
                      static_cast<std::uint32_t>(begin + token.size())};
  Diagnostics diagnostics;
  diagnostics.add(diagnostic);
  return to_text(diagnostics, sources, colour);
}

TEST(Diagnostics, ShowTheLineTheCaretsAndTheFix) {
  expect_text(
      about("{\n  \"scenario\": 1,\n  \"cluster\": { \"shape\": \"chian\", \"ranks\": 8 }\n}",
            "\"chian\"",
            {"unknown-word",
             "unknown shape \"chian\"",
             {},
             "/cluster/shape",
             "chain",
             "allowed: chain, ring"}),
      "f.json:3:25: unknown shape \"chian\" at /cluster/shape\n"
      "  3 |   \"cluster\": { \"shape\": \"chian\", \"ranks\": 8 }\n"
      "    |                         ^^^^^^^ did you mean \"chain\"?\n"
      "    |   allowed: chain, ring\n"
      "1 error; nothing was run\n");
}

TEST(Diagnostics, SeveralLinesOfHintEachGetAGutter) {
  expect_text(about("{}", "{}", {"code", "wrong", {}, "", "", "one\ntwo"}),
              "f.json:1:1: wrong\n"
              "  1 | {}\n"
              "    | ^^\n"
              "    |   one\n"
              "    |   two\n"
              "1 error; nothing was run\n");
}

TEST(Diagnostics, ColourIsAddedOnlyWhenAsked) {
  expect_text(about("{}", "}", {"code", "wrong", {}, "", "", ""}, true),
              "\x1b[1mf.json:1:2:\x1b[0m wrong\n"
              "  1 | {}\n"
              "    |  \x1b[1;31m^\x1b[0m\n"
              "1 error; nothing was run\n");
}

TEST(Diagnostics, GuttersGrowWithTheLineNumber) {
  expect_text(about(std::string(999, '\n') + "x", "x"),
              "f.json:1000:1: wrong\n"
              "  1000 | x\n"
              "       | ^\n"
              "1 error; nothing was run\n");
}

TEST(Diagnostics, TabsWideAndCombiningCharactersDoNotMoveTheCaret) {
  expect_text(about("\t\"a\": x", "x"),
              "f.json:1:7: wrong\n"
              "  1 |     \"a\": x\n"
              "    |          ^\n"
              "1 error; nothing was run\n");
  // Two wide characters: columns 7, but 8 on the screen.
  expect_text(about("\"\xE6\xBC\xA2\xE5\xAD\x97\": x", "x"),
              "f.json:1:7: wrong\n"
              "  1 | \"\xE6\xBC\xA2\xE5\xAD\x97\": x\n"
              "    |         ^\n"
              "1 error; nothing was run\n");
  // e with a combining accent: two code points, one column.
  expect_text(about("\"e\xCC\x81\": x", "x"),
              "f.json:1:7: wrong\n"
              "  1 | \"e\xCC\x81\": x\n"
              "    |      ^\n"
              "1 error; nothing was run\n");
}

TEST(Diagnostics, WideTokensAreUnderlinedWhole) {
  expect_text(about("[\"\xE6\xBC\xA2\"]", "\"\xE6\xBC\xA2\""),
              "f.json:1:2: wrong\n"
              "  1 | [\"\xE6\xBC\xA2\"]\n"
              "    |  ^^^^\n"
              "1 error; nothing was run\n");
}

TEST(Diagnostics, NothingThatATerminalObeysIsShown) {
  // ESC, a C1 control (CSI), a right-to-left override, a byte that is not UTF-8.
  expect_text(about("\x1B[2J \xC2\x9B \xE2\x80\xAE \xFF x", "x",
                    {"code", "bad \x1B]0;name\x07", {}, "/\x1B", "\xC2\x9B", "\x1B"}),
              "f.json:1:12: bad ?]0;name? at /?\n"
              "  1 | ?[2J ? ? ? x\n"
              "    |            ^ did you mean \"?\"?\n"
              "    |   ?\n"
              "1 error; nothing was run\n");
}

TEST(Diagnostics, CarriageReturnsBelongToTheEndOfTheLine) {
  expect_text(about("{\r\n  x\r\n}\r\n", "x\r\n}"),
              "f.json:2:3: wrong\n"
              "  2 |   x\n"
              "    |   ^\n"
              "1 error; nothing was run\n");
}

TEST(Diagnostics, WhatSpansSeveralLinesIsUnderlinedToTheEndOfTheFirst) {
  expect_text(about("{ \"a\": {  \n \"b\": 1 } }", "{  \n \"b\": 1 }"),
              "f.json:1:8: wrong\n"
              "  1 | { \"a\": {\n"
              "    |        ^\n"
              "1 error; nothing was run\n");
}

TEST(Diagnostics, TheEndOfAFileCanBePointedAt) {
  Sources sources;
  const auto source = sources.add(Sources::Kind::file, "f.json", "{");
  Diagnostics diagnostics;
  diagnostics.add({"syntax", "wrong", {source, 1, 1}, "", "", ""});
  expect_text(to_text(diagnostics, sources),
              "f.json:1:2: wrong\n"
              "  1 | {\n"
              "    |  ^\n"
              "1 error; nothing was run\n");
}

TEST(Diagnostics, LongLinesAreCutAroundTheCaret) {
  const std::string a60(60, 'a');
  const std::string b200(200, 'b');
  EXPECT_EQ(about("x " + b200, "x"),
            "f.json:1:1: wrong\n"
            "  1 | x " +
                std::string(91, 'b') +
                "...\n"
                "    | ^\n"
                "1 error; nothing was run\n");
  EXPECT_EQ(about(b200 + " x", "x"),
            "f.json:1:202: wrong\n"
            "  1 | ..." +
                std::string(91, 'b') +
                " x\n"
                "    | " +
                std::string(95, ' ') +
                "^\n"
                "1 error; nothing was run\n");
  EXPECT_EQ(about(b200 + a60 + "xyz" + b200, "xyz"),
            "f.json:1:261: wrong\n"
            "  1 | ..." +
                std::string(37, 'a') + "xyz" + std::string(50, 'b') +
                "...\n"
                "    | " +
                std::string(40, ' ') +
                "^^^\n"
                "1 error; nothing was run\n");
}

TEST(Diagnostics, LongTokensAreUnderlinedToTheEndOfWhatIsShown) {
  EXPECT_EQ(about("[" + std::string(5000, 'x'), std::string(5000, 'x')),
            "f.json:1:2: wrong\n"
            "  1 | [" +
                std::string(92, 'x') +
                "...\n"
                "    |  " +
                std::string(92, '^') +
                "\n"
                "1 error; nothing was run\n");
}

TEST(Diagnostics, VeryLongLinesOfWideCharactersAreCutAtCharacters) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "\xE6\xBC\xA2";
  text += 'x';
  for (int i = 0; i < 3000; ++i) text += "\xE6\xBC\xA2";
  const std::string shown = about(text, "x");
  expect_lacks(shown, "?");
  EXPECT_TRUE(shown.starts_with("f.json:1:3001: wrong\n"));
  // The caret stands under the x: every wide character before it takes two columns.
  const std::string line =
      shown.substr(shown.find("| ") + 2, shown.find('x') - shown.find("| ") - 2);
  const std::size_t columns = 3 + (line.size() - 3) / 3 * 2;
  expect_contains(shown, "\n    | " + std::string(columns, ' ') + "^\n");
}

TEST(Diagnostics, TheCaretIsShownAfterManyCharactersWithoutWidth) {
  std::string accents;
  for (int i = 0; i < 2000; ++i) accents += "\xCC\x81";
  const std::string shown = about(accents + "x", "x");
  EXPECT_TRUE(shown.starts_with("f.json:1:2001: wrong\n"));
  expect_contains(shown, "x\n    |    ^\n");
}

TEST(Diagnostics, ALineMayBeginInsideACharacter) {
  expect_text(about("\xA2\xA2\xA2}", "}"),
              "f.json:1:1: wrong\n"
              "  1 | ???}\n"
              "    |    ^\n"
              "1 error; nothing was run\n");
}

TEST(Diagnostics, WithoutAPlaceThereIsOnlyTheMessage) {
  Diagnostics diagnostics;
  diagnostics.add({"code", "there is no file \"x.json\"", {}, "", "y.json", "a hint"});
  expect_text(to_text(diagnostics, Sources()),
              "collsim: there is no file \"x.json\"\n"
              "    |   did you mean \"y.json\"?\n"
              "    |   a hint\n"
              "1 error; nothing was run\n");
}

TEST(Diagnostics, OfAnArgumentTheOptionIsTheLocation) {
  Sources sources;
  const auto source =
      sources.add(Sources::Kind::argument, "--set collective.chunks=x", "collective.chunks=x");
  Diagnostics diagnostics;
  diagnostics.add(
      {"code", "expected a whole number", {source, 18, 19}, "/collective/chunks", "", ""});
  expect_text(to_text(diagnostics, sources),
              "--set collective.chunks=x: expected a whole number at /collective/chunks\n"
              "    | collective.chunks=x\n"
              "    |                   ^\n"
              "1 error; nothing was run\n");
}

TEST(Diagnostics, AreSortedBySourceAndPlaceAndKeptOnce) {
  Sources sources;
  const auto a = sources.add(Sources::Kind::file, "a.json", "12");
  const auto b = sources.add(Sources::Kind::builtin, "preset p", "12");
  Diagnostics diagnostics;
  diagnostics.add({"code", "fourth", {b, 0, 1}, "", "", ""});
  diagnostics.add({"code", "third", {a, 1, 2}, "", "", ""});
  diagnostics.add({"code", "second", {a, 0, 1}, "", "", ""});
  diagnostics.add({"code", "second", {a, 0, 1}, "", "", ""});
  diagnostics.add({"code", "first", {}, "", "", ""});
  EXPECT_EQ(diagnostics.size(), 4U);
  expect_text(to_text(diagnostics, sources),
              "collsim: first\n"
              "a.json:1:1: second\n  1 | 12\n    | ^\n"
              "a.json:1:2: third\n  1 | 12\n    |  ^\n"
              "preset p: fourth\n  1 | 12\n    | ^\n"
              "4 errors; nothing was run\n");
}

TEST(Diagnostics, BeyondTheLimitTheyAreCounted) {
  Sources sources;
  Diagnostics diagnostics;
  for (int i = 0; i < 1500; ++i) diagnostics.add({"code", std::to_string(i), {}, "", "", ""});
  EXPECT_EQ(diagnostics.size(), 1500U);
  expect_text(to_text(diagnostics, sources, false, 2),
              "collsim: 0\ncollsim: 1\nand 1498 more\n1500 errors; nothing was run\n");
  EXPECT_EQ(diagnostics.sorted().size(), Diagnostics::max_kept);
}

TEST(Diagnostics, NoneAreNoText) {
  EXPECT_EQ(to_text(Diagnostics(), Sources()), "");
}

TEST(Diagnostics, AsAValueForPrograms) {
  Sources sources;
  const auto file = sources.add(Sources::Kind::file, "f.json", "{\n  \"\xC3\xA9\": x }");
  const auto option = sources.add(Sources::Kind::argument, "--set a=1", "a=1");
  Diagnostics diagnostics;
  diagnostics.add({"unknown-key", "m", {file, 10, 11}, "/a", "s", ""});
  diagnostics.add({"code", "n", {option, 0, 1}, "", "", "h"});
  diagnostics.add({"code", "o", {}, "", "", ""});
  EXPECT_EQ(
      to_json(to_value(diagnostics, sources), -1),
      "{\"errors\":["
      "{\"file\":null,\"line\":null,\"column\":null,\"pointer\":\"\",\"code\":\"code\",\"message\":"
      "\"o\","
      "\"suggestion\":null,\"hint\":null},"
      "{\"file\":\"f.json\",\"line\":2,\"column\":8,\"pointer\":\"/a\",\"code\":\"unknown-key\","
      "\"message\":\"m\",\"suggestion\":\"s\",\"hint\":null},"
      "{\"file\":\"--set a=1\",\"line\":null,\"column\":null,\"pointer\":\"\",\"code\":\"code\","
      "\"message\":\"n\",\"suggestion\":null,\"hint\":\"h\"}]}");
}

}  // namespace
}  // namespace collsim
