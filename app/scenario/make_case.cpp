// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/make_case.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "app/scenario/collective.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/model.hpp"
#include "app/scenario/vocabulary.hpp"
#include "app/scenario/workload/workload.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

// A document with the values of one point at their paths.  Copies only what they change.
class PatchedDocument {
 public:
  explicit PatchedDocument(const Scenario& scenario) : scenario_(&scenario) {}

  void patch(std::size_t point, Diagnostics& diagnostics) {
    for (std::size_t a = scenario_->axes.size(); a-- > 0;) {
      const Axis& axis = scenario_->axes[a];
      const std::vector<JsonValue>& values = axis.points[point % axis.points.size()];
      point /= axis.points.size();
      for (std::size_t i = 0; i < axis.paths.size(); ++i)
        put_value(axis.paths[i], values[i], axis.place, diagnostics);
    }
  }

  // Null when it is not there.
  [[nodiscard]] const JsonValue* part(std::string_view name) const {
    const JsonValue* patched = changed_.find(name);
    return patched != nullptr ? patched : scenario_->document.find(name);
  }

 private:
  void put_value(const std::string& path, const JsonValue& value, const SourceRange& place,
                 Diagnostics& diagnostics) {
    const std::string_view name = std::string_view(path).substr(0, path.find('.'));
    if (changed_.find(name) == nullptr)
      if (const JsonValue* written = scenario_->document.find(name)) changed_.set(name, *written);
    if (path == "workload") {
      const JsonValue* const written = changed_.find(name);
      changed_.set(name, written != nullptr ? laid_over(value, *written) : value);
      return;
    }
    const std::optional<PathProblem> problem = put(changed_, path, value, place);
    if (problem)
      diagnostics.add({.code = "bad-sweep-path",
                       .message = problem->message,
                       .place = place,
                       .pointer = pointer_to("/sweep", path),
                       .hint = problem->hint});
  }

  const Scenario* scenario_;
  JsonValue changed_ = JsonValue::object();
};

bool is_swept(const Scenario& scenario, const UnknownParts& unknown, std::string_view path) {
  for (const Axis& axis : scenario.axes)
    for (const std::string& swept : axis.paths)
      if (lies_in(swept, path)) return true;
  return unknown.any_in(path);
}

constexpr std::array launch_keys = {"launch", "local_bandwidth", "per_peer"};

// What the scenario's model says of launches, else the preset's; `resolved` gets it.
LaunchCosts launch_costs(const JsonValue& written, const JsonValue& preset, JsonValue& resolved) {
  JsonValue both = preset.is_object() ? preset : JsonValue::object();
  for (const char* key : launch_keys) {
    const JsonValue* const value = written.find(key);
    JsonValue* const launch = both.find(key);
    if (value == nullptr) continue;
    if (launch == nullptr || !launch->is_object())
      both.set(key, *value);
    else if (!value->is_object())
      launch->set("base", *value);
    else
      for (const JsonValue::Member& member : value->members())
        launch->set(member.key, member.value);
  }
  Diagnostics known;  // in the scenario's model
  JsonValue effective;
  const LaunchCosts costs = read_model(both, "/model", known, effective).launch;
  for (const char* key : launch_keys)
    if (const JsonValue* const value = effective.find(key)) resolved.set(key, *value);
  return costs;
}

// What a training step is made of.
void read_step(const JsonValue& workload, const ModelReading& model, bool varies, Case& made,
               Diagnostics& diagnostics, PointReading& reading) {
  std::optional<TrainingStep> step = read_workload(
      workload, "/workload", {made.cluster.get(), varies}, diagnostics, reading.workload);
  made.bare_cluster = made.cluster;
  if (step) made.cluster = cluster_of(*step, made.cluster);
  if (step) made.step = std::make_shared<const TrainingStep>(std::move(*step));
  if (model.calibration)
    diagnostics.add({.code = "not-applicable",
                     .message = "a calibration is for a single collective, not for a workload",
                     .place = workload.place,
                     .pointer = "/model/calibration",
                     .hint = "omit \"calibration\""});
}

