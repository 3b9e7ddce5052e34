// SPDX-License-Identifier: Apache-2.0
//
// Training steps for JavaScript: the other side is plots/playground/training_engine.js.
#include "plots/engine/step.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/kinds_of_ranks.hpp"
#include "collectives/recorded_actions.hpp"
#include "collectives/workloads/workloads.hpp"
#include "plots/engine/border.hpp"
#include "plots/engine/setting.hpp"

namespace collsim {
namespace {

// What is said about a step; then the boxes of the picture, column after column.
struct StepAnswer {
  std::int64_t time_ps;
  std::uint64_t fingerprint;
  double compute_s, hidden_s, exposed_s, idle_s;  // means over the ranks
  double messages;
  double recorded;  // 1: there are boxes; 0: there were too many steps
  double kinds;     // of ranks that do different things, of which some are drawn
  View streams;     // lines: rank, how many ranks it stands for, stream
  View begin_ps, end_ps;
  View stream, kind, number, microbatch;  // of a box; `kind` as Label::Kind, or `collective`
};
static_assert(sizeof(StepAnswer) == 9 * 8 + 7 * sizeof(View), "training_engine.js counts on it");

constexpr std::int32_t kind_of_collectives = 100;
constexpr std::size_t most_kinds_drawn = 16;
// More would take seconds.
constexpr double most_step_instructions = 4e6;

StepSetting step_setting{};
StepAnswer step_answer{};
std::string stream_lines;
std::vector<double> begins, ends;
std::vector<std::int32_t> streams, box_kinds, numbers, microbatches;

std::int64_t whole_number(double value, double most, const char* what) {
  if (!(value >= 0 && value <= most))
    throw_error(ErrorCode::invalid_argument, std::string(what) + " is out of range");
  return std::llround(value);
}
int small(double value, const char* what) {
  constexpr double most = 4096;
  return static_cast<int>(whole_number(value, most, what));
}
Bytes elements(double bytes, const char* what) {
  constexpr double most = 1099511627776;  // 2^40
  const Bytes number = whole_number(bytes, most, what);
  if (number % size_of(ElementType::f32) != 0)
    throw_error(ErrorCode::invalid_argument,
                std::string(what) + " must be whole float32 elements, which have 4 bytes");
  return number;
}
Time time_of(double ps, const char* what) {
  constexpr double most = 1e16;
  return Time(whole_number(ps, most, what));
}

Model model_of(const StepSetting& setting) {
  const Layer layer{.name = {},
                    .forward = time_of(setting.forward_ps, "the forward pass"),
                    .backward = time_of(setting.backward_ps, "the backward pass"),
                    .gradients = elements(setting.gradient_bytes, "the size of gradients"),
                    .activations = elements(setting.activation_bytes, "the size of activations")};
  Model model;
  model.layers.assign(static_cast<std::size_t>(small(setting.layers, "the number of layers")),
                      layer);
  model.optimizer = time_of(setting.optimizer_ps, "the optimizer");
  return model;
}

// As the command line estimates them: what the members of a communicator do in a ring.
double instructions_of(const Workload& workload) {
  double instructions = 0;
  for (const RankKind& kind : kinds_of_ranks(workload)) {
    Script script = workload.script(kind.first);
    double of_rank = 0;
    while (const Action* const action = script.next()) {
      ++of_rank;
      if (action->kind == Action::Kind::collective)
        of_rank += 2.0 * static_cast<double>(
                             workload.communicators()[action->communicator].groups.front().size());
    }
    instructions += of_rank * static_cast<double>(kind.ranks);
  }
  return instructions;
}

void add_boxes(const Workload& workload, const Timeline& timeline) {
  const RecordedActions actions = recorded_actions(workload, timeline);
  const std::vector<RankKind> kinds = kinds_of_ranks(workload);
  step_answer.kinds = static_cast<double>(kinds.size());
  std::int32_t row = 0;
  for (std::size_t i = 0; i < std::min(kinds.size(), most_kinds_drawn); ++i)
    for (std::size_t stream = 0; stream < workload.stream_names().size(); ++stream) {
      const std::size_t before = begins.size();
      for (const RecordedAction& one : actions.all) {
        const bool is_call = one.action.kind == Action::Kind::collective;
        if (one.rank != kinds[i].first || one.action.stream != stream || one.end == one.begin ||
            !(is_call || one.action.kind == Action::Kind::work))
          continue;
        begins.push_back(static_cast<double>(one.begin.ps()));
        ends.push_back(static_cast<double>(one.end.ps()));
        streams.push_back(row);
        box_kinds.push_back(is_call ? kind_of_collectives
                                    : static_cast<std::int32_t>(one.action.label.kind));
        numbers.push_back(one.action.label.number);
        microbatches.push_back(one.action.label.microbatch);
      }
      if (begins.size() == before) continue;
      ++row;
      stream_lines += std::to_string(kinds[i].first.index()) + '\t' +
                      std::to_string(kinds[i].ranks) + '\t' + workload.stream_names()[stream] +
                      '\n';
    }
}

void add_shares(const Simulation& simulation) {
  const auto ranks = static_cast<double>(simulation.activities.size());
  for (const RankActivity& rank : simulation.activities) {
    step_answer.compute_s += rank.computing.seconds() / ranks;
    step_answer.hidden_s += (rank.communicating - rank.exposed).seconds() / ranks;
    step_answer.exposed_s += rank.exposed.seconds() / ranks;
    step_answer.idle_s += (simulation.time - rank.computing - rank.exposed).seconds() / ranks;
  }
}

void run_step(double max_steps) {
  const Topology topology = topology_of(setting_of_page());
  const Workload workload = workload_of(step_setting, static_cast<int>(topology.rank_count()));
  const double expected = instructions_of(workload);
  if (expected > most_step_instructions)
    throw_error(ErrorCode::too_large,
                "this would be " + std::to_string(std::llround(expected / 1e6)) +
                    " million instructions: take fewer layers, buckets or ranks, or use the "
                    "command line");
  SimulationOptions options = options_of(setting_of_page());
  options.recording = expected <= max_steps ? Recording::full : Recording::activities;
  const Simulation simulation = simulate(topology, workload, {}, options);
  step_answer = {};
  stream_lines.clear();
  for (auto* const column : {&begins, &ends}) column->clear();
  for (auto* const column : {&streams, &box_kinds, &numbers, &microbatches}) column->clear();
  step_answer.time_ps = simulation.time.ps();
  step_answer.fingerprint = simulation.fingerprint;
  step_answer.messages = static_cast<double>(simulation.messages);
  add_shares(simulation);
  if (simulation.timeline) add_boxes(workload, *simulation.timeline);
  step_answer.recorded = simulation.timeline ? 1 : 0;
  step_answer.streams = view_of(stream_lines);
  step_answer.begin_ps = view_of(begins);
  step_answer.end_ps = view_of(ends);
  step_answer.stream = view_of(streams);
  step_answer.kind = view_of(box_kinds);
  step_answer.number = view_of(numbers);
  step_answer.microbatch = view_of(microbatches);
}

}  // namespace

Workload workload_of(const StepSetting& setting, int ranks) {
  const Model model = model_of(setting);
  if (setting.scheme == 0) {
    Ddp ddp;
    ddp.bucket = elements(setting.bucket_bytes, "the bucket");
    ddp.first_bucket = elements(setting.first_bucket_bytes, "the first bucket");
    ddp.overlap = setting.overlap != 0;
    return make_workload(ddp, model, ranks);
  }
  Train train;
  train.pp = ranks;
  train.microbatches = small(setting.microbatches, "the number of microbatches");
  train.schedule = static_cast<PipelineSchedule>(small(setting.schedule, "the schedule") & 3);
  if (train.schedule == PipelineSchedule::interleaved) train.chunks = 2;
  return make_workload(train, model);
}

}  // namespace collsim

// Where JavaScript writes the step before it calls `run_step`; the machine is in `setting`.
COLLSIM_EXPORT(step_setting) collsim::StepSetting* collsim_step_setting() {
  return &collsim::step_setting;
}

COLLSIM_EXPORT(run_step) collsim::StepAnswer* collsim_run_step(double max_steps) {
  collsim::run_step(max_steps);
  return &collsim::step_answer;
}
