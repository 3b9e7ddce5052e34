// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/cuda_machine.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <span>
#include <thread>
#include <utility>

#include "collectives/execute.hpp"

namespace collsim {
namespace {

using Clock = std::chrono::steady_clock;

// A word in memory that GPUs also read and write.
std::uint64_t load(const std::uint64_t& word) {
  return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(word)).load();
}

double ns(Time time) {
  return static_cast<double>(time.ps()) / 1e3;
}
double ns_per_byte(const std::optional<Bandwidth>& bandwidth) {
  return bandwidth ? 1e9 / static_cast<double>(bandwidth->bytes_per_second()) : 0;
}

}  // namespace

const void* kernel_for(const Plan& plan) {
  const Collective& collective = plan.schedule->collective();
  return plan.protocol == Protocol::ll ? low_latency_kernel(collective.type, collective.reduction)
                                       : simple_kernel(collective.type, collective.reduction);
}

CudaMachine::CudaMachine(const Plan& plan, const Placement& placement, const std::vector<Gpu>& gpus,
                         const std::vector<std::vector<bool>>& reaches, const CudaOptions& options)
    : plan_(plan),
      placement_(placement),
      gpus_(gpus),
      options_(options),
      layout_(lay_out_memory(plan, placement, reaches, options.record, options.pacing)),
      reaches_(reaches),
      kernel_(kernel_for(plan)) {
  align(std::move(options_.clocks_ahead_ns));
  allocate();
  upload_wires();
  if (options_.pacing) upload_pacing();
  make_jobs();
  upload_jobs();
  settle();
  rehearse();
  static_cast<void>(first_problem(""));  // all are ready
}

void CudaMachine::allocate() {
  for (std::uint32_t gpu = 0; gpu < placement_.gpus(); ++gpu) {
    const bool here = is_here(gpu);
    const std::uint64_t bytes = layout_.area_bytes[gpu];
    device_memory_.push_back(here ? allocate_on_gpu(gpus_[gpu].device, bytes) : nullptr);
    streams_.push_back(here ? make_stream(gpus_[gpu].device) : nullptr);
  }
  if (options_.team == nullptr) {
    host_memory_ = allocate_on_host(layout_.area_bytes.back());
    return;
  }
  settle();  // clearing must not come after what others write
  const auto me = static_cast<std::size_t>(options_.team->me());
  peer_memory_ = open_memory_of_all(*options_.team, device_memory_[me], reaches_);
  team_memory_ = TeamHostMemory(*options_.team, layout_.area_bytes.back());
}

CudaMachine::~CudaMachine() {
  if (options_.team == nullptr || peer_memory_.empty()) return;
  for (DeviceMemory& memory : device_memory_) static_cast<void>(memory.release());
}

void CudaMachine::leave() {
  if (options_.team == nullptr) return;
  for (PeerMemory& memory : peer_memory_) memory.reset();
  static_cast<void>(first_problem(""));
  peer_memory_.clear();
}

std::string CudaMachine::first_problem(const std::string& own) const {
  if (options_.team == nullptr) return own;
  constexpr double limit_s = 150;  // longer than any run is waited for
  for (const Note& note : options_.team->exchange(note_of_text(own), limit_s))
    if (std::string problem = NoteReader(note).get_text(); !problem.empty()) return problem;
  return "";
}

bool CudaMachine::is_here(std::size_t gpu) const {
  return options_.team == nullptr || gpu == static_cast<std::size_t>(options_.team->me());
}

template <class T>
T* CudaMachine::at(const Location& location) const {
  std::byte* begin = nullptr;
  if (location.area == layout_.host_area())
    begin = options_.team != nullptr ? team_memory_.get() : host_memory_.get();
  else
    begin = is_here(location.area) ? device_memory_[location.area].get()
                                   : peer_memory_[location.area].get();
  // Of two other GPUs, neither of which this one reaches.
  return begin == nullptr ? nullptr : reinterpret_cast<T*>(begin + location.offset);
}

template <class T>
void CudaMachine::upload(const Location& to, const T* from, std::size_t count) const {
  need(cudaMemcpy(at<T>(to), from, count * sizeof(T), cudaMemcpyDefault), "copying to a GPU");
}

template <class T>
void CudaMachine::download(T* to, const Location& from, std::size_t count) const {
  need(cudaMemcpy(to, at<T>(from), count * sizeof(T), cudaMemcpyDefault), "copying from a GPU");
}

