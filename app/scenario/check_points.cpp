// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/scenario/document_path.hpp"
#include "app/scenario/point.hpp"

namespace collsim {
namespace {

// Moderate time: so many values of one axis, or so many ranks and links looked at for it.
constexpr std::size_t max_checks = 20'000;
constexpr std::size_t max_work = 20'000'000;
constexpr std::size_t max_mistakes = 100;

// Looks for what differs between the resolved parts of two points.
class CommonDefaults {
 public:
  explicit CommonDefaults(const Scenario& scenario) : scenario_(&scenario) {}

  // Where `base` differs from `other` and no sweep says why: puts what is written there, because it
  // means different things at different points, or takes away a default that does not hold.
  void keep(Value& base, const Value& other, const Value* written, const std::string& path) const {
    if (!base.is_object() || !other.is_object()) return;
    for (std::size_t i = base.members().size(); i-- > 0;) {
      Value::Member& member = base.members()[i];
      const Value* counterpart = other.find(member.key);
      if (counterpart != nullptr && *counterpart == member.value) continue;
      const std::string here = path + "." + member.key;
      if (is_swept(here)) continue;
      const Value* as_written = written != nullptr ? written->find(member.key) : nullptr;
      if (counterpart != nullptr && counterpart->is_object() && member.value.is_object())
        keep(member.value, *counterpart, as_written, here);
      else if (as_written != nullptr)
        member.value = *as_written;
      else if (!is_swept_inside(here))
        base.members().erase(base.members().begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

 private:
  [[nodiscard]] bool is_swept(const std::string& path) const {
    return any_path([&](const std::string& swept) { return lies_in(path, swept); });
  }
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

class PointChecker {
 public:
  PointChecker(const Scenario& scenario, const UnknownParts& unknown, Diagnostics& diagnostics)
      : scenario_(&scenario), unknown_(&unknown), diagnostics_(&diagnostics), defaults_(scenario) {}

  PointReading check() {
    base_ = read(0);
    const std::size_t work_of_base = work_;
    std::size_t stride = scenario_->points();
    for (const Axis& axis : scenario_->axes) {
      stride /= axis.points.size();
      check_axis(axis.points.size(), stride, work_of_base);
    }
    return std::move(base_);
  }

 private:
  void check_axis(std::size_t values, std::size_t stride, std::size_t work_of_base) {
    if (values < 2) return;
    work_ = 0;
    compare(read((values - 1) * stride));
    const std::size_t work = std::max({work_, work_of_base, std::size_t{1}});
    const std::size_t checks = std::min({values - 1, max_checks, 1 + max_work / work});
    for (std::size_t i = 1; i < checks; ++i) {
      if (work_ > max_work || diagnostics_->size() >= max_mistakes) return;
      // The values between the first and the last, evenly spread.
      compare(read((i * (values - 1) / checks) * stride));
    }
  }

  // Reports only what no point before had wrong at the same place.
  PointReading read(std::size_t point) {
    Diagnostics mistakes;
    PointReading reading = read_point(*scenario_, point, *unknown_, clusters_, mistakes);
    count_work(reading);
    const std::vector<Diagnostic> sorted = mistakes.sorted();
    for (const Diagnostic& mistake : sorted)
      if (!seen_.contains(key_of(mistake))) diagnostics_->add(mistake);
    for (const Diagnostic& mistake : sorted) seen_.insert(key_of(mistake));
    return reading;
  }

  void count_work(const PointReading& reading) {
    ++work_;
    if (!reading.point) return;
    work_ += reading.point->collective.group.size();
    if (reading.point->cluster == last_cluster_) return;
    last_cluster_ = reading.point->cluster;
    work_ += last_cluster_->topology.node_count() + last_cluster_->topology.links().size();
  }

  void compare(const PointReading& other) {
    const Value& document = scenario_->document;
    defaults_.keep(base_.cluster, other.cluster, document.find("cluster"), "cluster");
    defaults_.keep(base_.collective, other.collective, document.find("collective"), "collective");
    defaults_.keep(base_.model, other.model, document.find("model"), "model");
  }

  using Key = std::tuple<std::uint32_t, std::uint32_t, std::string, std::string>;
  static Key key_of(const Diagnostic& mistake) {
    return {mistake.place.source, mistake.place.begin, mistake.pointer, mistake.code};
  }

  const Scenario* scenario_;
  const UnknownParts* unknown_;
  Diagnostics* diagnostics_;
  CommonDefaults defaults_;
  ClusterCache clusters_;
  PointReading base_;
  std::set<Key> seen_;
  std::shared_ptr<const Cluster> last_cluster_;
  std::size_t work_ = 0;
};

}  // namespace

PointReading check_points(const Scenario& scenario, const UnknownParts& unknown,
                          Diagnostics& diagnostics) {
  return PointChecker(scenario, unknown, diagnostics).check();
}

}  // namespace collsim
