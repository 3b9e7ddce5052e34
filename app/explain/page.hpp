// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "app/explain/page_style.hpp"

namespace collsim {

// Internal to explanations: a text of chapters, wrapped.

inline constexpr std::size_t bar_width = 20;

// Columns on the screen of the UTF-8 that is written here.
[[nodiscard]] std::size_t columns(std::string_view text);
[[nodiscard]] std::string padded(std::string_view text, std::size_t to, bool right = false);

class Page {
 public:
  explicit Page(const PageStyle& style) : style_(style) {}

  void heading(std::string_view title);
  // Wrapped; following lines begin at column `indent`.
  void line(std::string_view first, std::string_view words, std::size_t indent);
  void paragraph(std::string_view words) { line("  ", words, 2); }

  // A bar, in eighths of a block, so that small shares are seen.
  [[nodiscard]] std::string bar(double share) const;
  [[nodiscard]] std::string bold(std::string_view text) const {
    return style_.colour ? fmt::format("\033[1m{}\033[0m", text) : std::string(text);
  }
  std::string take() { return std::move(text_); }

 private:
  PageStyle style_;
  std::string text_;
};

}  // namespace collsim
