// SPDX-License-Identifier: Apache-2.0
#include "app/json/value.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "app/json/screen_text.hpp"
#include "app/json/sources.hpp"
#include "tests/contains.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

TEST(JsonValue, NamesItsKindInWords) {
  EXPECT_EQ(JsonValue().kind_name(), "null");
  EXPECT_EQ(JsonValue(true).kind_name(), "true");
  EXPECT_EQ(JsonValue(false).kind_name(), "false");
  EXPECT_EQ(JsonValue(1).kind_name(), "a number");
  EXPECT_EQ(JsonValue(1.5).kind_name(), "a number");
  EXPECT_EQ(JsonValue("x").kind_name(), "a string");
  EXPECT_EQ(JsonValue::array().kind_name(), "an array");
  EXPECT_EQ(JsonValue::object().kind_name(), "an object");
}

TEST(JsonValue, WholeNumbersAreIntegersHoweverTheyAreWritten) {
  EXPECT_EQ(JsonValue(8).integer(), 8);
  EXPECT_EQ(JsonValue(8.0).integer(), 8);
  EXPECT_EQ(JsonValue(-0.0).integer(), 0);
  EXPECT_EQ(JsonValue(-9223372036854775808.0).integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(JsonValue(8.5).integer(), std::nullopt);
  EXPECT_EQ(JsonValue(9223372036854775808.0).integer(), std::nullopt);
  EXPECT_EQ(JsonValue(std::numeric_limits<double>::quiet_NaN()).integer(), std::nullopt);
  EXPECT_EQ(JsonValue("8").integer(), std::nullopt);
}

TEST(JsonValue, MembersAreFoundSetReplacedAndErased) {
  JsonValue value;
  EXPECT_EQ(value.find("a"), nullptr);
  value.set("a", 1);
  value.set("b", 2, SourceRange{0, 5, 8});
  value.set("a", "x");
  EXPECT_EQ(to_json(value, -1), "{\"a\":\"x\",\"b\":2}");
  EXPECT_EQ(value.members()[1].key_place, (SourceRange{0, 5, 8}));
  value.erase("a");
  value.erase("none");
  EXPECT_EQ(to_json(value, -1), "{\"b\":2}");
  EXPECT_EQ(JsonValue(5).find("a"), nullptr);
}

TEST(JsonValue, EqualityIsOfContentAndOrderNotOfPlaces) {
  JsonValue a;
  a.set("x", JsonValue(JsonValue::Array{1, 2.5, "s"}), SourceRange{0, 1, 2});
  a.set("y", true);
  JsonValue b;
  b.set("x", JsonValue(JsonValue::Array{1.0, 2.5, "s"}));
  b.set("y", true);
  b.place = {1, 0, 9};
  EXPECT_EQ(a, b);
  b.set("y", false);
  EXPECT_FALSE(a == b);
  JsonValue c;
  c.set("y", true);
  c.set("x", JsonValue(JsonValue::Array{1, 2.5, "s"}));
  EXPECT_FALSE(a == c);
  EXPECT_FALSE(JsonValue(1) == JsonValue("1"));
  EXPECT_FALSE(JsonValue(1) == JsonValue(1.5));
  // A double cannot tell 2^53 + 1 from 2^53.
  EXPECT_FALSE(JsonValue(std::int64_t{9007199254740993}) == JsonValue(9007199254740992.0));
}

TEST(JsonValue, PointersEscapeSlashesAndTildes) {
  EXPECT_EQ(pointer_to("", "a"), "/a");
  EXPECT_EQ(pointer_to("/cluster/link", "band/wid~th"), "/cluster/link/band~1wid~0th");
  EXPECT_EQ(pointer_to("/a", std::size_t{12}), "/a/12");
}

TEST(WriteJson, NumbersReadBackAsTheSame) {
  const auto json = [](double value) { return to_json(JsonValue(value)); };
  EXPECT_EQ(json(0.0), "0.0");
  EXPECT_EQ(json(8.0), "8.0");
  EXPECT_EQ(json(100000.0), "100000.0");
  EXPECT_EQ(json(0.1), "0.1");
  EXPECT_EQ(json(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(json(0.00002875), "2.875e-05");
  EXPECT_EQ(json(1.5e-7), "1.5e-07");
  EXPECT_EQ(json(25e9), "25000000000.0");
  EXPECT_EQ(json(1e300), "1e+300");
  EXPECT_EQ(json(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(to_json(JsonValue(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808");
}

TEST(WriteJson, TextIsEscapedAndMendedToUtf8) {
  expect_text(quoted("a \"b\" \\ \n \x01 \xC3\xA9"), "\"a \\\"b\\\" \\\\ \\n \\u0001 \xC3\xA9\"");
  EXPECT_EQ(quoted("\xFFx"), "\"\xEF\xBF\xBDx\"");
  EXPECT_EQ(quoted(std::string("plain")), "\"plain\"");
}

JsonValue sample() {
  JsonValue value;
  value.set("name", "x");
  value.set("empty", JsonValue(JsonValue::Array{JsonValue::object(), JsonValue::array()}));
  JsonValue link;
  link.set("bandwidth", "25GB/s");
  link.set("latency", "0s");
  value.set("link", link);
  value.set("list", JsonValue(JsonValue::Array{1, 2, 3}));
  return value;
}

TEST(WriteJson, Layouts) {
  EXPECT_EQ(
      to_json(sample(), -1),
      R"({"name":"x","empty":[{},[]],"link":{"bandwidth":"25GB/s","latency":"0s"},"list":[1,2,3]})");
  expect_text(to_json(JsonValue(JsonValue::Array{1, JsonValue::object()}), 4),
              "[\n    1,\n    {}\n]");
  expect_text(to_pretty_json(sample()), R"({
  "name": "x",
  "empty": [
    {},
    []
  ],
  "link": { "bandwidth": "25GB/s", "latency": "0s" },
  "list": [1, 2, 3]
})");
}

TEST(WriteJson, WhatDoesNotFitGoesOnSeveralLines) {
  // With its comma the link takes 53 columns.
  const std::string wide = to_pretty_json(sample(), 53);
  expect_contains(wide, "\"link\": { \"bandwidth\": \"25GB/s\", \"latency\": \"0s\" },\n");
  const std::string narrow = to_pretty_json(sample(), 52);
  expect_contains(narrow,
                  "\"link\": {\n    \"bandwidth\": \"25GB/s\",\n    \"latency\": \"0s\"\n  },");
}

TEST(Sources, DescribeWhereAValueComesFrom) {
  Sources sources;
  const auto file = sources.add(Sources::Kind::file, "f.json", "{\n  \"\xC3\xA9\": 1 }\n");
  const auto option = sources.add(Sources::Kind::argument, "--set a=1", "a=1");
  const auto preset = sources.add(Sources::Kind::builtin, "preset dgx-h100", "{}");
  EXPECT_EQ(sources.describe({file, 10, 11}), "f.json:2:8");
  EXPECT_EQ(sources.describe({file, 1000, 1001}), "f.json:3:1");
  EXPECT_EQ(sources.describe({option, 2, 3}), "--set a=1");
  EXPECT_EQ(sources.describe({preset, 0, 1}), "preset dgx-h100");
  EXPECT_EQ(sources.describe({}), "default");
}

TEST(Sources, AByteOrderMarkIsNoPartOfAFile) {
  Sources sources;
  const auto file = sources.add(Sources::Kind::file, "f.json", "\xEF\xBB\xBF{ x");
  EXPECT_EQ(sources.text(file), "{ x");
  EXPECT_EQ(sources.describe({file, 0, 1}), "f.json:1:1");
  EXPECT_EQ(sources.describe({file, 2, 3}), "f.json:1:3");
}

TEST(ScreenText, IsShortenedByCharacters) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefg", 6), "abc...");
  EXPECT_EQ(shortened("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 4), "\xC3\xA9...");
  EXPECT_EQ(shortened("", 6), "");
}

TEST(ScreenText, BrokenUtf8IsOneCharacterPerByte) {
  EXPECT_EQ(printable("a\xE6\xBC"), "a??");
  EXPECT_EQ(printable("\xC0\x80"), "??");
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "????");
  EXPECT_EQ(printable("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
}

}  // namespace
}  // namespace collsim
