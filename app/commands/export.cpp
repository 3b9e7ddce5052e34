// SPDX-License-Identifier: Apache-2.0
#include "app/export/msccl.hpp"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/scenario/quantities.hpp"
#include "app/study/run_case.hpp"
#include "collectives/algorithms.hpp"

namespace collsim {
namespace {

struct ExportOptions {
  OneCaseOptions one_case;
  std::string name;
  std::string protocol;  // empty: the one that NCCL was found to take, else Simple
  std::string least, most;
  std::string output = "-";
};

Bytes size_of_option(const char* option, const std::string& text, Bytes otherwise) {
  if (text.empty()) return otherwise;
  const Parsed<Bytes> size = parse_command_line_size(text);
  if (size.value) return *size.value;
  const std::string hint = size.error.hint.empty() ? "" : "\n  " + size.error.hint;
  throw UsageError(fmt::format("{} {}: {}{}", option, text, size.error.message, hint));
}

// Where switches run a part of it, that part is in none of MSCCL's steps.
void refuse_switches(const Case& one_case) {
  if (one_case.choice.list) return;
  const Topology& topology = one_case.cluster->topology;
  const Algorithm& algorithm =
      find_algorithm(one_case.collective.operation, one_case.schedule->algorithm());
  const Rank first = one_case.collective.group.front();
  const bool of_node =
      algorithm.lanes_in_switch > 0 && topology.link_to_adding_switch(first).has_value();
  const bool of_network = algorithm.lanes_in_network > 0 && topology.network_adds();
  if (of_node || of_network)
    throw_error(
        ErrorCode::invalid_argument,
        fmt::format("{} does not fit into an MSCCL file: here {} add and multicast, and the "
                    "steps of such a file are those of GPUs",
                    algorithm.name, of_network ? "the network's switches" : "NVSwitches"));
}

int export_msccl(const ExportOptions& options, Terminal& terminal) {
  MscclOptions msccl;
  msccl.name = options.name;
  msccl.least = size_of_option("--minbytes", options.least, msccl.least);
  msccl.most = size_of_option("--maxbytes", options.most, msccl.most);
  if (msccl.least > msccl.most)
    throw UsageError("--minbytes is larger than --maxbytes, so MSCCL would never use the file");
  const std::optional<ChosenCase> chosen = load_one_case(options.one_case, terminal);
  if (!chosen) return exit_usage;
  const Case one_case = within_limits(chosen->chosen);
  refuse_switches(one_case);
  if (!options.protocol.empty())
    msccl.protocol = options.protocol;
  else if (one_case.protocol)
    msccl.protocol = to_string(nccl_protocol_of(*one_case.protocol));
  const std::string text = to_msccl(one_case.collective, one_case.choice, msccl);
  write_file(options.output, terminal, [&](std::ostream& out) { out << text; });
  return exit_fine;
}

}  // namespace

Action declare_export(Options& command) {
  const auto options = std::make_shared<ExportOptions>();
  Options& msccl = command.command(
      "msccl", "Writes the algorithm of a scenario in the XML of MSCCL.",
      "collsim export msccl scenarios/tutorial/all-reduce.json -o ring.xml\n"
      "collsim export msccl scenarios/lecture/ring-broadcast.json --at chunks=8 --protocol LL128");
  add_one_case_options(msccl, options->one_case);
  msccl.value("-o,--output", options->output, "FILE",
              "file to write to (default: standard output)");
  msccl.value("--name", options->name, "TEXT", "what it calls itself (default: the algorithm)");
  msccl.choice("--protocol", options->protocol, {"LL", "LL128", "Simple"},
               "NCCL's protocol (default: that of \"algorithm\": \"nccl\", else Simple)");
  msccl.value("--minbytes", options->least, "SIZE",
              "from which size on MSCCL takes it (default: 0)");
  msccl.value("--maxbytes", options->most, "SIZE",
              "up to which size MSCCL takes it (default: below 2G)");
  command.needs_command = true;
  return [options](Terminal& terminal) { return export_msccl(*options, terminal); };
}

}  // namespace collsim
