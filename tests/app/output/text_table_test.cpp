// SPDX-License-Identifier: Apache-2.0
#include "app/output/text_table.hpp"
#include "tests/golden.hpp"

#include <gtest/gtest.h>

namespace collsim::testing {
namespace {

TEST(TextTable, NumbersGoToTheRightAndWordsToTheLeft) {
  TextTable table;
  table.add_column("name", TextTable::Align::left);
  table.add_column("time");
  table.add_row({"ring", "1"});
  table.add_row({"double-tree", "12345"});
  expect_text(table.text(),
              "  name          time\n"
              "  ring             1\n"
              "  double-tree  12345\n");
}

TEST(TextTable, HasNoBlanksAtTheEndsOfLines) {
  TextTable table;
  table.add_column("a long heading", TextTable::Align::left);
  table.add_column("b", TextTable::Align::left);
  table.add_row({"x", ""});
  expect_text(table.text(""), "a long heading  b\nx\n");
}

TEST(TextTable, RemarksStandBehindTheirRows) {
  TextTable table;
  table.add_column("a");
  table.add_row({"1"});
  table.add_remark("<- best");
  table.add_row({"2"});
  expect_text(table.text(), "  a\n  1   <- best\n  2\n");
}

TEST(TextTable, MeasuresColumnsOnTheScreenNotBytes) {
  TextTable table;
  table.add_column("µs");
  table.add_column("b");
  table.add_row({"1 µs", "x"});
  table.add_row({"10 ms", "y"});
  table.add_row({"環状", "z"});
  expect_text(table.text(),
              "     µs  b\n"
              "   1 µs  x\n"
              "  10 ms  y\n"
              "   環状  z\n");
}

TEST(TextTable, MayHaveNoColumns) {
  EXPECT_EQ(TextTable().text(), "\n");
}

TEST(TextTable, WrapsTheWordsOfTheLastColumn) {
  TextTable table;
  table.add_column("name", TextTable::Align::left);
  table.add_column("how", TextTable::Align::left);
  table.add_row({"ring", "each rank sends to the next one, all at once"});
  const std::string wrapped =
      "  name  how\n"
      "  ring  each rank sends to the next\n"
      "        one, all at once\n";
  EXPECT_EQ(table.text("  ", 37), wrapped);
  EXPECT_EQ(table.text("  ", 10).find("each rank sends to the\n"), wrapped.find("each"));
  EXPECT_EQ(table.text("  ", 100), table.text());
}

TEST(TextTable, SendsNoControlCharactersToTheTerminal) {
  TextTable table;
  table.add_column("a\x1b[2J", TextTable::Align::left);
  table.add_row({"b\nc\x07"});
  table.add_remark("d\x1b");
  expect_text(table.text(), "  a?[2J\n  b?c?    d?\n");
}

TEST(TextTable, MarkdownAlignsAndEscapes) {
  TextTable table;
  table.add_column("name", TextTable::Align::left);
  table.add_column("time");
  table.add_row({"a|b", "1"});
  table.add_row({"c", "2"});
  table.add_remark("<- best");
  expect_text(table.markdown(),
              "| name | time | |\n"
              "|---|---:|---|\n"
              "| a\\|b | 1 | |\n"
              "| c | 2 | <- best |\n");
}

}  // namespace
}  // namespace collsim::testing
