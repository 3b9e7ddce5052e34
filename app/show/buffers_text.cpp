// SPDX-License-Identifier: Apache-2.0
#include "app/show/buffers_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/output/text_table.hpp"
#include "app/scenario/lane_place.hpp"
#include "app/scenario/vocabulary.hpp"

namespace collsim {

namespace {

constexpr std::string_view nothing = "-";

// Lists longer than this are shortened to their first and last entries.
constexpr std::size_t long_list = 20;
constexpr std::size_t first_entries = 8;
constexpr std::size_t last_entries = 2;

template <class List, class ToText>
std::string list_text(const List& list, bool all, const ToText& to_text) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0) text += ", ";
    if (!all && list.size() > long_list && i == first_entries) {
      text += "..., ";
      i = list.size() - last_entries;
    }
    text += to_text(list[i]);
  }
  return text + "]";
}

// Writes numbers and buffers in one element type.
class Writer {
 public:
  Writer(const Buffers& buffers, const BuffersStyle& style)
      : buffers_(buffers), style_(style), type_(buffers.collective.type) {}

  [[nodiscard]] std::string text() const {
    std::string text = title();
    if (buffers_.collective.operation == Operation::barrier)
      text += who_waits_for_whom();
    else
      text += table();
    const bool steps_wanted = !buffers_.steps.empty() && !steps_are_the_table();
    if (steps_wanted) text += steps();
    return text + verdict();
  }

 private:
  [[nodiscard]] bool steps_are_the_table() const {
    return buffers_.collective.operation == Operation::barrier && !buffers_.steps_wanted;
  }
  [[nodiscard]] std::string numbers(const Numbers& list) const {
    return list_text(list, style_.all, [this](const std::optional<double>& number) {
      return number ? number_text(type_, *number) : std::string(nothing);
    });
  }
  [[nodiscard]] std::string buffer(const std::optional<ShownBuffer>& shown) const {
    if (!shown) return std::string(nothing);
    if (!shown->in_pieces) return numbers(shown->pieces.front());
    return list_text(shown->pieces, style_.all,
                     [this](const Numbers& piece) { return numbers(piece); });
  }

  [[nodiscard]] std::string title() const {
    const Collective& collective = buffers_.collective;
    std::string text(to_string(collective.operation));
    if (reduces(collective.operation))
      text += fmt::format(" ({})", to_string(collective.reduction));
    const bool all_take_part = collective.group.size() == buffers_.ranks.size();
    text += fmt::format(" by {} on {}{} {}", buffers_.algorithm, collective.size(),
                        all_take_part ? "" : fmt::format(" of {}", buffers_.ranks.size()),
                        buffers_.ranks.size() == 1 ? "rank" : "ranks");
    if (has_root(collective.operation) && collective.size() > 1)
      text += fmt::format(", root {}", root().index());
    if (collective.operation != Operation::barrier)
      text += fmt::format(", {}", element_type_word(collective.type));
    text += "\n";
    for (const std::string& note : buffers_.notes) text += "shown with " + note + "\n";
    return text + "\n";
  }

  [[nodiscard]] Rank root() const {
    return buffers_.collective.group[static_cast<std::size_t>(buffers_.collective.root)];
  }

  [[nodiscard]] std::string table() const {
    TextTable table;
    table.add_column("rank");
    table.add_column("before", TextTable::Align::left);
    table.add_column("after", TextTable::Align::left);
    const bool too_many = !style_.all && buffers_.ranks.size() > style_.max_ranks;
    std::size_t shown = 0;
    std::size_t left_out = 0;
    std::size_t outside = 0;
    for (const RankBuffers& rank : buffers_.ranks) {
      if (too_many && !rank.takes_part) {
        ++outside;
        continue;
      }
      // What is wrong is always shown.
      if (too_many && shown >= style_.max_ranks && !rank.must_be) {
        ++left_out;
        continue;
      }
      ++shown;
      add_row(table, rank);
    }
    std::string text = table.text();
    if (left_out > 0)
      text += fmt::format("  and {} more {} (--all shows all)\n", left_out,
                          left_out == 1 ? "rank" : "ranks");
    if (outside > 0)
      text += fmt::format("  {} more {} no part\n", outside,
                          outside == 1 ? "rank takes" : "ranks take");
    return text;
  }

  void add_row(TextTable& table, const RankBuffers& rank) const {
    std::string after = buffer(rank.after);
    if (!buffers_.problem.empty() && !rank.unchanged) after = "?";
    table.add_row({std::to_string(rank.rank.index()), buffer(rank.before), std::move(after)});
    if (!rank.takes_part)
      table.add_remark("takes no part");
    else if (rank.must_be)
      table.add_remark("WRONG, must be " + buffer(rank.must_be));
    else if (rank.unchanged)
      table.add_remark("unchanged");
  }

