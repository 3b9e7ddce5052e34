// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "app/scenario/collective_internal.hpp"
#include "app/scenario/vocabulary.hpp"
#include "collectives/element.hpp"

namespace collsim {
namespace {

using Lists = std::vector<std::vector<double>>;

bool only_the_root_has_input(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::scatter;
}

bool is_whole_type(ElementType type) {
  return type != ElementType::f16 && type != ElementType::bf16 && type != ElementType::f32 &&
         type != ElementType::f64;
}

// Lowest and one more than highest number of a whole type.
std::pair<double, double> range_of(ElementType type) {
  const double bits = 8.0 * static_cast<double>(size_of(type));
  const bool is_unsigned =
      type == ElementType::u8 || type == ElementType::u32 || type == ElementType::u64;
  return is_unsigned ? std::pair(0.0, std::exp2(bits))
                     : std::pair(-std::exp2(bits - 1), std::exp2(bits - 1));
}

class DataReader {
 public:
  DataReader(ObjectReader& reader, Collective& collective)
      : reader_(&reader), collective_(&collective) {}

  std::optional<Lists> read(const JsonValue& data) {
    std::optional<Lists> lists = read_lists(data);
    if (!lists || !set_count(*lists)) return std::nullopt;
    for (int position = 0; position < collective_->size(); ++position) {
      std::vector<double>& list = (*lists)[index(position)];
      const auto have = static_cast<std::int64_t>(list.size());
      const std::int64_t need = input_count(*collective_, position);
      // What is only overwritten may be written out as well.
      if (need == 0 && have == collective_->count)
        list.clear();
      else if (have != need)
        return wrong_count(position, have, need);
    }
    return lists;
  }

 private:
  static std::size_t index(int position) { return static_cast<std::size_t>(position); }

  [[nodiscard]] bool gathers() const {
    return collective_->operation == Operation::all_gather ||
           collective_->operation == Operation::gather;
  }

  // One list per position; the root's alone becomes empty ones for the others.
  std::optional<Lists> read_lists(const JsonValue& data) {
    const bool root_only = only_the_root_has_input(collective_->operation);
    if (!data.is_array())
      return reader_->wrong(
          "data", "wrong-type",
          "data is one list of numbers per rank, not " + std::string(data.kind_name()), {},
          "write for example [[1, 2], [3, 4]] for 2 ranks");
    const JsonValue::Array& items = data.items();
    const std::size_t ranks = collective_->group.size();
    Lists lists(ranks);
    auto& of_root = lists[index(collective_->root)];
    bool fine = true;
    if (root_only && items.size() == 1) {
      fine = read_list(items[0], 0, of_root);
    } else if (items.size() == ranks) {
      for (std::size_t i = 0; i < ranks; ++i) fine = read_list(items[i], i, lists[i]) && fine;
    } else {
      return reader_->wrong("data", "wrong-count",
                            "data has " + std::to_string(items.size()) + " lists, but " +
                                std::to_string(ranks) +
                                (ranks == 1 ? " rank takes" : " ranks take") + " part",
                            {},
                            root_only ? "write one list per rank, or only the root's"
                                      : "write one list of numbers per rank");
    }
    return fine ? std::optional(std::move(lists)) : std::nullopt;
  }

  bool read_list(const JsonValue& item, std::size_t i, std::vector<double>& list) {
    if (!item.is_array())
      return wrong_item(
          *reader_, "data", i, "wrong-type",
          "the data of a rank is a list of numbers, not " + std::string(item.kind_name()));
    const std::string pointer = pointer_to(reader_->pointer_of("data"), i);
    bool fine = true;
    for (std::size_t j = 0; j < item.items().size(); ++j)
      fine = read_number(item.items()[j], pointer_to(pointer, j), list) && fine;
    return fine;
  }

  bool read_number(const JsonValue& value, const std::string& pointer, std::vector<double>& list) {
    const std::string problem = element_misfit(value, collective_->type);
    if (problem.empty()) {
      list.push_back(value.number());
      return true;
    }
    return reader_->diagnostics().add({.code = value.is_number() ? "out-of-range" : "wrong-type",
                                       .message = "this " + problem,
                                       .place = value.place,
                                       .pointer = pointer});
  }

  // The count that makes the operation's input as long as the data, if any does.
  bool set_count(const Lists& lists) {
    std::int64_t all = 0;
    std::int64_t longest = 0;
    for (const std::vector<double>& list : lists) {
      all += static_cast<std::int64_t>(list.size());
      longest = std::max(longest, static_cast<std::int64_t>(list.size()));
    }
    const std::int64_t count =
        gathers() ? all
        : only_the_root_has_input(collective_->operation)
            ? static_cast<std::int64_t>(lists[index(collective_->root)].size())
            : longest;
    if (reader_->has("size") && collective_->count != count)
      return reader_->wrong("size", "inconsistent",
                            "the size says " + std::to_string(collective_->count) +
                                " elements, \"data\" " + std::to_string(count),
                            {}, "omit \"size\": it follows from the data");
    collective_->count = count;
    return true;
  }

  Refusal wrong_count(int position, std::int64_t have, std::int64_t need) {
    const std::string rank = std::to_string(collective_->group[index(position)].index());
    const std::string message = "rank " + rank + " has " + std::to_string(have) +
                                (have == 1 ? " number" : " numbers") + ", but its input is " +
                                std::to_string(need);
    const std::string hint =
        need == 0   ? "it sends nothing: write [], or as many numbers as the others have"
        : gathers() ? "the gathered pieces are equal; the first ones may be one longer"
                    : "all have the same number of them";
    return wrong_item(*reader_, "data", index(position), "wrong-count", message, hint);
  }

  ObjectReader* reader_;
  Collective* collective_;
};

}  // namespace

std::string element_misfit(const JsonValue& value, ElementType type) {
  if (!value.is_number()) return "is not a number";
  const std::string type_name(element_type_word(type));
  const double number = value.number();
  if (!is_whole_type(type)) {
    std::array<std::byte, 8> element{};
    from_number(type, number, element.data());
    return std::isfinite(to_number(type, element.data())) ? "" : "is too large for " + type_name;
  }
  const auto [low, beyond] = range_of(type);
  if (number != std::trunc(number)) return "is not whole, but the type is " + type_name;
  if (number < low || number >= beyond) return "is not in the range of " + type_name;
  const double exact_below = std::exp2(53);
  return std::abs(number) < exact_below ? "" : "is beyond 2^53, the limit for exact data";
}

std::optional<Lists> read_data(ObjectReader& reader, Collective& collective) {
  const JsonValue* data = reader.raw("data");
  if (data == nullptr || collective.group.empty()) return std::nullopt;
  return DataReader(reader, collective).read(*data);
}

}  // namespace collsim
