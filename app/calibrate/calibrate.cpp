// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <deque>
#include <utility>

#include "app/calibrate/probe_cases.hpp"
#include "app/scenario/quantities.hpp"
#include "app/study/run_case.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"
#include "validate/plan.hpp"

namespace collsim {
namespace {

// Where the fit begins.  Lanes begin as slowing each other down: where they do not, the fit finds
// out, while from the other side it would see no slope.
double usual_lanes_at_full_speed(const CalibrateOptions& options) {
  return std::max(1.1, options.ranks * options.lanes / 16.0);
}
constexpr double usual_latency_s = 2e-7, usual_overhead_s = 2e-7, usual_rate = 5e9;
constexpr std::size_t common_parameters = 2;   // latency, overhead; then those of each row:
constexpr std::size_t parameters_per_row = 4;  // copy, reduce, second write; lanes at full speed

class Calibrator {
 public:
  explicit Calibrator(const CalibrateOptions& options)
      : options_(options),
        cases_(probe_cases(options.ranks, options.lanes, options.smallest, options.largest)),
        knots_(knots(options.ranks, options.smallest, options.largest)),
        known_(cases_.size()) {
    machine_.backend = options.backend->name;
    machine_.ranks = options.ranks;
    machine_.protocol = options.protocol;
  }

  std::variant<CalibratedMachine, NoMeasurement> run() {
    // The last probe is the largest: better to know at once that it does not fit.
    try {
      static_cast<void>(make_plan(cases_.back().schedule, options_.protocol));
    } catch (const Error& error) {
      return NoMeasurement{why_of(error.code()), error.what()};
    }
    if (!measure_probes()) return problem_;
    fit_everything();
    if (!measure_pairs() || !measure_sharing()) return problem_;
    return std::move(machine_);
  }

 private:
  // What else happens on the machine comes and goes, and only ever adds time: all probes run in
  // several rounds, and the best round of each counts.
  bool measure_probes() {
    std::vector<Schedule> schedules;
    for (const ProbeCase& probe : cases_) schedules.push_back(probe.schedule);
    std::vector<std::vector<Summary>> rounds;
    for (int round = 0; round < options_.rounds; ++round) {
      auto measured = measure(schedules, schedules.size() * static_cast<std::size_t>(round));
      if (!measured) return false;
      rounds.push_back(std::move(*measured));
    }
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      Summary best = rounds.front()[i];
      for (const std::vector<Summary>& round : rounds)
        if (round[i].median_s < best.median_s) best = round[i];
      machine_.probes.push_back({cases_[i].name, cases_[i].working_set, best, 0});
    }
    return true;
  }

  // Of every schedule, in their order; nothing: problem_ says why.  With the number of probes done
  // before, it tells how far it is.
  std::optional<std::vector<Summary>> measure(const std::vector<Schedule>& schedules,
                                              std::optional<std::size_t> done = {}) {
    std::vector<RunCase> runs;
    runs.reserve(schedules.size());
    for (const Schedule& schedule : schedules) runs.push_back({schedule, options_.protocol});
    std::vector<Summary> measured;
    const auto take = [&](std::size_t i, RunOutcome outcome) {
      if (options_.stop != nullptr && *options_.stop)
        outcome = NoMeasurement{NoMeasurement::Why::failed, "interrupted"};
      if (auto* none = std::get_if<NoMeasurement>(&outcome)) {
        problem_ = std::move(*none);
        return false;
      }
      measured.push_back(summary_of_run(std::move(std::get<Measurement>(outcome))));
      if (done && options_.progress)
        options_.progress(*done + i + 1, cases_.size() * static_cast<std::size_t>(options_.rounds));
      return true;
    };
    run_each(*options_.backend, runs, run_options(), take);
    return measured.size() == runs.size() ? std::optional(std::move(measured)) : std::nullopt;
  }

