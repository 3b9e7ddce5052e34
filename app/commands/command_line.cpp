// SPDX-License-Identifier: Apache-2.0
#include "app/commands/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <new>
#include <optional>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/commands/options.hpp"
#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/scenario/quantities.hpp"
#include "app/study/memory_limit.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

constexpr Command all_commands[] = {
    {"run", "Simulates scenario files and checks their expectations.",
     "collsim run scenarios/lecture/ring-broadcast.json\n"
     "collsim run scenarios/tutorial/all-reduce.json --set collective.algorithm=naive --format "
     "csv\n"
     "collsim run scenarios/lecture/*.json --quiet -o lecture.json\n"
     "collsim run scenarios/lecture/ring-broadcast.json --print-resolved\n"
     "collsim run scenarios/tutorial/all-reduce.json --part 1/2 -o parts/\n"
     "collsim run scenarios/tutorial/all-reduce.json --part 2/2 -o parts/  # on another machine",
     declare_run},
    {"merge", "Merges the parts of a sweep that was run on several machines.",
     "collsim merge parts/\n"
     "collsim merge parts/ -o results.json",
     declare_merge},
    {"explain", "Explains where the time of a case goes and what would help most.",
     "collsim explain scenarios/lecture/ring-broadcast.json --at chunks=16\n"
     "collsim explain scenarios/lecture/ring-broadcast.json --at chunks=4096",
     declare_explain},
    {"predict", "Predicts what nccl-tests would measure, from its flags and without a file.",
     "collsim predict all-reduce -b 8 -e 1G -f 2 --preset dgx-h100\n"
     "collsim predict all-reduce -b 64M -e 64M -g 4 --preset dgx-h100 --algorithm ring --channels "
     "8\n"
     "collsim predict broadcast -b 64M -e 64M --shape chain -g 8 --bandwidth 25GB/s --overhead "
     "5us\n"
     "collsim predict all-gather -b 1M -e 16M -f 4 --preset dgx-a100 --nodes 2 --print-scenario",
     declare_predict},
    {"check", "Proves schedules: correct result, deadlock-free, race-free.",
     "collsim check scenarios/lecture/ring-broadcast.json\n"
     "collsim check scenarios/tutorial/all-reduce.json --set collective.slots=2 --format json",
     declare_check},
    {"show", "Shows every rank's buffers before and after, on small integers.",
     "collsim show scenarios/tutorial/reduce-scatter.json\n"
     "collsim show scenarios/tutorial/all-reduce.json --steps",
     declare_show},
    {"trace", "Writes a timeline that Perfetto (ui.perfetto.dev) and chrome://tracing open.",
     "collsim trace scenarios/lecture/ring-broadcast.json --at chunks=8 -o trace.json",
     declare_trace},
    {"report", "Draws results as an HTML page: curves, timelines, where the time goes.",
     "collsim report lecture.json -o report.html  # lecture.json from run -o\n"
     "collsim report lecture.json -o report.html --at chunks=64",
     declare_report},
    {"diff", "Compares two files of results, row by row; fails if something got slower.",
     "collsim diff lecture.json lecture.json  # both from run -o\n"
     "collsim diff lecture.json lecture.json --max-slower 5%",
     declare_diff},
    {"validate", "Runs scenarios for real and compares with the prediction.",
     "collsim validate scenarios/validate/chain.json --paced --iters 5\n"
     "collsim validate scenarios/validate/ring.json --paced --iters 5 --trace measured.json "
     "--at ranks=4",
     declare_validate},
    {"calibrate", "Measures this machine, or fits one to logs, and writes a cluster and a model.",
     "collsim calibrate -o machine.json\n"
     "collsim calibrate --largest 1MiB --rounds 1 -o machine.json\n"
     "collsim calibrate --from scenarios/measured/two-dgx-h100.log --preset dgx-h100 "
     "-o machine.json",
     declare_calibrate},
    {"export", "Writes an algorithm as a file that other tools read.",
     "collsim export msccl scenarios/tutorial/all-reduce.json -o ring.xml\n"
     "collsim export msccl scenarios/lecture/ring-broadcast.json --at chunks=8 --protocol LL128",
     declare_export},
    {"compare", "Compares what nccl-tests measured with the prediction, size by size.",
     "collsim compare scenarios/measured/two-dgx-h100.log\n"
     "collsim compare scenarios/measured/two-dgx-h100-slow.log --preset dgx-h100 -o "
     "compare.html\n"
     "collsim compare scenarios/measured/two-dgx-h100.log --min-busbw 300GB/s",
     declare_compare},
    {"import", "Reads a log of nccl-tests or rccl-tests, as people paste it.",
     "collsim import scenarios/measured/two-dgx-h100.log\n"
     "collsim import scenarios/measured/two-dgx-h100.log -o measured.json -o measured.csv",
     declare_import},
    {"algorithms", "Lists the algorithms of an operation, or of all.",
     "collsim algorithms all-reduce\n"
     "collsim algorithms --format json",
     declare_algorithms},
    {"presets", "Lists the machines known by name, with the source of every number.",
     "collsim presets\n"
     "collsim presets show dgx-h100",
     declare_presets},
    {"topo", "Shows how a machine is wired; reads and writes files about real ones.",
     "collsim topo show --preset dgx-h100\n"
     "collsim topo show scenarios/lecture/ring-broadcast.json --with bandwidth\n"
     "collsim topo export --nccl-xml --preset dgx-h100 -o topo.xml\n"
     "collsim topo import topo.xml -o machine.json",
     declare_topo},
    {"schema", "Prints the JSON schema of scenario files, for editors, or of results.",
     "collsim schema > scenario-v1.schema.json\n"
     "collsim schema results > results-v1.schema.json",
     declare_schema},
    {"completion", "Prints a shell completion script.",
     "collsim completion bash > collsim.bash  # then: source collsim.bash\n"
     "collsim completion zsh > _collsim       # in a folder of $fpath\n"
     "collsim completion fish > collsim.fish  # in ~/.config/fish/completions",
     declare_completion},
};

