// SPDX-License-Identifier: Apache-2.0
#include "app/json/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"

namespace collsim {

namespace {

constexpr std::string_view ellipsis = "...";

// Part of a line of a source as it goes to the screen, and what of it is underlined.
struct Excerpt {
  std::string text;
  std::size_t caret_column = 0;  // from 0
  std::size_t carets = 1;
};

// One character of a line on the screen.
struct Cell {
  std::size_t offset;  // byte in the line
  std::size_t column;  // on the screen, from 0
  std::string text;
};

// The last cell is the end of the line, with no text.
std::vector<Cell> cells_of(std::string_view line) {
  constexpr std::size_t tab_width = 4;
  std::vector<Cell> cells;
  std::size_t column = 0;
  for (std::size_t offset = 0; offset < line.size();) {
    const CodePoint point = code_point_at(line, offset);
    const std::string_view bytes = line.substr(offset, point.bytes);
    cells.push_back({offset, column, printable(bytes)});
    if (point.code == '\t') cells.back().text.assign(tab_width - column % tab_width, ' ');
    const bool as_it_is = cells.back().text == bytes;
    column +=
        as_it_is ? static_cast<std::size_t>(screen_width(point.code)) : cells.back().text.size();
    offset += point.bytes;
  }
  cells.push_back({line.size(), column, ""});
  return cells;
}

// Bytes of a long line around a caret that can matter for what is shown of it.
std::string_view neighbourhood(std::string_view line, std::size_t& begin, std::size_t& end) {
  constexpr std::size_t reach = 1000;
  std::size_t first = begin > reach ? begin - reach : 0;
  const auto continues = [&](std::size_t i) {
    return i < line.size() && (static_cast<unsigned char>(line[i]) >> 6U) == 2;
  };
  while (first > 0 && first < begin && continues(first)) ++first;
  begin -= first;
  end -= first;
  return line.substr(first, begin + reach);
}

// begin and end: bytes of the line that are underlined.
Excerpt excerpt_of(std::string_view line, std::size_t begin, std::size_t end) {
  constexpr std::size_t columns = 96;
  constexpr std::size_t before_caret = 40;
  const std::size_t length = line.size();
  const std::size_t offset_before = begin;
  line = neighbourhood(line, begin, end);
  const bool cut_before = begin < offset_before;
  const bool cut_after = offset_before - begin + line.size() < length;

  const std::vector<Cell> cells = cells_of(line);
  const auto column_of = [&](std::size_t offset) {
    const auto cell =
        std::find_if(cells.begin(), cells.end(), [&](const Cell& c) { return c.offset >= offset; });
    return cell == cells.end() ? cells.back().column : cell->column;
  };
  const std::size_t width = cells.back().column;
  const std::size_t caret = column_of(begin);
  std::size_t first = 0;
  if (cut_before || width > columns) {
    const std::size_t from_the_end = width > columns ? width - columns : 0;
    first = caret > before_caret ? caret - before_caret : 0;
    if (!cut_after) first = std::min(first, from_the_end);
  }
  const bool dots_before = cut_before || first > 0;
  const bool dots_after = cut_after || width > first + columns;
  const std::size_t last = dots_after ? first + columns - ellipsis.size() : width;
  // What has no width, as accents have none, may leave less than the dots before the caret.
  if (dots_before) first = std::min(first + ellipsis.size(), caret);

  Excerpt excerpt;
  if (dots_before) excerpt.text = ellipsis;
  for (const Cell& cell : cells)
    if (cell.column >= first && cell.column < last) excerpt.text += cell.text;
  const std::size_t shown_from = std::find_if(cells.begin(), cells.end(), [&](const Cell& c) {
                                   return c.column >= first;
                                 })->column;
  excerpt.caret_column = (dots_before ? ellipsis.size() : 0) + caret - std::min(caret, shown_from);
  const std::size_t underlined_to = std::min(column_of(end), last);
  excerpt.carets = underlined_to > caret ? underlined_to - caret : 1;
  if (dots_after) excerpt.text += ellipsis;
  return excerpt;
}

class TextWriter {
 public:
  TextWriter(const Sources& sources, bool colour) : sources_(&sources), colour_(colour) {}

  void write(const Diagnostic& diagnostic) {
    write_headline(diagnostic);
    gutter_ = "    | ";
    const std::string suggestion =
        diagnostic.suggestion.empty()
            ? ""
            : fmt::format("did you mean {}?", printable(quoted(clipped(diagnostic.suggestion))));
    const SourceRange& place = diagnostic.place;
    if (place.source != SourceRange::nowhere && place.end > 0)
      write_line(place, suggestion);
    else if (!suggestion.empty())
      out_ += gutter_ + "  " + suggestion + "\n";
    write_hint(diagnostic.hint);
  }
  std::string take() { return std::move(out_); }

