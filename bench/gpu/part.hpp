// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace collsim::bench {

// A part of the results file, Markdown, written line by line: what a phase found out before it
// crashed is not lost.
class Part {
 public:
  explicit Part(std::FILE* file) : file_(file) {}

  void heading(const std::string& text) { line("## " + text + "\n"); }
  void text(const std::string& text) { line(text + "\n"); }
  void columns(const std::vector<std::string>& names) {
    std::string first = "|", second = "|";
    for (const std::string& name : names) {
      first += " " + name + " |";
      second += "---|";
    }
    line(first + "\n" + second);
  }
  void row(const std::vector<std::string>& cells) {
    std::string all = "|";
    for (const std::string& cell : cells) all += " " + cell + " |";
    line(all);
  }
  void end_of_table() { line(""); }

 private:
  void line(const std::string& text) {
    std::fprintf(file_, "%s\n", text.c_str());
    std::fflush(file_);
  }
  std::FILE* file_;
};

// "12.3", with so many digits after the point.
[[nodiscard]] inline std::string number(double value, int digits = 1) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}
[[nodiscard]] inline std::string percent(double part, int digits = 1) {
  return number(part * 100, digits) + "%";
}

}  // namespace collsim::bench