void CudaMachine::upload_wires() const {
  std::vector<Wire> wires;
  for (std::size_t i = 0; i < plan_.wires.size(); ++i) {
    const PlannedWire& planned = plan_.wires[i];
    const MemoryLayout::OfWire& places = layout_.wires[i];
    Wire& wire = wires.emplace_back();
    wire.tail = at<std::uint64_t>(places.tail);
    wire.head = at<std::uint64_t>(places.head);
    wire.data = at<std::byte>(places.data);
    wire.arrivals = at<std::uint64_t>(places.arrivals);
    wire.slot_bytes = planned.slot_bytes;
    wire.slots = planned.slots;
    wire.messages = planned.messages;
  }
  for (std::size_t gpu = 0; gpu < layout_.gpus.size(); ++gpu)
    if (is_here(gpu)) upload(layout_.gpus[gpu].wires, wires.data(), wires.size());
}

void CudaMachine::upload_pacing() const {
  const Pacing& pacing = *options_.pacing;
  upload(layout_.paced_wires, pacing.wires.data(), pacing.wires.size());
  std::vector<PacedLink> route_links;
  for (const EmulatedLink& link : pacing.route_links)
    route_links.push_back({ns(link.startup), ns_per_byte(link.bandwidth), ns(link.latency),
                           link.resource, link.startup_is_delay});
  upload(layout_.route_links, route_links.data(), route_links.size());
  PacedLinks links;
  links.wires = at<PacedWire>(layout_.paced_wires);
  links.route_links = at<PacedLink>(layout_.route_links);
  links.free_at = at<double>(layout_.free_at);
  links.lock = at<std::uint64_t>(layout_.link_lock);
  links.instruction_overhead_ns = ns(pacing.costs.instruction_overhead);
  links.copy_ns_per_byte = ns_per_byte(pacing.costs.copy_bandwidth);
  links.reduce_ns_per_byte = ns_per_byte(pacing.costs.reduce_bandwidth);
  links.second_write_ns_per_byte = ns_per_byte(pacing.costs.second_write_bandwidth);
  upload(layout_.links, &links, 1);
}

void CudaMachine::make_jobs() {
  for (std::uint32_t gpu = 0; gpu < placement_.gpus(); ++gpu) {
    std::vector<LaneStep> steps;
    std::vector<LaneJob>& jobs = jobs_.emplace_back();
    if (!is_here(gpu)) continue;
    for (const std::uint32_t number : placement_.lanes[gpu]) {
      const PlannedLane& lane = plan_.lanes[number];
      const auto first = plan_.steps.begin() + lane.first_step;
      steps.insert(steps.end(), first, first + lane.step_count);
      jobs.push_back(job_of(number));
    }
    upload(layout_.gpus[gpu].steps, steps.data(), steps.size());
  }
}

LaneJob CudaMachine::job_of(std::uint32_t number) const {
  const PlannedLane& lane = plan_.lanes[number];
  const MemoryLayout::OfLane& places = layout_.lanes[number];
  const std::uint32_t gpu = placement_.gpu_of[lane.position];
  LaneJob job;
  job.steps = at<LaneStep>(layout_.gpus[gpu].steps) + places.first_step;
  job.step_count = lane.step_count;
  job.number = number;
  job.lanes = static_cast<std::uint32_t>(placement_.lanes[gpu].size());
  job.memory = at<std::byte>(layout_.ranks[lane.position]);
  job.wires = at<Wire>(layout_.gpus[gpu].wires);
  job.shared = at<RunShared>(layout_.gpus[gpu].shared);
  job.verdict = at<RunShared>(layout_.verdict);
  job.run = at<std::uint64_t>(places.run);
  job.times = at<LaneTimes>(places.times);
  if (options_.record) job.step_times = at<StepTimes>(places.step_times);
  if (options_.pacing) {
    job.paced = at<PacedLinks>(layout_.links);
    job.late_ns = static_cast<std::uint64_t>(ns(options_.pacing->late[lane.position]));
  }
  job.start_lead_ns = start_lead_ns_;
  job.patience_ns = static_cast<std::uint64_t>(options_.patience_s * 1e9);
  return job;
}

void CudaMachine::upload_jobs() const {
  for (std::size_t gpu = 0; gpu < jobs_.size(); ++gpu)
    if (is_here(gpu)) upload(layout_.gpus[gpu].jobs, jobs_[gpu].data(), jobs_[gpu].size());
}

void CudaMachine::set_start_lead(std::uint64_t lead_ns) {
  start_lead_ns_ = lead_ns;
  for (std::vector<LaneJob>& jobs : jobs_)
    for (LaneJob& job : jobs) job.start_lead_ns = lead_ns;
  upload_jobs();
  settle();
}

