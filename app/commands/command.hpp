// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/commands/options.hpp"
#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// What the program ends with.
enum ExitCode : int {
  exit_fine = 0,
  exit_failed = 1,          // an expectation, a proof or a comparison failed
  exit_usage = 2,           // bad usage or bad input
  exit_not_measurable = 3,  // cannot be measured here
  exit_wrong_data = 4,      // a real run produced wrong data
  exit_bug = 70,            // of ours
  exit_skipped = 77,        // on request
  exit_interrupted = 130
};
// Of several things that went wrong the one to end with: wrong data, bad input, what could not be
// measured, what failed.
[[nodiscard]] int worse_of(int code, int other);

// Where a command writes, and how.  Standard output is for results only.
struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool colour = false;  // of `out`, decided by --color, NO_COLOR, CLICOLOR_FORCE and the terminal
  bool err_colour = false;
  bool quiet = false;
  const std::atomic<bool>& interrupted;
  std::size_t columns = 0;  // of a terminal that is `out`; 0: unknown
};

// A command says which options it takes and gets a function that runs it after they were parsed.
// One file in commands/ each; command_line.cpp holds the table.
using Action = std::function<int(Terminal&)>;
struct Command {
  const char* name;
  const char* summary;   // one line
  const char* examples;  // shown at the end of its help, each line a command
  Action (*declare)(Options& command);
};

[[nodiscard]] Action declare_run(Options& command);
[[nodiscard]] Action declare_merge(Options& command);
[[nodiscard]] Action declare_explain(Options& command);
[[nodiscard]] Action declare_predict(Options& command);
[[nodiscard]] Action declare_check(Options& command);
[[nodiscard]] Action declare_show(Options& command);
[[nodiscard]] Action declare_trace(Options& command);
[[nodiscard]] Action declare_report(Options& command);
[[nodiscard]] Action declare_diff(Options& command);
[[nodiscard]] Action declare_validate(Options& command);
[[nodiscard]] Action declare_calibrate(Options& command);
[[nodiscard]] Action declare_export(Options& command);
[[nodiscard]] Action declare_import(Options& command);
[[nodiscard]] Action declare_compare(Options& command);
[[nodiscard]] Action declare_algorithms(Options& command);
[[nodiscard]] Action declare_presets(Options& command);
[[nodiscard]] Action declare_topo(Options& command);
[[nodiscard]] Action declare_schema(Options& command);
[[nodiscard]] Action declare_completion(Options& command);

// For commands about one case of one file: FILE, --set, and --at path=value,... to choose a point
// of the sweep.
struct OneCaseOptions {
  std::string file;
  std::vector<std::string> set;
  std::vector<std::string> at;
  bool workloads = false;  // training steps are taken, too
};
void add_one_case_options(Options& command, OneCaseOptions& options);

// The point of the sweep that --at names: of several that fit the first, and then `note` says so.
// Throws UsageError.
struct ChosenPoint {
  std::size_t point = 0;
  std::string note;
};
[[nodiscard]] ChosenPoint choose_point(const Scenario& scenario,
                                       const std::vector<std::string>& at);

// Loads the file and picks the point: the only one, or the one that --at names.  Tells the note of
// choose_point() and mistakes on standard error; nothing after a mistake.
struct ChosenCase {
  Scenario scenario;
  std::size_t point = 0;
  Case chosen;
};
[[nodiscard]] std::optional<ChosenCase> load_one_case(const OneCaseOptions& options,
                                                      Terminal& terminal);

// Shows mistakes of the input on standard error, as text, or as JSON on standard output; the exit
// code for it.
int show_mistakes(const Diagnostics& diagnostics, const Sources& sources, Terminal& terminal,
                  bool as_json = false);

// Opens FILE for writing ("-": standard output), writes by `writer`, and notices when the disk is
// full.  A file appears whole or not at all, unless nothing but itself can be written in its
// folder.  Throws WriteError.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;  // in words for the user
};
void write_file(const std::string& file, Terminal& terminal,
                const std::function<void(std::ostream&)>& writer);
// Throws the WriteError that write_file() would now: before work that would be lost.
void check_writable(const std::string& file);

}  // namespace collsim
