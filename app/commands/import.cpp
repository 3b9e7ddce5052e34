// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/commands/import_workload.hpp"
#include "app/commands/measured_answers.hpp"
#include "app/commands/results_writer.hpp"
#include "app/json/screen_text.hpp"
#include "app/json/source_bytes.hpp"
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
  WorkloadOptions of_workloads;
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

// What the files hold: tables of logs, and workloads by the files that they are from.
struct Imported {
  Tables tables;
  std::vector<std::pair<std::string, ImportedWorkload>> workloads;
};

int read_files(const ImportOptions& options, Imported& imported, Terminal& terminal) {
  const MeasuredAnswers answers = options.answers.read();
  const WorkloadAnswers of_workloads = options.of_workloads.read(options.answers.ranks);
  int code = exit_fine;
  for (const std::string& file : options.logs) {
    Sources sources;
    Diagnostics diagnostics;
    const auto source = read_bytes(file, sources, diagnostics, {}, max_log_bytes);
    if (source && looks_like_workload(sources.text(*source))) {
      auto workload = read_workload(*source, sources, of_workloads, diagnostics);
      if (workload) imported.workloads.emplace_back(sources.name(*source), std::move(*workload));
    } else if (source && file.ends_with(".et")) {
      diagnostics.add({.code = "no-workload",
                       .message = "this is no Chakra trace: it does not begin with the metadata "
                                  "that every one has",
                       .place = {*source, 0, 0}});
    } else if (source && is_text(*source, sources, diagnostics, max_log_bytes)) {
      Tables tables = read_measurements(*source, sources, diagnostics);
      if (tables.empty() && diagnostics.empty())
        diagnostics.add({.code = "no-rows",
                         .message = "this is a file of results, not a measured table",
                         .place = {*source, 0, 0},
                         .hint = "collsim report FILE -o report.html draws them"});
      for (MeasuredTable& table : tables) {
        answer(table, answers);
        imported.tables.push_back(std::move(table));
      }
    }
    if (!diagnostics.empty()) code = show_mistakes(diagnostics, sources, terminal);
  }
  return code;
}

int write_workload(const ImportOptions& options, const Imported& imported, Terminal& terminal) {
  const auto& [file, workload] = imported.workloads.front();
  const bool as_json = options.format == "json";
  if (imported.workloads.size() > 1 || !imported.tables.empty()) {
    if (as_json || !options.outputs.empty())
      throw UsageError("a workload becomes a scenario of its own: import one file at a time");
  }
  if (options.format == "csv") throw UsageError("a workload is written as JSON, not as CSV");
  if (!as_json && (options.outputs.empty() || !terminal.quiet))
    for (const auto& [name, one] : imported.workloads) terminal.out << workload_in_words(one, name);
  if (!as_json && options.outputs.empty()) return exit_fine;
  std::string missing;
  for (const std::string& question : workload.questions) missing += "\n  " + question;
  if (!missing.empty()) throw UsageError("nothing was written:" + missing);
  const std::string text = to_pretty_json(scenario_value(workload, file)) + '\n';
  if (as_json) terminal.out << text;
  for (const std::string& output : options.outputs) {
    if (output != "-" && !output.ends_with(".json"))
      throw UsageError(fmt::format("\"{}\": a workload is written as .json", output));
    write_file(output, terminal, [&](std::ostream& out) { out << text; });
    if (!terminal.quiet && output != "-")
      terminal.err << fmt::format("wrote {}; put your \"cluster\" into it, and run it\n", output);
  }
  return exit_fine;
}

int import_files(const ImportOptions& options, Terminal& terminal) {
  for (const std::string& output : options.outputs) {
    static_cast<void>(format_of_output(output, options.format));
    refuse_overwriting(output, options.logs);
    check_writable(output);
  }
  Imported imported;
  const int code = read_files(options, imported, terminal);
  const Tables& tables = imported.tables;
  if (!imported.workloads.empty()) {
    const int written = write_workload(options, imported, terminal);
    if (tables.empty()) return code == exit_fine ? written : code;
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
  command
      .value(
          "LOG", options->logs, "FILE",
          "what nccl-tests or rccl-tests printed, as pasted, or a measured table (JSON, CSV); or "
          "a workload: a trace of PyTorch's profiler, an execution trace of PyTorch or Chakra, a "
          "text workload of ASTRA-sim, SimAI or AICB, a CSV of DDP buckets; \"-\" reads "
          "standard input")
      .required = true;
  options->answers.declare(command);
  options->of_workloads.declare(command);
  command.choice("--format", options->format, {"table", "json", "csv"},
                 "output format (default: table)");
  command.value("-o", options->outputs, "FILE",
                "also write what was understood to a file, in the format of its suffix (.json, "
                ".csv, .txt; may be repeated); of a workload: a scenario, as .json");
  return [options](Terminal& terminal) { return import_files(*options, terminal); };
}

}  // namespace collsim
