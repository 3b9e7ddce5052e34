// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "app/json/value.hpp"
#include "app/scenario/document_path.hpp"
#include "app/study/warnings_internal.hpp"
#include "collectives/algorithms.hpp"

namespace collsim {
namespace {

// Of training steps also: who gives up, and what is left of a long job.
bool same_outcome(const CaseResult& a, const CaseResult& b) {
  if (a.time != b.time) return false;
  if (!a.step || !b.step) return true;
  const auto useful = [](const StepResult& step) { return step.job ? step.job->useful : 0; };
  return a.step->first_to_give_up() == b.step->first_to_give_up() &&
         useful(*a.step) == useful(*b.step);
}

// Whether rows that differ in this axis alone take equally long, all of them.  The last axis
// changes fastest: `stride` rows lie between neighbours on this one.
bool changes_nothing(const std::vector<CaseResult>& rows, std::size_t length, std::size_t stride) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i / stride % length > 0 && !same_outcome(rows[i], rows[i - stride])) return false;
  return true;
}

template <class Predicate>
bool all(const std::vector<CaseResult>& rows, const Predicate& predicate) {
  return std::all_of(rows.begin(), rows.end(), predicate);
}

bool none_heeds(const std::vector<CaseResult>& rows, bool OwnKnobs::*knob) {
  return std::none_of(rows.begin(), rows.end(), [knob](const CaseResult& row) {
    return find_algorithm(row.operation, row.algorithm).knobs.*knob;
  });
}

struct KnobPath {
  std::string_view path;
  bool OwnKnobs::*knob;
};
constexpr KnobPath knob_paths[] = {
    {"collective.radix", &OwnKnobs::radix},
    {"collective.aggregation", &OwnKnobs::aggregation},
    {"collective.dims", &OwnKnobs::dims},
};

// Of the collective itself.
std::string why_of_collective(std::string_view path, const std::vector<CaseResult>& rows) {
  if (path == "collective.dtype") return "the size is given in bytes, whatever their type";
  if (path == "collective.reduction") return "the model charges all reductions alike";
  if (path == "collective.slots") return "no wait for a slot affects the time";
  for (const KnobPath& one : knob_paths)
    if (path == one.path && none_heeds(rows, one.knob))
      return "it is only for " + algorithms_with(one.knob);
  if (path == "collective.chunks" &&
      all(rows, [](const CaseResult& row) { return row.alpha == 0.0; }))
    return "messages cost no startup and there is nothing to overlap";
  return "";
}

bool runs_nccl(const CaseResult& row) {
  return row.protocol.has_value();
}

bool none_runs_nccl(const std::vector<CaseResult>& rows) {
  return std::none_of(rows.begin(), rows.end(), runs_nccl);
}

bool is_time_of_links(std::string_view path) {
  return path.ends_with(".latency") || path.ends_with(".overhead");
}

// Of links: what NCCL's protocols do not read, and what nothing else reads.
std::string why_of_links(std::string_view path, const std::vector<CaseResult>& rows) {
  if (!lies_in(path, "cluster")) return "";
  if (is_time_of_links(path) && all(rows, runs_nccl))
    return "of NCCL's protocols \"protocols\" says what a hop costs";
  if (path.find("protocols") != std::string::npos && none_runs_nccl(rows))
    return "only the algorithm nccl reads what protocols cost";
  return "";
}

std::string why_of_model(std::string_view path, const std::vector<CaseResult>& rows) {
  if (path == "model.reduce_bandwidth" &&
      all(rows, [](const CaseResult& row) { return !row.reduction; }))
    return fmt::format("nothing is added up in this collective ({})",
                       to_string(rows.front().operation));
  if (lies_in(path, "measure")) return "this version does not measure";
  return "";
}

