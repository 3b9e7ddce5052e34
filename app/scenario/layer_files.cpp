// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/layer_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/scenario/scenario_folder.hpp"

namespace collsim {
namespace {

constexpr std::size_t most_layers = 100'000;  // as many layers as a model may have
constexpr std::array<std::string_view, 6> layer_columns{"name",     "times",     "forward",
                                                        "backward", "gradients", "activations"};

// A table that has been read: `source`, cut into lines and cells.
class LayerTable {
 public:
  LayerTable(std::uint32_t source, const Sources& sources, Diagnostics& diagnostics)
      : source_(source), text_(sources.text(source)), diagnostics_(diagnostics) {}

  std::optional<JsonValue> read() {
    JsonValue rows = JsonValue::array();
    std::vector<Cell> heading;
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      const Cell line = trimmed(begin, end);
      begin = end + 1;
      if (line.text.empty() || line.text.front() == '#') continue;
      if (heading.empty()) {
        if (!split(line, heading) || !knows(heading)) return std::nullopt;
        continue;
      }
      if (rows.items().size() == most_layers)
        return wrong(line, "too-large",
                     "a model has at most " + with_commas(most_layers) + " layers");
      std::vector<Cell> cells;
      if (!split(line, cells)) return std::nullopt;
      if (cells.size() != heading.size())
        return wrong(line, "wrong-row",
                     fmt::format("{} in a table of {}", count_text(cells.size(), "cell"),
                                 count_text(heading.size(), "column")));
      rows.items().push_back(row_of(line, heading, cells));
    }
    if (rows.items().empty()) return wrong({}, "wrong-type", "this table has no layers");
    return rows;
  }

 private:
  struct Cell {
    std::string text;
    SourceRange place;
  };

  [[nodiscard]] Cell trimmed(std::size_t begin, std::size_t end) const {
    const auto is_space = [&](std::size_t at) {
      return text_[at] == ' ' || text_[at] == '\t' || text_[at] == '\r';
    };
    while (begin < end && is_space(begin)) ++begin;
    while (end > begin && is_space(end - 1)) --end;
    return {text_.substr(begin, end - begin),
            {source_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)}};
  }

  // As in RFC 4180: a cell between quotes may have commas, and quotes that are written twice.
  // False where a quote has no end in its line.
  [[nodiscard]] bool split(const Cell& line, std::vector<Cell>& cells) {
    std::size_t begin = line.place.begin;
    bool in_quotes = false;
    for (std::size_t at = begin; at <= line.place.end; ++at) {
      if (at < line.place.end && text_[at] == '"') in_quotes = !in_quotes;
      if (at < line.place.end && (in_quotes || text_[at] != ',')) continue;
      cells.push_back(without_quotes(trimmed(begin, at)));
      if (in_quotes) {
        wrong(cells.back(), "wrong-row", "this quote does not end in its line");
        return false;
      }
      begin = at + 1;
    }
    return true;
  }

  static Cell without_quotes(Cell cell) {
    const std::string_view text = cell.text;
    if (text.size() < 2 || text.front() != '"' || text.back() != '"') return cell;
    std::string plain;
    for (std::size_t at = 1; at + 1 < text.size(); ++at) {
      plain += text[at];
      if (text[at] == '"') ++at;
    }
    cell.text = std::move(plain);
    return cell;
  }

  bool knows(const std::vector<Cell>& heading) {
    for (std::size_t i = 0; i < heading.size(); ++i) {
      const bool known = std::ranges::find(layer_columns, heading[i].text) != layer_columns.end();
      const bool again = std::any_of(heading.begin(), heading.begin() + static_cast<long>(i),
                                     [&](const Cell& one) { return one.text == heading[i].text; });
      if (known && !again) continue;
      wrong(heading[i], "unknown-column",
            again ? "this column is there twice"
                  : fmt::format("{} is no column of a table of layers",
                                quoted(printable(heading[i].text))),
            fmt::format("the first line names the columns: some of {}",
                        fmt::join(layer_columns, ", ")));
      return false;
    }
    return true;
  }

  static JsonValue row_of(const Cell& line, const std::vector<Cell>& heading,
                          const std::vector<Cell>& cells) {
    JsonValue row = JsonValue::object();
    row.place = line.place;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].text.empty()) continue;
      JsonValue value(cells[i].text);
      const auto number = number_in<std::int64_t>(cells[i].text);
      if (number && heading[i].text != "name") value = JsonValue(*number);
      value.place = cells[i].place;
      row.set(heading[i].text, std::move(value), heading[i].place);
    }
    return row;
  }

  std::nullopt_t wrong(const Cell& cell, std::string code, std::string message,
                       std::string hint = {}) {
    const SourceRange whole{source_, 0, 0};
    diagnostics_.add({.code = std::move(code),
                      .message = std::move(message),
                      .place = cell.text.empty() ? whole : cell.place,
                      .hint = std::move(hint)});
    return std::nullopt;
  }

  std::uint32_t source_;
  const std::string& text_;
  Diagnostics& diagnostics_;
};

class LayerLoader {
 public:
  LayerLoader(const std::string& scenario_file, Sources& sources, Diagnostics& diagnostics)
      : scenario_file_(scenario_file), sources_(sources), diagnostics_(diagnostics) {}

  // JSON has a largest depth.
  void visit(JsonValue& value, const std::string& pointer, bool names_table = false) {
    if (names_table && value.is_string()) load(value, pointer);
    if (value.is_array())
      for (std::size_t i = 0; i < value.items().size(); ++i)
        visit(value.items()[i], pointer_to(pointer, i), names_table);
    if (!value.is_object()) return;
    for (JsonValue::Member& member : value.members())
      if (member.key != "transformer")  // whose layers are a number
        visit(member.value, pointer_to(pointer, member.key),
              member.key == "layers" || member.key.ends_with("model.layers"));
  }

 private:
  void load(JsonValue& name, const std::string& pointer) {
    // What is wrong with the table is said once.
    JsonValue rows = read(name, pointer).value_or(JsonValue::array({JsonValue::object()}));
    const SourceRange place = name.place;
    rows.place = place;
    // What a sweep sets is told by the name of its file.
    const bool swept = pointer.starts_with("/sweep/");
    name = swept ? JsonValue::object({{"file", name.string()}, {"rows", std::move(rows)}})
                 : std::move(rows);
    name.place = place;
  }

  std::optional<JsonValue> read(const JsonValue& name, const std::string& pointer) {
    const auto path = named_file(name, pointer, scenario_file_, sources_, diagnostics_);
    if (!path) return std::nullopt;
    Diagnostic asked_by;
    asked_by.place = name.place;
    asked_by.pointer = pointer;
    const auto source = read_source(*path, sources_, diagnostics_, asked_by);
    if (!source) return std::nullopt;
    return LayerTable(*source, sources_, diagnostics_).read();
  }

  const std::string& scenario_file_;
  Sources& sources_;
  Diagnostics& diagnostics_;
};

}  // namespace

void load_layer_files(JsonValue& document, const std::string& scenario_file, Sources& sources,
                      Diagnostics& diagnostics) {
  LayerLoader loader(scenario_file, sources, diagnostics);
  for (const char* part : {"workload", "sweep"})
    if (JsonValue* value = document.find(part)) loader.visit(*value, pointer_to("", part));
}

}  // namespace collsim
