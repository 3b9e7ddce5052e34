// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/launch_cost.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "validate/cuda/cuda_graph.hpp"

namespace collsim {
namespace {

using Clock = std::chrono::steady_clock;

// Begin and end in one GPU's queue.
struct TimedSpan {
  explicit TimedSpan(int device) : begin(make_event(device)), end(make_event(device)) {}
  [[nodiscard]] double seconds() const {
    float ms = 0;
    need(cudaEventElapsedTime(&ms, begin.get(), end.get()), "reading the time of an event");
    return static_cast<double>(ms) / 1e3;
  }
  GpuEvent begin, end;
};

class LaunchTimer {
 public:
  LaunchTimer(CudaMachine& machine, int runs)
      : machine_(machine), runs_(runs), busy_(machine.busy_here()) {
    for (const std::size_t gpu : busy_) {
      spans_.emplace_back(machine.device(gpu));
      streams_.push_back(machine.stream(gpu));
    }
  }

  void time_eager(LaunchCost& cost) {
    const auto begin = Clock::now();
    record(&TimedSpan::begin);
    // Round by round, so that no GPU's queue fills up while it waits for one that has nothing yet.
    for (int run = 0; run < runs_; ++run)
      for (std::size_t i = 0; i < busy_.size(); ++i) machine_.queue_run(busy_[i], streams_[i]);
    record(&TimedSpan::end);
    machine_.wait(streams_, runs_);
    cost.eager_wall_s = seconds_since(begin) / runs_;
    cost.eager_event_s = longest() / runs_;
  }

  void time_graph(LaunchCost& cost) {
    std::vector<Executable> graphs;
    std::string problem;
    try {
      graphs = capture();
    } catch (const NoMeasurement& none) {
      problem = none.reason;
    }
    problem = machine_.first_problem(problem);  // all have theirs, or nobody begins
    if (!problem.empty()) throw NoMeasurement{NoMeasurement::Why::failed, problem};
    for (int times = 0; times < 2; ++times) {  // the first time warms up
      record(&TimedSpan::begin);
      for (std::size_t i = 0; i < busy_.size(); ++i) {
        need(cudaSetDevice(machine_.device(busy_[i])), "choosing a GPU");
        need(cudaGraphLaunch(graphs[i].get(), streams_[i]), "starting a CUDA graph");
      }
      record(&TimedSpan::end);
      machine_.wait(streams_, runs_);
    }
    cost.graph_event_s = longest() / runs_;
  }

 private:
  void record(GpuEvent TimedSpan::*moment) {
    for (std::size_t i = 0; i < busy_.size(); ++i) {
      need(cudaSetDevice(machine_.device(busy_[i])), "choosing a GPU");
      need(cudaEventRecord((spans_[i].*moment).get(), streams_[i]), "recording an event");
    }
  }

  [[nodiscard]] double longest() const {
    double seconds = 0;
    for (const TimedSpan& span : spans_) seconds = std::max(seconds, span.seconds());
    return seconds;
  }

  // One graph per GPU: all its runs, one after the other.
  [[nodiscard]] std::vector<Executable> capture() const {
    std::vector<Executable> graphs;
    for (std::size_t i = 0; i < busy_.size(); ++i) {
      // A stream of its own: when something cannot be captured, the stream is lost.
      const GpuStream stream = make_stream(machine_.device(busy_[i]));
      need(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
           "beginning a CUDA graph");
      const std::optional<NoMeasurement> problem = queue_runs(busy_[i], stream.get());
      Executable graph = end_capture(stream.get(), problem);
      // While lanes of another GPU wait for this one's, there may be no allocating.
      need(cudaGraphUpload(graph.get(), streams_[i]), "bringing a CUDA graph to a GPU");
      need(cudaStreamSynchronize(streams_[i]), "bringing a CUDA graph to a GPU");
      graphs.push_back(std::move(graph));
    }
    return graphs;
  }

  [[nodiscard]] std::optional<NoMeasurement> queue_runs(std::size_t gpu,
                                                        cudaStream_t stream) const {
    try {
      for (int run = 0; run < runs_; ++run) machine_.queue_run(gpu, stream);
    } catch (const NoMeasurement& problem) {
      return problem;
    }
    return std::nullopt;
  }

  CudaMachine& machine_;
  int runs_;
  std::vector<std::size_t> busy_;
  std::vector<TimedSpan> spans_;
  std::vector<cudaStream_t> streams_;
};

}  // namespace

LaunchCost measure_launch_cost(CudaMachine& machine, int runs) {
  LaunchCost cost;
  machine.set_start_lead(0);
  LaunchTimer timer(machine, runs);
  std::vector<double> in_kernel;
  for (int i = 0; i < 3; ++i) {
    machine.run();
    in_kernel.push_back(machine.own_time_s());
  }
  std::sort(in_kernel.begin(), in_kernel.end());
  cost.in_kernel_s = in_kernel[1];
  timer.time_eager(cost);
  try {
    timer.time_graph(cost);
  } catch (const NoMeasurement& problem) {
    if (problem.why == NoMeasurement::Why::stuck) throw;
    cost.graph_problem = problem.reason;
  }
  machine.set_start_lead(CudaMachine::usual_start_lead_ns);
  return cost;
}

std::string to_text(const LaunchCost& cost) {
  char text[300];
  std::snprintf(
      text, sizeof text,
      "launched one by one a run takes %.1f us (%.1f us by the host's clock), of which its "
      "lanes run %.1f us",
      cost.eager_event_s * 1e6, cost.eager_wall_s * 1e6, cost.in_kernel_s * 1e6);
  std::string all = text;
  if (!cost.graph_problem.empty())
    return all + "; as a CUDA graph it was not measured: " + cost.graph_problem;
  std::snprintf(text, sizeof text, "; in a CUDA graph it takes %.1f us", cost.graph_event_s * 1e6);
  return all + text;
}

}  // namespace collsim
