// SPDX-License-Identifier: Apache-2.0
#include "app/commands/calibrate_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>

#include "app/calibrate/fit_record.hpp"
#include "app/calibrate/machine_file.hpp"
#include "app/calibrate/tables_fit.hpp"
#include "app/commands/interrupts.hpp"
#include "app/commands/measured_answers.hpp"
#include "app/commands/progress.hpp"
#include "app/json/screen_text.hpp"
#include "app/measured/measured_file.hpp"
#include "app/scenario/fitted.hpp"
#include "app/scenario/presets.hpp"

namespace collsim {
namespace {

// A machine is believed to be like its class, every constant within about a quarter.
constexpr double machine_within = 1.25;

// The files of folders in their place, by name.
std::vector<std::string> with_folders_opened(const std::vector<std::string>& given) {
  std::vector<std::string> files;
  for (const std::string& name : given) {
    std::error_code none;
    if (!std::filesystem::is_directory(name, none)) {
      files.push_back(name);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : std::filesystem::directory_iterator(name, none))
      if (entry.is_regular_file(none)) inside.push_back(entry.path().string());
    if (inside.empty()) throw UsageError(printable(name) + ": no files in this folder");
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

std::vector<std::string> kinds_in(const std::string& as) {
  if (as.empty() || as == "all") return {};
  std::vector<std::string> allowed = gpu_kind_words().allowed;
  const std::vector<std::string>& networks = network_words().allowed;
  allowed.insert(allowed.end(), networks.begin(), networks.end());
  allowed.emplace_back("all");
  std::vector<std::string> kinds;
  for (std::size_t begin = 0; begin <= as.size();) {
    const std::size_t end = std::min(as.find(',', begin), as.size());
    const std::string kind = as.substr(begin, end - begin);
    if (std::find(allowed.begin(), allowed.end() - 1, kind) == allowed.end() - 1)
      throw UsageError("--as: there is no kind of machine" + did_you_mean(kind, allowed));
    kinds.push_back(kind);
    begin = end + 1;
  }
  return kinds;
}

class TablesCalibration {
 public:
  TablesCalibration(const CalibrateTablesOptions& options, Terminal& terminal)
      : options_(options), terminal_(terminal) {}

  int run() {
    refuse_what_makes_no_sense();
    Sources sources;
    Diagnostics diagnostics;
    for (const std::string& file : with_folders_opened(options_.files))
      for (MeasuredTable& table : read_measurements(file, sources, diagnostics))
        tables_.push_back(std::move(table));
    if (!diagnostics.empty()) return show_mistakes(diagnostics, sources, terminal_);
    for (MeasuredTable& table : tables_) choose_preset(table);
    for (MeasuredTable& table : tables_) answer_open_questions(table);
    for (const std::string& output : options_.outputs) check_writable(output);
    const TablesFit fit = fitted();
    if (terminal_.interrupted) return exit_interrupted;
    refuse_no_rows(fit);
    tell(fit);
    return exit_fine;
  }

 private:
  [[nodiscard]] bool one_machine() const { return options_.as.empty(); }

  void refuse_what_makes_no_sense() {
    if (!options_.preset.empty()) {
      preset_ = find_preset(options_.preset);
      if (preset_ == nullptr)
        throw UsageError("--preset: there is no preset" +
                         did_you_mean(options_.preset, preset_words().allowed));
    }
    if (one_machine() && options_.leave_out_owners)
      throw UsageError("--leave-out-owners goes with --as");
    fit_options_.fit.kinds = kinds_in(options_.as);
    fit_options_.leave_out_owners = options_.leave_out_owners;
  }

  // The one machine is what the user says, whatever the log calls its GPUs; else what these are of.
  void choose_preset(MeasuredTable& table) {
    const Preset* const said = preset_of(table);
    if (!options_.preset.empty()) {
      if (one_machine() && !are_gpus_of(table, *preset_))
        terminal_.err << fmt::format(
            "warning: {}: the log calls its GPUs \"{}\", which are none of {}; they are fitted as "
            "such because --preset says so\n",
            printable(table.source), printable(table.gpu), preset_->name);
      if (one_machine() || table.preset.empty()) table.preset = preset_->name;
      return;
    }
    if (said != nullptr) table.preset = said->name;
    if (!one_machine()) return;
    if (said == nullptr)
      throw UsageError(fmt::format(
          "{}: {}; say which machine it was by --preset NAME (\"collsim presets\"), or fit kinds "
          "of machines by --as KIND (\"all\": every one)",
          printable(table.source),
          table.gpu.empty() ? "the log does not say which GPUs ran"
                            : fmt::format("no preset is known for \"{}\"", printable(table.gpu))));
    if (preset_ != nullptr && preset_ != said)
      throw UsageError(fmt::format(
          "{} is of {}, but {} of {}; fit each machine alone, or name the one that they are by "
          "--preset NAME",
          printable(table.source), said->name, printable(tables_.front().source), preset_->name));
    if (preset_ == nullptr && !terminal_.quiet)
      terminal_.err << fmt::format("preset {}, because the GPUs are \"{}\"\n", said->name,
                                   printable(table.gpu));
    preset_ = said;
  }

  void answer_open_questions(MeasuredTable& table) const {
    if (options_.nodes) table.nodes = options_.nodes;
    const std::vector<std::string> questions = questions_about(table);
    if (one_machine() && !questions.empty())
      throw UsageError(fmt::format("{}: {}", printable(table.source), questions.front()));
    if (one_machine() && !table.nodes) assume_nodes(table);
  }

  void assume_nodes(MeasuredTable& table) const {
    table.nodes = (*table.ranks - 1) / preset_->gpus + 1;
    if (*table.nodes > 1 && !terminal_.quiet)
      terminal_.err << fmt::format(
          "assumed: {} ran on {} nodes, because the log does not say how many; --nodes N says "
          "otherwise\n",
          printable(table.source), *table.nodes);
  }

  TablesFit fitted() {
    if (one_machine()) {
      fit_options_.fit.within = machine_within;
      for (const MeasuredTable& table : tables_) add_kinds_of(table);
    }
    const InterruptWatch watch;
    Progress progress(terminal_);
    fit_options_.fit.stop = &terminal_.interrupted;
    fit_options_.fit.progress = [&](std::size_t done, std::size_t total) {
      progress.update(done, total);
    };
    TablesFit fit = fit_tables(tables_, fitted_constants(), fit_options_);
    progress.clear();
    return fit;
  }

  void add_kinds_of(const MeasuredTable& table) {
    const KindsOfCase kinds = cases_of(table).kinds;
    for (const std::string& kind : {kinds.gpu, kinds.network}) {
      std::vector<std::string>& known = fit_options_.fit.kinds;
      if (!kind.empty() && std::find(known.begin(), known.end(), kind) == known.end())
        known.push_back(kind);
    }
    if (!kinds.network.empty()) network_ = kinds.network;
    nodes_ = std::max(nodes_, table.nodes.value_or(1));
  }

  static void refuse_no_rows(const TablesFit& fit) {
    if (!fit.errors.empty()) return;
    std::string message = "no table can be fitted to";
    for (const TableOfFit& table : fit.tables)
      message += fmt::format("\n  {}: {}", printable(table.id), printable(table.why_not));
    throw UsageError(message);
  }

  void tell(const TablesFit& fit) {
    const MachineConstants present = MachineConstants::read(fitted_constants());
    const bool to_stdout =
        std::find(options_.outputs.begin(), options_.outputs.end(), "-") != options_.outputs.end();
    if (!to_stdout)
      terminal_.out << (one_machine() ? machine_fit_text(fit, present) : fit_text(fit));
    for (const std::string& output : options_.outputs) {
      const std::string text = output.ends_with(".md")
                                   ? fit_page(fit, COLLSIM_VERSION)
                                   : to_pretty_json(file_of(fit, present)) + "\n";
      write_file(output, terminal_, [&](std::ostream& out) { out << text; });
      if (!terminal_.quiet && output != "-") terminal_.err << fmt::format("wrote {}\n", output);
    }
  }

  [[nodiscard]] JsonValue file_of(const TablesFit& fit, const MachineConstants& present) const {
    if (!one_machine()) return fit.constants;
    return machine_file(preset_->name, nodes_, network_, present, fit.fit.constants,
                        accuracy_of(fit.errors));
  }

  const CalibrateTablesOptions& options_;
  Terminal& terminal_;
  TablesFitOptions fit_options_;
  const Preset* preset_ = nullptr;
  std::vector<MeasuredTable> tables_;
  std::int64_t nodes_ = 1;
  std::string network_;
};

}  // namespace

int run_calibrate_tables(const CalibrateTablesOptions& options, Terminal& terminal) {
  return TablesCalibration(options, terminal).run();
}

}  // namespace collsim
