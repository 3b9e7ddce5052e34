// SPDX-License-Identifier: Apache-2.0
#include "tests/validate/cuda/fake_kernels.hpp"

#include <thread>
#include <utility>
#include <vector>

#include "tests/validate/cuda/fake_gpus.hpp"
#include "validate/cuda/gpu_clocks.hpp"
#include "validate/cuda/gpu_meeting.hpp"
#include "validate/cuda/interpreter.hpp"
#include "validate/cuda/step_kernel.hpp"
#include "validate/host/host_mover.hpp"
#include "validate/host/host_policy.hpp"
#include "validate/lane_runner.hpp"
#include "validate/sender_pace.hpp"

namespace collsim {
namespace {

// A CPU thread on a GPU's clock.
class FakePolicy : public HostPolicy {
 public:
  FakePolicy(LaneTeam& team, std::uint64_t ahead_ns)
      : HostPolicy(team, 0, Waiting::sleep), ahead_(ahead_ns) {}

  [[nodiscard]] std::uint64_t now() const { return HostPolicy::now() + ahead_; }
  void sleep_until(std::uint64_t time) const { HostPolicy::sleep_until(time - ahead_); }

  // Whom it waits for may be in another process, which cannot wake it, and may need its core.
  void pause(const std::uint64_t*, std::uint64_t, std::uint32_t times) const { nap(times); }
  void pause_for_line(std::uint32_t times) const { nap(times); }
  static void nap(std::uint32_t times) {
    std::this_thread::sleep_for(std::chrono::microseconds(times < 100 ? 20 : 200));
  }

 private:
  std::uint64_t ahead_;
};

// A kernel's launch says what it combines, and how.
class FakeMover : public HostMover {
 public:
  FakeMover(ElementType type, Reduction reduction, bool is_idle)
      : HostMover(type, reduction), is_idle_(is_idle) {}
  [[nodiscard]] const FakeMover& of(const LaneStep& /*step*/) const { return *this; }

  template <class... Parts>
  void move(const Parts&... parts) const {
    if (!is_idle_) HostMover::move(parts...);
  }
  template <class... Parts>
  void combine(const Parts&... parts) const {
    if (!is_idle_) HostMover::combine(parts...);
  }

