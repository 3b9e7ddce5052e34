// SPDX-License-Identifier: Apache-2.0
#include "app/report/chosen_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "app/report/drawn_case.hpp"
#include "app/report/results_file.hpp"

namespace collsim {
namespace {

using RowNumbers = std::vector<std::size_t>;

// All rows whose time is taken apart are simulated again: that takes seconds, not minutes.
constexpr std::int64_t most_messages_again = 8 * std::int64_t{most_drawn_steps};

class RowChooser {
 public:
  explicit RowChooser(const Value::Array& rows) : rows_(rows) {}

  [[nodiscard]] ChosenRows choose() {
    const bool alone = rows_.size() == 1;  // there is nothing else to choose
    const RowNumbers small = rows_with_messages(most_drawn_steps);
    const RowNumbers moderate = alone ? small : rows_with_messages(moderate_steps / 2);
    if (moderate.empty()) return {};
    chosen_.pictures = telling(moderate);
    for (const std::size_t row : chosen_.pictures) add(row);
    if (small.size() > most_breakdowns) add_extremes(small);
    // What is free: every row there is, or every second, fourth ... of them.
    for (std::size_t step = small.size(); step > 0; step = step == 1 ? 0 : (step + 1) / 2)
      for (std::size_t i = 0; i < small.size(); i += step) add(small[i]);
    return std::move(chosen_);
  }

 private:
  using Load = std::pair<std::int64_t, std::int64_t>;

  [[nodiscard]] double time_of(std::size_t row) const { return at(rows_[row], "time_s").number(); }
  [[nodiscard]] std::int64_t messages_of(std::size_t row) const {
    return *at(rows_[row], "messages").integer();
  }
  [[nodiscard]] Load load_of(std::size_t row) const {
    return {*at(rows_[row], "ranks").integer(), *at(rows_[row], "size_bytes").integer()};
  }
  [[nodiscard]] bool is_faster(std::size_t a, std::size_t b) const {
    return time_of(a) < time_of(b);
  }

  [[nodiscard]] RowNumbers rows_with_messages(std::uint64_t most) const {
    RowNumbers rows;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (messages_of(row) <= static_cast<std::int64_t>(most)) rows.push_back(row);
    return rows;
  }

  [[nodiscard]] std::map<Load, RowNumbers, std::greater<>> by_load(const RowNumbers& rows) const {
    std::map<Load, RowNumbers, std::greater<>> all;
    for (const std::size_t row : rows) all[load_of(row)].push_back(row);
    return all;
  }

  [[nodiscard]] std::set<std::size_t> telling(const RowNumbers& rows) const {
    const auto faster = [&](std::size_t a, std::size_t b) { return is_faster(a, b); };
    const auto loads = by_load(rows);
    if (loads.size() > 1) {
      const RowNumbers& largest = loads.begin()->second;
      return {*std::min_element(largest.begin(), largest.end(), faster)};
    }
    const auto [fastest, slowest] = std::minmax_element(rows.begin(), rows.end(), faster);
    const bool chunks_vary = std::any_of(rows.begin(), rows.end(), [&](std::size_t row) {
      return !(at(rows_[row], "chunks") == at(rows_[rows.front()], "chunks"));
    });
    return chunks_vary ? std::set{rows.front(), *fastest} : std::set{*fastest, *slowest};
  }

  void add_extremes(const RowNumbers& rows) {
    const auto faster = [&](std::size_t a, std::size_t b) { return is_faster(a, b); };
    const auto loads = by_load(rows);
    add(rows.front());
    add(rows.back());
    if (loads.size() > 1)
      for (const std::size_t row : loads.begin()->second) add(row);
    for (const auto& [load, members] : loads) {
      const auto [fastest, slowest] = std::minmax_element(members.begin(), members.end(), faster);
      add(*fastest);
      add(*slowest);
    }
  }

  void add(std::size_t row) {
    if (chosen_.breakdowns.size() >= most_breakdowns || chosen_.breakdowns.contains(row)) return;
    if (!chosen_.breakdowns.empty() && messages_ + messages_of(row) > most_messages_again) return;
    messages_ += messages_of(row);
    chosen_.breakdowns.insert(row);
  }

  const Value::Array& rows_;
  ChosenRows chosen_;
  std::int64_t messages_ = 0;
};

}  // namespace

ChosenRows choose_rows(const Value::Array& rows) {
  return RowChooser(rows).choose();
}

}  // namespace collsim
