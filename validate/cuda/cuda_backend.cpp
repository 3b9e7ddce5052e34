// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/cuda_backend.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "collectives/execute.hpp"
#include "validate/cuda/cuda_machine.hpp"
#include "validate/cuda/launch_cost.hpp"
#include "validate/data_check.hpp"

namespace collsim {
namespace {

Plan plan_for(const RunCase& run_case, const std::vector<Gpu>& gpus) {
  PlanLimits limits;
  limits.bytes = 0;
  const std::size_t used = run_case.paced ? 1 : gpus.size();
  for (std::size_t i = 0; i < used; ++i) limits.bytes += free_memory(gpus[i]);
  try {
    return make_plan(run_case.schedule(), run_case.protocol, limits);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::too_large) throw;
    throw NoMeasurement{
        NoMeasurement::Why::too_large,
        std::string(error.what()) + " (" + in_gib(limits.bytes) + " of GPU memory are free)"};
  }
}

class CudaRun {
 public:
  CudaRun(const RunCase& run_case, const RunOptions& options)
      : options_(options),
        gpus_(find_gpus()),
        plan_(plan_for(run_case, gpus_)),
        collective_(plan_.schedule->collective()) {
    if (run_case.paced) pacing_ = make_pacing(plan_, *run_case.paced);
    place();
    const std::size_t used = placement_.gpus();
    if (used > 1) refuse_blocking_launches();
    reaches_ = connect_peers(gpus_, used, measured_.notes);
    measured_.device = names_of(gpus_, used);
    note(virtual_ranks_note(plan_, placement_));
    if (pacing_ && gpus_.size() > 1)
      note("paced runs need one clock, so all ranks are on the first of " +
           std::to_string(gpus_.size()) + " GPUs");
    note(std::to_string(plan_.lanes.size()) + " lanes of " + std::to_string(placement_.threads) +
         " threads; the GPU's clock ticks every " +
         std::to_string(clock_tick_ns(gpus_.front().device)) + " ns");
  }

  RunOutcome run() {
    align_clocks();
    {
      CudaMachine machine(plan_, placement_, gpus_, reaches_, cuda_options(false));
      if (machine.staged_wires() > 0)
        note(std::to_string(machine.staged_wires()) + " of " + std::to_string(plan_.wires.size()) +
             " connections go through host memory: their GPUs have no peer access");
      if (options_.check) inputs_ = make_test_inputs(collective_, options_.seed);
      measure(machine);
    }
    if (options_.timeline) record();
    check_clocks();
    return std::move(measured_);
  }

 private:
  void note(const std::string& text) {
    if (!text.empty()) measured_.notes.push_back(text);
  }

  void place() {
    std::vector<GpuRoom> rooms;
    for (const Gpu& gpu : gpus_)
      rooms.push_back(
          room_on(gpu, kernel_for(plan_), shared_bytes(plan_, false), shared_bytes(plan_, true)));
    auto placed = place_ranks(plan_, rooms, pacing_.has_value(), options_.threads_per_lane);
    if (auto* why_not = std::get_if<NoMeasurement>(&placed)) throw std::move(*why_not);
    placement_ = std::get<Placement>(std::move(placed));
  }

  // Each launch would wait for its lanes, which wait for those of the next GPU.
  static void refuse_blocking_launches() {
    const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
    if (blocking && std::strcmp(blocking, "0") != 0)
      throw NoMeasurement{
          NoMeasurement::Why::unavailable,
          "CUDA_LAUNCH_BLOCKING is set, which keeps GPUs from running side by side: unset it"};
  }

  [[nodiscard]] CudaOptions cuda_options(bool record) const {
    CudaOptions options;
    options.pacing = pacing_ ? &*pacing_ : nullptr;
    options.record = record;
    options.patience_s = options_.patience_s;
    for (const ClockOffset& clock : clocks_) options.clocks_ahead_ns.push_back(clock.ahead_ns);
    return options;
  }

  void align_clocks() {
    clocks_.resize(placement_.gpus());
    for (std::uint32_t gpu = 1; gpu < placement_.gpus(); ++gpu)
      clocks_[gpu] = clock_offset(gpus_[gpu].device, gpus_.front().device);
  }

  // Clocks drift: how much they did while this was measured.
  void check_clocks() {
    double drift_ns = 0, uncertainty_ns = 0;
    for (std::uint32_t gpu = 1; gpu < placement_.gpus(); ++gpu) {
      const ClockOffset now = clock_offset(gpus_[gpu].device, gpus_.front().device);
      drift_ns = std::max(drift_ns, std::abs(now.ahead_ns - clocks_[gpu].ahead_ns));
      uncertainty_ns = std::max(uncertainty_ns, clocks_[gpu].uncertainty_ns);
    }
    if (placement_.gpus() > 1)
      note("the GPUs' clocks were aligned to within " + in_us(uncertainty_ns / 1e9) +
           " and drifted by " + in_us(drift_ns / 1e9) + " meanwhile; starts were up to " +
           in_us(skew_s_) + " apart");
  }

