// SPDX-License-Identifier: Apache-2.0
#include "app/commands/calibrate_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <utility>

#include "app/calibrate/calibrate.hpp"
#include "app/calibrate/network_probes.hpp"
#include "app/commands/progress.hpp"
#include "app/json/screen_text.hpp"
#include "app/output/text_table.hpp"
#include "app/scenario/quantities.hpp"

namespace collsim {
namespace {

struct NetworkCommandOptions {
  std::string smallest = "64B", largest = "1MiB", output;
  int iterations = 11;
};

constexpr Bytes least_message = 4, most_of_a_message = Bytes{64} << 20U;

Bytes message_size(const std::string& text, const char* option) {
  const Parsed<Bytes> parsed = parse_command_line_size(text);
  if (!parsed.value) throw UsageError(fmt::format("{}: {}", option, parsed.error.message));
  if (*parsed.value < least_message || *parsed.value > most_of_a_message)
    throw UsageError(fmt::format("{} must be from 4 B to 64 MiB, not {}", option, text));
  return *parsed.value;
}

std::string microseconds(double seconds) {
  return fmt::format("{:.3g} us", seconds * 1e6);
}

void print_network(const CalibratedNetwork& network, std::ostream& out) {
  out << fmt::format("{}\n\n", network.device);
  TextTable table;
  for (const char* heading :
       {"pairs", "messages", "bandwidth", "overhead", "latency", "median error", "worst", "port"})
    table.add_column(heading);
  const auto add = [&table](const char* name, const FittedLink& link) {
    for (const FittedLink::Row& row : link.rows) {
      const bool is_first = &row == &link.rows.front();
      const bool is_last = &row == &link.rows.back();
      const auto once = [&](std::string text) { return is_first ? std::move(text) : ""; };
      table.add_row({once(name),
                     is_first && is_last ? "all"
                     : is_last           ? "longer"
                                         : "up to " + bytes_to_text(row.up_to),
                     fmt::format("{:.4g} MB/s", row.bytes_per_s / 1e6),
                     microseconds(row.overhead_s), microseconds(row.latency_s),
                     once(fmt::format("{:.1f}%", 100 * link.median_error)),
                     once(fmt::format("{:.0f}%", 100 * link.worst_error)),
                     once(!link.shares_port ? "a link each"
                          : link.fairly     ? "shared, all at once"
                                            : "shared, one by one")});
    }
  };
  if (network.ranks_per_host > 1) add("on one host", network.within);
  if (network.hosts > 1) add("between hosts", network.between);
  out << table.text();
  if (network.between.slower_in_round > 0)
    out << fmt::format(
        "\n  bandwidth: as left when every host sends to the next, {:.1f}% below that of a pair\n",
        100 * (1 - 1 / (1 + network.between.slower_in_round)));
  if (network.reduce_bytes_per_s > 0)
    out << fmt::format("\n  adding: {:.3g} GB/s\n", network.reduce_bytes_per_s / 1e9);
  const auto noisy =
      std::count_if(network.probes.begin(), network.probes.end(),
                    [](const NetworkProbe& probe) { return probe.times.spread > noisy_spread; });
  if (noisy * 4 > static_cast<std::ptrdiff_t>(network.probes.size()))
    out << fmt::format("\n  {} scatter by more than {:.0f}%: repeat on idle hosts\n",
                       part_text(static_cast<std::size_t>(noisy), network.probes.size(), "probe"),
                       noisy_spread * 100);
}

int run_calibrate_network(const NetworkCommandOptions& asked, const MessagingProcesses& processes,
                          Terminal& terminal) {
  const Backend backend = processes.backend();
  NetworkOptions options;
  options.backend = &backend;
  options.host_of_rank = processes.host_of_rank();
  options.smallest = message_size(asked.smallest, "--smallest");
  options.largest = message_size(asked.largest, "--largest");
  if (options.smallest >= options.largest)
    throw UsageError("--smallest must be smaller than --largest");
  options.iterations = asked.iterations;
  if (!asked.output.empty()) check_writable(asked.output);
  Progress progress(terminal);
  options.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
  const auto outcome = calibrate_network(options);
  progress.clear();
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) {
    std::string advice = options.host_of_rank.size() == 1 ? processes.why_alone() : "";
    if (options.host_of_rank.size() == 1 && advice.empty()) advice = ": start two or more";
    terminal.err << fmt::format("collsim-mpi: cannot calibrate: {}{}\n", none->reason, advice);
    return exit_not_measurable;
  }
  const auto& network = std::get<CalibratedNetwork>(outcome);
  if (asked.output != "-") print_network(network, terminal.out);
  if (asked.output.empty()) return exit_fine;
  const std::string text = to_pretty_json(machine_value(network, COLLSIM_VERSION, today())) + "\n";
  write_file(asked.output, terminal, [&](std::ostream& out) { out << text; });
  if (!terminal.quiet && asked.output != "-")
    terminal.err << fmt::format("wrote {0}; use it with collsim-mpi validate FILE --machine {0}\n",
                                asked.output);
  return exit_fine;
}

}  // namespace

Action declare_calibrate_network(Options& command, const MessagingProcesses& processes) {
  const auto options = std::make_shared<NetworkCommandOptions>();
  command.value("--smallest", options->smallest, "SIZE", "smallest message (default: 64B)");
  command.value("--largest", options->largest, "SIZE", "largest message (default: 1MiB)");
  command.integer("-n,--iters", options->iterations, "runs of each probe (default: 11)", 3, 1000);
  command.value("-o,--output", options->output, "FILE",
                "machine file to write, such as machine.json");
  return [options, processes](Terminal& terminal) {
    return run_calibrate_network(*options, processes, terminal);
  };
}

}  // namespace collsim
