// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/machine_file.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/scenario/quantities.hpp"

namespace collsim {
namespace {

// Three digits say all that a measurement knows.
double rounded(double value) {
  if (value <= 0 || !std::isfinite(value)) return value;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 2);
  return std::round(value / unit) * unit;
}

std::string time_text(double seconds) {
  return exact_time(from_seconds(rounded(seconds)));
}
std::string rate_text(double bytes_per_s) {
  return exact_bandwidth(Bandwidth(std::max<std::int64_t>(1, std::llround(rounded(bytes_per_s)))));
}

Value interval(const Fitted& fitted) {
  // Infinity is no number in JSON.
  const auto number = [](double value) { return std::isfinite(value) ? Value(value) : Value(); };
  return Value::Array{number(fitted.low), number(fitted.high)};
}

Value rates(const CalibratedMachine& machine) {
  Value rows = Value::array();
  for (const CalibratedMachine::Row& row : machine.rows) {
    Value value = Value::object();
    value.set("working_set", exact_size(row.working_set));
    value.set("instruction_overhead", time_text(machine.overhead_s.value));
    value.set("copy_bandwidth", rate_text(row.copy_bytes_per_s.value));
    value.set("reduce_bandwidth", rate_text(row.reduce_bytes_per_s.value));
    value.set("second_write_bandwidth", rate_text(row.second_write_bytes_per_s.value));
    value.set("lanes_at_full_speed", rounded(row.lanes_at_full_speed.value));
    rows.items().push_back(std::move(value));
  }
  return rows;
}

Value quality(const CalibratedMachine& machine) {
  Value fit = Value::object();
  fit.set("probes", static_cast<std::int64_t>(machine.probes.size()));
  fit.set("median_error", machine.median_error);
  fit.set("worst_error", machine.worst_error);
  fit.set("latency_s_95", interval(machine.latency_s));
  fit.set("instruction_overhead_s_95", interval(machine.overhead_s));
  Value copy = Value::array(), reduce = Value::array(), second = Value::array(),
        lanes = Value::array();
  for (const CalibratedMachine::Row& row : machine.rows) {
    copy.items().push_back(interval(row.copy_bytes_per_s));
    reduce.items().push_back(interval(row.reduce_bytes_per_s));
    second.items().push_back(interval(row.second_write_bytes_per_s));
    lanes.items().push_back(interval(row.lanes_at_full_speed));
  }
  fit.set("copy_bytes_per_s_95", std::move(copy));
  fit.set("reduce_bytes_per_s_95", std::move(reduce));
  fit.set("second_write_bytes_per_s_95", std::move(second));
  fit.set("lanes_at_full_speed_95", std::move(lanes));
  fit.set("one_pair_bytes_per_s", machine.one_pair_bytes_per_s);
  fit.set("all_pairs_bytes_per_s", machine.all_pairs_bytes_per_s);
  return fit;
}

Value raw(const CalibratedMachine& machine) {
  Value points = Value::array();
  for (const Probe& probe : machine.probes) {
    Value point = Value::object();
    point.set("probe", probe.name);
    point.set("working_set_bytes", probe.working_set);
    point.set("time_s", probe.measured.median_s);
    point.set("min_s", probe.measured.min_s);
    point.set("max_s", probe.measured.max_s);
    point.set("fitted_s", probe.fitted_s);
    points.items().push_back(std::move(point));
  }
  return points;
}

// Pairs that are farther apart than usual get a line of their own.
Value distant_pairs(const CalibratedMachine& machine) {
  constexpr double farther = 1.3;
  Value overrides = Value::array();
  for (std::size_t i = 0; i < machine.pair_latency_s.size(); ++i)
    for (std::size_t j = 0; j < machine.pair_latency_s.size(); ++j) {
      if (machine.pair_latency_s[i][j] < farther * machine.latency_s.value) continue;
      Value link = Value::object();
      link.set("from", "gpu" + std::to_string(i));
      link.set("to", "gpu" + std::to_string(j));
      link.set("latency", time_text(machine.pair_latency_s[i][j]));
      overrides.items().push_back(std::move(link));
    }
  return overrides;
}

}  // namespace

Value machine_value(const CalibratedMachine& machine, const std::string& version,
                    const std::string& date) {
  Value link = Value::object();
  link.set("bandwidth", "1000TB/s");  // no wire: lanes copy, at the rates of the calibration
  link.set("latency", time_text(machine.latency_s.value));
  Value cluster = Value::object();
  cluster.set("shape", "fully-connected");
  cluster.set("ranks", machine.ranks);
  cluster.set("link", std::move(link));
  Value distant = distant_pairs(machine);
  if (!distant.items().empty()) cluster.set("links_override", std::move(distant));

  Value calibration = Value::object();
  calibration.set("backend", machine.backend);
  calibration.set("protocol", machine.protocol == Protocol::ll ? "ll" : "simple");
  calibration.set("device", machine.device);
  calibration.set("date", date);
  calibration.set("collsim", version);
  calibration.set("rates", rates(machine));
  calibration.set("fit", quality(machine));
  calibration.set("raw", raw(machine));
  Value model = Value::object();
  model.set("calibration", std::move(calibration));

  Value file = Value::object();
  file.set("scenario", 1);
  file.set("cluster", std::move(cluster));
  file.set("model", std::move(model));
  return file;
}

}  // namespace collsim