void CudaMachine::align(std::vector<double> clocks_ahead_ns) {
  options_.clocks_ahead_ns = std::move(clocks_ahead_ns);
  options_.clocks_ahead_ns.resize(placement_.gpus(), 0);
}

// Clearing memory, and copies from memory that is not pinned, may end after the call; the lanes'
// streams wait for neither.
void CudaMachine::settle() const {
  for (std::uint32_t gpu = 0; gpu < placement_.gpus(); ++gpu) {
    if (!is_here(gpu)) continue;
    need(cudaSetDevice(gpus_[gpu].device), "choosing a GPU");
    need(cudaDeviceSynchronize(), "filling a GPU's memory");
  }
}

void CudaMachine::fill(const std::vector<std::vector<std::byte>>& inputs) {
  for (std::size_t position = 0; position < inputs.size(); ++position) {
    const PlannedMemory& planned = plan_.memory[position];
    const Location& place = layout_.ranks[position];
    if (!is_here(place.area)) continue;
    need(cudaSetDevice(gpus_[place.area].device), "choosing a GPU");
    need(cudaMemset(at<std::byte>(place), std::to_integer<int>(poison), planned.bytes),
         "poisoning a GPU's memory");
    const std::vector<std::byte>& input = inputs[position];
    upload({place.area, place.offset + planned.input}, input.data(), input.size());
  }
  settle();
}

std::vector<std::byte> CudaMachine::output(int position) const {
  const auto index = static_cast<std::size_t>(position);
  const PlannedMemory& planned = plan_.memory[index];
  const Location& place = layout_.ranks[index];
  std::vector<std::byte> bytes(planned.output_bytes);
  download(bytes.data(), {place.area, place.offset + planned.output}, bytes.size());
  return bytes;
}

std::vector<std::size_t> CudaMachine::busy_gpus() const {
  std::vector<std::size_t> busy;
  for (std::size_t gpu = 0; gpu < placement_.lanes.size(); ++gpu)
    if (!placement_.lanes[gpu].empty()) busy.push_back(gpu);
  return busy;
}

std::vector<std::size_t> CudaMachine::busy_here() const {
  std::vector<std::size_t> busy = busy_gpus();
  std::erase_if(busy, [this](std::size_t gpu) { return !is_here(gpu); });
  return busy;
}

LaneLaunch CudaMachine::launch_of(std::size_t gpu) const {
  const std::vector<std::size_t> busy = busy_gpus();
  const auto place = std::find(busy.begin(), busy.end(), gpu) - busy.begin();
  LaneLaunch launch;
  launch.jobs = at<LaneJob>(layout_.gpus[gpu].jobs);
  launch.meeting.here = at<std::uint64_t>(layout_.meeting);
  launch.meeting.gpu = static_cast<std::uint32_t>(place);
  launch.meeting.gpus = static_cast<std::uint32_t>(busy.size());
  launch.type = plan_.schedule->collective().type;
  launch.reduction = plan_.schedule->collective().reduction;
  launch.steps_in_shared_memory = placement_.steps_in_shared_memory;
  launch.wires = static_cast<std::uint32_t>(plan_.wires.size());
  return launch;
}

void CudaMachine::queue_run(std::size_t gpu, cudaStream_t stream) const {
  queue(launch_of(gpu), gpu, stream);
}

// The first launch of a kernel may load it and allocate memory, which waits for other GPUs, whose
// lanes may by then be waiting for this one's.
void CudaMachine::rehearse() const {
  for (const std::size_t gpu : busy_here()) {
    LaneLaunch nothing = launch_of(gpu);
    nothing.jobs = nullptr;
    queue(nothing, gpu, stream(gpu));
    need(cudaStreamSynchronize(stream(gpu)), "rehearsing the lanes' start");
  }
}

void CudaMachine::queue(LaneLaunch launch, std::size_t gpu, cudaStream_t stream) const {
  void* arguments[] = {&launch};
  need(cudaSetDevice(gpus_[gpu].device), "choosing a GPU");
  need(cudaLaunchCooperativeKernel(kernel_,
                                   dim3(static_cast<unsigned>(placement_.lanes[gpu].size())),
                                   dim3(static_cast<unsigned>(placement_.threads)), arguments,
                                   shared_bytes(plan_, placement_.steps_in_shared_memory), stream),
       "starting the lanes on GPU " + std::to_string(gpus_[gpu].device));
}