  [[nodiscard]] RunOptions run_options() const {
    RunOptions run;
    run.warmup = 3;
    run.iterations = options_.iterations;
    run.check = false;
    run.trust_schedule = true;  // probes are no collectives
    run.patience_s = options_.patience_s;
    run.at_least_s = 0.05;
    run.launches = false;
    run.meanwhile = options_.meanwhile ? &options_.meanwhile : nullptr;
    return run;
  }

  Summary summary_of_run(Measurement measured) {
    machine_.device = measured.device;
    for (std::string& note : measured.notes)
      if (std::find(machine_.notes.begin(), machine_.notes.end(), note) == machine_.notes.end())
        machine_.notes.push_back(std::move(note));
    return summary_of(std::move(measured.times_s));
  }

  [[nodiscard]] Calibration calibration_of(const std::vector<double>& parameters) const {
    Calibration calibration;
    const double* of_row = &parameters[common_parameters];
    for (const Bytes knot : knots_) {
      Calibration::Row row;
      row.working_set = knot;
      row.costs.instruction_overhead = from_seconds(parameters[1]);
      row.costs.copy_bandwidth = rate_of(of_row[0]);
      row.costs.reduce_bandwidth = rate_of(of_row[1]);
      row.costs.second_write_bandwidth = rate_of(of_row[2]);
      row.lanes_at_full_speed = std::max(1.0, of_row[3]);
      calibration.rows.push_back(row);
      of_row += parameters_per_row;
    }
    return calibration;
  }

  [[nodiscard]] std::vector<double> predictions(const std::vector<double>& parameters) const {
    const Topology topology = shared_memory(options_.ranks, parameters[0]);
    const Calibration calibration = calibration_of(parameters);
    std::vector<double> times;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const Bytes working_set = cases_[i].working_set;
      const Asked asked{from_seconds(parameters[0]), calibration.costs_at(working_set, 1),
                        calibration.costs_at(working_set, most_lanes)};
      const auto known = std::find_if(known_[i].begin(), known_[i].end(),
                                      [&](const auto& known) { return known.first == asked; });
      if (known != known_[i].end()) {
        times.push_back(known->second);
        continue;
      }
      const Schedule& schedule = cases_[i].schedule;
      const CostModel costs = calibrated_costs(topology, schedule, working_set, calibration);
      times.push_back(simulate(topology, schedule, costs).time.seconds());
      known_[i].push_front({asked, times.back()});
      if (known_[i].size() > most_known) known_[i].pop_back();
    }
    return times;
  }

  // All that a probe's time depends on: derivatives change one row of the calibration at a time,
  // and leave most probes as they were.
  struct Asked {
    Time latency;
    CostModel alone, crowded;
    bool operator==(const Asked&) const = default;
  };
  static constexpr double most_lanes = 1e6;
  static constexpr std::size_t most_known = 8;

  static Bandwidth rate_of(double bytes_per_s) {
    return Bandwidth(std::max<std::int64_t>(1, std::llround(bytes_per_s)));
  }

  void fit_everything() {
    std::vector<double> start{usual_latency_s, usual_overhead_s};
    const double lanes = usual_lanes_at_full_speed(options_);
    for (std::size_t i = 0; i < knots_.size(); ++i)
      start.insert(start.end(), {usual_rate, usual_rate, usual_rate, lanes});
    std::vector<double> measured;
    for (const Probe& probe : machine_.probes) measured.push_back(probe.measured.median_s);
    const std::size_t steps = (knots_.size() - 1) * parameters_per_row;
    measured.resize(measured.size() + steps, 1.0);
    const std::vector<Fitted> fitted = fit(
        [this](const std::vector<double>& x) {
          std::vector<double> times = predictions(x);
          append_steps(x, times);
          return times;
        },
        measured, start, steps);
    machine_.latency_s = fitted[0];
    machine_.overhead_s = fitted[1];
    for (std::size_t row = 0; row < knots_.size(); ++row) {
      const Fitted* found = &fitted[common_parameters + parameters_per_row * row];
      machine_.rows.push_back({knots_[row], found[0], found[1], found[2], at_least_one(found[3])});
    }
    judge(fitted);
  }

