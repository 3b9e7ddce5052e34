// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace collsim {

// A table of text for terminals: columns as wide as their widest cell (in columns on the screen, not
// bytes), numbers to the right, words to the left.
class TextTable {
 public:
  enum class Align { left, right };
  void add_column(const std::string& heading, Align align = Align::right);
  void add_row(std::vector<std::string> cells);
  void add_remark(const std::string& remark);  // behind the last row, outside the columns
  [[nodiscard]] std::string text(const std::string& indent = "  ") const;
  [[nodiscard]] std::string markdown() const;

 private:
  struct Column {
    std::string heading;
    Align align;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> remarks_;  // by row
};

}  // namespace collsim