struct GlobalOptions {
  std::string colour = "auto";
  std::optional<std::string> memory;
  bool quiet = false, short_help = false, full_help = false, version = false;
};

constexpr Executable collsim{"collsim", "how long does a collective take on a machine, and why?",
                             "collsim run scenarios/lecture/ring-broadcast.json\n"
                             "collsim predict all-reduce -b 8 -e 1G -f 2 --preset dgx-h100",
                             all_commands};

std::string version_text(const Executable& program) {
  return fmt::format("{} {}", program.name, COLLSIM_VERSION);
}

Options declare_program(const Executable& described, GlobalOptions& global) {
  const std::string version = version_text(described);
  Options program(described.name, version + ": " + described.summary, described.examples);
  program.needs_command = true;
  program.flag("-h", global.short_help, "short help").is_enough = true;
  program.flag("--help", global.full_help, "all options, with examples").is_enough = true;
  const std::string about_version = "print \"" + version + "\"";
  program.flag("--version", global.version, about_version.c_str()).is_enough = true;
  program.choice("--color,--colour", global.colour, {"auto", "always", "never"},
                 "colour in tables and messages");
  program.flag("-q,--quiet", global.quiet, "no warnings, no progress, no decoration");
  program.value("--memory", global.memory, "SIZE",
                "what one simulation may take, by its estimate (default: 8GB, or three quarters of "
                "this machine's, if that is less)");
  return program;
}

// What is wrong with it.
std::optional<std::string> limit_memory(const std::string& text) {
  const Parsed<Bytes> size = parse_size(text);
  if (!size.value)
    return size.error.message + (size.error.hint.empty() ? "" : "; " + size.error.hint);
  if (*size.value == 0) return "more than nothing is needed";
  set_memory_limit(static_cast<double>(*size.value));
  return std::nullopt;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// "help run" is "run --help".
std::vector<std::string> without_help_command(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "help") return arguments;
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
  return arguments;
}

// Messages quote what the user typed.
std::string printable_lines(std::string_view message) {
  std::string lines;
  for (const std::string& line : split(message, '\n')) lines += printable(line) + '\n';
  return lines;
}