  void measure(CudaMachine& machine) {
    if (options_.check) {
      machine.fill(inputs_);
      machine.run();
      check(machine);
    }
    for (int i = 0; i < options_.warmup; ++i) machine.run();
    for (int i = 0; i < options_.iterations; ++i) {
      machine.run();
      measured_.times_s.push_back(machine.time_s());
      skew_s_ = std::max(skew_s_, machine.start_skew_s());
    }
    // Runs out of place find the same inputs every time, so the last one can be judged too.
    if (options_.check && options_.iterations > 0 && !collective_.in_place) check(machine);
    constexpr int enough_to_time_launches = 5, most_launches = 100;
    if (!pacing_ && options_.iterations >= enough_to_time_launches && !plan_.lanes.empty())
      note(to_text(measure_launch_cost(machine, std::min(options_.iterations, most_launches))));
  }

  void check(const CudaMachine& machine) {
    if (measured_.data == DataVerdict::wrong) return;
    measured_.data = DataVerdict::right;
    for (int position = 0; position < collective_.size(); ++position) {
      const auto output = finished_output(collective_, position, machine.output(position));
      measured_.wrong_data = first_difference(collective_, inputs_, position, output);
      if (measured_.wrong_data.empty()) continue;
      measured_.data = DataVerdict::wrong;
      return;
    }
  }

  // Writing down the times costs time: a run that does so does not count.
  void record() {
    CudaMachine machine(plan_, placement_, gpus_, reaches_, cuda_options(true));
    if (options_.check) machine.fill(inputs_);
    for (int i = 0; i < std::max(1, options_.warmup) + 1; ++i) machine.run();
    measured_.timeline = machine.timeline();
  }

  const RunOptions& options_;
  std::vector<Gpu> gpus_;
  Plan plan_;
  const Collective& collective_;
  std::optional<Pacing> pacing_;
  Placement placement_;
  std::vector<std::vector<bool>> reaches_;
  std::vector<ClockOffset> clocks_;  // per GPU, against the first
  std::vector<std::vector<std::byte>> inputs_;
  double skew_s_ = 0;
  Measurement measured_;
};

}  // namespace

RunOutcome run_on_cuda(const RunCase& run_case, const RunOptions& options) {
  try {
    return CudaRun(run_case, options).run();
  } catch (NoMeasurement& why) {
    return std::move(why);
  }
}

std::optional<std::string> cuda_unavailable() {
  try {
    for (const Gpu& gpu : find_gpus())
      static_cast<void>(room_on(gpu, simple_kernel(ElementType::f32, Reduction::sum), 0, 0));
  } catch (const NoMeasurement& why) {
    return why.reason;
  }
  return std::nullopt;
}

namespace {

double copy_rate(int device, std::uint64_t bytes) {
  const DeviceMemory from = allocate_on_gpu(device, bytes);
  const DeviceMemory to = allocate_on_gpu(device, bytes);
  const GpuStream stream = make_stream(device);
  const GpuEvent begin = make_event(device);
  const GpuEvent end = make_event(device);
  double best = 0;
  for (int i = 0; i < 10; ++i) {
    need(cudaEventRecord(begin.get(), stream.get()), "recording an event");
    need(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice, stream.get()),
         "copying within a GPU");
    need(cudaEventRecord(end.get(), stream.get()), "recording an event");
    need(cudaStreamSynchronize(stream.get()), "copying within a GPU");
    float ms = 0;
    need(cudaEventElapsedTime(&ms, begin.get(), end.get()), "reading the time of an event");
    best = std::max(best, 2 * static_cast<double>(bytes) / (static_cast<double>(ms) / 1e3));
  }
  return best;
}

}  // namespace

std::variant<GpuFacts, std::string> gpu_facts(std::uint64_t copied_bytes) {
  try {
    const std::vector<Gpu> gpus = find_gpus();
    const Gpu& first = gpus.front();
    GpuFacts facts;
    facts.names = names_of(gpus, gpus.size());
    facts.gpus = static_cast<int>(gpus.size());
    facts.multiprocessors = first.multiprocessors;
    facts.free_bytes = free_memory(first);
    facts.clock_tick_ns = clock_tick_ns(first.device);
    facts.copy_bytes_per_s = copy_rate(first.device, copied_bytes);
    int driver = 0, runtime = 0;
    need(cudaDriverGetVersion(&driver), "asking for the driver's version");
    need(cudaRuntimeGetVersion(&runtime), "asking for CUDA's version");
    facts.driver_cuda = cuda_version_text(driver);
    facts.runtime_cuda = cuda_version_text(runtime);
    return facts;
  } catch (const NoMeasurement& why) {
    return why.reason;
  }
}

}  // namespace collsim
