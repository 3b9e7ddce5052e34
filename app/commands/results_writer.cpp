// SPDX-License-Identifier: Apache-2.0
#include "app/commands/results_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <sstream>

#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/report/report_data.hpp"

namespace collsim {
namespace {

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format format : {Format::table, Format::json, Format::jsonl, Format::csv,
                              Format::markdown, Format::nccl_tests})
    names.emplace_back(to_string(format));
  return names;
}

Format format_of_file(const std::string& file, const std::string& format) {
  if (const std::optional<Format> by_suffix = format_of_suffix(file)) return *by_suffix;
  if (!format.empty()) return *parse_format(format);
  throw UsageError(
      fmt::format("\"{}\" has no known format: name it .json, .jsonl, .csv, .md, .txt or .html, or "
                  "add --format",
                  file));
}

// As if they had been written to a file and read again.
StoredResults stored(const Results& results) {
  StoredResults stored{results.file, to_value(results), 0};
  JsonValue::Array& rows = stored.document.find("rows")->items();
  if (rows.size() > most_stored_rows) {
    stored.left_out = rows.size() - most_stored_rows;
    rows.resize(most_stored_rows);
  }
  return stored;
}

}  // namespace

void refuse_overwriting(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(input, ignored) &&
        std::filesystem::equivalent(output, input, ignored))
      throw UsageError(
          fmt::format("writing {} would overwrite {}, which is an input", output, input));
  }
}

void add_output_options(Options& command, std::string& format, std::vector<std::string>& outputs) {
  Option& option =
      command.choice("--format", format, format_names(),
                     "output format (default: table, whose \"x bound\" is the time divided by a "
                     "lower bound that no schedule beats, of NCCL's none under its protocol)");
  // As its files are called.
  option.take = [take = option.take](const std::string& name) {
    take(name == "md" ? "markdown" : name);
  };
  command.value("-o", outputs, "FILE",
                "also write to a file, in the format of its suffix (.json, .jsonl, .csv, .md, "
                ".txt, .html; may be repeated); --quiet prints nothing");
}

Printer::Printer(std::ostream& out, Format format, const TableStyle& style, bool several)
    : out_(out), format_(format), style_(style), several_(several) {}

Printer::Printer(Terminal& terminal, Format format, bool several)
    : Printer(terminal.out, format, {terminal.colour, terminal.quiet}, several) {}

void Printer::separate(const std::string& heading) {
  const bool json = format_ == Format::json;
  if (several_ && json) out_ << (first_ ? "[\n" : ",\n");
  if (several_ && !heading.empty()) out_ << (first_ ? "" : "\n") << heading << "\n";
  first_ = false;
}

void Printer::print_row(const CaseResult& row, const std::vector<Axis>& axes) {
  if (!rows_) {
    separate({});
    rows_.emplace(out_, format_, swept_values(axes));
  }
  rows_->write(row);
  ++printed_;
  out_.flush();
}

void Printer::print(const Results& results) {
  if (rows_) {
    for (std::size_t i = printed_; i < results.rows.size(); ++i) rows_->write(results.rows[i]);
    rows_->finish(results);
    rows_.reset();
    printed_ = 0;
    out_.flush();
    return;
  }
  switch (format_) {
    case Format::json: print(to_value(results)); return;
    case Format::jsonl:
    case Format::csv: separate({}); break;
    case Format::markdown: separate("## " + results.file + "\n"); break;
    case Format::table:
    case Format::nccl_tests: separate("# " + results.file); break;
  }
  write(out_, results, format_, style_);
  out_.flush();
}

void Printer::print(const JsonValue& document) {
  separate({});
  out_ << to_json(document) << (several_ ? "" : "\n");
  out_.flush();
}

void Printer::print(const std::string& heading, const std::string& text) {
  separate("# " + heading);
  out_ << text;
}

void Printer::finish() {
  if (several_ && format_ == Format::json && !first_) out_ << "\n]\n";
  out_.flush();
}

Outputs::Outputs(const std::vector<std::string>& files, const std::string& format,
                 const std::vector<std::string>& inputs)
    : several_(inputs.size() > 1) {
  if (!format.empty()) standard_format_ = *parse_format(format);
  for (const std::string& file : files) {
    refuse_overwriting(file, inputs);
    check_writable(file);
    if (file == "-") {
      to_standard_output_ = true;
      files_.push_back({file, standard_format_});
    } else if (file.ends_with(".html")) {
      files_.push_back({file, standard_format_, true});
    } else {
      files_.push_back({file, format_of_file(file, format)});
    }
  }
}

std::string Outputs::of_collectives() const {
  const bool columns = standard_format_ == Format::nccl_tests ||
                       std::any_of(files_.begin(), files_.end(), [](const File& file) {
                         return !file.is_page && file.format == Format::nccl_tests;
                       });
  return columns ? "the columns of nccl-tests" : "";
}

void Outputs::keep(Results results) {
  has_results_ = true;
  if (!files_.empty()) kept_.emplace_back(std::move(results));
}

void Outputs::keep(JsonValue mistakes) {
  if (!files_.empty()) kept_.emplace_back(std::move(mistakes));
}

namespace {

// A file goes on without the warnings of the run, and a table has no column for this one.
void tell_calibration(std::ostream& out, const Results& results, Format format) {
  if (format != Format::table && format != Format::markdown) return;
  for (const Warning& warning : results.warnings)
    if (warning.code == "uncalibrated-preset")
      out << "\nnot calibrated: " << printable(warning.message) << '\n';
}

}  // namespace

void Outputs::write(Terminal& terminal) const {
  for (const File& file : files_) {
    if (!has_results_ && file.name != "-") continue;
    write_file(file.name, terminal, [&](std::ostream& out) {
      if (file.is_page) return write_page(out);
      Printer printer(out, file.format, {file.name == "-" && terminal.colour, false}, several_);
      for (const auto& kept : kept_) {
        if (const Results* results = std::get_if<Results>(&kept)) {
          printer.print(*results);
          if (file.name != "-") tell_calibration(out, *results, file.format);
        } else if (file.format == Format::json)
          printer.print(std::get<JsonValue>(kept));
      }
      printer.finish();
    });
  }
}

void Outputs::write_page(std::ostream& out) const {
  std::vector<JsonValue> data;
  for (const auto& kept : kept_)
    if (const Results* results = std::get_if<Results>(&kept))
      data.push_back(report_data(stored(*results), std::nullopt));
  write_report(out, std::move(data));
}

void show_warnings(const Results& results, const Sources& sources, const Terminal& terminal) {
  if (terminal.quiet) return;
  const std::string_view label =
      terminal.err_colour ? "\033[1;33mwarning:\033[0m" : std::string_view("warning:");
  for (const Warning& warning : results.warnings) {
    terminal.err << label << ' ' << printable(warning.message);
    // An option that was just written needs no finding.
    if (warning.place.source != SourceRange::nowhere &&
        sources.kind(warning.place.source) != Sources::Kind::argument)
      terminal.err << " (" << sources.describe(warning.place) << ")";
    terminal.err << '\n';
  }
}

}  // namespace collsim
