// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/document_path.hpp"

#include <gtest/gtest.h>

#include "app/json/value.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

using Steps = std::vector<std::string>;

JsonValue link(const char* bandwidth) {
  JsonValue value = JsonValue::object();
  value.set("bandwidth", bandwidth);
  return value;
}

JsonValue document() {
  JsonValue cluster = JsonValue::object();
  cluster.set("ranks", 8);
  cluster.set("links_override", JsonValue(JsonValue::Array{link("1GB/s"), link("2GB/s")}));
  JsonValue value = JsonValue::object();
  value.set("cluster", std::move(cluster));
  return value;
}

TEST(DocumentPath, StepsAreNamesBetweenDots) {
  EXPECT_EQ(split_path("cluster.link.bandwidth"), (Steps{"cluster", "link", "bandwidth"}));
  EXPECT_EQ(split_path("name"), Steps{"name"});
}

TEST(DocumentPath, BehindOverrideAndSweepTheRestIsOneName) {
  EXPECT_EQ(split_path("cluster.override.nic.bandwidth"),
            (Steps{"cluster", "override", "nic.bandwidth"}));
  EXPECT_EQ(split_path("cluster.override.nic.protocols.p2p-LL.hop"),
            (Steps{"cluster", "override", "nic.protocols", "p2p-LL", "hop"}));
  EXPECT_EQ(split_path("cluster.override.nic.protocols"),
            (Steps{"cluster", "override", "nic.protocols"}));
  EXPECT_EQ(split_path("sweep.collective.chunks"), (Steps{"sweep", "collective.chunks"}));
  EXPECT_EQ(split_path("model.override.x"), (Steps{"model", "override", "x"}));
}

TEST(DocumentPath, AnEmptyStepIsNoPath) {
  for (const char* path : {"", ".", "a.", ".a", "a..b", "cluster.override."})
    EXPECT_FALSE(split_path(path)) << path;
}

TEST(DocumentPath, AnElementLiesInItsList) {
  EXPECT_TRUE(lies_in("cluster.link.bandwidth", "cluster.link"));
  EXPECT_TRUE(lies_in("cluster.link", "cluster.link"));
  EXPECT_FALSE(lies_in("cluster.links", "cluster.link"));
  EXPECT_FALSE(lies_in("cluster", "cluster.link"));
}

TEST(DocumentPath, FindsMembersAndElements) {
  const JsonValue value = document();
  EXPECT_EQ(value_at(value, "cluster.ranks")->integer(), 8);
  EXPECT_EQ(value_at(value, "cluster.links_override.1.bandwidth")->string(), "2GB/s");
  for (const char* path : {"cluster.links_override.2", "cluster.links_override.x", "cluster.rank",
                           "cluster.ranks.0", "cluster.links_override.-1", "cluster."})
    EXPECT_EQ(value_at(value, path), nullptr) << path;
}

TEST(DocumentPath, PutsMembersAndElements) {
  JsonValue value = document();
  EXPECT_FALSE(put(value, "cluster.ranks", 16, {}));
  EXPECT_FALSE(put(value, "cluster.links_override.0.bandwidth", "9GB/s", {}));
  EXPECT_EQ(
      to_json(value, -1),
      R"({"cluster":{"ranks":16,"links_override":[{"bandwidth":"9GB/s"},{"bandwidth":"2GB/s"}]}})");
}

TEST(DocumentPath, MakesMissingObjectsThatRememberWhereThePathWas) {
  JsonValue value = JsonValue::object();
  const SourceRange place{3, 10, 20};
  EXPECT_FALSE(put(value, "cluster.override.nic.bandwidth", "1GB/s", place));
  EXPECT_EQ(to_json(value, -1), R"({"cluster":{"override":{"nic.bandwidth":"1GB/s"}}})");
  EXPECT_EQ(value.members()[0].key_place, place);
  EXPECT_EQ(value.find("cluster")->members()[0].key_place, place);
}

TEST(DocumentPath, KeepsThePlaceOfAKeyThatIsWritten) {
  JsonValue value = JsonValue::object();
  value.set("name", "a", SourceRange{1, 2, 3});
  EXPECT_FALSE(put(value, "name", "b", SourceRange{4, 5, 6}));
  EXPECT_EQ(value.members()[0].key_place, (SourceRange{1, 2, 3}));
}

TEST(DocumentPath, SaysWhyAPathLeadsNowhere) {
  JsonValue value = document();
  const auto problem = [&](const char* path) {
    const auto found = put(value, path, 1, {});
    return found ? found->message + "; " + found->hint : "fine";
  };
  expect_text(problem("cluster.ranks.x"),
              "\"cluster.ranks\" is a number, so there is no \"x\" in it; ");
  expect_text(problem("cluster.links_override.2"),
              "\"cluster.links_override\" is a list of 2 elements, which has no element \"2\"; "
              "elements are numbered from 0 to 1");
  expect_text(problem("cluster.links_override.first"),
              "\"cluster.links_override\" is a list of 2 elements, which has no element \"first\"; "
              "elements are numbered from 0 to 1");
  expect_text(problem("cluster..x"),
              "\"cluster..x\" is not a path; a path is names with dots between them, such as "
              "\"collective.chunks\"");
  expect_text(problem("cluster.links_override.99999999999999999999"),
              "\"cluster.links_override\" is a list of 2 elements, which has no element "
              "\"99999999999999999999\"; elements are numbered from 0 to 1");
}

}  // namespace
}  // namespace collsim