int usage_error(Terminal& terminal, const std::string& command, const std::string& message) {
  terminal.err << fmt::format("{0}: {1}  see {0} --help\n", command, printable_lines(message));
  return exit_usage;
}

std::string help(const Options& program, bool full, std::size_t columns) {
  const Options& command = program.chosen();
  if (&command != &program) return command_help(command, columns);
  return full ? full_help(program, columns) : short_help(program, columns);
}

int run_action(const Options& program, const Action& action, Terminal& terminal) {
  try {
    return action(terminal);
  } catch (const UsageError& error) {
    return usage_error(terminal, program.chosen().full_name(), error.what());
  } catch (const WriteError& error) {
    terminal.err << printable_lines(error.what());
  } catch (const Error& error) {
    terminal.err << printable_lines(error.what());
  } catch (const std::bad_alloc&) {
    terminal.err << "not enough memory; try fewer ranks, chunks or points\n";
  }
  return exit_usage;
}

}  // namespace

int worse_of(int code, int other) {
  constexpr std::array order{exit_fine, exit_failed, exit_not_measurable, exit_usage,
                             exit_wrong_data};
  const auto rank = [&](int one) { return std::find(order.begin(), order.end(), one); };
  return rank(code) < rank(other) ? other : code;
}

std::span<const Command> commands() {
  return all_commands;
}

bool wants_colour(std::string_view flag, bool is_terminal) {
  if (flag != "auto") return flag == "always";
  if (is_set("NO_COLOR")) return false;
  const char* forced = std::getenv("CLICOLOR_FORCE");
  if (is_set("FORCE_COLOR") || (is_set("CLICOLOR_FORCE") && std::string_view(forced) != "0"))
    return true;
  const char* kind = std::getenv("TERM");
  return is_terminal && kind != nullptr && std::string_view(kind) != "dumb";
}

int run_command_line(const std::vector<std::string>& arguments, Terminal& terminal) {
  return run_program_line(collsim, arguments, terminal);
}

int run_program_line(const Executable& described, const std::vector<std::string>& typed,
                     Terminal& terminal) {
  const std::vector<std::string> arguments = without_help_command(typed);
  GlobalOptions global;
  Options program = declare_program(described, global);
  std::map<std::string, Action> actions;
  for (const Command& command : described.commands)
    actions[command.name] =
        command.declare(program.command(command.name, command.summary, command.examples));
  if (arguments.empty()) {
    terminal.err << short_help(program, 0);
    return exit_usage;
  }
  try {
    program.parse(arguments);
  } catch (const UsageError& error) {
    return usage_error(terminal, program.chosen().full_name(), error.what());
  }
  if (global.short_help || global.full_help) {
    terminal.out << help(program, global.full_help,
                         terminal.out_is_terminal ? terminal.columns : 0);
    return exit_fine;
  }
  if (global.version) {
    terminal.out << version_text(described) << '\n';
    return exit_fine;
  }
  if (const auto mistake = global.memory ? limit_memory(*global.memory) : std::nullopt)
    return usage_error(terminal, program.chosen().full_name(), "--memory: " + *mistake);
  Terminal chosen{terminal.out,
                  terminal.err,
                  terminal.out_is_terminal,
                  terminal.err_is_terminal,
                  wants_colour(global.colour, terminal.out_is_terminal),
                  wants_colour(global.colour, terminal.err_is_terminal),
                  global.quiet,
                  terminal.interrupted,
                  terminal.columns};
  const Options* command = &program.chosen();
  while (command->parent() != &program) command = command->parent();
  return run_action(program, actions.at(command->name()), chosen);
}

int show_mistakes(const Diagnostics& diagnostics, const Sources& sources, Terminal& terminal,
                  bool as_json) {
  if (as_json)
    terminal.out << to_json(to_value(diagnostics, sources)) << '\n';
  else
    terminal.err << to_text(diagnostics, sources, terminal.err_colour);
  return exit_usage;
}

}  // namespace collsim
