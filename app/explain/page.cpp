// SPDX-License-Identifier: Apache-2.0
#include "app/explain/page.hpp"

#include <algorithm>
#include <cmath>

namespace collsim {

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

std::string padded(std::string_view text, std::size_t to, bool right) {
  const std::size_t used = columns(text);
  const std::string blanks(to > used ? to - used : 0, ' ');
  return right ? blanks + std::string(text) : std::string(text) + blanks;
}

void Page::heading(std::string_view title) {
  if (!text_.empty()) text_ += '\n';
  text_ += style_.colour ? fmt::format("\033[1m{}\033[0m\n", title) : fmt::format("{}\n", title);
}

void Page::line(std::string_view first, std::string_view words, std::size_t indent) {
  std::string line(first);
  std::size_t used = columns(line);
  bool fresh = true;
  while (!words.empty()) {
    const std::size_t blank = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, blank);
    words.remove_prefix(std::min(blank + 1, words.size()));
    if (!fresh && used + 1 + columns(word) > style_.columns) {
      text_ += line + '\n';
      line = std::string(indent, ' ');
      used = indent;
      fresh = true;
    }
    if (!fresh) line += ' ';
    used += columns(word) + (fresh ? 0 : 1);
    line += word;
    fresh = false;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  text_ += line + '\n';
}

std::string Page::bar(double share) const {
  static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (style_.ascii) {
    const auto blocks = static_cast<std::size_t>(
        std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(bar_width)));
    return std::string(share > 0 ? std::max<std::size_t>(blocks, 1) : blocks, '#');
  }
  const auto all = static_cast<std::size_t>(
      std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(bar_width * 8)));
  std::string text;
  for (std::size_t i = 0; i < all / 8; ++i) text += "█";
  text += eighths[all % 8];
  return text.empty() && share > 0 ? eighths[1] : text;
}

}  // namespace collsim
