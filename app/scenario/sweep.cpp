// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/sweep.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/json/write_json.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/sweep_range.hpp"
#include "collectives/names.hpp"

namespace collsim {
namespace {

constexpr std::array<std::string_view, 3> sweepable = {"cluster", "collective", "model"};
constexpr std::string_view zip_prefix = "zip:";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

class SweepReader {
 public:
  SweepReader(std::size_t max_points, Diagnostics& diagnostics)
      : max_points_(std::min(max_points, max_sweep_points)), diagnostics_(&diagnostics) {}

  Sweep read(const Value& sweep) {
    if (!sweep.is_object()) {
      wrong(sweep.place, "/sweep", "wrong-type",
            "a sweep is an object, not " + std::string(sweep.kind_name()), {},
            "write \"sweep\": {\"collective.chunks\": [1, 2, 4]}");
      return {};
    }
    for (const Value::Member& member : sweep.members()) {
      if (seen_.size() > max_swept_paths)
        sweep_.broken.push_back(member.key);
      else
        read_axis(member);
    }
    if (seen_.size() > max_swept_paths)
      wrong(sweep.place, "/sweep", "too-large",
            "more than " + std::to_string(max_swept_paths) + " paths are swept", {}, {});
    if (points_ > max_points_) {
      too_many_points(sweep);
      for (Axis& axis : sweep_.axes) axis.points.resize(1);
    }
    return std::move(sweep_);
  }

 private:
  void read_axis(const Value::Member& member) {
    const std::string pointer = pointer_to("/sweep", member.key);
    const bool zipped = member.key.starts_with(zip_prefix);
    Axis axis;
    axis.place = member.key_place;
    axis.paths = zipped ? zipped_paths(member.key) : std::vector<std::string>{member.key};
    bool fine = true;
    for (const std::string& path : axis.paths) fine &= check_path(path, member, pointer);
    if (zipped && axis.paths.size() < 2) {
      wrong(member.key_place, pointer, "bad-sweep-path", "a zip needs at least two paths", {},
            "write \"zip: cluster.ranks, collective.size\"");
      fine = false;
    }
    const bool filled = zipped ? read_zipped(axis, member.value, pointer)
                               : read_single(axis, member.value, pointer);
    if (fine && filled)
      sweep_.axes.push_back(std::move(axis));
    else
      sweep_.broken.insert(sweep_.broken.end(), axis.paths.begin(), axis.paths.end());
  }

