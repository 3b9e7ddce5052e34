// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/measured_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "app/scenario/fitted.hpp"
#include "app/scenario/make_case.hpp"
#include "app/scenario/presets.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/vocabulary.hpp"

namespace collsim {
namespace {

// A table's times by size: of a size that was measured several times, all.
using TimesOfSizes = std::multimap<Bytes, double>;

LaunchMode mode_of(MeasuredLaunch launch) {
  if (launch == MeasuredLaunch::one_thread) return LaunchMode::one_thread;
  if (launch == MeasuredLaunch::thread_per_gpu) return LaunchMode::thread_per_gpu;
  return LaunchMode::process_per_gpu;
}

class CasesOfTable {
 public:
  explicit CasesOfTable(const MeasuredTable& table) : table_(table) {}

  MeasuredCases make() {
    MeasuredCases made;
    made.why_not = obstacle();
    if (!made.why_not.empty()) return made;
    made.kinds = {preset_->written.find("gpu")->string(),
                  nodes_ > 1 ? network_of(table_).value_or(preset_->network) : ""};
    const TimesOfSizes times = times_of_sizes();
    if (times.empty()) {
      made.why_not = "no row has a size and a time";
      return made;
    }
    std::vector<Bytes> sizes;
    for (const auto& [size, time] : times)
      if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
    Sources sources;
    Diagnostics mistakes;
    const auto scenario = load_scenario(scenario_of(sizes), "table", {}, sources, mistakes);
    ClusterCache clusters;
    for (std::size_t point = 0; scenario && point < sizes.size(); ++point) {
      const std::optional<Case> asked = make_case(*scenario, point, clusters, mistakes);
      if (!asked) break;
      const auto [first, last] = times.equal_range(sizes[point]);
      for (auto time = first; time != last; ++time) made.rows.push_back({*asked, time->second});
      for (auto row = made.rows.end() - std::distance(first, last); row != made.rows.end(); ++row)
        if (table_.launch != MeasuredLaunch::unknown)
          row->asked.launch.mode = mode_of(table_.launch);
    }
    if (!mistakes.empty()) {
      made.rows.clear();
      made.why_not = mistakes.sorted().front().message;
    }
    return made;
  }

 private:
  std::string obstacle() {
    preset_ = find_preset(table_.preset);
    if (preset_ == nullptr)
      return table_.preset.empty() ? "which machine it was is not said"
                                   : fmt::format("there is no preset {}", table_.preset);
    if (table_.operation.empty()) return "which collective ran is not said";
    if (!table_.ranks) return "how many ranks took part is not said";
    nodes_ = table_.nodes.value_or((*table_.ranks - 1) / preset_->gpus + 1);
    if (nodes_ < 1 || *table_.ranks % nodes_ != 0 || *table_.ranks / nodes_ > preset_->gpus)
      return fmt::format("{} ranks do not fit on {} nodes of {}", *table_.ranks, nodes_,
                         preset_->name);
    return {};
  }

  // Of a type that is not known as many bytes, which is all that matters.
  [[nodiscard]] std::string type() const {
    if (table_.dtype.empty() || !element_bytes(table_.dtype)) return "float32";
    return element_type_words().canonical(table_.dtype).value_or("int8");
  }

  // nccl-tests rounds sizes down to whole elements of each rank.
  [[nodiscard]] Bytes granule() const {
    const Bytes element = element_bytes(type()).value_or(1);
    const std::string& op = table_.operation;
    const bool shared = op == "all-gather" || op == "reduce-scatter" || op == "all-to-all" ||
                        op == "gather" || op == "scatter";
    return shared ? element * *table_.ranks : element;
  }

  [[nodiscard]] TimesOfSizes times_of_sizes() const {
    TimesOfSizes times;
    const Bytes whole = granule();
    for (const MeasuredTableRow& row : table_.rows)
      if (row.size > 0 && row.time_s > 0 && !row.suspect)
        times.emplace(std::max(whole, row.size - row.size % whole), row.time_s);
    return times;
  }

  [[nodiscard]] JsonValue scenario_of(const std::vector<Bytes>& sizes) const {
    JsonValue cluster = JsonValue::object({{"preset", preset_->name}, {"nodes", nodes_}});
    if (nodes_ > 1) cluster.set("network", network_of(table_).value_or(preset_->network));
    JsonValue collective = JsonValue::object({{"op", table_.operation},
                                              {"algorithm", "nccl"},
                                              {"size", exact_size(sizes.front())},
                                              {"dtype", type()}});
    const std::int64_t of_each = *table_.ranks / nodes_;
    if (of_each < preset_->gpus) {
      JsonValue ranks = JsonValue::array();
      for (std::int64_t node = 0; node < nodes_; ++node)
        for (std::int64_t gpu = 0; gpu < of_each; ++gpu)
          ranks.items().emplace_back(node * preset_->gpus + gpu);
      collective.set("ranks", std::move(ranks));
    }
    JsonValue document = JsonValue::object(
        {{"scenario", 1}, {"cluster", std::move(cluster)}, {"collective", std::move(collective)}});
    if (sizes.size() > 1)
      document.set("sweep",
                   JsonValue::object({{"collective.size", JsonValue::array(sizes, exact_size)}}));
    return document;
  }

  const MeasuredTable& table_;
  const Preset* preset_ = nullptr;
  std::int64_t nodes_ = 1;
};

}  // namespace

std::optional<std::string> network_of(const MeasuredTable& table) {
  const std::string said = fmt::format(" {} {} ", table.kind, table.interconnect);
  for (const auto& [word, kind] : {std::pair{"EFA", "efa"},
                                   {"RoCE", "roce"},
                                   {"TCP", "tcp"},
                                   {"InfiniBand", "ib"},
                                   {" IB ", "ib"}})
    if (said.find(word) != std::string::npos) return kind;
  return network_words().canonical(table.interconnect);
}

MeasuredCases cases_of(const MeasuredTable& table) {
  return CasesOfTable(table).make();
}

}  // namespace collsim
