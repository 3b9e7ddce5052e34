// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "app/explain/explanation_internal.hpp"
#include "app/explain/step_internal.hpp"
#include "app/json/screen_text.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/make_case.hpp"
#include "app/scenario/quantities.hpp"
#include "app/study/run_step.hpp"
#include "collectives/workloads/workloads.hpp"

namespace collsim {
namespace {

constexpr const char* protocol_path = "workload.protocol";

// Other messages might be sent under another one, which would be a second change.
void hold_protocol(const CaseResult& row, Params& changes) {
  if (row.protocol)
    changes.emplace_back(protocol_path, JsonValue(std::string(to_string(*row.protocol))));
}

class StepKnobs {
 public:
  StepKnobs(const Case& one_case, Variations& variations, StepExplanation& result)
      : case_(one_case), variations_(variations), result_(result) {}

  void turn_all() {
    turn("bandwidth of all links", "1x", "2x", [this] {
      return with_links(case_, [](LinkParameters& link) {
        link.bandwidth = Bandwidth(link.bandwidth.bytes_per_second() * 2);
      });
    });
    turn_time("overhead of all links", &LinkParameters::startup);
    turn_time("latency of all links", &LinkParameters::latency);
    turn("computing of all ranks", "1x", "2x", [this] { return with_faster_ranks(); });
    if (const auto& room = case_.step->room)
      turn("collectives at a time", std::to_string(room->collectives).c_str(), "all",
           [this] { return with_room(); });
    turn_off("workload.slow", JsonValue::object());
    turn_off("workload.jitter.mean", JsonValue(0));
    turn_off("cluster.late", JsonValue::object());
    turn_off("cluster.switches_down", JsonValue::array());
    turn_off("cluster.links_override", JsonValue::array());
    for (const char* key : {"sharding", "slowdown", "skew"}) turn_off_constant(key);
    std::stable_sort(result_.knobs.begin(), result_.knobs.end(),
                     [](const StepKnob& a, const StepKnob& b) {
                       return a.time.value_or(Time::never()) < b.time.value_or(Time::never());
                     });
  }

 private:
  // What makes the step longer, if it is there.
  void turn_off(const char* path, const JsonValue& nothing) {
    if (!variations_.says(path)) return;
    turn(path, "as written", "none", [&] { return varied(path, nothing); });
  }
  [[nodiscard]] Case varied(const std::string& path, const JsonValue& value) const {
    Params changes = result_.changes;
    hold_protocol(result_.row, changes);
    changes.emplace_back(path, value);
    Case changed = variations_.with(changes);
    if (!result_.row.evened) {
      TrainingStep step = *changed.step;
      step.keeps_parts = true;
      changed.step = std::make_shared<const TrainingStep>(std::move(step));
    }
    return changed;
  }
  // A constant of the device, if it makes this step longer.
  void turn_off_constant(const char* key) {
    const std::string path = std::string("workload.device.") + key;
    const JsonValue* const now = variations_.said(path);
    if (now == nullptr) return;
    const JsonValue none = now->is_string() ? JsonValue("0s") : JsonValue(0);
    turn(path.c_str(), plain_text(*now).c_str(), plain_text(none).c_str(),
         [&] { return varied(path, none); });
    if (result_.knobs.back().time == result_.row.time) result_.knobs.pop_back();
  }
  void turn_time(const char* name, Time LinkParameters::*time) {
    const Topology& topology = case_.cluster->topology;
    bool some = false;
    for (std::size_t i = 0; i < topology.links().size(); ++i)
      some = some || topology.parameters(LinkId(i)).*time > Time{};
    if (!some) return;
    turn(name, "1x", "half", [this, time] {
      return with_links(case_,
                        [time](LinkParameters& link) { link.*time = Time((link.*time).ps() / 2); });
    });
  }

  [[nodiscard]] Case with_faster_ranks() const {
    std::vector<SlowRank> all;
    for (const Rank rank : case_.step->workload.group()) all.push_back({rank, 0.5, Time{}});
    TrainingStep step = *case_.step;
    step.workload = slowed(step.workload, all);
    Case faster = case_;
    faster.step = std::make_shared<const TrainingStep>(std::move(step));
    return faster;
  }

  [[nodiscard]] Case with_room() const {
    TrainingStep step = *case_.step;
    step.workload = step.room->unlimited;
    step.room.reset();
    Case roomier = case_;
    roomier.step = std::make_shared<const TrainingStep>(std::move(step));
    return roomier;
  }

  template <class Make>
  void turn(const char* name, const char* now, const char* then, const Make& changed) {
    StepKnob knob{name, now, then, {}, {}};
    try {
      knob.time = run_step(changed()).time;
    } catch (const Error& error) {
      knob.why_not = error.what();
    }
    result_.knobs.push_back(std::move(knob));
  }