 private:
  bool is_idle_;  // says that data came, and leaves what was there
};

// Where GPUs meet they do nothing but look.
class MeetingPolicy : public FakePolicy {
 public:
  using FakePolicy::FakePolicy;
  [[nodiscard]] std::uint64_t load_acquire(const std::uint64_t* word) const {
    nap(0);
    return FakePolicy::load_acquire(word);
  }
};

void run_lane(const LaneLaunch& launch, Protocol protocol, std::uint64_t ahead_ns, bool is_idle,
              std::size_t block) {
  const LaneJob& job = launch.jobs[block];
  LaneTeam team(1);
  FakePolicy policy(team, ahead_ns);
  while (testing::fake_gpus_are_deaf) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  MeetingPolicy meeting(team, ahead_ns);
  if (block == 0 && launch.meeting.gpus > 1 && !gpus_meet(launch.meeting, job, meeting)) return;
  const FakeMover mover(launch.type, launch.reduction, is_idle);
  using Pace = SenderPace<FakePolicy>;
  LaneRunner<FakePolicy, FakeMover, Pace>(policy, mover, job, protocol, Pace(policy, job)).run();
}

void bounce(PingPong* shared, PingTimes* times, std::uint64_t ahead_ns, bool begins) {
  LaneTeam team(1);
  FakePolicy policy(team, ahead_ns);
  for (std::uint64_t i = 0; i < ping_rounds; ++i) {
    if (testing::fake_gpus.clocks_are_silent) {
      times[i] = {};
      continue;
    }
    if (begins) {
      times[i].sent = policy.now();
      policy.store_release(&shared->ping, i + 1);
    }
    while (policy.load_acquire(begins ? &shared->pong : &shared->ping) < i + 1) FakePolicy::nap(0);
    (begins ? times[i].back : times[i].answered) = policy.now();
    if (!begins) policy.store_release(&shared->pong, i + 1);
  }
}

template <class T>
T argument(void** arguments, int number) {
  return *static_cast<T*>(arguments[number]);
}

}  // namespace

namespace testing {
namespace {

std::string problem_of_wire(const Wire& wire, int device) {
  for (const void* place :
       {static_cast<const void*>(wire.tail), static_cast<const void*>(wire.head),
        wire.slots > 0 ? static_cast<const void*>(wire.data) : wire.tail,
        wire.slots > 0 ? static_cast<const void*>(wire.arrivals) : wire.tail})
    if (!reaches(device, place)) return "a wire that the GPU does not reach";
  return "";
}

std::string problem_of_job(const LaneJob& job, const LaneLaunch& launch,
                           const LanesOfLaunch& lanes) {
  for (const void* place :
       {static_cast<const void*>(job.steps), static_cast<const void*>(job.wires),
        static_cast<const void*>(job.shared), static_cast<const void*>(job.verdict),
        static_cast<const void*>(job.run), static_cast<const void*>(job.times)})
    if (!reaches(lanes.device, place)) return "a job that the GPU does not reach";
  if (job.memory == nullptr || job.lanes != static_cast<std::uint32_t>(lanes.blocks))
    return "a job of another launch";
  std::size_t shared = sizeof(LaneJob);
  if (launch.steps_in_shared_memory)
    shared += launch.wires * sizeof(Wire) + job.step_count * sizeof(LaneStep);
  if (shared > lanes.shared_bytes) return "too little shared memory";
  for (std::uint32_t i = 0; i < job.step_count; ++i)
    for (const std::uint32_t wire : {job.steps[i].from, job.steps[i].to}) {
      if (wire == no_wire) continue;
      std::string problem = problem_of_wire(job.wires[wire], lanes.device);
      if (!problem.empty()) return problem;
    }
  return "";
}

}  // namespace

std::string problem_of(const LanesOfLaunch& lanes, void** arguments) {
  const auto launch = argument<LaneLaunch>(arguments, 0);
  if (launch.jobs == nullptr) return "";
  if (lanes.threads % 32 != 0 || lanes.threads > max_threads_per_block)
    return "blocks of a size that the kernel cannot have";
  for (int block = 0; block < lanes.blocks; ++block) {
    std::string problem = problem_of_job(launch.jobs[block], launch, lanes);
    if (!problem.empty()) return problem;
  }
  return "";
}

namespace {
std::uint64_t ahead_of(int device) {
  return fake_gpus.clock_ahead_ns * static_cast<std::uint64_t>(device);
}
}  // namespace

std::function<void()> lane_work(const LanesOfLaunch& lanes, void** arguments) {
  const auto launch = argument<LaneLaunch>(arguments, 0);
  const std::uint64_t ahead_ns = ahead_of(lanes.device);
  if (launch.jobs == nullptr) return {};
  const bool is_idle = fake_gpus.idle_after >= 0 && fake_log.launches >= fake_gpus.idle_after;
  return [=] {
    const Protocol protocol =
        kind_of(lanes.kernel) == KernelKind::low_latency ? Protocol::ll : Protocol::simple;
    std::vector<std::thread> blocks;
    for (int block = 0; block < lanes.blocks; ++block)
      blocks.emplace_back(run_lane, launch, protocol, ahead_ns, is_idle,
                          static_cast<std::size_t>(block));
    for (std::thread& block : blocks) block.join();
  };
}

std::string problem_of_step(int device, int blocks, int threads, void** arguments) {
  const auto launch = argument<StepLaunch>(arguments, 0);
  if (threads != threads_of_step || blocks < 1 || launch.bytes == 0)
    return "a launch that a step cannot have";
  const std::byte* const source = launch.source != nullptr ? launch.source : launch.message;
  const std::byte* const also_to = launch.also_to != nullptr ? launch.also_to : launch.to;
  for (const void* place :
       {static_cast<const void*>(launch.message), static_cast<const void*>(source),
        static_cast<const void*>(launch.to), static_cast<const void*>(also_to)})
    if (!reaches(device, place)) return "a step on memory that the GPU does not reach";
  return "";
}

std::function<void()> step_work(void** arguments) {
  const auto launch = argument<StepLaunch>(arguments, 0);
  return [launch] {
    LaneTeam team(1);
    const FakePolicy policy(team, 0);
    const HostMover mover(launch.type, launch.reduction);
    if (launch.source == nullptr)
      mover.move(policy, launch.message, launch.to, launch.also_to, launch.bytes);
    else
      mover.combine(policy, launch.message, launch.source, launch.to, launch.also_to, launch.bytes);
    if (fake_gpus.adds_wrong && launch.source != nullptr) *launch.to ^= std::byte{1};
  };
}

std::function<void()> clock_work(const void* kernel, int device, void** arguments) {
  if (kind_of(kernel) == KernelKind::clock) {
    auto* tick = argument<std::uint64_t*>(arguments, 0);
    return [tick] { *tick = 32; };
  }
  auto* shared = argument<PingPong*>(arguments, 0);
  auto* times = argument<PingTimes*>(arguments, 1);
  const std::uint64_t ahead_ns = ahead_of(device);
  const bool begins = kind_of(kernel) == KernelKind::ping;
  return [=] { bounce(shared, times, ahead_ns, begins); };
}

}  // namespace testing
}  // namespace collsim
