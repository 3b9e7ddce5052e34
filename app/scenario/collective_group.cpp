// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "app/scenario/collective_parts.hpp"

namespace collsim {
namespace {

// Positions look their pair up one by one.
constexpr std::size_t max_pairs = 10'000;
constexpr auto highest_rank = static_cast<std::int64_t>(max_ranks) - 1;

std::string ranks_of(std::size_t count) {
  return count == 1 ? "the cluster has one rank, 0"
                    : "the cluster has ranks 0 to " + std::to_string(count - 1);
}

// The position of a rank; nothing: it is not in the group.
std::optional<int> position_of(std::int64_t rank, const std::vector<Rank>& group) {
  if (rank < 0 || rank > highest_rank) return std::nullopt;
  const Rank wanted(static_cast<std::size_t>(rank));
  if (wanted.index() < group.size() && group[wanted.index()] == wanted)
    return static_cast<int>(wanted.index());
  const auto found = std::find(group.begin(), group.end(), wanted);
  if (found == group.end()) return std::nullopt;
  return static_cast<int>(found - group.begin());
}

std::string not_in_the_group(std::int64_t rank) {
  return "rank " + std::to_string(rank) + " does not take part";
}

std::string who_takes_part(const std::vector<Rank>& group) {
  constexpr std::size_t most_shown = 16;
  if (group.front() == Rank(0) && group.back() == Rank(group.size() - 1))
    return group.size() == 1 ? "only rank 0 takes part"
                             : "ranks 0 to " + std::to_string(group.size() - 1) + " take part";
  std::string text = "these ranks take part:";
  for (std::size_t i = 0; i < std::min(group.size(), most_shown); ++i)
    text += (i == 0 ? " " : ", ") + std::to_string(group[i].index());
  return text + (group.size() > most_shown ? ", ..." : "");
}

class PairsReader {
 public:
  PairsReader(ObjectReader& reader, const std::vector<Rank>& group)
      : reader_(&reader), group_(&group) {}

  std::vector<std::pair<int, int>> read(const Value& list) {
    std::vector<std::pair<int, int>> pairs;
    if (list.items().size() > max_pairs) {
      reader_->wrong("pattern", "too-large",
                     "a pattern has at most " + std::to_string(max_pairs) + " pairs, not " +
                         std::to_string(list.items().size()));
      return pairs;
    }
    for (std::size_t i = 0; i < list.items().size(); ++i) {
      const Value& item = list.items()[i];
      const bool is_pair = item.is_array() && item.items().size() == 2 &&
                           item.items()[0].integer() && item.items()[1].integer();
      if (!is_pair) {
        wrong(i, "wrong-type", "each pair is a list of two ranks, [from, to]");
      } else if (!group_->empty()) {
        const auto pair = positions(i, *item.items()[0].integer(), *item.items()[1].integer());
        if (pair) pairs.push_back(*pair);
      }
    }
    return pairs;
  }

 private:
  std::optional<std::pair<int, int>> positions(std::size_t i, std::int64_t from, std::int64_t to) {
    const std::optional<int> source = position_of(from, *group_);
    const std::optional<int> target = position_of(to, *group_);
    if (!source || !target) {
      wrong(i, "unknown-rank", not_in_the_group(source ? to : from), who_takes_part(*group_));
      return std::nullopt;
    }
    if (!senders_.insert(from).second)
      wrong(i, "repeated", "rank " + std::to_string(from) + " sends more than once");
    if (!receivers_.insert(to).second)
      wrong(i, "repeated", "rank " + std::to_string(to) + " receives more than once");
    return std::pair(*source, *target);
  }

  void wrong(std::size_t i, const char* code, const std::string& message,
             const std::string& hint = {}) {
    wrong_item(*reader_, "pattern", i, code, message, hint);
  }

