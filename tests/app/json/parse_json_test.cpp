// SPDX-License-Identifier: Apache-2.0
#include "app/json/parse_json.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "app/json/value.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"
#include "tests/sanitized.hpp"

namespace collsim {
namespace {

struct Result {
  std::optional<JsonValue> tree;
  std::string text;  // of the mistakes
};

Result parse(std::string text) {
  Sources sources;
  Diagnostics diagnostics;
  const auto source = sources.add(Sources::Kind::file, "f.json", std::move(text));
  Result result;
  result.tree = parse_json(source, sources, diagnostics);
  result.text = to_text(diagnostics, sources);
  return result;
}

// The first line of the message and the hints, without the line shown.
struct Mistake {
  std::string text;
  std::string headline;
  std::string carets = {};  // the line of the carets, after the gutter
  std::string hint = {};
};

void expect_mistake(const Mistake& mistake) {
  SCOPED_TRACE(mistake.text);
  const Result result = parse(mistake.text);
  EXPECT_FALSE(result.tree);
  const std::size_t end = result.text.find('\n');
  EXPECT_EQ(result.text.substr(0, end), "f.json:" + mistake.headline);
  if (!mistake.carets.empty()) {
    expect_contains(result.text, "\n    | " + mistake.carets + "\n");
  }
  if (mistake.hint.empty()) {
    EXPECT_LE(std::count(result.text.begin(), result.text.end(), '\n'), 4) << result.text;
  } else {
    expect_contains(result.text, "\n    |   " + mistake.hint + "\n");
  }
  EXPECT_TRUE(result.text.ends_with("\n1 error; nothing was run\n")) << result.text;
}

TEST(ParseJson, EveryValueKnowsItsBytes) {
  const std::string text =
      "{\n \"a\" : [ 1, -2.5e3 ,true, null,\"x\\\"\xC3\xA9\" ] , \"b\\u0041\":{ \"c\" : {} }\n} ";
  const Result result = parse(text);
  ASSERT_TRUE(result.tree) << result.text;
  EXPECT_EQ(result.text, "");
  const auto written = [&](SourceRange place) {
    EXPECT_EQ(place.source, 0U);
    return text.substr(place.begin, place.end - place.begin);
  };
  const JsonValue& tree = *result.tree;
  EXPECT_EQ(written(tree.place), text.substr(0, text.size() - 1));
  EXPECT_EQ(written(tree.members()[0].key_place), "\"a\"");
  EXPECT_EQ(written(tree.members()[1].key_place), "\"b\\u0041\"");
  const JsonValue* a = tree.find("a");
  ASSERT_NE(a, nullptr);
  expect_text(written(a->place), "[ 1, -2.5e3 ,true, null,\"x\\\"\xC3\xA9\" ]");
  const std::vector<std::string> items{"1", "-2.5e3", "true", "null", "\"x\\\"\xC3\xA9\""};
  ASSERT_EQ(a->items().size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) EXPECT_EQ(written(a->items()[i].place), items[i]);
  const JsonValue* b = tree.find("bA");
  ASSERT_NE(b, nullptr);
  expect_text(written(b->place), "{ \"c\" : {} }");
  EXPECT_EQ(written(b->find("c")->place), "{}");
}

TEST(ParseJson, KeepsTheOrderOfKeysAndTheKindsOfNumbers) {
  const Result result = parse(R"({"z": 1, "a": 1.0, "m": 9223372036854775807, "n": 1e3,
                                  "big": 18446744073709551615, "minus": -9223372036854775808})");
  ASSERT_TRUE(result.tree) << result.text;
  EXPECT_EQ(to_json(*result.tree, -1),
            "{\"z\":1,\"a\":1.0,\"m\":9223372036854775807,\"n\":1000.0,"
            "\"big\":1.8446744073709552e+19,\"minus\":-9223372036854775808}");
  EXPECT_EQ(result.tree->find("a")->integer(), 1);
  EXPECT_EQ(result.tree->find("n")->integer(), 1000);
  EXPECT_EQ(result.tree->find("big")->integer(), std::nullopt);
}

TEST(ParseJson, AnyValueMayBeOutermost) {
  for (const char* text : {"1", "-0.5", "\"x\"", "true", "false", "null", "[]", " {} "})
    EXPECT_TRUE(parse(text).tree) << text;
}

TEST(ParseJson, AFileThatEndsTooEarly) {
  expect_mistake({"", "1:1: the file is empty"});
  expect_mistake({" \n\n ", "1:1: the file is empty"});
  expect_mistake({"{", "1:2: the file ends before the \"{\" of line 1 is closed", " ^",
                  "is a \"}\" missing?"});
  expect_mistake({"{\"a\":\n [1,\n  2\n", "3:4: the file ends before the \"[\" of line 2 is closed",
                  "   ^", "is a \"]\" missing?"});
  expect_mistake({"{\"a\": 12", "1:9: the file ends before the \"{\" of line 1 is closed",
                  "        ^", "is a \"}\" missing?"});
}

TEST(ParseJson, Commas) {
  expect_mistake({"{\"a\": 1,}", "1:8: a comma must not follow the last item", "       ^",
                  "remove this comma"});
  expect_mistake(
      {"[1,2, ]", "1:5: a comma must not follow the last item", "    ^", "remove this comma"});
  expect_mistake({"{\"a\": 1\n  \"b\": 2}", "2:3: a comma is missing before this", "  ^^^"});
  expect_mistake({"[1 2]", "1:4: a comma is missing before this", "   ^"});
  expect_mistake({"[{} {}]", "1:5: a comma is missing before this", "    ^"});
  expect_mistake({"[true false]", "1:7: a comma is missing before this", "      ^^^^^"});
  expect_mistake({"[truefalse]", "1:6: a comma is missing before this", "     ^^^^^"});
  expect_mistake({"[,1]", "1:2: a value is missing before this comma", " ^"});
  expect_mistake({"[1,,2]", "1:4: a value is missing before this comma", "   ^"});
  expect_mistake({"{\"a\": 1,, \"b\": 2}", "1:9: there is nothing before this comma", "        ^"});
}

TEST(ParseJson, ColonsAndBrackets) {
  expect_mistake(
      {"{\"a\" 1}", "1:5: a colon is missing after the key", "    ^", "write \"key\": value"});
  expect_mistake(
      {"{\"a\"}", "1:5: a colon is missing after the key", "    ^", "write \"key\": value"});
  expect_mistake(
      {"{\"a\" = 1}", "1:6: a key and its value are separated by \":\", not \"=\"", "     ^"});
  expect_mistake({"{\"a\": 1: 2}", "1:8: a value cannot be followed by a colon", "       ^"});
  expect_mistake(
      {"[\"a\": 1]", "1:5: there are no keys within [ ]; use { } for \"key\": value", "    ^"});
  expect_mistake({"{\"a\": }", "1:7: a value is missing before this", "      ^"});
  expect_mistake(
      {"{\"a\": [1, 2\n}", "2:1: the \"[\" of line 1 is closed by \"}\" instead of \"]\"", "^"});
  expect_mistake(
      {"{\"a\": 1]", "1:8: the \"{\" of line 1 is closed by \"]\" instead of \"}\"", "       ^"});
  expect_mistake({"]", "1:1: this \"]\" closes nothing", "^"});
  expect_mistake({"{\"a\": 1}}", "1:9: the file continues after its end", "        ^",
                  "a file holds one { ... }; is there a closing bracket too many before this?"});
  expect_mistake({"<a/>", "1:1: a value cannot begin with this", "^"});
}

TEST(ParseJson, Quotes) {
  expect_mistake(
      {"{'a': 1}", "1:2: text must be in double quotes (\"), not in single ones (')", " ^^^"});
  expect_mistake({"{\"a\": 'it'}",
                  "1:7: text must be in double quotes (\"), not in single ones (')", "      ^^^^"});
  expect_mistake({"{\"a\": \xE2\x80\x9Cx\xE2\x80\x9D}",
                  "1:7: text must be in straight double quotes (\"), not in typographic ones",
                  "      ^"});
  expect_mistake({"{a: 1}", "1:2: a key must be in double quotes", " ^", "write \"a\""});
  expect_mistake({"{12: 1}", "1:2: a key must be in double quotes", " ^^", "write \"12\""});
  expect_mistake({"{\"a\": fully-connected}", "1:7: text must be in double quotes",
                  "      ^^^^^^^^^^^^^^^", "write \"fully-connected\""});
  expect_mistake({"{\"a\": 64MiB}", "1:7: a number with a unit must be in double quotes",
                  "      ^^^^^", "write \"64MiB\""});
  expect_mistake({"{\"a\": \"x}", "1:7: this text has no closing quote", "      ^^^"});
  expect_mistake({"{\"a\": \"x,\n\"b\": 1}", "1:7: this text has no closing quote on its line",
                  "      ^^^", "a line break within text is written \\n"});
}

TEST(ParseJson, CommentsAreNotJson) {
  const std::string hint = "use the key \"notes\" for remarks";
  expect_mistake({"{\"a\": 1 // x\n}", "1:9: comments are not JSON", "        ^^^^", hint});
  expect_mistake({"# x\n{}", "1:1: comments are not JSON", "^^^", hint});
  expect_mistake({"{ /* x */ }", "1:3: comments are not JSON", "  ^^^^^^^", hint});
  expect_mistake({"{\"a\": /* x */ 1}", "1:7: comments are not JSON", "      ^^^^^^^", hint});
  expect_mistake({"{\"a\" /* x", "1:6: comments are not JSON", "     ^^^^", hint});
  expect_mistake({"{} # x", "1:4: comments are not JSON", "   ^^^", hint});
}

TEST(ParseJson, WordsOfOtherLanguages) {
  expect_mistake({"[NaN]", "1:2: NaN is not a number that JSON knows", " ^^^"});
  expect_mistake({"[Infinity]", "1:2: Infinity is not a number that JSON knows", " ^^^^^^^^"});
  expect_mistake({"[-inf]", "1:2: -inf is not a number that JSON knows", " ^^^^"});
  expect_mistake({"[True]", "1:2: True is not a JSON value", " ^^^^", "write true"});
  expect_mistake({"[FALSE]", "1:2: FALSE is not a JSON value", " ^^^^^", "write false"});
  expect_mistake(
      {"[None]", "1:2: None is not a JSON value", " ^^^^", "omit the key, or write null"});
}

TEST(ParseJson, Numbers) {
  expect_mistake({"[01]", "1:2: a number must not begin with 0", " ^^"});
  expect_mistake({"[-01]", "1:2: a number must not begin with 0", " ^^^"});
  expect_mistake({"[.5]", "1:2: a number must not begin with a decimal point", " ^^",
                  "write a zero before the decimal point"});
  expect_mistake({"[-.5]", "1:2: a number must not begin with a decimal point", " ^^^",
                  "write a zero before the decimal point"});
  expect_mistake({"[5.]", "1:2: a number must not end with a decimal point", " ^^",
                  "write a digit after the decimal point"});
  expect_mistake({"[+5]", "1:2: a number must not begin with \"+\"", " ^^"});
  expect_mistake({"[0x10]", "1:2: numbers are decimal in JSON", " ^^^^"});
  expect_mistake({"[-]", "1:2: - is not a number", " ^"});
  expect_mistake({"[--5]", "1:2: --5 is not a number", " ^^^"});
  expect_mistake({"[1e]", "1:2: 1e is not a number", " ^^"});
  expect_mistake({"[1.2.3]", "1:2: 1.2.3 is not a number", " ^^^^^"});
  expect_mistake({"[1e999]", "1:2: 1e999 is larger than a number can be (1.8e308)", " ^^^^^"});
  expect_mistake(
      {"[0,\n -1e999]", "2:2: -1e999 is larger than a number can be (1.8e308)", " ^^^^^^"});
}

TEST(ParseJson, TheInsideOfText) {
  expect_mistake({"[\"\\x\"]", "1:3: a backslash must be followed by one of \" \\ / b f n r t u",
                  "  ^^", "for a backslash itself write \\\\"});
  expect_mistake(
      {"[\"\\u12g4\"]", "1:3: \\u must be followed by four digits of 0-9 and a-f", "  ^^"});
  expect_mistake({"[\"\\ud83d\"]",
                  "1:3: this is one half of a character; its other half is missing", "  ^^^^^^"});
  expect_mistake(
      {"[\"\\ud83d\\ude00\\u12\"]", "1:15: \\u must be followed by four digits of 0-9 and a-f"});
  expect_mistake({"[\"\\ude00\"]",
                  "1:3: this is one half of a character; its other half is missing", "  ^^^^^^"});
  expect_mistake({"[\"a\tb\"]", "1:4: a tab within text must be written \\t", "   ^"});
  expect_mistake({std::string("[\"a\x1B[31m\"]"),
                  "1:4: the control character U+001B within text must be written \\u001b", "   ^"});
  expect_mistake(
      {"[\"\xE9\"]", "1:3: the byte 0xE9 is not UTF-8", "  ^", "save the file as UTF-8"});
  expect_mistake(
      {"[\"\xED\xA0\x80\"]", "1:3: the byte 0xED is not UTF-8", "  ^", "save the file as UTF-8"});
}

TEST(ParseJson, OddCharacters) {
  expect_mistake({"[\xE9]", "1:2: the byte 0xE9 is not UTF-8", " ^", "save the file as UTF-8"});
  expect_mistake({"[1,\xC2\xA0\x32]", "1:4: this space is not an ordinary one but U+00A0", "   ^",
                  "replace it with an ordinary space"});
  expect_mistake(
      {std::string("[1\0]", 4), "1:3: the control character U+0000 must not be here", "  ^"});
  expect_mistake({std::string("{}\0garbage", 10),
                  "1:3: the control character U+0000 must not be here", "  ^"});
  expect_mistake({std::string("\xFF\xFE{\0}\0", 6),
                  "1:1: the file is not UTF-8 (it looks like UTF-16); save it as UTF-8"});
  expect_mistake({std::string("\0{\0}", 4),
                  "1:1: the file is not UTF-8 (it looks like UTF-16); save it as UTF-8"});
}

TEST(ParseJson, AByteOrderMarkIsPassedOverAtTheBeginningOnly) {
  const Result result = parse("\xEF\xBB\xBF{\"a\": 1}");
  ASSERT_TRUE(result.tree);
  EXPECT_EQ(result.text, "");
  EXPECT_EQ(to_json(*result.tree, -1), "{\"a\":1}");
  expect_mistake({"\xEF\xBB\xBF[1,]", "1:3: a comma must not follow the last item", "  ^",
                  "remove this comma"});
  expect_mistake({"\xEF\xBB\xBF", "1:1: the file is empty"});
  expect_mistake({"[\xEF\xBB\xBF\x31]", "1:2: this space is not an ordinary one but U+FEFF", " ^",
                  "replace it with an ordinary space"});
}

TEST(ParseJson, OfAKeyThatIsGivenTwiceTheFirstValueStays) {
  const Result result = parse("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": [2]},\n \"a\": 3}");
  ASSERT_TRUE(result.tree);
  EXPECT_EQ(to_json(*result.tree, -1), "{\"a\":1,\"b\":{\"c\":1}}");
  expect_text(result.text,
              "f.json:2:16: the key \"c\" is given twice at /b/c\n"
              "  2 |  \"b\": {\"c\": 1, \"c\": [2]},\n"
              "    |                ^^^\n"
              "    |   the first is in line 2\n"
              "f.json:3:2: the key \"a\" is given twice at /a\n"
              "  3 |  \"a\": 3}\n"
              "    |  ^^^\n"
              "    |   the first is in line 1\n"
              "2 errors; nothing was run\n");
}

