// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/cuda_backend.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include "collectives/execute.hpp"
#include "validate/cuda/cuda_machine.hpp"
#include "validate/cuda/launch_cost.hpp"
#include "validate/data_check.hpp"

namespace collsim {
namespace {

// No more than are asked for or have a rank: asking a GPU anything takes its time and its memory.
std::vector<Gpu> gpus_to_use(const RunCase& run_case, const RunOptions& options,
                             std::size_t& machine_has) {
  std::vector<Gpu> gpus = find_gpus();
  machine_has = gpus.size();
  std::size_t most = static_cast<std::size_t>(run_case.schedule().collective().size());
  if (options.gpus > 0) most = std::min(most, static_cast<std::size_t>(options.gpus));
  if (run_case.paced) most = 1;
  gpus.resize(std::clamp<std::size_t>(most, 1, gpus.size()));
  return gpus;
}

Plan plan_for(const RunCase& run_case, const std::vector<Gpu>& gpus) {
  PlanLimits limits;
  limits.bytes = 0;
  for (const Gpu& gpu : gpus) limits.bytes += free_memory(gpu);
  try {
    return make_plan(run_case.schedule(), run_case.protocol, limits);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::too_large) throw;
    throw NoMeasurement{
        NoMeasurement::Why::too_large,
        std::string(error.what()) + " (" + in_gib(limits.bytes) + " of GPU memory are free)"};
  }
}

// The GPUs of a run: all of them, or of a team those of all processes, each of which knows its own.
struct GpusOfRun {
  std::vector<Gpu> gpus;
  std::size_t own = 0;
  std::string names;  // of a team
  std::size_t machine_has = 0;
  ProcessTeam* team = nullptr;
};

GpusOfRun gpus_of(const RunCase& run_case, const RunOptions& options) {
  GpusOfRun found;
  found.gpus = gpus_to_use(run_case, options, found.machine_has);
  return found;
}

GpusOfRun gpus_of(ProcessTeam& team) {
  GpusOfRun found;
  TeamGpu gpu = gpu_in(team);
  found.own = static_cast<std::size_t>(team.me());
  found.gpus.resize(static_cast<std::size_t>(team.size()));
  found.gpus[found.own] = std::move(gpu.own);
  found.names = std::move(gpu.names);
  found.machine_has = found.gpus.size();
  found.team = &team;
  return found;
}

Note note_of(const GpuRoom& room) {
  NoteWriter writer;
  writer.put_text(room.name);
  writer.put(room.multiprocessors);
  writer.put(room.blocks_with_steps);
  writer.put(room.blocks_without);
  return writer.take();
}
GpuRoom room_from(const Note& note) {
  NoteReader reader(note);
  GpuRoom room;
  room.name = reader.get_text();
  room.multiprocessors = reader.get<int>();
  room.blocks_with_steps = reader.get<decltype(room.blocks_with_steps)>();
  room.blocks_without = reader.get<decltype(room.blocks_without)>();
  return room;
}

class CudaRun {
 public:
  CudaRun(Plan plan, const EmulatedMachine* paced, const RunOptions& options, GpusOfRun found)
      : options_(options),
        team_(found.team),
        machine_has_(found.machine_has),
        own_(found.own),
        gpus_(std::move(found.gpus)),
        plan_(std::move(plan)),
        collective_(plan_.schedule->collective()) {
    if (paced != nullptr) pacing_ = make_pacing(plan_, *paced);
    place();
    const std::size_t used = placement_.gpus();
    if (used > 1) refuse_blocking_launches();
    reaches_ = team_ != nullptr ? reach_in(*team_, own_device(), measured_.notes)
                                : connect_peers(gpus_, used, measured_.notes);
    measured_.device = team_ != nullptr ? found.names : names_of(gpus_, used);
    note(virtual_ranks_note(plan_, placement_));
    if (pacing_ && machine_has_ > 1)
      note("paced runs need one clock, so all ranks are on the first of " +
           std::to_string(machine_has_) + " GPUs");
    note(std::to_string(plan_.lanes.size()) + " lanes of " + std::to_string(placement_.threads) +
         " threads; the GPU's clock ticks every " + std::to_string(clock_tick_ns(own_device())) +
         " ns");
  }

  RunOutcome run() {
    {
      CudaMachine machine(plan_, placement_, gpus_, reaches_, cuda_options(false));
      if (machine.staged_wires() > 0)
        note(std::to_string(machine.staged_wires()) + " of " + std::to_string(plan_.wires.size()) +
             " connections go through host memory: their GPUs have no peer access");
      if (options_.check) inputs_ = make_test_inputs(collective_, options_.seed);
      measure(machine);
      machine.leave();
    }
    if (options_.timeline) record();
    return std::move(measured_);
  }