  ObjectReader* reader_;
  const std::vector<Rank>* group_;
  std::unordered_set<std::int64_t> senders_, receivers_;
};

int read_shift(ObjectReader& reader, const Value& pattern) {
  ObjectReader inner(pattern, reader.pointer_of("pattern"), reader.diagnostics());
  inner.need({"shift"});
  const std::int64_t distance = inner.integer("shift", -highest_rank, highest_rank, 1);
  reader.resolve("pattern", inner.finish());
  return static_cast<int>(distance);
}

}  // namespace

void wrong_item(ObjectReader& reader, std::string_view key, std::size_t index, std::string code,
                std::string message, std::string hint) {
  const Value* list = reader.raw(key);
  reader.diagnostics().add({.code = std::move(code),
                            .message = std::move(message),
                            .place = list->items()[index].place,
                            .pointer = pointer_to(reader.pointer_of(key), index),
                            .suggestion = {},
                            .hint = std::move(hint)});
}

std::optional<std::vector<std::int64_t>> read_integers(ObjectReader& reader, std::string_view key,
                                                       std::int64_t low, std::int64_t high) {
  const Value* list = reader.raw(key);
  if (list == nullptr) return std::nullopt;
  if (!list->is_array() || list->items().empty()) {
    reader.wrong(key, "wrong-type",
                 "a list of whole numbers is needed, not " +
                     (list->is_array() ? "an empty one" : std::string(list->kind_name())));
    return std::nullopt;
  }
  std::vector<std::int64_t> numbers;
  bool fine = true;
  for (std::size_t i = 0; i < list->items().size(); ++i) {
    const std::optional<std::int64_t> number = list->items()[i].integer();
    fine = number && *number >= low && *number <= high;
    if (!fine) {
      wrong_item(reader, key, i, number ? "out-of-range" : "wrong-type",
                 "a whole number from " + std::to_string(low) + " to " + std::to_string(high) +
                     " is needed");
      break;
    }
    numbers.push_back(*number);
  }
  if (!fine) return std::nullopt;
  reader.resolve(key, *list);
  return numbers;
}

std::vector<Rank> read_group(ObjectReader& reader, const Cluster* cluster) {
  const auto count = cluster != nullptr ? cluster->topology.rank_count() : max_ranks;
  if (!reader.has("ranks")) {
    static_cast<void>(reader.raw("ranks"));
    return cluster != nullptr ? first_ranks(count) : std::vector<Rank>();
  }
  const auto numbers = read_integers(reader, "ranks", 0, highest_rank);
  if (!numbers) return {};
  std::vector<Rank> group;
  std::unordered_set<std::int64_t> seen;
  bool fine = true;
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    const std::int64_t number = (*numbers)[i];
    const bool exists = static_cast<std::size_t>(number) < count;
    const bool once = seen.insert(number).second;
    if (!exists)
      wrong_item(reader, "ranks", i, "unknown-rank", "there is no rank " + std::to_string(number),
                 ranks_of(count));
    if (!once)
      wrong_item(reader, "ranks", i, "repeated",
                 "rank " + std::to_string(number) + " is in the group more than once");
    fine = fine && exists && once;
    group.emplace_back(static_cast<std::size_t>(number));
  }
  return fine ? group : std::vector<Rank>();
}

int read_root(ObjectReader& reader, const std::vector<Rank>& group) {
  const bool written = reader.has("root");
  const std::optional<std::int64_t> root = reader.integer("root", 0, highest_rank);
  if (group.empty() || (written && !root)) return 0;
  if (!written) {
    reader.resolve("root", static_cast<std::int64_t>(group.front().index()));
    return 0;
  }
  const std::optional<int> position = position_of(*root, group);
  if (!position)
    reader.wrong("root", "unknown-rank",
                 "rank " + std::to_string(*root) + ", the root, does not take part", {},
                 who_takes_part(group));
  return position.value_or(0);
}

Pattern read_pattern(ObjectReader& reader, const std::vector<Rank>& group) {
  Pattern pattern;
  const Value* value = reader.raw("pattern");
  const auto resolve_shift_by_one = [&] {
    Value shift = Value::object();
    shift.set("shift", 1);
    if (value != nullptr) shift.place = value->place;
    reader.resolve("pattern", std::move(shift));
  };
  if (value == nullptr) {
    resolve_shift_by_one();
  } else if (value->is_object()) {
    pattern.distance = read_shift(reader, *value);
  } else if (value->is_array()) {
    pattern.kind = Pattern::Kind::pairs;
    pattern.pairs = PairsReader(reader, group).read(*value);
    reader.resolve("pattern", *value);
  } else if (value->is_string()) {
    static const Vocabulary words{.what = "pattern", .allowed = {"shift", "exchange"}};
    if (reader.word("pattern", words) == "exchange")
      pattern.kind = Pattern::Kind::exchange;
    else
      resolve_shift_by_one();
  } else {
    reader.wrong("pattern", "wrong-type",
                 "a pattern is a word, an object or a list, not " + std::string(value->kind_name()),
                 {}, "\"shift\", \"exchange\", {\"shift\": 2} or [[0, 1], [1, 0]]");
  }
  return pattern;
}

}  // namespace collsim
