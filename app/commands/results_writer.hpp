// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/commands/command.hpp"
#include "app/output/format.hpp"

namespace collsim {

// A UsageError when the output is one of the files that are read, by whatever name.
void refuse_overwriting(const std::string& output, const std::vector<std::string>& inputs);

// Adds --format and -o.
void add_output_options(Options& command, std::string& format, std::vector<std::string>& outputs);

// Prints the results of scenarios one after the other on standard output.  Several make an array in
// JSON and get headings in readable formats.
class Printer {
 public:
  Printer(std::ostream& out, Format format, const TableStyle& style, bool several);
  Printer(Terminal& terminal, Format format, bool several);

  void print(const Results& results);
  // Row by row, of formats that are rows, of a sweep of these axes; then print() prints what is
  // left of them.  Which columns measured rows need is known when all are there.
  [[nodiscard]] bool prints_rows(bool measured) const {
    return format_ == Format::jsonl || (format_ == Format::csv && !measured);
  }
  void print_row(const CaseResult& row, const std::vector<Axis>& axes);
  void end_rows() { rows_.reset(); }      // of results that are not to be
  void print(const JsonValue& document);  // only for JSON
  void print(const std::string& heading, const std::string& text);
  void finish();

 private:
  void separate(const std::string& heading);

  std::ostream& out_;
  Format format_;
  TableStyle style_;
  bool several_;
  bool first_ = true;
  std::optional<RowWriter> rows_;  // of the results that are under way
  std::size_t printed_ = 0;        // of these rows
};

// The files of -o.
class Outputs {
 public:
  // Throws UsageError: a file in no known format, or one that is also an input.  WriteError: it
  // could not be written.
  Outputs(const std::vector<std::string>& files, const std::string& format,
          const std::vector<std::string>& inputs);

  [[nodiscard]] bool empty() const { return files_.empty(); }
  // What only collectives have: "the columns of nccl-tests"; empty: nothing of that.
  [[nodiscard]] std::string of_collectives() const;
  // --quiet with -o means: into the file only.  "-o -" is standard output already.
  [[nodiscard]] bool prints(bool quiet) const {
    return !to_standard_output_ && (!quiet || empty());
  }
  [[nodiscard]] Format standard_format() const { return standard_format_; }

  [[nodiscard]] bool is_standard_output() const { return to_standard_output_; }  // "-o -"

  void keep(Results results);
  void keep(JsonValue mistakes);  // for JSON; they alone make no file
  // Writes what standard output shows, in each file's format.  Throws WriteError.
  void write(Terminal& terminal) const;

 private:
  struct File {
    std::string name;
    Format format;
    bool is_page = false;  // what `collsim report` makes of the results
  };
  void write_page(std::ostream& out) const;
  std::vector<File> files_;
  bool to_standard_output_ = false;
  Format standard_format_ = Format::table;
  bool several_;  // inputs
  bool has_results_ = false;
  std::vector<std::variant<Results, JsonValue>> kept_;
};

// On standard error, unless --quiet.
void show_warnings(const Results& results, const Sources& sources, const Terminal& terminal);

}  // namespace collsim