  // What the probes of one size leave open, those of the next sizes decide: a step by a factor f
  // from one row to the next counts as much as an error by f^smoothness of one probe.
  void append_steps(const std::vector<double>& parameters, std::vector<double>& times) const {
    constexpr double smoothness = 0.15;
    for (std::size_t i = common_parameters; i + parameters_per_row < parameters.size(); ++i)
      times.push_back(std::pow(parameters[i + parameters_per_row] / parameters[i], smoothness));
  }

  // One lane is always at full speed.
  static Fitted at_least_one(const Fitted& lanes) {
    return {std::max(1.0, lanes.value), std::max(1.0, lanes.low), std::max(1.0, lanes.high)};
  }

  void judge(const std::vector<Fitted>& fitted) {
    std::vector<double> parameters, errors;
    for (const Fitted& parameter : fitted) parameters.push_back(parameter.value);
    const std::vector<double> times = predictions(parameters);
    for (std::size_t i = 0; i < times.size(); ++i) {
      Probe& probe = machine_.probes[i];
      probe.fitted_s = times[i];
      errors.push_back(std::abs(times[i] / probe.measured.median_s - 1));
    }
    machine_.median_error = summary_of(errors).median_s;
    machine_.worst_error = *std::max_element(errors.begin(), errors.end());
  }

  // An empty message costs both ends an instruction; the rest is the way between.
  bool measure_pairs() {
    const int ranks = options_.ranks;
    if (ranks < 3 || ranks > 16) return true;
    std::vector<Schedule> schedules;
    for (int i = 0; i < ranks; ++i)
      for (int j = 0; j < ranks; ++j)
        if (i != j) schedules.push_back(send_recv(ranks, {{i, j}}, sizeof(float), 1));
    const auto times = measure(schedules);
    if (!times) return false;
    const auto size = static_cast<std::size_t>(ranks);
    machine_.pair_latency_s.assign(size, std::vector<double>(size, 0));
    auto time = times->begin();
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j)
        if (i != j)
          machine_.pair_latency_s[i][j] =
              std::max(0.0, (time++)->median_s - 2 * machine_.overhead_s.value);
    return true;
  }

  bool measure_sharing() {
    constexpr int chunks = 16;
    std::vector<std::pair<int, int>> pairs;
    for (int rank = 0; rank + 1 < options_.ranks; rank += 2) pairs.emplace_back(rank, rank + 1);
    const Bytes size = options_.largest;
    const auto times = measure({send_recv(options_.ranks, {pairs.front()}, size, chunks),
                                send_recv(options_.ranks, pairs, size, chunks)});
    if (!times) return false;
    machine_.one_pair_bytes_per_s = static_cast<double>(size) / times->front().median_s;
    machine_.all_pairs_bytes_per_s =
        static_cast<double>(size) * static_cast<double>(pairs.size()) / times->back().median_s;
    return true;
  }

  const CalibrateOptions& options_;
  std::vector<ProbeCase> cases_;
  std::vector<Bytes> knots_;
  mutable std::vector<std::deque<std::pair<Asked, double>>> known_;  // of each probe, newest first
  CalibratedMachine machine_;
  NoMeasurement problem_;
};

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

JsonValue interval(const Fitted& fitted) {
  return JsonValue::Array{fitted.low, fitted.high};
}

JsonValue rates(const CalibratedMachine& machine) {
  return JsonValue::array(machine.rows, [&](const CalibratedMachine::Row& row) {
    return JsonValue::object(
        {{"working_set", exact_size(row.working_set)},
         {"instruction_overhead", time_text(machine.overhead_s.value)},
         {"copy_bandwidth", rate_text(row.copy_bytes_per_s.value)},
         {"reduce_bandwidth", rate_text(row.reduce_bytes_per_s.value)},
         {"second_write_bandwidth", rate_text(row.second_write_bytes_per_s.value)},
         {"lanes_at_full_speed", rounded(row.lanes_at_full_speed.value)}});
  });
}

