// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/calibrate/probe_cases.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"
#include "validate/plan.hpp"

namespace collsim {
namespace {

// Where the fit begins; the result does not depend on it.
constexpr double usual_latency_s = 2e-7, usual_overhead_s = 2e-7, usual_rate = 5e9;
constexpr std::size_t common_parameters = 2;  // latency, overhead; then the rates of each row
constexpr std::size_t rates_per_row = 3;      // copy, reduce, second write

class Calibrator {
 public:
  explicit Calibrator(const CalibrateOptions& options)
      : options_(options), cases_(probe_cases(options.ranks, options.smallest, options.largest)) {
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
    for (const ProbeCase& probe : cases_) {
      const std::optional<Summary> summary = measure(probe.schedule);
      if (!summary) return problem_;
      machine_.probes.push_back({probe.name, probe.buffers, *summary, 0});
      if (options_.progress) options_.progress(machine_.probes.size(), cases_.size());
    }
    fit_everything();
    if (!measure_pairs() || !measure_sharing()) return problem_;
    return std::move(machine_);
  }

 private:
  // What else happens on the machine only ever adds time: where runs scatter, the better of two counts.
  std::optional<Summary> measure(const Schedule& schedule) {
    constexpr int most_tries = 2;
    std::optional<Summary> best;
    for (int i = 0; i < most_tries; ++i) {
      const std::optional<Summary> summary = measure_once(schedule);
      if (!summary) return summary;
      if (!best || summary->median_s < best->median_s) best = summary;
      if (best->spread <= noisy_spread) break;
    }
    return best;
  }

  std::optional<Summary> measure_once(const Schedule& schedule) {
    if (options_.stop != nullptr && *options_.stop) {
      problem_ = {NoMeasurement::Why::failed, "interrupted"};
      return std::nullopt;
    }
    RunOptions run;
    run.warmup = 3;
    run.iterations = options_.iterations;
    run.check = false;
    run.trust_schedule = true;  // probes are no collectives
    run.patience_s = options_.patience_s;
    run.at_least_s = 0.1;
    RunOutcome outcome = options_.backend->run({schedule, options_.protocol}, run);
    if (auto* none = std::get_if<NoMeasurement>(&outcome)) {
      problem_ = std::move(*none);
      return std::nullopt;
    }
    auto& measured = std::get<Measurement>(outcome);
    machine_.device = measured.device;
    for (std::string& note : measured.notes)
      if (std::find(machine_.notes.begin(), machine_.notes.end(), note) == machine_.notes.end())
        machine_.notes.push_back(std::move(note));
    return summary_of(measured.times_s);
  }

  [[nodiscard]] std::vector<double> predictions(const std::vector<double>& parameters) const {
    const Topology topology = shared_memory(options_.ranks, parameters[0]);
    std::vector<double> times;
    for (const ProbeCase& probe : cases_) {
      CostModel costs;
      costs.instruction_overhead = from_seconds(parameters[1]);
      if (probe.row) {
        const double* rates = &parameters[common_parameters + rates_per_row * *probe.row];
        costs.copy_bandwidth = rate_of(rates[0]);
        costs.reduce_bandwidth = rate_of(rates[1]);
        costs.second_write_bandwidth = rate_of(rates[2]);
      }
      times.push_back(simulate(topology, probe.schedule, costs).time.seconds());
    }
    return times;
  }

  static Bandwidth rate_of(double bytes_per_s) {
    return Bandwidth(std::max<std::int64_t>(1, std::llround(bytes_per_s)));
  }

  void fit_everything() {
    const std::vector<Bytes> sizes = probe_sizes(options_.smallest, options_.largest);
    std::vector<double> start{usual_latency_s, usual_overhead_s};
    start.resize(common_parameters + rates_per_row * sizes.size(), usual_rate);
    std::vector<double> measured;
    for (const Probe& probe : machine_.probes) measured.push_back(probe.measured.median_s);
    const std::vector<Fitted> fitted =
        fit([this](const std::vector<double>& x) { return predictions(x); }, measured, start);
    machine_.latency_s = fitted[0];
    machine_.overhead_s = fitted[1];
    for (std::size_t row = 0; row < sizes.size(); ++row) {
      const Fitted* rates = &fitted[common_parameters + rates_per_row * row];
      machine_.rows.push_back({sizes[row], rates[0], rates[1], rates[2]});
    }
    judge(fitted);
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
    const auto size = static_cast<std::size_t>(ranks);
    machine_.pair_latency_s.assign(size, std::vector<double>(size, 0));
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) {
        if (i == j) continue;
        const std::vector<std::pair<int, int>> pair = {{static_cast<int>(i), static_cast<int>(j)}};
        const auto time = measure(send_recv(ranks, pair, sizeof(float), 1));
        if (!time) return false;
        machine_.pair_latency_s[i][j] =
            std::max(0.0, time->median_s - 2 * machine_.overhead_s.value);
      }
    return true;
  }

  bool measure_sharing() {
    constexpr int chunks = 16;
    std::vector<std::pair<int, int>> pairs;
    for (int rank = 0; rank + 1 < options_.ranks; rank += 2) pairs.emplace_back(rank, rank + 1);
    const Bytes size = options_.largest;
    const auto alone = measure(send_recv(options_.ranks, {pairs.front()}, size, chunks));
    const auto all = alone ? measure(send_recv(options_.ranks, pairs, size, chunks)) : alone;
    if (!all) return false;
    machine_.one_pair_bytes_per_s = static_cast<double>(size) / alone->median_s;
    machine_.all_pairs_bytes_per_s =
        static_cast<double>(size) * static_cast<double>(pairs.size()) / all->median_s;
    return true;
  }

  const CalibrateOptions& options_;
  std::vector<ProbeCase> cases_;
  CalibratedMachine machine_;
  NoMeasurement problem_;
};

}  // namespace

std::variant<CalibratedMachine, NoMeasurement> calibrate(const CalibrateOptions& options) {
  return Calibrator(options).run();
}

}  // namespace collsim