void CudaMachine::run() {
  std::vector<cudaStream_t> started;
  for (const std::size_t gpu : busy_here()) {
    try {
      queue_run(gpu, stream(gpu));
    } catch (const NoMeasurement& why) {
      if (started.empty()) throw;
      give_up(started, why.reason);  // the others wait for this one
    }
    started.push_back(stream(gpu));
  }
  wait(started, 1);
  read_times();
}

// Every instruction may wait as long as the lanes' patience lasts, and then they leave by
// themselves.
double CudaMachine::time_limit_s(int runs) const {
  std::uint32_t most_steps = 0;
  for (const PlannedLane& lane : plan_.lanes) most_steps = std::max(most_steps, lane.step_count);
  constexpr double to_start_s = 2, longest_s = 120;
  return std::min(longest_s, to_start_s + options_.patience_s * (most_steps + 1.0) * runs);
}

bool CudaMachine::all_done(const std::vector<cudaStream_t>& streams) const {
  for (cudaStream_t stream : streams) {
    const cudaError_t state = cudaStreamQuery(stream);
    if (state == cudaErrorNotReady) return false;
    need(state, "running the lanes");
  }
  return true;
}

void CudaMachine::wait(const std::vector<cudaStream_t>& streams, int runs) {
  const auto begin = Clock::now();
  const double limit_s = time_limit_s(runs);
  std::optional<Clock::time_point> gave_up;
  while (!all_done(streams)) {
    constexpr double to_leave_s = 2;
    if (!gave_up && load(verdict().abort) != 0) gave_up = Clock::now();
    if (gave_up && seconds_since(*gave_up) > to_leave_s)
      give_up(streams, trouble_text() + "; the GPUs were told to stop");
    if (seconds_since(begin) > limit_s) {
      char text[120];
      std::snprintf(text, sizeof text,
                    "the GPUs were still busy after %.0f s and were told to stop", limit_s);
      give_up(streams, text);
    }
    // Short runs are polled: who sleeps finds out late.
    constexpr double short_s = 0.01;
    if (seconds_since(begin) > short_s) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  throw_if_stuck();
}

void CudaMachine::give_up(const std::vector<cudaStream_t>& streams, const std::string& reason) {
  std::atomic_ref<std::uint64_t>(verdict().abort).store(1);
  const auto begin = Clock::now();
  constexpr double grace_s = 2;
  while (!all_done(streams)) {
    if (seconds_since(begin) <= grace_s) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    // Freeing what a GPU still uses would wait for it.
    for (DeviceMemory& memory : device_memory_) static_cast<void>(memory.release());
    for (GpuStream& stream : streams_) static_cast<void>(stream.release());
    static_cast<void>(host_memory_.release());
    team_memory_.release();
    throw NoMeasurement{NoMeasurement::Why::stuck, reason + ", which they did not do"};
  }
  throw NoMeasurement{NoMeasurement::Why::stuck, reason};
}

void CudaMachine::throw_if_stuck() const {
  if (load(verdict().abort) == 0) return;
  throw NoMeasurement{NoMeasurement::Why::stuck, trouble_text()};
}

std::string CudaMachine::trouble_text() const {
  const Trouble& trouble = verdict().trouble;
  // GPUs that cannot count in each other's memory may both write this down.
  const bool is_whole =
      load(trouble.claimed) != 0 && trouble.lane < plan_.lanes.size() &&
      (trouble.kind == WaitKind::start ||
       (trouble.step < plan_.lanes[trouble.lane].step_count && trouble.wire < plan_.wires.size()));
  const bool knows_instructions = plan_.instructions.size() == plan_.steps.size();
  return is_whole && knows_instructions ? describe(trouble, plan_, options_.patience_s)
                                        : "a lane timed out without recording why";
}

void CudaMachine::read_times() {
  lane_times_.assign(plan_.lanes.size(), {});
  for (const std::size_t gpu : busy_here()) {
    const std::vector<std::uint32_t>& numbers = placement_.lanes[gpu];
    std::vector<LaneTimes> times(numbers.size());
    download(times.data(), layout_.lanes[numbers.front()].times, times.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) lane_times_[numbers[i]] = times[i];
  }
}

RunTime run_time_of(const std::vector<LaneTimes>& lanes, const Placement& placement,
                    const std::vector<double>& ahead_ns) {
  double first_start = 0, last_start = 0, last_end = 0, emulated_end = 0;
  std::uint64_t origin = 0;  // of all clocks, so that the differences fit a double
  double origin_ahead = 0;
  for (std::size_t gpu = 0; gpu < placement.lanes.size(); ++gpu)
    for (const std::uint32_t number : placement.lanes[gpu]) {
      const LaneTimes& lane = lanes[number];
      if (lane.start == 0) continue;  // of another process
      const bool is_first = origin == 0;
      if (is_first) {
        origin = lane.start;
        origin_ahead = ahead_ns[gpu];
      }
      const auto since_origin = [&](std::uint64_t time) {
        return static_cast<double>(static_cast<std::int64_t>(time - origin)) -
               (ahead_ns[gpu] - origin_ahead);
      };
      const double start = since_origin(lane.start);
      const double end = since_origin(lane.end);
      first_start = is_first ? start : std::min(first_start, start);
      last_start = is_first ? start : std::max(last_start, start);
      last_end = is_first ? end : std::max(last_end, end);
      const double emulated = end - static_cast<double>(lane.lag);
      emulated_end = is_first ? emulated : std::max(emulated_end, emulated);
    }
  return {(last_end - first_start) / 1e9, (last_start - first_start) / 1e9,
          (last_end - emulated_end) / 1e9};
}

std::vector<ClockOffset> CudaMachine::compare_clocks() const {
  std::vector<ClockOffset> clocks(placement_.gpus());
  if (options_.team == nullptr) {
    for (std::uint32_t gpu = 1; gpu < placement_.gpus(); ++gpu)
      clocks[gpu] = clock_offset(gpus_[gpu].device, gpus_.front().device);
    return clocks;
  }
  const auto me = static_cast<std::uint32_t>(options_.team->me());
  for (std::uint32_t gpu = 1; gpu < placement_.gpus(); ++gpu) {
    std::byte* const notes = at<std::byte>(layout_.clock_notes);
    if (me == 0) clear_clock_notes(notes);
    static_cast<void>(first_problem(""));
    if (me == gpu) answer_clock_notes(gpus_[me].device, notes);
    if (me == 0)
      clocks[gpu] =
          send_clock_notes(gpus_[me].device, notes, "GPU of process " + std::to_string(gpu));
    static_cast<void>(first_problem(""));
  }
  NoteWriter writer;
  writer.put_all(clocks);
  constexpr double limit_s = 60;
  return NoteReader(options_.team->exchange(writer.take(), limit_s).front()).get_all<ClockOffset>();
}

// In a team process 0 gets them all.
void CudaMachine::share_step_times(std::vector<StepTimes>& steps,
                                   std::vector<LaneTimes>& lanes) const {
  if (options_.team == nullptr) return;
  const auto steps_of = [&](std::uint32_t number) {
    const PlannedLane& lane = plan_.lanes[number];
    return std::span(steps).subspan(lane.first_step, lane.step_count);
  };
  NoteWriter writer;
  for (const std::uint32_t number :
       placement_.lanes[static_cast<std::size_t>(options_.team->me())]) {
    writer.put(lanes[number]);
    for (const StepTimes& step : steps_of(number)) writer.put(step);
  }
  constexpr double limit_s = 120;
  const std::vector<Note> all = options_.team->exchange(writer.take(), limit_s);
  for (std::size_t gpu = 0; gpu < all.size(); ++gpu) {
    NoteReader reader(all[gpu]);
    for (const std::uint32_t number : placement_.lanes[gpu]) {
      lanes[number] = reader.get<LaneTimes>();
      for (StepTimes& step : steps_of(number)) step = reader.get<StepTimes>();
    }
  }
}

Timeline CudaMachine::timeline() const {
  std::vector<StepTimes> times(plan_.steps.size());
  std::vector<LaneTimes> lanes = lane_times_;
  for (const std::size_t gpu : busy_here())
    for (const std::uint32_t number : placement_.lanes[gpu]) {
      const PlannedLane& lane = plan_.lanes[number];
      download(&times[lane.first_step], layout_.lanes[number].step_times, lane.step_count);
    }
  share_step_times(times, lanes);
  if (plan_.instructions.empty()) return {};  // another process knows what they were
  const auto ahead_of = [this](const PlannedLane& lane) {
    const double ahead = options_.clocks_ahead_ns[placement_.gpu_of[lane.position]];
    return static_cast<std::uint64_t>(std::llround(ahead));
  };
  std::optional<std::uint64_t> first;  // start of all, on the first GPU's clock
  for (std::uint32_t number = 0; number < plan_.lanes.size(); ++number) {
    const std::uint64_t start = lanes[number].start - ahead_of(plan_.lanes[number]);
    first = std::min(first.value_or(start), start);
  }
  std::vector<std::uint64_t> starts;
  for (const PlannedLane& lane : plan_.lanes) starts.push_back(*first + ahead_of(lane));
  return measured_timeline(plan_, times, starts);
}

}  // namespace collsim
