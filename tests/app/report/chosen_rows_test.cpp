// SPDX-License-Identifier: Apache-2.0
#include "app/report/drawn_rows.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace collsim {
namespace {

struct Numbers {
  double time;
  std::int64_t chunks = 1, size = 1024, ranks = 4, messages = 10;
};

JsonValue::Array rows_of(const std::vector<Numbers>& all) {
  JsonValue::Array rows;
  for (const Numbers& one : all) {
    JsonValue row = JsonValue::object();
    row.set("time_s", one.time);
    row.set("chunks", one.chunks);
    row.set("size_bytes", one.size);
    row.set("ranks", one.ranks);
    row.set("messages", one.messages);
    rows.push_back(std::move(row));
  }
  return rows;
}

using Rows = std::set<std::size_t>;
constexpr std::int64_t very_many = 10'000'000;

TEST(ChosenRows, OfChunksAreTheFirstAndTheFastest) {
  const ChosenRows chosen = choose_rows(rows_of({{9, 1}, {3, 8}, {4, 64}}));
  EXPECT_EQ(chosen.pictures, (Rows{0, 1}));
  EXPECT_EQ(chosen.breakdowns, (Rows{0, 1, 2}));
}

TEST(ChosenRows, OfSizesAreTheFastestWithMostBytes) {
  EXPECT_EQ(choose_rows(rows_of({{1, 1, 8}, {5, 1, 64}, {4, 1, 64}})).pictures, Rows{2});
}

TEST(ChosenRows, OfAlternativesAreTheFastestAndTheSlowest) {
  EXPECT_EQ(choose_rows(rows_of({{5}, {2}, {7}, {3}})).pictures, (Rows{1, 2}));
}

TEST(ChosenRows, AreThoseThatCanBeDrawn) {
  EXPECT_EQ(choose_rows(rows_of({{5}, {2, 1, 1024, 4, very_many}, {7}})).breakdowns, (Rows{0, 2}));
  const ChosenRows none = choose_rows(rows_of({{5, 1, 1024, 4, very_many}}));
  EXPECT_TRUE(none.pictures.empty() && none.breakdowns.empty());
  // Too many to be drawn unasked, unless there is nothing else.
  EXPECT_TRUE(choose_rows(rows_of({{5, 1, 1, 4, 50'000}, {6, 1, 1, 4, 50'000}})).pictures.empty());
  EXPECT_EQ(choose_rows(rows_of({{5, 1, 1, 4, 50'000}})).pictures, Rows{0});
}

TEST(ChosenRows, OfManyHaveTheExtremesOfEverySize) {
  std::vector<Numbers> all;
  for (int size = 0; size < 8; ++size)
    for (int choice = 0; choice < 5; ++choice)
      all.push_back({1.0 + (choice + size) % 5, 1, std::int64_t{1024} << size});
  const ChosenRows chosen = choose_rows(rows_of(all));
  EXPECT_EQ(chosen.breakdowns.size(), most_breakdowns);
  for (std::size_t size = 0; size < 8; ++size)
    for (std::size_t choice = 0; choice < 5; ++choice)
      if ((choice + size) % 5 % 4 == 0 || size == 7) {
        EXPECT_TRUE(chosen.breakdowns.contains(5 * size + choice)) << size << ' ' << choice;
      }
}

}  // namespace
}  // namespace collsim
