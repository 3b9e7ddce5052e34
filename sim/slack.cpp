// SPDX-License-Identifier: Apache-2.0
#include "sim/slack.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "topo/error.hpp"

namespace collsim {

namespace {

// What happened before what, and with how much time between: node i is the end of step i, and its
// message is node steps + i.
class Precedence {
 public:
  Precedence(const Topology& topology, const Simulation& simulation)
      : topology_(topology),
        timeline_(*simulation.timeline),
        steps_(timeline_.steps),
        slack_(2 * steps_.size(), simulation.time) {
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      slack_[i] = simulation.time - steps_[i].ended;
      if (has_message(i)) slack_[message(i)] = simulation.time - steps_[i].left;
    }
    for (std::uint32_t i = 0; i < steps_.size(); ++i) add_step(i);
    add_uses();
  }

  // From the end of the run backwards.
  std::vector<Time> slack() {
    std::stable_sort(edges_.begin(), edges_.end(),
                     [](const Edge& a, const Edge& b) { return a.after < b.after; });
    std::vector<std::uint32_t> left(slack_.size(), 0);  // that come after and are not known
    for (const Edge& edge : edges_) ++left[edge.before];
    std::vector<std::uint32_t> known;
    for (std::uint32_t node = 0; node < left.size(); ++node)
      if (left[node] == 0) known.push_back(node);
    while (!known.empty()) {
      const std::uint32_t node = known.back();
      known.pop_back();
      auto edge = std::lower_bound(edges_.begin(), edges_.end(), node,
                                   [](const Edge& one, std::uint32_t n) { return one.after < n; });
      for (; edge != edges_.end() && edge->after == node; ++edge) {
        slack_[edge->before] = std::min(slack_[edge->before], edge->gap + slack_[node]);
        if (--left[edge->before] == 0) known.push_back(edge->before);
      }
    }
    slack_.resize(steps_.size());
    return std::move(slack_);
  }

 private:
  struct Edge {
    std::uint32_t before, after;
    Time gap;
  };

  struct Use {  // of an exclusive link by a message
    LinkId link;
    Time begun, ended;
    std::uint32_t step;
  };

  [[nodiscard]] std::uint32_t message(std::uint32_t step) const {
    return static_cast<std::uint32_t>(steps_.size()) + step;
  }
  [[nodiscard]] bool has_message(std::uint32_t step) const {
    return sends(steps_[step].instruction.op);
  }
  void add(std::uint32_t before, std::uint32_t after, Time gap) {
    edges_.push_back({before, after, std::max(gap, Time{})});
  }

  void add_step(std::uint32_t i) {
    const Step& step = steps_[i];
    const bool goes_on =
        i + 1 < steps_.size() && steps_[i + 1].rank == step.rank && steps_[i + 1].lane == step.lane;
    if (goes_on) add(i, i + 1, steps_[i + 1].began - step.ended);
    if (step.message_from != Step::none) {
      const Step& sender = steps_[step.message_from];
      if (has_message(step.message_from))
        add(message(step.message_from), i, step.began - sender.arrived);
      else
        add(step.message_from, i, step.began - sender.ended);
    }
    if (step.slot_freed_by != Step::none)
      add(step.slot_freed_by, i, step.began - steps_[step.slot_freed_by].ended);
    if (step.instruction.op == Op::drain) add_drained(i);
    if (has_message(i)) add_message(i);
  }

  void add_drained(std::uint32_t drain) {
    for (std::uint32_t i = drain; i-- > 0;) {
      if (steps_[i].lane != steps_[drain].lane || steps_[i].rank != steps_[drain].rank ||
          steps_[i].instruction.op == Op::drain)
        return;
      if (has_message(i)) add(message(i), drain, steps_[drain].began - steps_[i].left);
    }
  }

  void add_message(std::uint32_t i) {
    const auto crossings = timeline_.crossings_of(steps_[i]);
    add(i, message(i), crossings.empty() ? Time{} : crossings[0].begun - crossings[0].asked);
    for (const Crossing& crossing : crossings) {
      const Link& link = topology_.link(crossing.link);
      if (link.sharing == Sharing::exclusive)
        uses_.push_back({link.resource, crossing.begun, crossing.ended, i});
      else if (crossing.queued_behind != Step::none)
        add(message(crossing.queued_behind), message(i), Time{});
    }
  }

  // Messages that cross the same link, one after the other.
  void add_uses() {
    std::sort(uses_.begin(), uses_.end(), [](const Use& a, const Use& b) {
      return a.link != b.link ? a.link < b.link : a.begun < b.begun;
    });
    for (std::size_t i = 1; i < uses_.size(); ++i)
      if (uses_[i - 1].link == uses_[i].link && uses_[i - 1].step != uses_[i].step)
        add(message(uses_[i - 1].step), message(uses_[i].step),
            uses_[i].begun - uses_[i - 1].ended);
  }

  const Topology& topology_;
  const Timeline& timeline_;
  const std::vector<Step>& steps_;
  std::vector<Time> slack_;
  std::vector<Edge> edges_;
  std::vector<Use> uses_;
};

}  // namespace

std::vector<Time> slack_of_steps(const Topology& topology, const Simulation& simulation) {
  if (!simulation.timeline)
    throw_error(ErrorCode::invalid_argument, "slack needs a simulation with Recording::full");
  return Precedence(topology, simulation).slack();
}

}  // namespace collsim
