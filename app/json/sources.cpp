// SPDX-License-Identifier: Apache-2.0
#include "app/json/sources.hpp"

#include <algorithm>

namespace collsim {

std::uint32_t Sources::add(Kind kind, std::string name, std::string text) {
  all_.push_back({kind, std::move(name), std::move(text)});
  return static_cast<std::uint32_t>(all_.size() - 1);
}

Sources::Position Sources::locate(std::uint32_t source, std::size_t offset) const {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  const std::string_view text = all_[source].text;
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const std::size_t last_end = before.rfind('\n');

  Position position;
  position.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  if (last_end != std::string_view::npos)
    position.line_begin = last_end + 1;
  else if (text.starts_with(byte_order_mark))
    position.line_begin = byte_order_mark.size();
  position.line_text = text.substr(position.line_begin);
  position.line_text = position.line_text.substr(0, position.line_text.find('\n'));
  if (position.line_text.ends_with('\r')) position.line_text.remove_suffix(1);
  if (offset > position.line_begin) {
    const std::string_view left = before.substr(position.line_begin);
    const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) >> 6U) == 2; };
    position.column += static_cast<int>(static_cast<std::ptrdiff_t>(left.size()) -
                                        std::count_if(left.begin(), left.end(), continues));
  }
  return position;
}

std::string Sources::describe(const SourceRange& place) const {
  if (place.source == SourceRange::nowhere) return "default";
  if (kind(place.source) != Kind::file) return name(place.source);
  const Position position = locate(place.source, place.begin);
  return name(place.source) + ":" + std::to_string(position.line) + ":" +
         std::to_string(position.column);
}

}  // namespace collsim
