// SPDX-License-Identifier: Apache-2.0
#include "app/study/idle_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "app/json/write_json.hpp"
#include "app/scenario/document_path.hpp"

namespace collsim {
namespace {

std::string text_of(const Value& value) {
  return value.is_string() ? value.string() : to_json(value, -1);
}

// Whether rows that differ in this axis alone take equally long, all of them.  The last axis changes
// fastest: `stride` rows lie between neighbours on this one.
bool changes_nothing(const std::vector<Row>& rows, std::size_t length, std::size_t stride) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i / stride % length > 0 && rows[i].time != rows[i - stride].time) return false;
  return true;
}

template <class Predicate>
bool all(const std::vector<Row>& rows, const Predicate& predicate) {
  return std::all_of(rows.begin(), rows.end(), predicate);
}

bool none_heeds(const std::vector<Row>& rows, bool OwnKnobs::*knob) {
  return std::none_of(rows.begin(), rows.end(), [knob](const Row& row) {
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
std::string why_of_collective(std::string_view path, const std::vector<Row>& rows) {
  if (path == "collective.dtype") return "the size is given in bytes, whatever their type";
  if (path == "collective.reduction") return "the model charges all reductions alike";
  if (path == "collective.slots") return "no wait for a slot decides the time";
  for (const KnobPath& one : knob_paths)
    if (path == one.path && none_heeds(rows, one.knob))
      return "it is only for " + algorithms_with(one.knob);
  if (path == "collective.chunks" && all(rows, [](const Row& row) { return row.alpha == 0.0; }))
    return "messages cost no start-up and there is nothing to overlap";
  return "";
}

std::string why_of_model(std::string_view path, const std::vector<Row>& rows) {
  if (path == "model.reduce_bandwidth" && all(rows, [](const Row& row) { return !row.reduction; }))
    return fmt::format("nothing is added up in this collective ({})",
                       to_string(rows.front().operation));
  if (lies_in(path, "measure")) return "this version does not measure";
  return "";
}

std::string why_of(const std::string& path, const std::vector<Row>& rows) {
  if (all(rows, [](const Row& row) { return row.ranks == 1; }))
    return "a single rank sends no messages";
  if (all(rows, [](const Row& row) { return row.wire_bytes == 0 && row.alpha == 0 && row.L == 0; }))
    return "all messages are empty and the link has neither overhead nor latency";
  if (lies_in(path, "cluster.late")) return "others finish even later, or nobody waits for them";
  std::string reason = why_of_collective(path, rows);
  if (reason.empty()) reason = why_of_model(path, rows);
  if (reason.empty() && path.find("bandwidth") != std::string::npos &&
      all(rows, [](const Row& row) { return row.wire_bytes == 0; }))
    reason = "all messages are empty";
  return reason;
}

std::string describe(const Axis& axis, const std::vector<Row>& rows) {
  std::string names;
  for (const std::string& path : axis.paths) names += (names.empty() ? "" : " with ") + path;
  const std::string first = text_of(axis.points.front().front());
  const std::string last = text_of(axis.points.back().front());
  std::string message =
      fmt::format("sweeping {} changes nothing: the time is the same for ", names) +
      (axis.points.size() == 2
           ? fmt::format("{} and {}", first, last)
           : fmt::format("all {} values, {} to {}", axis.points.size(), first, last));
  const std::string reason = axis.paths.size() == 1 ? why_of(axis.paths.front(), rows) : "";
  message += reason.empty() ? "; either no message on the path that decides the time uses it, or "
                              "something else is slower (collsim explain shows what)"
                            : ", because " + reason;
  return message;
}

}  // namespace

std::vector<IdleAxis> idle_axes(const Scenario& scenario, const Results& results) {
  std::vector<IdleAxis> idle;
  if (!results.complete || results.rows.empty()) return idle;
  std::size_t stride = results.rows.size();
  for (const Axis& axis : scenario.axes) {
    if (axis.points.empty()) return {};
    stride /= axis.points.size();
    const bool one_value = std::all_of(axis.points.begin(), axis.points.end(),
                                       [&](const auto& point) { return point == axis.points[0]; });
    // That two operations take equally long is an answer, not a mistake.
    const bool of_operations = axis.paths.front() == "collective.op";
    if (!one_value && !of_operations && changes_nothing(results.rows, axis.points.size(), stride))
      idle.push_back({describe(axis, results.rows), axis.place});
  }
  return idle;
}

}  // namespace collsim
