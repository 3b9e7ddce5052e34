// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/sweep.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/object_reader.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/scenario.hpp"
#include "collectives/names.hpp"

namespace collsim {
namespace {

using Scale = RangeValues::Scale;

// A number or a quantity as it was written.
struct Measured {
  Scale scale{};
  std::int64_t whole = 0;
  double real = 0;
};

const char* name_of(Scale scale) {
  switch (scale) {
    case Scale::whole:
    case Scale::real: return "a number";
    case Scale::size: return "a size";
    case Scale::time: return "a time";
    case Scale::bandwidth: return "a bandwidth";
  }
  return "?";
}

// Of three readings of one text the error that says most: anything but "this is no size".
const QuantityError& most_telling(const QuantityError& size, const QuantityError& time,
                                  const QuantityError& bandwidth) {
  for (const QuantityError* error : {&size, &time, &bandwidth})
    if (error->code != "not-a-quantity" && error->code != "bad-unit") return *error;
  return size;
}

std::optional<Measured> read_quantity(ObjectReader& reader, const char* key,
                                      const std::string& text) {
  const Parsed<Bytes> size = parse_size(text);
  if (size.value) return Measured{Scale::size, *size.value, 0};
  const Parsed<Time> time = parse_time(text);
  if (time.value) return Measured{Scale::time, time.value->ps(), 0};
  const Parsed<Bandwidth> bandwidth = parse_bandwidth(text);
  if (bandwidth.value) return Measured{Scale::bandwidth, bandwidth.value->bytes_per_second(), 0};
  const QuantityError& error = most_telling(size.error, time.error, bandwidth.error);
  if (error.code == "not-a-quantity" || error.code == "bad-unit")
    return reader.wrong(
        key, "not-a-quantity", quoted(text) + " is neither a number nor a quantity", {},
        "quantities are sizes (\"64MiB\"), times (\"5us\") and bandwidths (\"25GB/s\")");
  return reader.wrong(key, error.code, error.message, error.suggestion, error.hint);
}

std::optional<Measured> read_measured(ObjectReader& reader, const char* key) {
  const JsonValue* value = reader.raw(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return read_quantity(reader, key, value->string());
  if (!value->is_number())
    return reader.wrong(
        key, "wrong-type",
        std::string("a number or a quantity is needed, not ") + std::string(value->kind_name()));
  if (const auto whole = value->integer())
    return Measured{Scale::whole, *whole, static_cast<double>(*whole)};
  return Measured{Scale::real, 0, value->number()};
}

double as_real(const Measured& m) {
  return m.scale == Scale::real ? m.real : static_cast<double>(m.whole);
}

bool is_number(Scale scale) {
  return scale == Scale::whole || scale == Scale::real;
}

// The scale that both fit on; nothing: they do not fit.
std::optional<Scale> common_scale(const Measured& a, const Measured& b) {
  if (a.scale == b.scale) return a.scale;
  if (is_number(a.scale) && is_number(b.scale)) return Scale::real;
  const auto zero = [](const Measured& m) { return m.scale == Scale::whole && m.whole == 0; };
  if (zero(a)) return b.scale;
  return zero(b) ? std::optional(a.scale) : std::nullopt;
}

class RangeReader {
 public:
  RangeReader(ObjectReader& reader, Scale scale, const Measured& from, const Measured& to)
      : reader_(&reader), scale_(scale), from_(from), to_(to) {}

  std::vector<std::int64_t> wholes;
  std::vector<double> reals;

  void by_factor() {
    const JsonValue* value = reader_->raw("factor");
    const double factor = value->is_number() ? value->number() : 0;
    const double from = as_real(from_);
    const double to = as_real(to_);
    if (!(factor > 1)) return wrong("factor", "a factor is a number above 1", "such as 2");
    if (!(from > 0))
      return wrong("from", "a range with a factor must begin above 0",
                   "0 times any factor stays 0; begin higher, or use \"step\" or \"points\"");
    if (std::log(to / from) / std::log(factor) >= static_cast<double>(max_sweep_points))
      return too_many();
    constexpr double rounding = 1e-9;
    for (double value_now = from; value_now <= to * (1 + rounding); value_now *= factor) {
      if (value_now >= to * (1 - rounding)) return add(to_.whole, to);
      const bool is_whole = std::abs(value_now - std::round(value_now)) <= rounding * value_now;
      add(is_whole ? std::llround(value_now) : whole_elements(std::llround(value_now)), value_now);
    }
  }

  void by_step() {
    const std::optional<Measured> step = read_measured(*reader_, "step");
    if (!step) return;
    if (is_number(scale_) ? !is_number(step->scale) : step->scale != scale_)
      return wrong("step", std::string("\"step\" is ") + name_of(step->scale) +
                               ", but the range is of another kind: \"from\" is " +
                               name_of(scale_));
    if (!(as_real(*step) > 0)) return wrong("step", "a step must be above 0", "ranges ascend");
    if (scale_ == Scale::real || step->scale == Scale::real) return by_real_step(as_real(*step));
    const auto size = static_cast<std::uint64_t>(step->whole);
    if (span() / size >= max_sweep_points) return too_many();
    for (std::uint64_t i = 0; i <= span() / size; ++i) add(from_.whole, i * size);
  }

  void by_points() {
    const auto limit = static_cast<std::int64_t>(max_sweep_points);
    const std::optional<std::int64_t> points = reader_->integer("points", 2, limit);
    if (!points) return;
    const auto gaps = static_cast<std::uint64_t>(*points - 1);
    for (std::uint64_t i = 0; i <= gaps; ++i) {
      if (scale_ == Scale::real) {
        const double part = static_cast<double>(i) / static_cast<double>(gaps);
        reals.push_back(as_real(from_) * (1 - part) + as_real(to_) * part);
      } else {
        const std::uint64_t rest = span() % gaps * i;
        const std::uint64_t more = span() / gaps * i + (rest + gaps / 2) / gaps;
        if (scale_ == Scale::size && rest % gaps != 0)
          add(whole_elements(from_.whole + static_cast<std::int64_t>(more)), 0.0);
        else
          add(from_.whole, more);
      }
    }
  }

 private:
  // What lies between two sizes is no size that anybody wrote: one that is a whole number of
  // elements of any type is as good.
  [[nodiscard]] std::int64_t whole_elements(std::int64_t value) const {
    constexpr std::int64_t largest_element = 8;
    return scale_ == Scale::size ? std::max(from_.whole, value - value % largest_element) : value;
  }

  void by_real_step(double step) {
    constexpr double rounding = 1e-9;
    scale_ = Scale::real;
    const double from = as_real(from_);
    const double steps = std::floor((as_real(to_) - from) / step * (1 + rounding) + rounding);
    if (!(steps < static_cast<double>(max_sweep_points))) return too_many();
    for (double i = 0; i <= steps; ++i) reals.push_back(std::min(from + i * step, as_real(to_)));
  }

  // Two's complement makes the difference right even where 63 bits do not hold it.
  [[nodiscard]] std::uint64_t span() const {
    return static_cast<std::uint64_t>(to_.whole) - static_cast<std::uint64_t>(from_.whole);
  }
  void add(std::int64_t from, std::uint64_t more) {
    add(static_cast<std::int64_t>(static_cast<std::uint64_t>(from) + more), 0.0);
  }
  void add(std::int64_t whole, double real) {
    if (scale_ == Scale::real)
      reals.push_back(real);
    else if (wholes.empty() || wholes.back() != whole)
      wholes.push_back(whole);
  }
  void wrong(const char* key, const std::string& message, const std::string& hint = {}) {
    reader_->wrong(key, "out-of-range", message, {}, hint);
  }
  void too_many() {
    static_assert(max_sweep_points == 10'000'000);
    reader_->wrong("to", "too-many-points", "the range has more than 10,000,000 values");
  }

  ObjectReader* reader_;
  Scale scale_;
  Measured from_, to_;
};

// Whether from and to make a range at all; says so when not.
std::optional<Scale> scale_of_range(ObjectReader& reader, const Measured& from,
                                    const Measured& to) {
  const std::optional<Scale> scale = common_scale(from, to);
  if (!scale)
    return reader.wrong(
        "to", "wrong-dimension",
        std::string("\"from\" is ") + name_of(from.scale) + ", but \"to\" is " + name_of(to.scale));
  if (*scale == Scale::real ? as_real(from) > as_real(to) : from.whole > to.whole)
    return reader.wrong("to", "out-of-range", "\"to\" is below \"from\"", {},
                        "ranges ascend; swap \"from\" and \"to\"");
  if (*scale == Scale::bandwidth && from.whole == 0)
    return reader.wrong("from", "out-of-range", "a bandwidth must be above 0");
  return scale;
}

constexpr std::array<std::string_view, 4> sweepable = {"cluster", "collective", "workload",
                                                       "model"};
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

  Sweep read(const JsonValue& sweep) {
    if (!sweep.is_object()) {
      wrong(sweep.place, "/sweep", "wrong-type",
            "a sweep is an object, not " + std::string(sweep.kind_name()), {},
            "write \"sweep\": {\"collective.chunks\": [1, 2, 4]}");
      return {};
    }
    for (const JsonValue::Member& member : sweep.members()) {
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
  void read_axis(const JsonValue::Member& member) {
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

  bool check_path(const std::string& path, const JsonValue::Member& member,
                  const std::string& pointer) {
    const auto refused = [&](std::string message, std::string suggestion, std::string hint) {
      return wrong(member.key_place, pointer, "bad-sweep-path", std::move(message),
                   std::move(suggestion), std::move(hint));
    };
    const auto steps = split_path(path);
    if (!steps)
      return refused(quoted(path) + " is not a path", {},
                     "a path is names with dots between them, such as \"collective.chunks\"");
    const std::string& first = steps->front();
    const bool known = std::find(sweepable.begin(), sweepable.end(), first) != sweepable.end();
    if (!known || (steps->size() < 2 && first != "workload")) {
      const std::string nearest(known ? "" : nearest_name(first, sweepable));
      const bool mistyped = !nearest.empty() && steps->size() > 1;
      return refused(quoted(path) + " cannot be swept",
                     mistyped ? nearest + path.substr(first.size()) : std::string(),
                     "paths begin with \"cluster.\", \"collective.\", \"workload.\" or \"model.\", "
                     "such as \"collective.chunks\"");
    }
    for (const std::string& other : seen_)
      if (lies_in(path, other) || lies_in(other, path))
        return refused(path == other ? quoted(path) + " is swept twice"
                                     : quoted(path) + " and " + quoted(other) +
                                           " are both swept, but one contains the other",
                       {}, {});
    seen_.push_back(path);
    return true;
  }

  bool read_single(Axis& axis, const JsonValue& value, const std::string& pointer) {
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

  bool read_zipped(Axis& axis, const JsonValue& value, const std::string& pointer) {
    if (!is_list(value, pointer, "a list with the values of each point",
                 "write [[2, \"1MiB\"], [4, \"2MiB\"]]"))
      return false;
    const std::size_t paths = axis.paths.size();
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      const JsonValue& point = value.items()[i];
      if (point.is_array() && point.items().size() == paths) continue;
      return wrong(point.place, pointer_to(pointer, i), "wrong-type",
                   "each point of this zip is a list of " + std::to_string(paths) +
                       " values, not " +
                       (point.is_array() ? "of " + std::to_string(point.items().size())
                                         : std::string(point.kind_name())),
                   {}, "write one value for each path, in the order of the paths");
    }
    const std::size_t kept = count(value.items().size());
    for (std::size_t i = 0; i < kept; ++i) axis.points.push_back(value.items()[i].items());
    return true;
  }

  bool is_list(const JsonValue& value, const std::string& pointer, const char* what,
               const char* hint) {
    if (value.is_array() && !value.items().empty()) return true;
    return wrong(value.place, pointer, value.is_array() ? "out-of-range" : "wrong-type",
                 value.is_array() ? std::string("an axis needs at least one value")
                                  : std::string("an axis is ") + what + ", not " +
                                        std::string(value.kind_name()),
                 {}, hint);
  }

  // How many values of an axis to keep: all, or one when there are too many anyway.
  std::size_t count(std::size_t values) {
    constexpr std::uint64_t most = std::uint64_t{1} << 62U;
    points_ = points_ > most / values ? most : points_ * values;
    return points_ > max_points_ ? 1 : values;
  }

  void too_many_points(const JsonValue& sweep) {
    constexpr std::int64_t countable = 1'000'000'000'000'000;
    const std::string number = points_ > std::uint64_t{countable}
                                   ? "more than " + with_commas(countable)
                                   : with_commas(static_cast<std::int64_t>(points_));
    wrong(sweep.place, "/sweep", "too-many-points",
          "the sweep has " + number + " points; at most " +
              with_commas(static_cast<std::int64_t>(max_points_)) + " are run",
          {},
          max_points_ != LoadOptions{}.max_points && max_points_ < max_sweep_points
              ? "more rows do not fit in the memory that --memory allows"
          : points_ <= max_sweep_points
              ? "--yes allows up to " + with_commas(std::int64_t{max_sweep_points})
              : "more than " + with_commas(std::int64_t{max_sweep_points}) +
                    " are always refused: use fewer values");
  }

  Refusal wrong(const SourceRange& place, const std::string& pointer, std::string code,
                std::string message, std::string suggestion, std::string hint) {
    return diagnostics_->add({std::move(code), std::move(message), place, pointer,
                              std::move(suggestion), std::move(hint)});
  }

  std::size_t max_points_;
  Diagnostics* diagnostics_;
  Sweep sweep_;
  std::vector<std::string> seen_;
  std::uint64_t points_ = 1;
};

}  // namespace

std::optional<RangeValues> RangeValues::read(const JsonValue& range, const std::string& pointer,
                                             Diagnostics& diagnostics) {
  Diagnostics own;
  ObjectReader reader(range, pointer, own);
  reader.need({"from", "to"});
  reader.at_most_one_of({"factor", "step", "points"});
  const std::optional<Measured> from = read_measured(reader, "from");
  const std::optional<Measured> to = read_measured(reader, "to");
  for (const char* key : {"factor", "step", "points"}) static_cast<void>(reader.raw(key));
  RangeValues values;
  values.place_ = range.place;
  const int kinds = reader.has("factor") + reader.has("step") + reader.has("points");
  if (kinds == 0)
    reader.wrong("to", "missing-key", "the range needs one of \"factor\", \"step\" and \"points\"",
                 {}, "write for example {\"from\": 1, \"to\": 64, \"factor\": 2}");
  const auto scale = from && to ? scale_of_range(reader, *from, *to) : std::nullopt;
  if (scale && kinds == 1) {
    RangeReader builder(reader, *scale, *from, *to);
    if (reader.has("factor")) builder.by_factor();
    if (reader.has("step")) builder.by_step();
    if (reader.has("points")) builder.by_points();
    values.scale_ = *scale;
    values.wholes_ = std::move(builder.wholes);
    values.reals_ = std::move(builder.reals);
  }
  static_cast<void>(reader.finish());
  for (Diagnostic& diagnostic : own.sorted()) diagnostics.add(std::move(diagnostic));
  if (!own.empty() || values.size() == 0) return std::nullopt;
  return values;
}

JsonValue RangeValues::operator[](std::size_t i) const {
  const auto spelled = [&]() -> JsonValue {
    if (!reals_.empty()) return reals_[i];
    switch (scale_) {
      case Scale::size: return exact_size(wholes_[i]);
      case Scale::time: return exact_time(Time(wholes_[i]));
      case Scale::bandwidth: return exact_bandwidth(Bandwidth(wholes_[i]));
      case Scale::whole:
      case Scale::real: return wholes_[i];
    }
    return {};
  };
  JsonValue value = spelled();
  value.place = place_;
  return value;
}

Sweep read_sweep(const JsonValue& sweep, std::size_t max_points, Diagnostics& diagnostics) {
  return SweepReader(max_points, diagnostics).read(sweep);
}

}  // namespace collsim
