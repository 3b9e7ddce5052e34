// SPDX-License-Identifier: Apache-2.0
#include "app/study/memory_over_time.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "app/results/action_text.hpp"

namespace collsim {
namespace {

// A layer and microbatch on a rank, and the piece of the model, as parts of a layer may be in
// several.
using Passage = std::tuple<std::int32_t, std::int32_t, std::uint32_t>;

Passage passage_of(const Action& action) {
  return {action.label.microbatch, action.label.number, action.place};
}

bool is_of_layer(const Action& action, Label::Kind kind) {
  return action.kind == Action::Kind::work && action.label.kind == kind && action.label.number > 0;
}

bool is_call_of_layer(const Action& action, Operation operation) {
  return action.kind == Action::Kind::collective && action.label.kind == Label::Kind::parameters &&
         action.label.number > 0 && action.call.operation == operation;
}

// From when until when memory holds something.
struct Held {
  Time begin = Time::never(), end{};

  void from(Time time) { begin = std::min(begin, time); }
  void until(Time time) { end = std::max(end, time); }
};

std::vector<Held> activations_of(const std::vector<const RecordedAction*>& actions) {
  std::map<Passage, Held> held;
  for (const RecordedAction* const one : actions) {
    if (is_of_layer(one->action, Label::Kind::forward))
      held[passage_of(one->action)].from(one->begin);
    for (const Label::Kind kind :
         {Label::Kind::forward, Label::Kind::backward, Label::Kind::weights})
      if (is_of_layer(one->action, kind)) held[passage_of(one->action)].until(one->end);
  }
  std::vector<Held> all;
  all.reserve(held.size());
  for (const auto& [passage, one] : held) all.push_back(one);
  return all;
}

// Layers that are gathered, and their gradients until they are scattered.
std::vector<Held> whole_layers_of(const std::vector<const RecordedAction*>& actions) {
  std::vector<Held> all;
  std::map<Passage, Held> gathered, gradients;
  for (const RecordedAction* const one : actions) {
    const Passage passage = passage_of(one->action);
    if (is_call_of_layer(one->action, Operation::all_gather)) {
      if (const auto before = gathered.extract(passage)) all.push_back(before.mapped());
      gathered[passage].from(one->begin);
    }
    if (is_of_layer(one->action, Label::Kind::forward)) gathered[passage].until(one->end);
    if (is_of_layer(one->action, Label::Kind::backward)) {
      gathered[passage].until(one->end);
      gradients[passage].from(one->begin);
    }
    if (is_call_of_layer(one->action, Operation::reduce_scatter))
      gradients[passage].until(one->end);
  }
  for (const auto* held : {&gathered, &gradients})
    for (const auto& [passage, one] : *held) all.push_back(one);
  return all;
}

std::size_t stage_of(const TrainingStep& step, Rank rank) {
  const std::size_t stages = step.memory->kept_bytes.size();
  return rank.index() * stages / static_cast<std::size_t>(step.workload.size());
}

// What a layer's activations are kept for.
Label::Kind last_pass_of(const Workload& workload, Rank rank) {
  Script script = workload.script(rank);
  while (const Action* const action = script.next())
    if (is_of_layer(*action, Label::Kind::weights)) return Label::Kind::weights;
  return Label::Kind::backward;
}

}  // namespace

std::vector<MemoryPoint> memory_over_time(const TrainingStep& step, const RecordedActions& actions,
                                          Rank rank) {
  if (!step.memory || step.memory->kept_bytes.empty()) return {};
  std::vector<const RecordedAction*> of_rank;
  for (const RecordedAction& one : actions.all)
    if (one.rank == rank) of_rank.push_back(&one);
  std::stable_sort(of_rank.begin(), of_rank.end(),
                   [](const auto* a, const auto* b) { return a->begin < b->begin; });
  std::map<Time, double> changes;
  const auto add = [&changes](const std::vector<Held>& all, double bytes) {
    for (const Held& one : all) {
      if (one.begin >= one.end) continue;
      changes[one.begin] += bytes;
      changes[one.end] -= bytes;
    }
  };
  add(activations_of(of_rank), step.memory->activation_bytes);
  if (step.memory->whole_bytes > 0) add(whole_layers_of(of_rank), step.memory->whole_bytes);
  if (changes.empty()) return {};
  std::vector<MemoryPoint> points{{Time{}, step.memory->kept_bytes[stage_of(step, rank)]}};
  for (const auto& [time, bytes] : changes) {
    const double now = points.back().bytes + bytes;
    if (time == points.back().time)
      points.back().bytes = now;
    else if (bytes != 0)
      points.push_back({time, now});
  }
  return points;
}

// The compute stream alone decides, which does things in order.
std::string out_of_memory(const TrainingStep& step) {
  if (!step.memory) return {};
  const StepMemory& memory = *step.memory;
  const auto needs_most = std::ranges::max_element(memory.most_bytes);
  const auto device = static_cast<double>(memory.device);
  if (memory.device == 0 || *needs_most <= device) return {};
  if (memory.kept_bytes.empty()) return "during the step";
  const auto stage = static_cast<std::size_t>(needs_most - memory.most_bytes.begin());
  const double free =
      device - memory.kept_bytes[stage] - memory.most_whole[stage] * memory.whole_bytes;
  if (free < 0) return "whatever its layers keep";
  const std::size_t position =
      stage * static_cast<std::size_t>(step.workload.size()) / memory.kept_bytes.size();
  const Rank rank = step.workload.rank(static_cast<int>(position));
  const Label::Kind last = last_pass_of(step.workload, rank);
  Script script = step.workload.script(rank);
  std::set<Passage> held;
  std::size_t most = 0;
  std::string where = "during the step";
  while (const Action* const action = script.next()) {
    if (is_of_layer(*action, last)) held.erase(passage_of(*action));
    if (!is_of_layer(*action, Label::Kind::forward)) continue;
    held.insert(passage_of(*action));
    if (held.size() <= most) continue;
    most = held.size();
    where = "at " + action_text(*action, step.workload);
    if (static_cast<double>(most) * memory.activation_bytes > free) break;
  }
  return where;
}

}  // namespace collsim