  static std::vector<std::string> zipped_paths(std::string_view key) {
    key.remove_prefix(zip_prefix.size());
    std::vector<std::string> paths;
    while (paths.size() <= max_swept_paths) {
      const std::size_t comma = key.find(',');
      paths.emplace_back(trimmed(key.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      key.remove_prefix(comma + 1);
    }
    return paths;
  }

  bool check_path(const std::string& path, const Value::Member& member,
                  const std::string& pointer) {
    const auto refused = [&](std::string message, std::string suggestion, std::string hint) {
      wrong(member.key_place, pointer, "bad-sweep-path", std::move(message), std::move(suggestion),
            std::move(hint));
      return false;
    };
    const auto steps = split_path(path);
    if (!steps)
      return refused(quoted(path) + " is not a path", {},
                     "a path is names with dots between them, such as \"collective.chunks\"");
    const std::string& first = steps->front();
    const bool known = std::find(sweepable.begin(), sweepable.end(), first) != sweepable.end();
    if (!known || steps->size() < 2) {
      const std::string nearest(known ? "" : nearest_name(first, sweepable));
      const bool mistyped = !nearest.empty() && steps->size() > 1;
      return refused(quoted(path) + " cannot be swept",
                     mistyped ? nearest + path.substr(first.size()) : std::string(),
                     "paths begin with \"cluster.\", \"collective.\" or \"model.\", such as "
                     "\"collective.chunks\"");
    }
    for (const std::string& other : seen_)
      if (lies_in(path, other) || lies_in(other, path))
        return refused(path == other ? quoted(path) + " is swept twice"
                                     : quoted(path) + " and " + quoted(other) +
                                           " are swept both, but one lies in the other",
                       {}, {});
    seen_.push_back(path);
    return true;
  }

  bool read_single(Axis& axis, const Value& value, const std::string& pointer) {
    if (value.is_object()) {
      const std::optional<RangeValues> range = RangeValues::read(value, pointer, *diagnostics_);
      if (!range) return false;
      const std::size_t kept = count(range->size());
      axis.points.reserve(kept);
      for (std::size_t i = 0; i < kept; ++i) axis.points.push_back({(*range)[i]});
      return true;
    }
    if (!is_list(value, pointer, "a list of values or a range",
                 "write [1, 2, 4] or {\"from\": 1, \"to\": 64, \"factor\": 2}"))
      return false;
    const std::size_t kept = count(value.items().size());
    for (std::size_t i = 0; i < kept; ++i) axis.points.push_back({value.items()[i]});
    return true;
  }

  bool read_zipped(Axis& axis, const Value& value, const std::string& pointer) {
    if (!is_list(value, pointer, "a list with the values of each point",
                 "write [[2, \"1MiB\"], [4, \"2MiB\"]]"))
      return false;
    const std::size_t paths = axis.paths.size();
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      const Value& point = value.items()[i];
      if (point.is_array() && point.items().size() == paths) continue;
      wrong(point.place, pointer_to(pointer, i), "wrong-type",
            "each point of this zip is a list of " + std::to_string(paths) + " values, not " +
                (point.is_array() ? "of " + std::to_string(point.items().size())
                                  : std::string(point.kind_name())),
            {}, "write one value for each path, in the order of the paths");
      return false;
    }
    const std::size_t kept = count(value.items().size());
    for (std::size_t i = 0; i < kept; ++i) axis.points.push_back(value.items()[i].items());
    return true;
  }

  bool is_list(const Value& value, const std::string& pointer, const char* what, const char* hint) {
    if (value.is_array() && !value.items().empty()) return true;
    wrong(value.place, pointer, value.is_array() ? "out-of-range" : "wrong-type",
          value.is_array()
              ? std::string("an axis needs at least one value")
              : std::string("an axis is ") + what + ", not " + std::string(value.kind_name()),
          {}, hint);
    return false;
  }

  // How many values of an axis to keep: all, or one when there are too many anyway.
  std::size_t count(std::size_t values) {
    constexpr std::uint64_t most = std::uint64_t{1} << 62U;
    points_ = points_ > most / values ? most : points_ * values;
    return points_ > max_points_ ? 1 : values;
  }

  void too_many_points(const Value& sweep) {
    constexpr std::int64_t countable = 1'000'000'000'000'000;
    const std::string number = points_ > std::uint64_t{countable}
                                   ? "more than " + with_commas(countable)
                                   : with_commas(static_cast<std::int64_t>(points_));
    wrong(sweep.place, "/sweep", "too-many-points",
          "the sweep has " + number + " points; at most " +
              with_commas(static_cast<std::int64_t>(max_points_)) + " are run",
          {},
          points_ <= max_sweep_points
              ? "--yes allows up to " + with_commas(std::int64_t{max_sweep_points})
              : "more than " + with_commas(std::int64_t{max_sweep_points}) +
                    " are always refused: use fewer values");
  }

  void wrong(const Place& place, const std::string& pointer, std::string code, std::string message,
             std::string suggestion, std::string hint) {
    diagnostics_->add({.code = std::move(code),
                       .message = std::move(message),
                       .place = place,
                       .pointer = pointer,
                       .suggestion = std::move(suggestion),
                       .hint = std::move(hint)});
  }

  std::size_t max_points_;
  Diagnostics* diagnostics_;
  Sweep sweep_;
  std::vector<std::string> seen_;
  std::uint64_t points_ = 1;
};

}  // namespace

Sweep read_sweep(const Value& sweep, std::size_t max_points, Diagnostics& diagnostics) {
  return SweepReader(max_points, diagnostics).read(sweep);
}

}  // namespace collsim