std::string why_of(const std::string& path, const std::vector<CaseResult>& rows) {
  if (all(rows, [](const CaseResult& row) { return row.ranks == 1; }))
    return "a single rank sends no messages";
  if (all(rows, [](const CaseResult& row) {
        return row.wire_bytes == 0 && row.alpha == 0 && row.L == 0;
      }))
    return "all messages are empty and the link has neither overhead nor latency";
  if (lies_in(path, "cluster.late")) return "others finish even later, or no rank waits for them";
  std::string reason = why_of_collective(path, rows);
  if (reason.empty()) reason = why_of_model(path, rows);
  if (reason.empty()) reason = why_of_links(path, rows);
  if (reason.empty() && path.find("bandwidth") != std::string::npos &&
      all(rows, [](const CaseResult& row) { return row.wire_bytes == 0; }))
    reason = "all messages are empty";
  return reason;
}

std::string describe(const Axis& axis, const std::vector<CaseResult>& rows) {
  const bool is_step = rows.front().step.has_value();
  std::string names;
  for (const std::string& path : axis.paths) names += (names.empty() ? "" : " with ") + path;
  const std::string first = plain_text(axis.points.front().front());
  const std::string last = plain_text(axis.points.back().front());
  std::string message =
      fmt::format("sweeping {} changes nothing: the time is the same for ", names) +
      (axis.points.size() == 2
           ? fmt::format("{} and {}", first, last)
           : fmt::format("all {} values, {} to {}", axis.points.size(), first, last));
  if (is_step) return message + "; nothing that the step waits for depends on it";
  const std::string reason = axis.paths.size() == 1 ? why_of(axis.paths.front(), rows) : "";
  message += reason.empty() ? "; either no message on the critical path uses it, or something else "
                              "is slower (see collsim explain)"
                            : ", because " + reason;
  return message;
}

}  // namespace

std::vector<Warning> axes_without_effect(const Scenario& scenario, const Results& results) {
  std::vector<Warning> idle;
  if (!results.complete || results.rows.empty()) return idle;
  std::size_t stride = results.rows.size();
  for (const Axis& axis : scenario.axes) {
    if (axis.points.empty()) return {};
    stride /= axis.points.size();
    const bool one_value = std::all_of(axis.points.begin(), axis.points.end(),
                                       [&](const auto& point) { return point == axis.points[0]; });
    // That two operations or ways of training take equally long is an answer, not a mistake.
    const bool of_operations = axis.paths.front() == "collective.op" ||
                               axis.paths.front() == "workload" ||
                               axis.paths.front().ends_with(".schedule");
    if (!one_value && !of_operations && changes_nothing(results.rows, axis.points.size(), stride))
      idle.push_back({"sweep-changes-nothing", describe(axis, results.rows), axis.place});
  }
  return idle;
}

std::vector<Warning> overrides_without_effect(const Scenario& scenario, const Results& results,
                                              const StudySummary& summary) {
  const std::vector<CaseResult>& rows = results.rows;
  const bool all_nccl = all(rows, runs_nccl);
  if (rows.empty() || rows.front().step || (!all_nccl && !none_runs_nccl(rows))) return {};
  std::string names;
  std::string first;
  for (const std::string& key : summary.preset_changes()) {
    const std::string path = "cluster.override." + key;
    const bool is_swept = std::any_of(results.axes.begin(), results.axes.end(),
                                      [&](const std::string& axis) { return lies_in(axis, path); });
    if (is_swept || (all_nccl ? !is_time_of_links(key) : !key.ends_with(".protocols"))) continue;
    names += (names.empty() ? "" : ", ") + key;
    if (first.empty()) first = key.substr(0, key.find('.'));
  }
  if (names.empty()) return {};
  const bool several = names.find(',') != std::string::npos;
  std::string message =
      fmt::format("{} of the override change{} nothing: ", names, several ? "" : "s");
  if (all_nccl)
    message += fmt::format(
        "the algorithm nccl takes what a hop costs from \"protocols\", such as "
        "--set cluster.override.{}.protocols.{}.hop=5us",
        first, to_string(*rows.front().protocol));
  else
    message += "only the algorithm nccl reads what protocols cost";
  const JsonValue* const written = value_at(scenario.document, "cluster.override");
  return {{"override-changes-nothing", std::move(message),
           written == nullptr ? SourceRange{} : written->place}};
}

}  // namespace collsim