 private:
  void note(const std::string& text) {
    if (!text.empty()) measured_.notes.push_back(text);
  }

  [[nodiscard]] int own_device() const { return gpus_[own_].device; }

  [[nodiscard]] GpuRoom room_on_gpu(const Gpu& gpu) const {
    return room_on(gpu, kernel_for(plan_), shared_bytes(plan_, false), shared_bytes(plan_, true));
  }

  void place() {
    std::vector<GpuRoom> rooms;
    if (team_ != nullptr)
      for (const Note& room : team_->exchange(note_of(room_on_gpu(gpus_[own_])), to_start_s))
        rooms.push_back(room_from(room));
    else
      for (const Gpu& gpu : gpus_) rooms.push_back(room_on_gpu(gpu));
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
    options.team = team_;
    return options;
  }

  static std::vector<double> ahead_of(const std::vector<ClockOffset>& clocks) {
    std::vector<double> ahead;
    for (const ClockOffset& clock : clocks) ahead.push_back(clock.ahead_ns);
    return ahead;
  }

  // Runs that count, between two looks at the clocks, which drift: so short that the drift in
  // between does not matter, and how much there was is told.
  void run_counted(CudaMachine& machine, int runs) {
    const std::vector<ClockOffset> before = machine.compare_clocks();
    const std::vector<double> ahead = ahead_of(before);
    machine.align(ahead);
    std::vector<std::vector<LaneTimes>> all;
    for (int i = 0; i < runs; ++i) {
      machine.run();
      all.push_back(machine.lane_times());
    }
    share(all);
    for (const std::vector<LaneTimes>& lanes : all) {
      const RunTime time = run_time_of(lanes, placement_, ahead);
      measured_.times_s.push_back(time.time_s);
      lags_s_.push_back(time.lag_s);
      skew_s_ = std::max(skew_s_, time.start_skew_s);
    }
    const std::vector<ClockOffset> after = machine.compare_clocks();
    for (std::size_t gpu = 1; gpu < after.size(); ++gpu) {
      drift_s_ = std::max(drift_s_, std::abs(after[gpu].ahead_ns - before[gpu].ahead_ns) / 1e9);
      uncertainty_s_ = std::max(uncertainty_s_, before[gpu].uncertainty_ns / 1e9);
    }
  }

  // Each process of a team knows when its own lanes started and ended.
  void share(std::vector<std::vector<LaneTimes>>& runs) const {
    if (team_ == nullptr) return;
    std::vector<LaneTimes> own;
    for (const std::vector<LaneTimes>& lanes : runs)
      for (const std::uint32_t number : placement_.lanes[own_]) own.push_back(lanes[number]);
    NoteWriter writer;
    writer.put_all(own);
    const std::vector<Note> notes = team_->exchange(writer.take(), to_run_s);
    for (std::size_t gpu = 0; gpu < notes.size(); ++gpu) {
      const std::vector<LaneTimes> times = NoteReader(notes[gpu]).get_all<LaneTimes>();
      auto next = times.begin();
      for (std::vector<LaneTimes>& lanes : runs)
        for (const std::uint32_t number : placement_.lanes[gpu]) lanes[number] = *next++;
    }
  }

  // All of it goes into the times: from the first start to the last end.
  void judge_clocks() {
    const double tick_s = static_cast<double>(clock_tick_ns(own_device())) / 1e9;
    const bool several = placement_.gpus() > 1;
    if (several)
      note("the GPUs' clocks were aligned to within " + in_us(uncertainty_s_) + " and drifted by " +
           in_us(drift_s_) + " meanwhile; starts were up to " + in_us(skew_s_) + " apart");
    constexpr double most = 0.05;  // of the time
    const double wrong_by_s = several ? uncertainty_s_ + drift_s_ + skew_s_ : 0;
    const double median_s = summary_of(measured_.times_s).median_s;
    if (std::max(wrong_by_s, tick_s) <= most * median_s) return;
    measured_.doubt = wrong_by_s > tick_s ? "clocks and starts of the GPUs were up to " +
                                                in_us(wrong_by_s) + " apart"
                                          : "the GPU's clock ticks every " + in_us(tick_s);
  }

  void measure(CudaMachine& machine) {
    if (options_.check) {
      machine.fill(inputs_);
      machine.run();
      check(machine);
    }
    warm_up(machine);
    run_counted(machine, options_.iterations);
    go_on(machine);
    judge_clocks();
    if (pacing_) measured_.lag_s = summary_of(lags_s_).median_s;
    if (options_.check && !pacing_) check_again(machine);
    constexpr int enough_to_time_launches = 5, most_launches = 100;
    if (options_.launches && !pacing_ && options_.iterations >= enough_to_time_launches &&
        !plan_.lanes.empty())
      note(to_text(measure_launch_cost(machine, std::min(options_.iterations, most_launches))));
  }

