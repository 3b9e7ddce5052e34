// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string_view>
#include <utility>

#include "app/commands/calibrate_tables.hpp"
#include "app/commands/calibrate_training.hpp"
#include "app/commands/command.hpp"
#include "app/commands/interrupts.hpp"
#include "app/commands/progress.hpp"
#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/output/text_table.hpp"
#include "app/scenario/quantities.hpp"
#include "validate/host/threads.hpp"

namespace collsim {
namespace {

struct CalibrateCommandOptions {
  std::string backend = "host";
  std::string protocol = "simple";
  int ranks = 0;
  std::string smallest = "32KiB", largest = "64MiB";
  int iterations = 11;
  int rounds = 3;
  CalibrateTablesOptions tables;
  CalibrateTrainingOptions training;

  [[nodiscard]] std::string output() const {
    return tables.outputs.empty() ? std::string() : tables.outputs.front();
  }
};

constexpr std::int64_t most_nodes_of_logs = 100'000;
constexpr Bytes least_size = 4 << 10;
constexpr Bytes most_size = Bytes{4} << 30;

Bytes size_of(const std::string& text, const char* option) {
  const Parsed<Bytes> parsed = parse_command_line_size(text);
  if (!parsed.value) throw UsageError(fmt::format("{}: {}", option, parsed.error.message));
  if (*parsed.value < least_size || *parsed.value > most_size)
    throw UsageError(fmt::format("{} must be from 4 KiB to 4 GiB, not {}", option, text));
  return *parsed.value;
}

std::string nanoseconds_text(const Fitted& time) {
  return fmt::format("{:.0f} ns  [{:.0f} .. {:.0f}]", time.value * 1e9, time.low * 1e9,
                     time.high * 1e9);
}
std::string rate_text(const Fitted& rate) {
  return fmt::format("{:.3g} GB/s", rate.value / 1e9);
}
std::string interval_text(const Fitted& rate) {
  return fmt::format("[{:.3g} .. {:.3g}]", rate.low / 1e9, rate.high / 1e9);
}

void print(const CalibratedMachine& machine, std::ostream& out) {
  out << fmt::format("{} on {} ({})\n\n", count_text(machine.ranks, "rank"), machine.device,
                     machine.backend);
  out << "  latency               " << nanoseconds_text(machine.latency_s) << '\n';
  out << "  instruction overhead  " << nanoseconds_text(machine.overhead_s) << "\n\n";
  TextTable table;
  for (const char* heading :
       {"touched", "copy", "95%", "reduce", "95%", "second write", "95%", "lanes at full speed"})
    table.add_column(heading);
  for (const CalibratedMachine::Row& row : machine.rows)
    table.add_row({bytes_to_text(row.working_set), rate_text(row.copy_bytes_per_s),
                   interval_text(row.copy_bytes_per_s), rate_text(row.reduce_bytes_per_s),
                   interval_text(row.reduce_bytes_per_s), rate_text(row.second_write_bytes_per_s),
                   interval_text(row.second_write_bytes_per_s),
                   fmt::format("{:.2f}", row.lanes_at_full_speed.value)});
  out << table.text();
  out << fmt::format(
      "\n  the model fits its {} probes with a median error of {:.1f}%, worst {:.1f}%\n",
      machine.probes.size(), machine.median_error * 100, machine.worst_error * 100);
  for (const std::string& note : machine.notes) out << "  note: " << note << '\n';
  const auto noisy = std::count_if(machine.probes.begin(), machine.probes.end(),
                                   [](const Probe& p) { return p.measured.spread > noisy_spread; });
  if (noisy * 4 > static_cast<std::ptrdiff_t>(machine.probes.size()))
    out << fmt::format(
        "  {} {} by more than {:.0f}%: something else was running; repeat on an idle machine\n",
        count_text(noisy, "probe"), noisy == 1 ? "scatters" : "scatter", noisy_spread * 100);
  if (machine.ranks > 3)
    out << fmt::format("  one pair moves {:.3g} GB/s, all pairs at once {:.3g} GB/s\n",
                       machine.one_pair_bytes_per_s / 1e9, machine.all_pairs_bytes_per_s / 1e9);
}

// On CPUs a lane for each core.  A GPU has room for many: a rank on each of several, and on a
// single one ranks that share it.
void set_ranks_and_lanes(CalibrateOptions& options, int asked_ranks) {
  constexpr int most_ranks = 8, lanes_of_a_gpu = 32, lanes_of_a_virtual_rank = 16;
  const bool on_gpus = std::string_view(options.backend->name) == "cuda";
  const int gpus = on_gpus ? count_gpus() : 0;
  const int cores = static_cast<int>(std::max<std::size_t>(2, usable_cores()));
  const int usual_ranks = gpus == 1 ? most_ranks : std::min(on_gpus ? gpus : cores, most_ranks);
  options.ranks = asked_ranks > 0 ? asked_ranks : std::max(2, usual_ranks);
  if (on_gpus) options.lanes = options.ranks <= gpus ? lanes_of_a_gpu : lanes_of_a_virtual_rank;
}

int run_calibrate(const CalibrateCommandOptions& asked, Terminal& terminal) {
  if (!asked.training.table.empty()) {
    CalibrateTrainingOptions training = asked.training;
    training.preset = asked.tables.preset;
    training.output = asked.output();
    return run_calibrate_training(training, terminal);
  }
  if (!asked.tables.files.empty()) return run_calibrate_tables(asked.tables, terminal);
  for (const auto& [given, name] : {std::pair{!asked.tables.as.empty(), "--as"},
                                    {!asked.tables.preset.empty(), "--preset"},
                                    {asked.tables.nodes.has_value(), "--nodes"},
                                    {asked.tables.leave_out_owners, "--leave-out-owners"}})
    if (given) throw UsageError(fmt::format("{} goes with --from", name));
  CalibrateOptions options;
  options.backend = find_backend(asked.backend);
  if (options.backend == nullptr)
    throw UsageError(fmt::format("there is no backend \"{}\"", asked.backend));
  options.protocol = asked.protocol == "ll" ? Protocol::ll : Protocol::simple;
  set_ranks_and_lanes(options, asked.ranks);
  options.smallest = size_of(asked.smallest, "--smallest");
  options.largest = size_of(asked.largest, "--largest");
  if (options.smallest >= options.largest)
    throw UsageError("--smallest must be smaller than --largest");
  options.iterations = asked.iterations;
  options.rounds = asked.rounds;
  options.stop = &terminal.interrupted;
  if (!asked.output().empty()) check_writable(asked.output());
  if (const auto why = options.backend->unavailable()) {
    terminal.err << fmt::format("collsim: {} cannot measure here: {}\n", asked.backend, *why);
    return exit_not_measurable;
  }
  const InterruptWatch watch;
  Progress progress(terminal, Progress::Clock::caller);
  options.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
  options.meanwhile = [&] { progress.tell_the_time(); };
  const auto outcome = calibrate(options);
  progress.clear();
  if (terminal.interrupted) return exit_interrupted;
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) {
    terminal.err << fmt::format("collsim: cannot calibrate: {}\n", none->reason);
    return exit_not_measurable;
  }
  const auto& machine = std::get<CalibratedMachine>(outcome);
  const bool file_is_the_output = asked.output() == "-";
  if (!file_is_the_output) print(machine, terminal.out);
  const std::string text = to_pretty_json(machine_value(machine, COLLSIM_VERSION, today())) + "\n";
  if (asked.output().empty()) return exit_fine;
  write_file(asked.output(), terminal, [&](std::ostream& out) { out << text; });
  if (!terminal.quiet && !file_is_the_output)
    terminal.err << fmt::format("wrote {}; use it with collsim validate FILE --machine {}\n",
                                asked.output(), asked.output());
  return exit_fine;
}

}  // namespace