JsonValue quality(const CalibratedMachine& machine) {
  using Row = CalibratedMachine::Row;
  const auto intervals = [&](Fitted Row::*member) {
    return JsonValue::array(machine.rows, [=](const Row& row) { return interval(row.*member); });
  };
  return JsonValue::object(
      {{"probes", machine.probes.size()},
       {"median_error", machine.median_error},
       {"worst_error", machine.worst_error},
       {"latency_s_95", interval(machine.latency_s)},
       {"instruction_overhead_s_95", interval(machine.overhead_s)},
       {"copy_bytes_per_s_95", intervals(&Row::copy_bytes_per_s)},
       {"reduce_bytes_per_s_95", intervals(&Row::reduce_bytes_per_s)},
       {"second_write_bytes_per_s_95", intervals(&Row::second_write_bytes_per_s)},
       {"lanes_at_full_speed_95", intervals(&Row::lanes_at_full_speed)},
       {"one_pair_bytes_per_s", machine.one_pair_bytes_per_s},
       {"all_pairs_bytes_per_s", machine.all_pairs_bytes_per_s}});
}

JsonValue raw(const Probe& probe) {
  return JsonValue::object({{"probe", probe.name},
                            {"working_set_bytes", probe.working_set},
                            {"time_s", probe.measured.median_s},
                            {"min_s", probe.measured.min_s},
                            {"max_s", probe.measured.max_s},
                            {"fitted_s", probe.fitted_s}});
}

// Pairs whose messages take longer than those of most get a line of their own.
JsonValue distant_pairs(const CalibratedMachine& machine) {
  constexpr double longer = 1.2;
  std::vector<double> all;
  for (std::size_t i = 0; i < machine.pair_latency_s.size(); ++i)
    for (std::size_t j = 0; j < machine.pair_latency_s.size(); ++j)
      if (i != j) all.push_back(machine.pair_latency_s[i][j]);
  JsonValue overrides = JsonValue::array();
  if (all.empty()) return overrides;
  const double usual_s = summary_of(all).median_s, both_ends_s = 2 * machine.overhead_s.value;
  for (std::size_t i = 0; i < machine.pair_latency_s.size(); ++i)
    for (std::size_t j = 0; j < machine.pair_latency_s.size(); ++j) {
      const double latency_s = machine.pair_latency_s[i][j];
      if (i == j || latency_s + both_ends_s < longer * (usual_s + both_ends_s)) continue;
      overrides.items().push_back(JsonValue::object(
          {{"from", "gpu" + std::to_string(i)},
           {"to", "gpu" + std::to_string(j)},
           {"latency", time_text(machine.latency_s.value + latency_s - usual_s)}}));
    }
  return overrides;
}

}  // namespace

std::variant<CalibratedMachine, NoMeasurement> calibrate(const CalibrateOptions& options) {
  return Calibrator(options).run();
}

JsonValue machine_value(const CalibratedMachine& machine, const std::string& version,
                        const std::string& date) {
  JsonValue link =
      JsonValue::object({{"bandwidth", "1000TB/s"},  // no wire: lanes copy, at the rates measured
                         {"latency", time_text(machine.latency_s.value)}});
  JsonValue cluster = JsonValue::object(
      {{"shape", "fully-connected"}, {"ranks", machine.ranks}, {"link", std::move(link)}});
  JsonValue distant = distant_pairs(machine);
  if (!distant.items().empty()) cluster.set("links_override", std::move(distant));

  JsonValue calibration =
      JsonValue::object({{"backend", machine.backend},
                         {"protocol", machine.protocol == Protocol::ll ? "ll" : "simple"},
                         {"device", machine.device},
                         {"date", date},
                         {"collsim", version},
                         {"rates", rates(machine)},
                         {"fit", quality(machine)},
                         {"raw", JsonValue::array(machine.probes, raw)}});
  return JsonValue::object(
      {{"scenario", 1},
       {"cluster", std::move(cluster)},
       {"model", JsonValue::object({{"calibration", std::move(calibration)}})}});
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm date{};
  gmtime_r(&now, &date);
  return fmt::format("{:04}-{:02}-{:02}", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
}

}  // namespace collsim
