// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "bench/gpu/part.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"

namespace collsim::bench {
namespace {

constexpr Bytes small = kibibytes(512), large = mebibytes(32);  // of the rates

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Topology shared_memory(int ranks, double latency_s) {
  LinkParameters link{gigabytes_per_second(1'000'000)};  // no wire: lanes copy
  link.latency = from_seconds(latency_s);
  return make_fully_connected(static_cast<std::size_t>(ranks), link);
}

// The middle one of a run's steps of one kind: its bytes and seconds.
std::optional<std::pair<double, double>> typical(const Timeline& timeline, Op op) {
  std::vector<double> bytes, seconds;
  for (const Step& step : timeline.steps) {
    if (step.instruction.op != op) continue;
    seconds.push_back((step.ended - step.began).seconds());
    bytes.push_back(static_cast<double>(step.instruction.count * size_of(ElementType::f32)));
  }
  if (seconds.empty()) return std::nullopt;
  return std::pair(*median_of(bytes), *median_of(seconds));
}

// More lanes do not get the memory faster.
double slowed(double few, double all, double part) {
  return few + std::max(0.0, all - few) * part;
}

class Calibrator {
 public:
  Calibrator(int ranks, Protocol protocol, RunOne run_one)
      : ranks_(ranks), protocol_(protocol), run_(run_one) {}

  std::variant<Calibration, std::string> run(int channels) {
    const auto copying = in_pieces(Operation::all_gather, channels);
    const auto reducing = in_pieces(Operation::reduce_scatter, channels);
    const auto few = rates_with(1);
    const auto all = channels == 1 ? few : rates_with(channels);
    if (!copying || !reducing || !few || !all)
      return "calibration failed: " + (problem_.empty() ? "too few steps" : problem_);
    const double overhead_s = (copying->first + reducing->first) / 2;
    const double latency_s = (copying->second + reducing->second) / 2;
    return Calibration(ranks_, channels, overhead_s, latency_s, *few, *all);
  }

 private:
  std::optional<Measurement> measure(Operation operation, Bytes bytes, int channels, int chunks,
                                     bool timeline) {
    RunOptions options;
    options.check = false;
    options.warmup = 3;
    options.timeline = timeline;
    const Schedule schedule =
        make_schedule(collective_of(operation, ranks_, bytes),
                      {.name = "ring", .chunks = chunks, .channels = channels});
    Ran ran = run_({schedule, protocol_}, options);
    if (!ran.measured) problem_ = ran.problem;
    return std::move(ran.measured);
  }

  // Of an instruction the overhead, and of a message the latency.  A lane has as many instructions
  // of a piece as there are ranks: the first sends, the last receives, those between do both.
  std::optional<std::pair<double, double>> in_pieces(Operation operation, int channels) {
    constexpr int pieces = 16;
    const Bytes bytes = Bytes{128} * channels * pieces * ranks_;
    const auto one = measure(operation, bytes, channels, 1, false);
    const auto many = measure(operation, bytes, channels, pieces, false);
    if (!one || !many) return std::nullopt;
    const double overhead_s = summary_of(many->times_s).median_s / (pieces * ranks_);
    const double waiting_s = summary_of(one->times_s).median_s - overhead_s * ranks_;
    return std::pair(overhead_s, std::max(0.0, waiting_s / (ranks_ - 1)));
  }

  std::optional<Calibration::Rates> rates_with(int channels) {
    const auto few = steps_of(small, channels), many = steps_of(large, channels);
    if (!few || !many) return std::nullopt;
    const auto seconds_per_byte = [&](Op op) -> std::optional<double> {
      const auto a = typical(*few, op), b = typical(*many, op);
      if (!a || !b || b->first <= a->first || b->second <= a->second) return std::nullopt;
      return (b->second - a->second) / (b->first - a->first);
    };
    const auto send = seconds_per_byte(Op::send), receive = seconds_per_byte(Op::receive);
    const auto pass_on = seconds_per_byte(Op::receive_send);
    const auto reduce = seconds_per_byte(Op::receive_reduce_send);
    if (!send || !receive || !pass_on || !reduce) return std::nullopt;
    const double copy = (*send + *receive) / 2;
    return Calibration::Rates{copy, std::max(*pass_on - copy, copy / 100), *reduce};
  }

  // Only an all-gather passes on, only a reduce-scatter reduces.
  std::optional<Timeline> steps_of(Bytes bytes, int channels) {
    auto gathered = measure(Operation::all_gather, bytes, channels, 1, true);
    auto scattered = measure(Operation::reduce_scatter, bytes, channels, 1, true);
    if (!gathered || !scattered) return std::nullopt;
    Timeline both = std::move(*gathered->timeline);
    const std::vector<Step>& more = scattered->timeline->steps;
    both.steps.insert(both.steps.end(), more.begin(), more.end());
    return both;
  }

  int ranks_;
  Protocol protocol_;
  RunOne run_;
  std::string problem_;
};

}  // namespace

Calibration::Calibration(int ranks, int channels, double overhead_s, double latency_s,
                         const Rates& few_lanes, const Rates& all_lanes)
    : ranks_(ranks),
      channels_(channels),
      overhead_s_(overhead_s),
      latency_s_(latency_s),
      few_lanes_(few_lanes),
      all_lanes_(all_lanes) {}

CostModel Calibration::costs_with(double lanes_at_work) const {
  // With one channel every rank's lane has what it needs.
  const double few = ranks_, all = 1.0 * ranks_ * channels_;
  const double part = all > few ? std::clamp((lanes_at_work - few) / (all - few), 0.0, 1.0) : 0;
  const auto rate = [&](double Rates::*of) {
    const double seconds = slowed(few_lanes_.*of, all_lanes_.*of, part);
    return Bandwidth(std::max<std::int64_t>(1, std::llround(1 / seconds)));
  };
  CostModel costs;
  costs.instruction_overhead = from_seconds(overhead_s_);
  costs.copy_bandwidth = rate(&Rates::copy);
  costs.second_write_bandwidth = rate(&Rates::second_write);
  costs.reduce_bandwidth = rate(&Rates::reduce);
  return costs;
}

double Calibration::predicted_s(const Schedule& schedule) const {
  const Topology topology = shared_memory(ranks_, latency_s_);
  SimulationOptions counting;
  counting.recording = Recording::summary;
  const double at_work = lanes_at_work(simulate(topology, schedule, costs_with(1), counting));
  return simulate(topology, schedule, costs_with(at_work)).time.seconds();
}

std::string Calibration::text() const {
  const auto rates = [](const Rates& of) {
    return "copies " + number(1 / of.copy / 1e9) + " GB/s, writes a second time " +
           number(1 / of.second_write / 1e9) + " GB/s and reduces " + number(1 / of.reduce / 1e9) +
           " GB/s";
  };
  std::string all = "an instruction costs " + number(overhead_s_ * 1e6, 2) +
                    " us, a message is seen after " + number(latency_s_ * 1e6, 2) + " us, one of " +
                    std::to_string(ranks_) + " lanes " + rates(few_lanes_);
  if (channels_ > 1)
    all += ", one of " + std::to_string(ranks_ * channels_) + " " + rates(all_lanes_);
  return all;
}

std::variant<Calibration, std::string> calibrate_lanes(int ranks, int channels, Protocol protocol,
                                                       RunOne run) {
  return Calibrator(ranks, protocol, run).run(channels);
}

}  // namespace collsim::bench
