// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "app/explain/explanation_internal.hpp"
#include "sim/effort.hpp"
#include "topo/routes.hpp"

namespace collsim {
namespace {

class WiringKnobs {
 public:
  WiringKnobs(const KnobContext& context, WorkBudget& budget)
      : context_(context), variations_(*context.variations), budget_(budget) {}

  void turn_duplex() {
    const auto is_half = [](const Link& link) { return link.half_duplex; };
    if (variations_.has_one_link() && std::ranges::any_of(topology().links(), is_half))
      turn("duplex", "half", "full", {{"cluster.link.duplex", "full"}});
  }

  // Those that suit every network, where messages have several equal ways and it matters which
  // they take; and those of a dragonfly.
  void turn_routing() {
    std::vector<const char*> words;
    if (ways_of_messages(with_routing(topology(), Routing::spray, 0),
                         context_.one_case.collective.group) > 1)
      words = {"hash", "spray", "adaptive"};
    const JsonValue* const shape = variations_.said("cluster.shape");
    if (shape != nullptr && shape->is_string() && shape->string() == "dragonfly")
      words.insert(words.end(), {"d-mod-k", "ugal", "valiant"});
    if (words.empty()) return;
    const JsonValue* const said = variations_.said("cluster.routing");
    const std::string now = said != nullptr && said->is_string() ? said->string() : "default";
    const std::size_t before = all.size();
    for (const char* const then : words)
      if (now != then) turn("routing", now, then, {{"cluster.routing", then}});
    const auto is_alike = [&](const Knob& knob) { return knob.time == context_.row.time; };
    if (std::all_of(all.begin() + static_cast<std::ptrdiff_t>(before), all.end(), is_alike))
      all.resize(before);
  }

  // A link that is faster than others does not always help: what comes over it meets others in
  // another order.
  void turn_overrides() {
    for (const char* const key : {"links_override", "switches_down"}) {
      const std::string path = std::string("cluster.") + key;
      if (variations_.says(path)) turn(key, "as written", "none", {{path, JsonValue::array()}});
    }
  }

  std::vector<Knob> all;

 private:
  [[nodiscard]] const Topology& topology() const { return context_.one_case.cluster->topology; }

  void turn(std::string name, std::string now, std::string then, const Params& set) {
    Knob knob;
    knob.name = std::move(name);
    knob.now = std::move(now);
    knob.then = std::move(then);
    knob.set = context_.with(set);
    Attempt result = attempt([&] { return variations_.with(knob.set); }, budget_);
    knob.time = result.time;
    knob.why_not = std::move(result.why_not);
    knob.too_long = result.too_long;
    all.push_back(std::move(knob));
  }

  const KnobContext& context_;
  Variations& variations_;
  WorkBudget& budget_;
};

}  // namespace

std::vector<Knob> wiring_knobs(const KnobContext& context, WorkBudget& budget) {
  if (context.variations == nullptr) return {};
  WiringKnobs knobs(context, budget);
  knobs.turn_overrides();
  if (context.row.messages > 0) knobs.turn_duplex();
  if (context.row.messages > 0) knobs.turn_routing();
  return std::move(knobs.all);
}

}  // namespace collsim