  [[nodiscard]] std::string who_waits_for_whom() const {
    std::vector<std::string> tells(buffers_.ranks.size());
    std::vector<std::string> hears(buffers_.ranks.size());
    const auto append = [](std::string& list, Rank rank) {
      list += (list.empty() ? "" : ", ") + std::to_string(rank.index());
    };
    for (const BufferStep& step : buffers_.steps) {
      if (!step.from) continue;
      append(tells[step.from->index()], step.rank);
      append(hears[step.rank.index()], *step.from);
    }
    TextTable table;
    table.add_column("rank");
    table.add_column("waits for", TextTable::Align::left);
    table.add_column("tells", TextTable::Align::left);
    std::size_t shown = 0;
    for (const RankBuffers& rank : buffers_.ranks) {
      if (!style_.all && shown++ == style_.max_ranks) break;
      const auto or_nothing = [](const std::string& list) {
        return list.empty() ? std::string(nothing) : list;
      };
      table.add_row({std::to_string(rank.rank.index()), or_nothing(hears[rank.rank.index()]),
                     or_nothing(tells[rank.rank.index()])});
      if (!rank.takes_part) table.add_remark("takes no part");
    }
    std::string text = "no data: a rank continues when it has heard from all it waits for\n\n";
    text += table.text();
    if (!style_.all && buffers_.ranks.size() > style_.max_ranks)
      text += fmt::format("  and {} (--all shows all)\n",
                          count_text(buffers_.ranks.size() - style_.max_ranks, "more rank"));
    return text;
  }

  // "[10] + [20] = [30]"
  [[nodiscard]] std::string what_happens(const BufferStep& step) const {
    if (!reduces(step.op)) return numbers(step.message);
    const std::string a = numbers(step.message);
    const std::string b = numbers(step.own);
    std::string result = numbers(step.result);
    switch (buffers_.collective.reduction) {
      case Reduction::sum:
      case Reduction::avg: return fmt::format("{} + {} = {}", a, b, result);
      case Reduction::prod: return fmt::format("{} x {} = {}", a, b, result);
      case Reduction::min: return fmt::format("min({}, {}) = {}", a, b, result);
      case Reduction::max: return fmt::format("max({}, {}) = {}", a, b, result);
    }
    return result;
  }

  [[nodiscard]] static std::string who(const BufferStep& step) {
    const std::string rank = lane_name(step.rank, step.place);
    if (step.from) return fmt::format("{} -> {}", lane_name(*step.from, step.from_place), rank);
    return fmt::format("{} {}", rank, reduces(step.op) ? "reduces" : "copies");
  }

  // A copy that a rank makes piece by piece is shown as one.
  [[nodiscard]] std::vector<BufferStep> steps_to_tell() const {
    const auto copies = [](const BufferStep& step) { return !step.from && !reduces(step.op); };
    std::vector<BufferStep> told;
    for (const BufferStep& step : buffers_.steps) {
      const bool goes_on = !told.empty() && copies(told.back()) && copies(step) &&
                           told.back().step == step.step && told.back().rank == step.rank &&
                           told.back().place == step.place;
      if (!goes_on) {
        told.push_back(step);
        continue;
      }
      Numbers& copied = told.back().message;
      copied.insert(copied.end(), step.message.begin(), step.message.end());
      if (step.after) told.back().after = step.after;
    }
    return told;
  }

  [[nodiscard]] std::string steps() const {
    const std::vector<BufferStep> told = steps_to_tell();
    const std::size_t count = style_.all ? told.size() : std::min(told.size(), style_.max_steps);
    std::vector<std::array<std::string, 3>> lines;
    std::array<std::size_t, 2> widths{};
    for (std::size_t i = 0; i < count; ++i) {
      const BufferStep& step = told[i];
      auto& line = lines.emplace_back();
      line = {who(step), buffers_.collective.count == 0 ? "" : what_happens(step), ""};
      if (step.after && buffers_.collective.count != 0)
        line[2] = fmt::format("rank {} now {}", step.rank.index(), buffer(step.after));
      else if (sends(step.op) && receives(step.op))
        line[2] = "passed on";
      for (std::size_t column = 0; column < widths.size(); ++column)
        widths[column] = std::max(widths[column], line[column].size());
    }
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t step = told[i].step;
      if (i == 0 || step != told[i - 1].step)
        text += step == 0 ? std::string("\nbefore the first message\n")
                          : fmt::format("\nstep {} of {}\n", step, buffers_.last_step);
      std::string line = fmt::format("  {:<{}}   {:<{}}   {}", lines[i][0], widths[0], lines[i][1],
                                     widths[1], lines[i][2]);
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    if (count < told.size())
      text += fmt::format("\nand {}, up to step {} (--all shows all)\n",
                          count_text(told.size() - count, "more line"), buffers_.last_step);
    if (buffers_.collective.reduction == Reduction::avg && reduces(buffers_.collective.operation))
      text += fmt::format("\nat the end every sum is divided by {}\n", buffers_.collective.size());
    return text;
  }

