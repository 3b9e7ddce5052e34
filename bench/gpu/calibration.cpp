// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/part.hpp"
#include "topo/shapes.hpp"

namespace collsim::bench {
namespace {

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// One run's steps: how many bytes an instruction had, and how long it took, in seconds.
struct Durations {
  double bytes = 0;
  double seconds = 0;
};

// The middle of the fused instructions, of which a ring has the most.
std::optional<Durations> typical(const Timeline& timeline, Op op) {
  std::vector<double> seconds, bytes;
  for (const Step& step : timeline.steps) {
    if (step.instruction.op != op) continue;
    seconds.push_back((step.ended - step.began).seconds());
    bytes.push_back(static_cast<double>(step.instruction.count * size_of(ElementType::f32)));
  }
  const auto middle = median_of(seconds);
  if (!middle) return std::nullopt;
  return Durations{*median_of(bytes), *middle};
}

// The k-th message of a connection is its k-th send and its k-th receive.
std::vector<double> flights(const Timeline& timeline) {
  using Connection = std::tuple<Rank, Lane, Rank, Lane>;
  std::map<Connection, std::vector<const Step*>> sent, received;
  for (const Step& step : timeline.steps) {
    const Instruction& at = step.instruction;
    if (sends(at.op)) sent[{step.rank, step.lane, at.to.rank, at.to.lane}].push_back(&step);
    if (receives(at.op))
      received[{at.from.rank, at.from.lane, step.rank, step.lane}].push_back(&step);
  }
  std::vector<double> seconds;
  for (const auto& [connection, messages] : received) {
    const auto& senders = sent[connection];
    for (std::size_t k = 0; k < std::min(messages.size(), senders.size()); ++k)
      if (messages[k]->reached < senders[k]->ended && messages[k]->began > senders[k]->ended)
        seconds.push_back((messages[k]->began - senders[k]->ended).seconds());
  }
  return seconds;
}

class Calibrator {
 public:
  using RunOne = Ran (*)(const RunCase&, const RunOptions&);
  Calibrator(int ranks, int channels, Protocol protocol, RunOne run_one)
      : ranks_(ranks), channels_(channels), protocol_(protocol), run_(run_one) {}

  std::variant<Calibration, std::string> run(Bytes small, Bytes large) {
    const auto copies = line(Operation::all_gather, Op::receive_send, small, large);
    const auto reductions = line(Operation::reduce_scatter, Op::receive_reduce_send, small, large);
    const auto latency_s = median_of(flights_);
    if (!copies || !reductions || !latency_s)
      return "calibration failed: " + (problem_.empty() ? "too few steps" : problem_);
    Calibration found;
    const double overhead_s = std::max(0.0, (copies->first + reductions->first) / 2);
    found.costs.instruction_overhead = from_seconds(overhead_s);
    found.costs.copy_bandwidth = rate(copies->second);
    found.costs.reduce_bandwidth = rate(reductions->second);
    found.latency = from_seconds(std::max(0.0, *latency_s));
    found.text = "an instruction costs " + number(overhead_s * 1e6, 2) + " us, a lane copies " +
                 number(1 / copies->second / 1e9) + " GB/s and reduces " +
                 number(1 / reductions->second / 1e9) + " GB/s, a message is seen after " +
                 number(*latency_s * 1e6, 2) + " us";
    return found;
  }

 private:
  static Bandwidth rate(double seconds_per_byte) {
    return Bandwidth(std::max<std::int64_t>(1, std::llround(1 / seconds_per_byte)));
  }

  // Seconds of no byte, and per byte.
  std::optional<std::pair<double, double>> line(Operation operation, Op op, Bytes small,
                                                Bytes large) {
    const auto few = steps_of(operation, op, small);
    const auto many = steps_of(operation, op, large);
    if (!few || !many || many->bytes <= few->bytes || many->seconds <= few->seconds)
      return std::nullopt;
    const double per_byte = (many->seconds - few->seconds) / (many->bytes - few->bytes);
    return std::pair(few->seconds - per_byte * few->bytes, per_byte);
  }

  std::optional<Durations> steps_of(Operation operation, Op op, Bytes bytes) {
    RunOptions options;
    options.check = false;
    options.warmup = 3;
    options.iterations = 1;
    options.timeline = true;
    const Schedule schedule = make_schedule(collective_of(operation, ranks_, bytes),
                                            {.name = "ring", .channels = channels_});
    const Ran ran = run_({schedule, protocol_}, options);
    if (!ran.measured) {
      problem_ = ran.problem;
      return std::nullopt;
    }
    const std::vector<double> seen = flights(*ran.measured->timeline);
    flights_.insert(flights_.end(), seen.begin(), seen.end());
    return typical(*ran.measured->timeline, op);
  }

  int ranks_, channels_;
  Protocol protocol_;
  RunOne run_;
  std::vector<double> flights_;
  std::string problem_;
};

}  // namespace

std::variant<Calibration, std::string> calibrate_lanes(int ranks, int channels, Bytes small,
                                                       Bytes large, Protocol protocol,
                                                       Ran (*run)(const RunCase&,
                                                                  const RunOptions&)) {
  return Calibrator(ranks, channels, protocol, run).run(small, large);
}

Topology shared_memory(int ranks, Time latency) {
  LinkParameters link{gigabytes_per_second(1'000'000)};  // no wire: lanes copy
  link.latency = latency;
  return make_fully_connected(static_cast<std::size_t>(ranks), link);
}

}  // namespace collsim::bench