TEST(ParseJson, KeysThatDifferOnlyInSpellingAreTheSame) {
  const Result result = parse("[{}, {\"\\u0061\": 1, \"a\": 2}]");
  expect_text(result.text.substr(0, result.text.find('\n')),
              "f.json:1:20: the key \"a\" is given twice at /1/a");
}

TEST(ParseJson, SixtyFourLevelsAreReadAndNoMore) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse(nested(64)).tree);
  expect_mistake({nested(65), "1:65: objects and arrays are nested more than 64 deep",
                  std::string(40, ' ') + "^"});
  expect_mistake({std::string(70, '['), "1:65: objects and arrays are nested more than 64 deep"});
}

TEST(ParseJson, LimitsAreStated) {
  expect_mistake(
      {std::string(max_json_bytes + 1, '['), "1:1: the file is larger than 16 MiB, the limit"});
  std::string many = "[0";
  for (std::size_t i = 0; i < max_json_values; ++i) many += ",0";
  expect_mistake({many + "]", "1:4000000: there are more than 2000000 values"});
  expect_mistake(
      {"{\"" + std::string(1001, 'k') + "\": 1}", "1:2: this key has more than 1000 bytes"});
}

TEST(ParseJson, LargeObjectsTakeLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"key " + std::to_string(i) + "\": 1,\n";
  text += "\"key 7\": 2}";
  const auto begin = std::chrono::steady_clock::now();
  const Result result = parse(text);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  ASSERT_TRUE(result.tree);
  EXPECT_EQ(result.tree->members().size(), 200'000U);
  expect_text(result.text.substr(0, result.text.find('\n')),
              "f.json:200001:1: the key \"key 7\" is given twice at /key 7");
}

TEST(ParseJson, AFileOfDuplicatesTakesBoundedTime) {
  std::string text = "{\"a\":1";
  while (text.size() < 4'000'000) text += ",\n\"a\":1";
  const auto begin = std::chrono::steady_clock::now();
  const Result result = parse(text + "}");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_TRUE(result.text.ends_with("\nand 571408 more\n571428 errors; nothing was run\n"))
      << result.text.substr(result.text.size() - 80);
}

// Cuts and changes good files at random: nlohmann's parser and ours agree on what is JSON, and
// every refusal says something.
TEST(ParseJson, AgreesWithNlohmannOnMutants) {
  const std::string good =
      "{\"a\": [1, -2.5e3, true, null, \"x\\\"\xC3\xA9\\u00e9\\ud83d\\ude00\"], \"b\": {\"c\": "
      "{}}}";
  std::string alphabet = "{}[]\",:\\'/#0159.-+eEtfnu \n\t\xC3\x80";
  alphabet += '\0';
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int i = 0; i < testing::random_cases(20'000); ++i) {
    std::string text = good;
    for (std::size_t change = 0; change <= below(3); ++change) {
      const std::size_t at = below(text.size());
      switch (below(3)) {
        case 0: text[at] = alphabet[below(alphabet.size())]; break;
        case 1: text.erase(at, 1 + below(4)); break;
        default: text.insert(at, 1, alphabet[below(alphabet.size())]); break;
      }
      if (text.empty()) text = " ";
    }
    const Result result = parse(text);
    const bool zero_byte = text.find('\0') != std::string::npos;
    EXPECT_EQ(result.tree.has_value(), nlohmann::json::accept(text) && !zero_byte) << text;
    EXPECT_EQ(result.text.empty(), result.tree.has_value()) << text << result.text;
    if (result.tree) {
      EXPECT_EQ(nlohmann::json::parse(to_json(*result.tree)), nlohmann::json::parse(text));
    }
  }
}

}  // namespace
}  // namespace collsim