  const Case& case_;
  Variations& variations_;
  StepExplanation& result_;
};

// What one setting of the scheme may be, in order.
struct Setting {
  const char* scheme;
  const char* key;
  std::vector<JsonValue> values;  // empty: sizes around the best one
};

const std::vector<Setting>& settings() {
  static const std::vector<JsonValue> schedules{"gpipe", "1f1b", "interleaved", "zb-h1"};
  static const std::vector<Setting> all{{"ddp", "bucket", {}},
                                        {"fsdp", "bucket", {}},
                                        {"fsdp", "prefetch", {"pre", "post"}},
                                        {"fsdp", "unsharded", {1, 2, 3, 4}},
                                        {"pipeline", "schedule", schedules},
                                        {"train", "schedule", schedules}};
  return all;
}

// Nothing is scheduled on a single stage.
bool matters(const Setting& setting, const JsonValue& options) {
  const JsonValue* const stages = options.find("pp");
  return setting.key != std::string_view("schedule") || stages == nullptr ||
         stages->integer().value_or(2) > 1;
}

Bytes size_in(const std::string& text) {
  return parse_size(text).value.value_or(0);
}

// "chunks" of a pipeline, where it is written: it is for one schedule only.
std::string goes_only_with(const Setting& setting, const JsonValue& now, const JsonValue& value,
                           const JsonValue& document) {
  if (setting.key != std::string_view("schedule") || now == value) return {};
  const std::string path = fmt::format("workload.{}.chunks", setting.scheme);
  return value_at(document, path) == nullptr || value.string() == "interleaved" ? "" : path;
}

class SettingSearch {
 public:
  // `now`: as the scenario says it, or the default.
  SettingSearch(Variations& variations, std::string path, const std::string& now,
                const CaseResult& row)
      : variations_(variations), now_(now) {
    best_.path = std::move(path);
    if (best_.path != protocol_path) hold_protocol(row, held_);
    add(now, row);
  }
  // What does not work here is left out.  `without`: the path of what goes with no other value.
  void try_value(const JsonValue& value, const std::string& without = {}) {
    const std::string text = plain_text(value);
    for (const Tried& one : tried_)
      if (one.value == text) return;
    try {
      Params changes = held_;
      changes.emplace_back(best_.path, value);
      add(text, run_step(variations_.with(changes)));
      tried_.back().without = without;
    } catch (const Error&) {
      return;
    }
  }

  // Of those that fit their devices, if any do.
  [[nodiscard]] std::string best() const {
    const auto least =
        std::min_element(tried_.begin(), tried_.end(), [](const Tried& a, const Tried& b) {
          return std::pair(!a.fits, a.time) < std::pair(!b.fits, b.time);
        });
    const auto is_as_good = [&](const Tried& one) {
      return one.fits == least->fits &&
             one.time.ps() - least->time.ps() <= least->time.ps() / equal_within + 1;
    };
    auto nearest = least;
    for (auto one = tried_.begin(); one != tried_.end(); ++one)
      if (is_as_good(*one) && away(*one) < away(*nearest)) nearest = one;
    return nearest->value;
  }

  template <class Less>
  [[nodiscard]] BestSetting take(const Less& less) {
    const std::string best_value = best();
    std::stable_sort(tried_.begin(), tried_.end(),
                     [&](const Tried& a, const Tried& b) { return less(a.value, b.value); });
    for (const Tried& one : tried_) {
      if (one.value == now_) best_.now = best_.tried.size();
      if (one.value == best_value && one.fits) best_.best = best_.tried.size();
      best_.tried.push_back(one);
    }
    return best_;
  }

 private:
  using Tried = BestSetting::Tried;
  static constexpr std::int64_t equal_within = 1'000'000'000;

  // How far a size or number is from that of now; words are all as far.
  [[nodiscard]] double away(const Tried& one) const {
    const Bytes value = size_in(one.value), now = size_in(now_);
    if (one.value == now_) return -1;
    return value > 0 && now > 0
               ? std::abs(std::log(static_cast<double>(value) / static_cast<double>(now)))
               : 0;
  }
  void add(const std::string& value, const CaseResult& row) {
    tried_.push_back({value, row.time, row.step->fits(), {}});
  }

  Variations& variations_;
  Params held_;
  std::string now_;
  std::vector<Tried> tried_;
  BestSetting best_;
};

// First sizes 4 times as large each, then between the neighbours of the best one.
void try_sizes(SettingSearch& search) {
  constexpr Bytes smallest = Bytes{1} << 18U;
  constexpr Bytes largest = Bytes{1} << 34U;
  for (Bytes size = smallest; size <= largest; size *= 4) search.try_value(exact_size(size));
  for (const double factor : {0.35, 0.5, 0.71, 1.41, 2.0, 2.8}) {
    constexpr Bytes step = Bytes{1} << 16U;
    const double size = static_cast<double>(size_in(search.best())) * factor;
    search.try_value(exact_size(static_cast<Bytes>(size) / step * step + step));
  }
}

}  // namespace

void explain_step_knobs(const Case& one_case, Variations& variations, StepExplanation& result) {
  StepKnobs(one_case, variations, result).turn_all();
}

void explain_step_settings(Variations& variations, const JsonValue& document,
                           const JsonValue& workload, StepExplanation& result) {
  for (const Setting& setting : settings()) {
    const JsonValue* const options = workload.find(setting.scheme);
    const JsonValue* const now = options == nullptr ? nullptr : options->find(setting.key);
    if (now == nullptr || !matters(setting, *options)) continue;
    SettingSearch search(variations, fmt::format("workload.{}.{}", setting.scheme, setting.key),
                         plain_text(*now), result.row);
    if (setting.values.empty())
      try_sizes(search);
    else
      for (const JsonValue& value : setting.values)
        search.try_value(value, goes_only_with(setting, *now, value, document));
    result.settings.push_back(search.take([&](const std::string& a, const std::string& b) {
      return setting.values.empty() && size_in(a) < size_in(b);
    }));
  }
  if (!result.row.protocol) return;
  SettingSearch search(variations, protocol_path, std::string(to_string(*result.row.protocol)),
                       result.row);
  for (const LinkProtocol one : ring_protocols)
    search.try_value(JsonValue(std::string(to_string(one))));
  result.settings.push_back(search.take([](const auto&, const auto&) { return false; }));
}

}  // namespace collsim
