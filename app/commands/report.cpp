// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "app/commands/command.hpp"
#include "app/commands/results_writer.hpp"
#include "app/json/screen_text.hpp"
#include "app/report/report_data.hpp"

namespace collsim {
namespace {

struct ReportCommandOptions {
  std::vector<std::string> files, at;
  std::string output = "-";
};

// For all results whose sweep has such a point; the others are drawn as without --at.
class AskedPoint {
 public:
  explicit AskedPoint(const std::vector<std::string>& at) : at_(at) {}

  std::optional<std::size_t> of(const StoredResults& results) {
    if (at_.empty()) return std::nullopt;
    std::string why_not;
    const std::optional<Scenario> scenario = stored_scenario(results, why_not);
    if (!scenario) {
      problem_ = fmt::format("--at: {}: {}", results.file, why_not);
      return std::nullopt;
    }
    try {
      ChosenPoint chosen = choose_point(*scenario, at_);
      found_ = true;
      if (!chosen.note.empty()) notes_.insert(std::move(chosen.note));
      return chosen.point;
    } catch (const UsageError& error) {
      problem_ = error.what();
      return std::nullopt;
    }
  }

  void insist() const {
    if (!at_.empty() && !found_) throw UsageError(problem_);
  }
  [[nodiscard]] const std::set<std::string>& notes() const { return notes_; }

 private:
  const std::vector<std::string>& at_;
  bool found_ = false;
  std::string problem_;
  std::set<std::string> notes_;
};

void tell(const std::vector<StoredResults>& all, const ReportCommandOptions& options,
          const std::set<std::string>& notes, Terminal& terminal) {
  for (const StoredResults& results : all)
    if (results.left_out > 0)
      terminal.err << fmt::format("{} has {} rows; the report shows the first {}\n", results.file,
                                  results.left_out + most_stored_rows, most_stored_rows);
  if (terminal.quiet) return;
  for (const std::string& note : notes) terminal.err << note << '\n';
  if (options.output != "-")
    terminal.err << fmt::format("wrote {}; open it in a browser\n", options.output);
}

// A terminal, a pipe, and standard output, whatever it is: they have no suffix.
bool is_no_file_on_disk(const std::string& output) {
  std::error_code ignored;
  const auto type = std::filesystem::status(output, ignored).type();
  using Type = std::filesystem::file_type;
  return type == Type::character || type == Type::fifo || type == Type::socket ||
         output == "/dev/stdout" || output == "/dev/stderr" || output.starts_with("/dev/fd/");
}

void insist_on_a_page(const std::string& output) {
  if (output.empty()) throw UsageError("-o needs a file name, such as -o report.html");
  if (output == "-" || is_no_file_on_disk(output)) return;
  const std::filesystem::path path(output);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw UsageError(fmt::format("{} is a folder: -o {}", output, (path / "report.html").string()));
  const std::string suffix = lower(path.extension().string());
  if (suffix == ".html" || suffix == ".htm") return;
  throw UsageError(
      fmt::format("a report is an HTML page: use -o {}{}",
                  std::filesystem::path(path).replace_extension(".html").string(),
                  suffix == ".pdf" ? "; to get a PDF, open it there and print it" : ""));
}

int report(const ReportCommandOptions& options, Terminal& terminal) {
  if (options.output == "-" && terminal.out_is_terminal)
    throw UsageError("refusing to print HTML to a terminal; use -o report.html");
  insist_on_a_page(options.output);
  refuse_overwriting(options.output, options.files);
  Sources sources;
  Diagnostics diagnostics;
  std::vector<StoredResults> all;
  for (const std::string& file : options.files)
    for (StoredResults& results : read_results(file, sources, diagnostics))
      all.push_back(std::move(results));
  if (!diagnostics.empty()) return show_mistakes(diagnostics, sources, terminal);

  AskedPoint asked(options.at);
  std::vector<JsonValue> data;
  data.reserve(all.size());
  for (const StoredResults& results : all) data.push_back(report_data(results, asked.of(results)));
  asked.insist();
  write_file(options.output, terminal,
             [&](std::ostream& out) { write_report(out, std::move(data)); });
  tell(all, options, asked.notes(), terminal);
  return exit_fine;
}

}  // namespace

Action declare_report(Options& command) {
  const auto options = std::make_shared<ReportCommandOptions>();
  command
      .value("RESULTS", options->files, "FILE",
             "results written with -o results.json by run, predict or validate")
      .required = true;
  command.value("-o,--output", options->output, "FILE",
                "file to write the page to (default: standard output, unless it is a terminal)");
  command.value(
      "--at", options->at, "PATH=VALUE",
      "the row to draw as a timeline, in each file that has it: chunks=16 (may be repeated; "
      "default: the one or two most telling, such as the first and the fastest number of chunks)");
  return [options](Terminal& terminal) { return report(*options, terminal); };
}

}  // namespace collsim