  [[nodiscard]] std::string verdict() const {
    if (!buffers_.problem.empty())
      return "\nThe programs of this schedule do not finish: " + buffers_.problem + "\n";
    if (!buffers_.right) return "\nWRONG: some ranks do not hold what the operation requires.\n";
    return "";
  }

  const Buffers& buffers_;
  const BuffersStyle& style_;
  ElementType type_;
};

bool is_whole(double number) {
  return number == std::trunc(number) && std::abs(number) < 1e15;
}

JsonValue number_value(ElementType type, double number) {
  if (!std::isfinite(number)) return std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf";
  if (is_whole(number)) return static_cast<std::int64_t>(number);
  // What a person would write for it in this type, not its long form as a double.
  return std::strtod(number_text(type, number).c_str(), nullptr);
}

JsonValue numbers_value(ElementType type, const Numbers& numbers) {
  return JsonValue::array(numbers, [&](const std::optional<double>& number) {
    return number ? number_value(type, *number) : JsonValue();
  });
}

JsonValue buffer_value(ElementType type, const std::optional<ShownBuffer>& shown) {
  if (!shown) return {};
  if (!shown->in_pieces) return numbers_value(type, shown->pieces.front());
  return JsonValue::array(shown->pieces,
                          [&](const Numbers& piece) { return numbers_value(type, piece); });
}

JsonValue rank_value(ElementType type, const RankBuffers& rank) {
  JsonValue value = JsonValue::object({{"rank", rank.rank.index()},
                                       {"taking_part", rank.takes_part},
                                       {"before", buffer_value(type, rank.before)},
                                       {"after", buffer_value(type, rank.after)},
                                       {"unchanged", rank.unchanged}});
  if (rank.must_be) value.set("must_be", buffer_value(type, rank.must_be));
  return value;
}

JsonValue step_value(ElementType type, const BufferStep& step) {
  return JsonValue::object(
      {{"step", step.step},
       {"rank", step.rank.index()},
       {"from", step.from ? JsonValue(step.from->index()) : JsonValue()},
       {"place", place_name(step.place)},
       {"from_place", step.from ? JsonValue(place_name(step.from_place)) : JsonValue()},
       {"does", to_string(step.op)},
       {"message", numbers_value(type, step.message)},
       {"own", reduces(step.op) ? numbers_value(type, step.own) : JsonValue()},
       {"result", reduces(step.op) ? numbers_value(type, step.result) : JsonValue()},
       {"after", buffer_value(type, step.after)}});
}

}  // namespace

std::string number_text(ElementType type, double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  if (number == 0) return "0";
  if (is_whole(number)) return fmt::format("{:.0f}", number);
  std::array<std::byte, 8> exact{};
  std::array<std::byte, 8> read_back{};
  from_number(type, number, exact.data());
  for (int digits = 1; digits < 17; ++digits) {
    std::string text = fmt::format("{:.{}g}", number, digits);
    from_number(type, std::strtod(text.c_str(), nullptr), read_back.data());
    if (read_back == exact) return text;
  }
  return fmt::format("{}", number);
}

void write_buffers(std::ostream& out, const Buffers& buffers, const BuffersStyle& style) {
  out << Writer(buffers, style).text();
}

JsonValue to_value(const Buffers& buffers) {
  const Collective& collective = buffers.collective;
  const ElementType type = collective.type;
  const bool reduced = reduces(collective.operation);
  JsonValue root;
  if (has_root(collective.operation))
    root = collective.group[static_cast<std::size_t>(collective.root)].index();
  JsonValue value = JsonValue::object(
      {{"op", to_string(collective.operation)},
       {"algorithm", buffers.algorithm},
       {"dtype", element_type_word(type)},
       {"reduction", reduced ? JsonValue(to_string(collective.reduction)) : JsonValue()},
       {"root", std::move(root)},
       {"elements", collective.count},
       {"notes", JsonValue::array(buffers.notes)},
       {"right", buffers.right},
       {"problem", buffers.problem.empty() ? JsonValue() : JsonValue(buffers.problem)},
       {"ranks", JsonValue::array(buffers.ranks,
                                  [&](const auto& rank) { return rank_value(type, rank); })}});
  if (buffers.steps_wanted)
    value.set("steps", JsonValue::array(buffers.steps,
                                        [&](const auto& step) { return step_value(type, step); }));
  return value;
}

}  // namespace collsim