void read_parts(const PatchedDocument& document, const Scenario& scenario,
                const UnknownParts& unknown, ClusterCache& clusters, Diagnostics& diagnostics,
                PointReading& reading) {
  static const JsonValue nothing = JsonValue::object();
  const JsonValue* cluster_part = document.part("cluster");
  const JsonValue* collective_part = document.part("collective");
  const JsonValue* workload_part = document.part("workload");
  const JsonValue* model_part = document.part("model");
  Case made;
  const ModelReading model = read_model(model_part != nullptr ? *model_part : nothing, "/model",
                                        diagnostics, reading.model);
  // On its own: what is wrong here must not hide what is wrong there.
  Diagnostics of_cluster;
  if (cluster_part != nullptr) {
    made.cluster = clusters.get(*cluster_part, of_cluster);
    reading.cluster = clusters.resolved();
  }
  Diagnostics of_collective;
  std::optional<CollectiveReading> collective;
  if (collective_part != nullptr) {
    const bool known = !unknown.any_in("cluster") && !unknown.any_in("collective");
    const CollectiveContext context{
        known ? made.cluster.get() : nullptr, is_swept(scenario, unknown, "collective.op"),
        is_swept(scenario, unknown, "collective.algorithm"), &scenario.programs};
    collective = read_collective(*collective_part, "/collective", context, of_collective,
                                 reading.collective);
  }
  if (workload_part != nullptr && collective_part == nullptr)
    read_step(*workload_part, model, is_swept(scenario, unknown, "workload"), made, of_collective,
              reading);
  for (const Diagnostics* part : {&of_cluster, &of_collective})
    for (Diagnostic& diagnostic : part->sorted())
      if (!unknown.explain(diagnostic)) diagnostics.add(std::move(diagnostic));
  if (!diagnostics.empty() || !made.cluster || !(collective || made.step)) return;
  made.costs = model.costs;
  if (made.step) {
    made.costs.slowdown = made.step->slowdown;
    reading.one_case = std::move(made);
    return;
  }
  made.collective = std::move(collective->collective);
  made.choice = std::move(collective->choice);
  made.open = collective->open;
  spread_over_nodes(made.choice, made.cluster->topology, made.collective);
  made.data = std::move(collective->data);
  if (made.choice.name == "nccl")
    made.launch = launch_costs(model_part != nullptr ? *model_part : nothing, made.cluster->model,
                               reading.model);
  made.nccl_graph = model.nccl_graph;
  made.nccl_choice = std::move(collective->nccl_choice);
  made.calibration = model.calibration;
  reading.one_case = std::move(made);
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "cluster.link.bandwidth" is missing at /cluster/link, or all of the link at /cluster.
bool may_be_missing(const Diagnostic& mistake, std::string_view path) {
  const auto steps = split_path(path);
  if (!steps || mistake.code != "missing-key") return false;
  std::string pointer;
  for (std::size_t i = 0; i + 1 < steps->size(); ++i) {
    pointer = pointer_to(pointer, (*steps)[i]);
    if (pointer == mistake.pointer) return true;
  }
  return false;
}

// For moderate time: the most ranks and links examined for the values of one axis.
constexpr std::size_t max_work = 20'000'000;
constexpr std::size_t work_of_mistake = 20'000;  // to word it: most are found at every point
constexpr std::size_t max_mistakes = 100;

// Looks for what differs between the resolved parts of two points.
class CommonDefaults {
 public:
  explicit CommonDefaults(const Scenario& scenario) : scenario_(&scenario) {}

  // Where `base` differs from `other` and no sweep says why: puts what is written there, because it
  // means different things at different points, or takes away a default that does not hold.
  void keep(JsonValue& base, const JsonValue& other, const JsonValue* written,
            const std::string& path) const {
    if (!base.is_object() || !other.is_object()) return;
    for (std::size_t i = base.members().size(); i-- > 0;) {
      JsonValue::Member& member = base.members()[i];
      const JsonValue* counterpart = other.find(member.key);
      if (counterpart != nullptr && *counterpart == member.value) continue;
      const std::string here = path + "." + member.key;
      if (is_swept(here)) continue;
      const JsonValue* as_written = written != nullptr ? written->find(member.key) : nullptr;
      if (counterpart != nullptr && counterpart->is_object() && member.value.is_object())
        keep(member.value, *counterpart, as_written, here);
      else if (as_written != nullptr)
        member.value = *as_written;
      else if (!is_swept_inside(here))
        base.members().erase(base.members().begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  [[nodiscard]] bool is_swept(const std::string& path) const {
    return any_path([&](const std::string& swept) { return lies_in(path, swept); });
  }

 private:
  [[nodiscard]] bool is_swept_inside(const std::string& path) const {
    return any_path([&](const std::string& swept) { return lies_in(swept, path); });
  }
  template <class Test>
  [[nodiscard]] bool any_path(Test test) const {
    return std::any_of(scenario_->axes.begin(), scenario_->axes.end(), [&](const Axis& axis) {
      return std::any_of(axis.paths.begin(), axis.paths.end(), test);
    });
  }

  const Scenario* scenario_;
};

// Whose values were not typed one by one: all stand where it does.
bool is_range(const Axis& axis) {
  return axis.points.front().front().place == axis.points.back().front().place;
}

class PointChecker {
 public:
  PointChecker(const Scenario& scenario, std::size_t max_checks, const UnknownParts& unknown,
               ClusterCache& clusters, Diagnostics& diagnostics)
      : scenario_(&scenario),
        max_checks_(max_checks),
        unknown_(&unknown),
        diagnostics_(&diagnostics),
        defaults_(scenario),
        clusters_(&clusters) {}

  PointReading check() {
    base_ = read(0);
    const std::size_t work_of_base = work_;
    std::size_t stride = scenario_->points();
    for (const Axis& axis : scenario_->axes) {
      stride /= axis.points.size();
      check_axis(axis, stride, work_of_base);
    }
    // Whose defaults depend on the scheme.
    if (defaults_.is_swept("workload")) {
      const JsonValue* const written = scenario_->document.find("workload");
      base_.workload = written != nullptr ? *written : JsonValue::object();
    }
    return std::move(base_);
  }

 private:
  void check_axis(const Axis& axis, std::size_t stride, std::size_t work_of_base) {
    const std::size_t values = axis.points.size();
    if (values < 2) return;
    const std::size_t most = is_range(axis) ? max_checks_ : LoadOptions{}.max_checks;
    work_ = 0;
    compare(read((values - 1) * stride));
    const std::size_t work = std::max({work_, work_of_base, std::size_t{1}});
    const std::size_t checks = std::min({values - 1, most, 1 + max_work / work});
    for (std::size_t i = 1; i < checks; ++i) {
      if (work_ > max_work || diagnostics_->size() >= max_mistakes) return;
      // The values between the first and the last, evenly spread.
      compare(read((i * (values - 1) / checks) * stride));
    }
  }

  // Reports only what no point before had wrong at the same place.
  PointReading read(std::size_t point) {
    Diagnostics mistakes;
    PointReading reading = read_point(*scenario_, point, *unknown_, *clusters_, mistakes);
    count_work(reading);
    const std::vector<Diagnostic> sorted = mistakes.sorted();
    work_ += work_of_mistake * sorted.size();
    for (const Diagnostic& mistake : sorted)
      if (!seen_.contains(key_of(mistake))) diagnostics_->add(mistake);
    for (const Diagnostic& mistake : sorted) seen_.insert(key_of(mistake));
    return reading;
  }

  void count_work(const PointReading& reading) {
    ++work_;
    if (!reading.one_case) return;
    work_ += reading.one_case->collective.group.size();
    if (reading.one_case->cluster == last_cluster_) return;
    last_cluster_ = reading.one_case->cluster;
    work_ += last_cluster_->topology.node_count() + last_cluster_->topology.links().size();
  }

  void compare(const PointReading& other) {
    const JsonValue& document = scenario_->document;
    defaults_.keep(base_.cluster, other.cluster, document.find("cluster"), "cluster");
    defaults_.keep(base_.collective, other.collective, document.find("collective"), "collective");
    defaults_.keep(base_.workload, other.workload, document.find("workload"), "workload");
    defaults_.keep(base_.model, other.model, document.find("model"), "model");
  }

  using Key = std::tuple<std::uint32_t, std::uint32_t, std::string, std::string>;
  static Key key_of(const Diagnostic& mistake) {
    return {mistake.place.source, mistake.place.begin, mistake.pointer, mistake.code};
  }

  const Scenario* scenario_;
  std::size_t max_checks_;
  const UnknownParts* unknown_;
  Diagnostics* diagnostics_;
  CommonDefaults defaults_;
  ClusterCache* clusters_;
  PointReading base_;
  std::set<Key> seen_;
  std::shared_ptr<const Cluster> last_cluster_;
  std::size_t work_ = 0;
};

}  // namespace

bool UnknownParts::any_in(std::string_view path) const {
  return std::any_of(paths.begin(), paths.end(),
                     [&](const std::string& unknown) { return lies_in(unknown, path); });
}

bool UnknownParts::explain(const Diagnostic& mistake) const {
  for (const std::string& path : paths)
    if (may_be_missing(mistake, path)) return true;
  const bool of_single_things = mistake.pointer.starts_with("/cluster/late") ||
                                mistake.pointer.starts_with("/cluster/links_override");
  if (any_in("cluster") && of_single_things &&
      is_one_of(mistake.code, {"out-of-range", "unknown-name", "no-such-link"}))
    return true;
  return any_in("collective.dtype") && mistake.code == "not-whole-elements";
}

ClusterCache::ClusterCache(const Scenario& scenario) {
  if (scenario.checked_cluster != nullptr) *this = *scenario.checked_cluster;
}

std::shared_ptr<const Cluster> ClusterCache::get(const JsonValue& cluster,
                                                 Diagnostics& diagnostics) {
  if (cluster_ && cluster == last_) return cluster_;
  cluster_.reset();
  resolved_ = {};
  try {
    std::optional<Cluster> built = read_cluster(cluster, "/cluster", diagnostics, resolved_);
    if (!built) return nullptr;
    cluster_ = std::make_shared<const Cluster>(std::move(*built));
    last_ = cluster;
  } catch (const Error& error) {
    diagnostics.add({.code = std::string(to_string(error.code())),
                     .message = error.what(),
                     .place = cluster.place,
                     .pointer = "/cluster"});
  }
  return cluster_;
}

PointReading read_point(const Scenario& scenario, std::size_t point, const UnknownParts& unknown,
                        ClusterCache& clusters, Diagnostics& diagnostics) {
  PointReading reading;
  Diagnostics own;
  PatchedDocument document(scenario);
  document.patch(point, own);
  read_parts(document, scenario, unknown, clusters, own, reading);
  for (Diagnostic& diagnostic : own.sorted()) diagnostics.add(std::move(diagnostic));
  return reading;
}

std::shared_ptr<const Cluster> cluster_of(const TrainingStep& step,
                                          std::shared_ptr<const Cluster> bare) {
  if (!step.protocol) return bare;
  auto cluster = std::make_shared<Cluster>(*bare);
  cluster->topology = cluster->topology.under(step.protocol->protocol, step.protocol->message);
  if (cluster->link && !cluster->topology.links().empty())
    cluster->link = cluster->topology.parameters(LinkId(0));
  return cluster;
}

std::optional<Case> make_case(const Scenario& scenario, std::size_t point, ClusterCache& clusters,
                              Diagnostics& diagnostics) {
  std::optional<Case> made = read_point(scenario, point, {}, clusters, diagnostics).one_case;
  if (!made || made->step || is_policy(made->choice.name)) return made;
  return with_schedule(std::move(*made));
}

PointReading check_points(const Scenario& scenario, std::size_t max_checks,
                          const UnknownParts& unknown, ClusterCache& clusters,
                          Diagnostics& diagnostics) {
  return PointChecker(scenario, max_checks, unknown, clusters, diagnostics).check();
}

}  // namespace collsim
