// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/timeline.hpp"
#include "validate/cuda/cuda_check.hpp"
#include "validate/cuda/gpu_clocks.hpp"
#include "validate/cuda/gpus.hpp"
#include "validate/cuda/interpreter.hpp"
#include "validate/cuda/memory_layout.hpp"
#include "validate/cuda/team_memory.hpp"
#include "validate/pacing.hpp"
#include "validate/plan.hpp"

namespace collsim {

struct CudaOptions {
  const Pacing* pacing = nullptr;
  bool record = false;  // the times of every step
  double patience_s = 1;
  std::vector<double> clocks_ahead_ns;  // CudaMachine::align()
  // Null: all GPUs are in this process.  Else each process has the GPU of its number, carries out
  // what concerns that, and calls everything together with the others.
  ProcessTeam* team = nullptr;
};

// What a run took: from the start of the first lane to the end of the last one; how far apart the
// lanes' starts were; and paced, the largest LaneTimes::lag.
struct RunTime {
  double time_s = 0, start_skew_s = 0, lag_s = 0;
};
// `lanes`: of all, by number.  `ahead_ns`: per GPU, as for CudaMachine::align().
[[nodiscard]] RunTime run_time_of(const std::vector<LaneTimes>& lanes, const Placement& placement,
                                  const std::vector<double>& ahead_ns);

// A plan laid out on GPUs, ready to be run as often as wanted.
//
// All that is allocated or loaded is so before the first run: a GPU whose lanes wait for another's
// can wait for nothing else.  The calling thread is the watchdog: when a run takes longer than all
// its waiting together may, it tells the lanes to leave.
//
// Throws NoMeasurement when something of the machine fails.  A GPU that does not even stop when it
// is told to keeps its memory until the process ends.
class CudaMachine {
 public:
  CudaMachine(const Plan& plan, const Placement& placement, const std::vector<Gpu>& gpus,
              const std::vector<std::vector<bool>>& reaches, const CudaOptions& options);
  ~CudaMachine();
  CudaMachine(const CudaMachine&) = delete;
  CudaMachine& operator=(const CudaMachine&) = delete;

  // Inputs by position, of which those in this process are used; poison everywhere else.
  void fill(const std::vector<std::vector<std::byte>>& inputs);
  [[nodiscard]] std::vector<std::byte> output(int position) const;
  [[nodiscard]] bool is_here(std::size_t gpu) const;  // or another process has it

  // One run; throws NoMeasurement{stuck} when it was given up.
  void run();
  // From the next run on; per GPU, how far its clock is ahead of the first one's.
  void align(std::vector<double> clocks_ahead_ns);
  // Of the last run, by number; those of other processes are 0.
  [[nodiscard]] const std::vector<LaneTimes>& lane_times() const { return lane_times_; }
  [[nodiscard]] double own_time_s() const {
    return run_time_of(lane_times_, placement_, options_.clocks_ahead_ns).time_s;
  }
  [[nodiscard]] Timeline timeline() const;

  // In a team, after the last run: nothing of others is open any more.  Without it memory is not
  // freed, because others may still use it.
  void leave();
  // How far each GPU's clock is ahead of the first one's.
  [[nodiscard]] std::vector<ClockOffset> compare_clocks() const;
  // Waits for the others of the team, with "" or a problem: the first problem of any.
  [[nodiscard]] std::string first_problem(const std::string& own) const;

  // So that no lane waits in a run for those woken last, lanes start together, this much after the
  // last one came.  0: they start as they come.
  void set_start_lead(std::uint64_t lead_ns);
  static constexpr std::uint64_t usual_start_lead_ns = 10'000;

  // For timing launches: puts one run of the lanes of one GPU into a queue.
  void queue_run(std::size_t gpu, cudaStream_t stream) const;
  void wait(const std::vector<cudaStream_t>& streams, int runs);  // and throws as run() does
  [[nodiscard]] std::vector<std::size_t> busy_here() const;       // GPUs with lanes
  [[nodiscard]] int device(std::size_t gpu) const { return gpus_[gpu].device; }
  [[nodiscard]] cudaStream_t stream(std::size_t gpu) const { return streams_[gpu].get(); }
  [[nodiscard]] std::uint32_t staged_wires() const { return layout_.staged_wires; }

 private:
  template <class T>
  [[nodiscard]] T* at(const Location& location) const;
  template <class T>
  void upload(const Location& to, const T* from, std::size_t count) const;
  template <class T>
  void download(T* to, const Location& from, std::size_t count) const;
  void allocate();
  void upload_wires() const;
  void upload_pacing() const;
  void make_jobs();
  void upload_jobs() const;
  [[nodiscard]] std::vector<std::size_t> busy_gpus() const;  // in other processes, too
  void settle() const;
  void rehearse() const;
  void queue(LaneLaunch launch, std::size_t gpu, cudaStream_t stream) const;
  [[nodiscard]] LaneJob job_of(std::uint32_t number) const;
  [[nodiscard]] LaneLaunch launch_of(std::size_t gpu) const;
  [[nodiscard]] RunShared& verdict() const { return *at<RunShared>(layout_.verdict); }
  [[nodiscard]] double time_limit_s(int runs) const;
  [[nodiscard]] bool all_done(const std::vector<cudaStream_t>& streams) const;
  [[noreturn]] void give_up(const std::vector<cudaStream_t>& streams, const std::string& reason);
  void throw_if_stuck() const;
  [[nodiscard]] std::string trouble_text() const;
  void read_times();
  void share_step_times(std::vector<StepTimes>& steps, std::vector<LaneTimes>& lanes) const;

  const Plan& plan_;
  const Placement& placement_;
  const std::vector<Gpu>& gpus_;
  CudaOptions options_;
  MemoryLayout layout_;
  const std::vector<std::vector<bool>>& reaches_;
  std::vector<DeviceMemory> device_memory_;  // per GPU; those of other processes are ...
  std::vector<PeerMemory> peer_memory_;      // ... here
  HostMemory host_memory_;                   // or, in a team ...
  TeamHostMemory team_memory_;
  std::vector<GpuStream> streams_;
  const void* kernel_ = nullptr;
  std::uint64_t start_lead_ns_ = usual_start_lead_ns;
  std::vector<std::vector<LaneJob>> jobs_;  // per GPU, as on the GPU
  std::vector<LaneTimes> lane_times_;
};

// The kernel that runs a plan.
[[nodiscard]] const void* kernel_for(const Plan& plan);

}  // namespace collsim