Action declare_calibrate(Options& command) {
  auto options = std::make_shared<CalibrateCommandOptions>();
  command.choice("--backend", options->backend, {"host", "cuda"},
                 "what runs the probes: host, cuda (default: host)");
  command.choice("--protocol", options->protocol, {"simple", "ll"},
                 "simple or ll (default: simple)");
  command.integer("--ranks", options->ranks,
                  "ranks that run at once (default: one for each core or GPU, at most 8; 8 on one "
                  "GPU)",
                  2, 64);
  command.value("--smallest", options->smallest, "SIZE",
                "least data from one rank to another (default: 32KiB)");
  command.value("--largest", options->largest, "SIZE",
                "most data from one rank to another (default: 64MiB)");
  command.integer("-n,--iters", options->iterations, "runs of each probe (default: 11)", 3, 1000);
  command.integer("--rounds", options->rounds,
                  "how often all probes run; the best of each counts (default: 3)", 1, 100);
  CalibrateTablesOptions& tables = options->tables;
  command.value("-o,--output", tables.outputs, "FILE",
                "file to write, such as machine.json; with --as also a page, .md");
  command.value("--from", tables.files, "LOG",
                "measure nothing: fit constants of NCCL's time to logs of nccl-tests and measured "
                "tables, also a folder of them");
  command.value("LOG", tables.files, "LOG", "more of them, after --from").needs = "--from";
  command.value("--from-training", options->training.table, "TABLE",
                "measure nothing: fit the constants of a device to measured training steps of "
                "transformers, a CSV file; needs --preset");
  command
      .choice("--recompute", options->training.recompute, {"none", "full"},
              "with --from-training: what the runs computed again (default: none)")
      .needs = "--from-training";
  command
      .value("--hold", options->training.held, "NAMES",
             "with --from-training: constants that stay what the preset's GPU has, such as "
             "latency,launch")
      .needs = "--from-training";
  command.value("--preset", tables.preset, "NAME",
                "with --from: the machine that the logs are of, which is believed to be much like "
                "it (default: by the name of its GPUs); with --from-training: that of the runs; "
                "\"collsim presets\"");
  command.integer("--nodes", tables.nodes, "with --from: on how many nodes the logs ran", 1,
                  most_nodes_of_logs);
  command.value(
      "--as", tables.as, "KIND",
      "with --from: the kinds of machines to fit, such as hopper,ib; all: every kind, and "
      "what they have in common");
  command.flag("--leave-out-owners", tables.leave_out_owners,
               "with --as: also predict each owner's tables from those of all others");
  return [options](Terminal& terminal) { return run_calibrate(*options, terminal); };
}

}  // namespace collsim
