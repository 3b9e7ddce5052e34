// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/commands/measured_answers.hpp"
#include "app/commands/results_writer.hpp"
#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/measured/measured_csv.hpp"
#include "app/measured/measured_file.hpp"
#include "app/measured/measured_json.hpp"
#include "app/output/text_table.hpp"
#include "app/scenario/quantities.hpp"

namespace collsim {
namespace {

struct ImportOptions {
  std::vector<std::string> logs, outputs;
  std::string format = "table";
  AnswerOptions answers;
};

using Tables = std::vector<MeasuredTable>;
using OptionalCells = std::vector<std::optional<double>>;

std::string choice_of(const MeasuredTableRow& row) {
  if (row.algorithm.empty()) return row.protocol;
  return row.protocol.empty() ? row.algorithm : row.algorithm + "/" + row.protocol;
}

std::string wrong_of(const std::optional<std::int64_t>& wrong) {
  return wrong ? std::to_string(*wrong) : "-";
}

// A column of the rows, left out when no row has it.
template <class Get>
void add_cells(std::vector<std::pair<std::string, std::vector<std::string>>>& columns,
               const MeasuredTable& table, const char* heading, const Get& get) {
  std::vector<std::string> cells;
  bool any = false;
  for (const MeasuredTableRow& row : table.rows) {
    cells.push_back(get(row));
    any = any || (!cells.back().empty() && cells.back() != "-");
  }
  if (any) columns.emplace_back(heading, std::move(cells));
}

std::string rows_of(const MeasuredTable& table) {
  const std::size_t count = table.rows.size();
  OptionalCells times, rates;  // out of place, then in place, so that they share a unit
  for (const MeasuredTableRow& row : table.rows) times.emplace_back(row.time_s);
  for (const MeasuredTableRow& row : table.rows) times.push_back(row.in_place_s);
  for (const auto& time : times) {
    const std::size_t number = rates.size() % count;
    const double rate = bus_bandwidth(table, table.rows[number].size, time.value_or(0));
    rates.push_back(rate > 0 ? std::optional(rate) : std::nullopt);
  }
  const std::vector<std::string> time = column_cells(times, time_units());
  const std::vector<std::string> rate = column_cells(rates, rate_units());
  std::vector<std::pair<std::string, std::vector<std::string>>> columns;
  const auto number_of = [&](const MeasuredTableRow& row) {
    return static_cast<std::size_t>(&row - table.rows.data());
  };
  add_cells(columns, table, "size", [](const auto& row) { return exact_size(row.size); });
  add_cells(columns, table, "time", [&](const auto& row) { return time[number_of(row)]; });
  add_cells(columns, table, "busbw", [&](const auto& row) { return rate[number_of(row)]; });
  add_cells(columns, table, "wrong", [](const auto& row) { return wrong_of(row.wrong); });
  add_cells(columns, table, "in place",
            [&](const auto& row) { return time[count + number_of(row)]; });
  add_cells(columns, table, "busbw", [&](const auto& row) { return rate[count + number_of(row)]; });
  add_cells(columns, table, "wrong", [](const auto& row) { return wrong_of(row.in_place_wrong); });
  add_cells(columns, table, "NCCL ran", [](const auto& row) { return choice_of(row); });
  TextTable text;
  for (const auto& [heading, cells] : columns)
    text.add_column(heading,
                    heading == "NCCL ran" ? TextTable::Align::left : TextTable::Align::right);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (auto& column : columns) cells.push_back(printable(column.second[i]));
    text.add_row(std::move(cells));
    if (table.rows[i].suspect) text.add_remark("disturbed");
  }
  return text.text();
}

void write_readable(std::ostream& out, const Tables& tables, bool quiet) {
  bool first = true;
  for (const MeasuredTable& table : tables) {
    if (!first) out << '\n';
    first = false;
    if (!quiet) {
      out << printable(table.source) << ": " << description_of(table) << '\n';
      for (const std::string& fact : table.found) out << "  " << printable(fact) << '\n';
      for (const std::string& note : table.notes) out << "  note: " << printable(note) << '\n';
      for (const std::string& question : questions_about(table))
        out << "  missing: " << question << '\n';
      if (const std::vector<std::string> unknown = unknown_facts(table); !unknown.empty())
        out << fmt::format("  not in the log: {}\n", fmt::join(unknown, ", "));
      out << '\n';
    }
    out << rows_of(table);
  }
}

void write_tables(std::ostream& out, const Tables& tables, const std::string& format, bool quiet) {
  if (format == "json")
    out << to_json(to_value(tables)) << '\n';
  else if (format == "csv")
    write_measured_csv(out, tables);
  else
    write_readable(out, tables, quiet);
}

std::string format_of_output(const std::string& file, const std::string& format) {
  for (const char* known : {"json", "csv"})
    if (file.ends_with(std::string(".") + known)) return known;
  if (file == "-" || file.ends_with(".txt")) return file == "-" ? format : "table";
  throw UsageError(fmt::format("\"{}\" has no known format: name it .json, .csv or .txt", file));
}

// A file that says too little is no use to anyone who reads it later.
void refuse_open_questions(const Tables& tables) {
  std::string message;
  for (const MeasuredTable& table : tables)
    for (const std::string& question : questions_about(table))
      message += fmt::format("\n  {}: {}", printable(table.source), question);
  if (!message.empty()) throw UsageError("nothing was written: the log does not say" + message);
}

int import_logs(const ImportOptions& options, Terminal& terminal) {
  for (const std::string& output : options.outputs) {
    static_cast<void>(format_of_output(output, options.format));
    refuse_overwriting(output, options.logs);
    check_writable(output);
  }
  const MeasuredAnswers answers = options.answers.read();
  Tables tables;
  int code = exit_fine;
  for (const std::string& log : options.logs) {
    Sources sources;
    Diagnostics diagnostics;
    for (MeasuredTable& table : read_measurements(log, sources, diagnostics)) {
      answer(table, answers);
      tables.push_back(std::move(table));
    }
    if (!diagnostics.empty()) code = show_mistakes(diagnostics, sources, terminal);
  }
  if (tables.empty()) return code;
  if (options.outputs.empty() || !terminal.quiet)
    write_tables(terminal.out, tables, options.format, terminal.quiet);
  if (!options.outputs.empty()) refuse_open_questions(tables);
  for (const std::string& output : options.outputs)
    write_file(output, terminal, [&](std::ostream& out) {
      write_tables(out, tables, format_of_output(output, options.format), false);
    });
  return code;
}

}  // namespace

Action declare_import(Options& command) {
  const auto options = std::make_shared<ImportOptions>();
  command.value("LOG", options->logs, "FILE", log_in_words).required = true;
  options->answers.declare(command);
  command.choice("--format", options->format, {"table", "json", "csv"},
                 "output format (default: table)");
  command.value("-o", options->outputs, "FILE",
                "also write what was understood to a file, in the format of its suffix (.json, "
                ".csv, .txt; may be repeated)");
  return [options](Terminal& terminal) { return import_logs(*options, terminal); };
}

}  // namespace collsim