  // Clocks, links and caches of a GPU take their time to wake up.
  void warm_up(CudaMachine& machine) const {
    constexpr double least_s = 0.05, most_runs = 2'000;
    for (int i = 0; i < options_.warmup; ++i) machine.run();
    if (!wants_more_runs()) return;
    const auto begin = std::chrono::steady_clock::now();
    const auto is_warm = [&](int runs) {
      return runs >= most_runs || seconds_since(begin) >= least_s;
    };
    // Processes of a team must agree on how many there are.
    const int between_looks = team_ != nullptr ? 20 : 1;
    for (int runs = 0; at_all(is_warm(runs) ? 1 : 0) == 0; runs += between_looks)
      for (int i = 0; i < between_looks; ++i) machine.run();
  }

  // The least of what the processes of a team say.
  [[nodiscard]] double at_all(double own) const {
    if (team_ == nullptr) return own;
    NoteWriter writer;
    writer.put(own);
    for (const Note& note : team_->exchange(writer.take(), to_run_s))
      own = std::min(own, NoteReader(note).get<double>());
    return own;
  }
  // Paced runs take as long as their links, and who asks for no time at all gets none.
  [[nodiscard]] bool wants_more_runs() const { return !pacing_ && options_.at_least_s > 0; }

  // Until at_least_s is over, in turns, between which the clocks are aligned anew.
  void go_on(CudaMachine& machine) {
    constexpr double most_runs = 20'000, of_turn_s = 0.1;
    const std::vector<double>& times = measured_.times_s;
    const double taken_s = std::accumulate(times.begin(), times.end(), 0.0);
    if (!wants_more_runs() || taken_s <= 0) return;
    const double each_s = taken_s / static_cast<double>(times.size());
    int left = static_cast<int>(std::min(most_runs, (options_.at_least_s - taken_s) / each_s));
    const int in_turn = static_cast<int>(std::clamp(of_turn_s / each_s, 1.0, most_runs));
    for (; left > 0; left -= in_turn) run_counted(machine, std::min(left, in_turn));
  }

  // When caches are warm and slots have been used, with other data: what an earlier run left behind
  // would not pass for a result.
  void check_again(CudaMachine& machine) {
    inputs_ = make_test_inputs(collective_, options_.seed + 1);
    machine.fill(inputs_);
    machine.run();
    check(machine);
  }

  void check(const CudaMachine& machine) {
    if (measured_.data == DataVerdict::wrong) return;
    std::string wrong;
    for (int position = 0; position < collective_.size() && wrong.empty(); ++position) {
      if (!machine.is_here(placement_.gpu_of[static_cast<std::size_t>(position)])) continue;
      const auto output = finished_output(collective_, position, machine.output(position));
      wrong = first_difference(collective_, inputs_, position, output);
    }
    measured_.wrong_data = machine.first_problem(wrong);
    measured_.data = measured_.wrong_data.empty() ? DataVerdict::right : DataVerdict::wrong;
  }

  // Writing down the times costs time: a run that does so does not count.
  void record() {
    CudaMachine machine(plan_, placement_, gpus_, reaches_, cuda_options(true));
    machine.align(ahead_of(machine.compare_clocks()));
    if (options_.check) machine.fill(inputs_);
    for (int i = 0; i < std::max(1, options_.warmup) + 1; ++i) machine.run();
    measured_.timeline = machine.timeline();
    machine.leave();
  }

  static constexpr double to_start_s = 120, to_run_s = 150;

  const RunOptions& options_;
  ProcessTeam* const team_;
  const std::size_t machine_has_;  // GPUs
  const std::size_t own_;          // of gpus_: the first, or that of this process
  const std::vector<Gpu> gpus_;
  const Plan plan_;
  const Collective& collective_;
  std::optional<Pacing> pacing_;
  Placement placement_;
  std::vector<std::vector<bool>> reaches_;
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<double> lags_s_;
  double skew_s_ = 0, drift_s_ = 0, uncertainty_s_ = 0;
  Measurement measured_;
};

}  // namespace

RunOutcome run_on_cuda(const RunCase& run_case, const RunOptions& options) {
  try {
    GpusOfRun found = gpus_of(run_case, options);
    Plan plan = plan_for(run_case, found.gpus);
    const EmulatedMachine* const paced = run_case.paced ? &*run_case.paced : nullptr;
    return CudaRun(std::move(plan), paced, options, std::move(found)).run();
  } catch (NoMeasurement& why) {
    return std::move(why);
  }
}

RunOutcome run_on_cuda(const Plan& plan, const RunOptions& options, ProcessTeam& team) {
  return CudaRun(plan, nullptr, options, gpus_of(team)).run();
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