 private:
  static constexpr std::size_t longest = 1000;
  static std::string clipped(std::string_view text) { return shortened(text, longest); }

  [[nodiscard]] std::string in_style(std::string_view style, std::string_view text) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : std::string(text);
  }

  void write_headline(const Diagnostic& diagnostic) {
    const bool placed = diagnostic.place.source != SourceRange::nowhere;
    const std::string place = placed ? sources_->describe(diagnostic.place) : "collsim";
    out_ += in_style("1", printable(clipped(place)) + ":");
    out_ += " " + printable(clipped(diagnostic.message));
    if (!diagnostic.pointer.empty()) out_ += " at " + printable(clipped(diagnostic.pointer));
    out_ += '\n';
  }

  void write_line(const SourceRange& place, const std::string& suggestion) {
    const Sources::Position position = sources_->locate(place.source, place.begin);
    std::string_view line = position.line_text;
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    const std::size_t begin = std::max<std::size_t>(place.begin, position.line_begin);
    const std::size_t end = std::max<std::size_t>(place.end, begin);
    const Excerpt excerpt = excerpt_of(line, std::min(begin - position.line_begin, line.size()),
                                       std::min(end - position.line_begin, line.size()));

    const bool numbered = sources_->kind(place.source) != Sources::Kind::argument;
    const std::string number = numbered ? std::to_string(position.line) : " ";
    gutter_ = "  " + std::string(number.size(), ' ') + " | ";
    out_ += "  " + number + " | " + excerpt.text + "\n";
    out_ += gutter_ + std::string(excerpt.caret_column, ' ');
    out_ += in_style("1;31", std::string(excerpt.carets, '^'));
    if (!suggestion.empty()) out_ += " " + suggestion;
    out_ += '\n';
  }

  void write_hint(std::string_view hint) {
    while (!hint.empty()) {
      const std::size_t length = std::min(hint.find('\n'), hint.size());
      out_ += gutter_ + "  " + printable(clipped(hint.substr(0, length))) + "\n";
      hint.remove_prefix(std::min(length + 1, hint.size()));
    }
  }

  const Sources* sources_;
  bool colour_;
  std::string gutter_;
  std::string out_;
};

JsonValue text_or_null(const std::string& text) {
  return text.empty() ? JsonValue() : JsonValue(text);
}

}  // namespace

Refusal Diagnostics::add(Diagnostic diagnostic) {
  const auto same = [&](const Diagnostic& other) {
    return other.place == diagnostic.place && other.message == diagnostic.message &&
           other.pointer == diagnostic.pointer;
  };
  if (all_.size() == max_kept)
    ++not_kept_;
  else if (std::none_of(all_.begin(), all_.end(), same))
    all_.push_back(std::move(diagnostic));
  return {};
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::vector<Diagnostic> sorted = all_;
  const auto key = [](const Diagnostic& diagnostic) {
    const SourceRange& place = diagnostic.place;
    const bool placed = place.source != SourceRange::nowhere;
    return std::tuple(placed, place.source, place.begin);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return key(a) < key(b); });
  return sorted;
}

std::string to_text(const Diagnostics& diagnostics, const Sources& sources, bool colour,
                    std::size_t limit) {
  if (diagnostics.empty()) return "";
  TextWriter writer(sources, colour);
  const std::vector<Diagnostic> sorted = diagnostics.sorted();
  const std::size_t shown = std::min(limit, sorted.size());
  for (std::size_t i = 0; i < shown; ++i) writer.write(sorted[i]);
  std::string text = writer.take();
  const std::size_t all = diagnostics.size();
  if (all > shown) text += fmt::format("and {} more\n", all - shown);
  text += fmt::format("{} error{}; nothing was run\n", all, all == 1 ? "" : "s");
  return text;
}

JsonValue to_value(const Diagnostics& diagnostics, const Sources& sources) {
  const auto error = [&](const Diagnostic& diagnostic) {
    const SourceRange& place = diagnostic.place;
    const bool placed = place.source != SourceRange::nowhere;
    const bool in_lines = placed && sources.kind(place.source) == Sources::Kind::file;
    Sources::Position position;
    if (in_lines) position = sources.locate(place.source, place.begin);
    return JsonValue::object(
        {{"file", placed ? JsonValue(sources.name(place.source)) : JsonValue()},
         {"line", in_lines ? JsonValue(position.line) : JsonValue()},
         {"column", in_lines ? JsonValue(position.column) : JsonValue()},
         {"pointer", diagnostic.pointer},
         {"code", diagnostic.code},
         {"message", diagnostic.message},
         {"suggestion", text_or_null(diagnostic.suggestion)},
         {"hint", text_or_null(diagnostic.hint)}});
  };
  return JsonValue::object({{"errors", JsonValue::array(diagnostics.sorted(), error)}});
}

}  // namespace collsim
