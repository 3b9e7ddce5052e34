// SPDX-License-Identifier: Apache-2.0
#include "app/report/step_work.hpp"

#include <optional>

#include "app/scenario/make_case.hpp"
#include "app/study/run_step.hpp"
#include "collectives/workload.hpp"

namespace collsim {
namespace {

constexpr std::size_t most_rows = 40;  // as many bars as the page has
constexpr std::uint64_t most_lines = 2'000'000;

struct WorkSums {
  double forward = 0, backward = 0, other = 0;  // seconds, of all ranks

  void add(const Action& work) {
    const double seconds = Time(work.amount).seconds();
    switch (work.label.kind) {
      case Label::Kind::forward: forward += seconds; break;
      case Label::Kind::backward:
      case Label::Kind::weights: backward += seconds; break;
      default: other += seconds;
    }
  }
};

JsonValue work_of(const Workload& workload, std::uint64_t& lines_left) {
  WorkSums sums;
  const std::optional<int> host = host_of(workload);
  for (const Rank rank : workload.group()) {
    Script script = workload.script(rank);
    while (const Action* const action = script.next()) {
      if (lines_left-- == 0) return {};
      if (action->kind == Action::Kind::work && action->stream != host) sums.add(*action);
    }
  }
  const double ranks = workload.size();
  return JsonValue::object({{"forward_s", sums.forward / ranks},
                            {"backward_s", sums.backward / ranks},
                            {"other_s", sums.other / ranks}});
}

}  // namespace

JsonValue step_work(const StoredResults& results, const Scenario& scenario) {
  const JsonValue::Array& rows = rows_of(results);
  JsonValue all = JsonValue::array();
  ClusterCache clusters(scenario);
  std::uint64_t lines_left = most_lines;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::optional<std::size_t> point =
        row < most_rows ? point_of(scenario, rows[row], row) : std::nullopt;
    Diagnostics diagnostics;
    const std::optional<Case> found =
        point && lines_left > 0 ? make_case(scenario, *point, clusters, diagnostics) : std::nullopt;
    JsonValue work = found ? work_of(workload_of(*found), lines_left) : JsonValue();
    if (found && work.is_null()) lines_left = 0;
    all.items().push_back(std::move(work));
  }
  return all;
}

}  // namespace collsim
