// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/json/value.hpp"
#include "app/scenario/workload/expand.hpp"
#include "app/show/buffers.hpp"
#include "app/show/buffers_text.hpp"
#include "app/show/program_buffers.hpp"
#include "app/study/run_case.hpp"

namespace collsim {
namespace {

constexpr const char* text_format = "text";
constexpr const char* json_format = "json";

struct ShowOptions {
  OneCaseOptions one_case;
  BuffersOptions buffers;
  BuffersStyle style;
  std::string format = text_format;
  bool expand = false;
};

int show_step(const ShowOptions& options, const Case& one_case, Terminal& terminal) {
  const ProgramBuffers buffers = show_program(one_case);
  if (options.format == json_format)
    terminal.out << to_pretty_json(to_value(buffers)) << '\n';
  else
    terminal.out << to_text(buffers);
  return buffers.problem.empty() ? exit_fine : exit_failed;
}

int show(const ShowOptions& options, Terminal& terminal) {
  std::optional<ChosenCase> chosen = load_one_case(options.one_case, terminal);
  if (!chosen) return exit_usage;

  if (options.expand) {
    terminal.out << to_pretty_json(expanded(chosen->scenario, chosen->point)) << '\n';
    return exit_fine;
  }
  Case& one_case = chosen->chosen;
  if (one_case.step) return show_step(options, one_case, terminal);
  one_case = chosen_case(std::move(one_case));
  const Buffers buffers = show_buffers(one_case, options.buffers);
  if (options.format == json_format)
    terminal.out << to_pretty_json(to_value(buffers)) << '\n';
  else
    write_buffers(terminal.out, buffers, options.style);
  return buffers.right ? exit_fine : exit_failed;
}

}  // namespace

Action declare_show(Options& command) {
  const auto options = std::make_shared<ShowOptions>();
  add_one_case_options(command, options->one_case);
  options->one_case.workloads = true;
  command.flag("--steps", options->buffers.steps, "what happens in every step, message by message");
  command.integer("--elements", options->buffers.elements,
                  "number of elements instead of a few (size as in nccl-tests, in elements)", 1,
                  max_shown_numbers);
  command.flag("--all", options->style.all, "all ranks, steps and numbers, without limit");
  command.flag("--expand", options->expand,
               "the program that a scheme of training stands for, as a scenario");
  command.choice("--format", options->format, {text_format, json_format}, "output format");
  return [options](Terminal& terminal) { return show(*options, terminal); };
}

}  // namespace collsim
