// SPDX-License-Identifier: Apache-2.0
#include "validate/host/host_machine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "collectives/execute.hpp"

namespace collsim {
namespace {

constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20U;
constexpr std::uint64_t counter_bytes = 128;  // a line of its own
constexpr std::uint64_t no_time = 0;

}  // namespace

void HostMachine::Free::operator()(std::byte* memory) const {
  ::operator delete[](memory, std::align_val_t(alignment));
}

// Large blocks get huge pages where the kernel gives them: which small pages make up a block, and
// so how they share the sets of a cache, would differ from run to run, and the times with it.
HostMachine::Block HostMachine::allocate(std::uint64_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  const std::size_t alignment = size >= huge_page ? huge_page : page;
  Block block(static_cast<std::byte*>(::operator new[](size, std::align_val_t(alignment))),
              Free{alignment});
  if (alignment == huge_page) ::madvise(block.get(), size, MADV_HUGEPAGE);
  std::memset(block.get(), 0, size);  // touches every page, so that no run has to
  return block;
}

HostMachine::HostMachine(const Plan& plan, const HostOptions& options)
    : plan_(plan), options_(options), shared_(std::make_unique<RunShared>()) {
  lay_out();
  if (options_.pacing)
    links_ = std::make_unique<EmulatedLinks>(plan_, *options_.pacing, step_times_);
  make_jobs();
}

void HostMachine::lay_out() {
  for (const PlannedMemory& rank : plan_.memory) memory_.push_back(allocate(rank.bytes));
  // Counters: tail and head of every wire, then one per lane.
  const std::uint64_t counters = 2 * plan_.wires.size() + plan_.lanes.size();
  blocks_.push_back(allocate(counters * counter_bytes));
  std::byte* counter = blocks_.back().get();
  const auto next_counter = [&counter] {
    auto* word = reinterpret_cast<std::uint64_t*>(counter);
    counter += counter_bytes;
    return word;
  };
  for (const PlannedWire& planned : plan_.wires) {
    Wire wire;
    wire.tail = next_counter();
    wire.head = next_counter();
    wire.slots = planned.slots;
    wire.slot_bytes = planned.slot_bytes;
    wire.messages = planned.messages;
    if (planned.slots > 0) {
      blocks_.push_back(allocate(planned.slots * planned.slot_bytes));
      wire.data = blocks_.back().get();
    }
    wires_.push_back(wire);
  }
  for (std::size_t lane = 0; lane < plan_.lanes.size(); ++lane)
    runs_done_.push_back(next_counter());
  if (options_.record) step_times_.resize(plan_.steps.size());
}

void HostMachine::make_jobs() {
  logs_.resize(plan_.lanes.size());
  for (std::size_t number = 0; number < plan_.lanes.size(); ++number) {
    const PlannedLane& lane = plan_.lanes[number];
    LaneJob job;
    job.steps = plan_.steps.data() + lane.first_step;
    job.step_count = lane.step_count;
    job.number = static_cast<std::uint32_t>(number);
    job.lanes = static_cast<std::uint32_t>(plan_.lanes.size());
    job.memory = memory_[lane.position].get();
    job.wires = wires_.data();
    job.shared = shared_.get();
    job.run = runs_done_[number];
    job.times = &logs_[number].last;
    job.step_times = options_.record ? step_times_.data() + lane.first_step : nullptr;
    job.patience_ns = static_cast<std::uint64_t>(options_.patience_s * 1e9);
    if (options_.pacing) {
      constexpr std::uint64_t time_to_wake_up = 500'000;
      job.late_ns = static_cast<std::uint64_t>(options_.pacing->late[lane.position].ps()) / 1000;
      job.start_lead_ns = time_to_wake_up;
    }
    jobs_.push_back(job);
    teams_.push_back(std::make_unique<LaneTeam>(options_.threads_per_lane));
  }
}

void HostMachine::fill(std::span<const std::vector<std::byte>> inputs) {
  for (std::size_t position = 0; position < memory_.size(); ++position) {
    const PlannedMemory& rank = plan_.memory[position];
    std::fill_n(memory_[position].get(), rank.bytes, poison);
    if (position < inputs.size() && !inputs[position].empty())
      std::memcpy(memory_[position].get() + rank.input, inputs[position].data(),
                  inputs[position].size());
  }
}

void HostMachine::watch(std::span<LaneWatch* const> watches) {
  for (std::size_t lane = 0; lane < teams_.size(); ++lane)
    teams_[lane]->watch = watches.empty() ? nullptr : watches[lane];
}

void HostMachine::collect_time(std::size_t run) {
  std::uint64_t start = ~no_time, end = no_time, emulated_end = no_time;
  for (const LaneLog& log : logs_) {
    start = std::min(start, log.runs[run].start);
    end = std::max(end, log.runs[run].end);
    emulated_end = std::max(emulated_end, log.runs[run].end - log.runs[run].lag);
  }
  lags_s_.push_back(static_cast<double>(end - emulated_end) * 1e-9);
  times_s_.push_back(logs_.empty() ? 0 : static_cast<double>(end - start) * 1e-9);
}

std::vector<std::byte> HostMachine::output(int position) const {
  const auto at = static_cast<std::size_t>(position);
  const std::byte* begin = memory_[at].get() + plan_.memory[at].output;
  return {begin, begin + plan_.memory[at].output_bytes};
}

std::string HostMachine::trouble() const {
  return describe(shared_->trouble, plan_, options_.patience_s);
}

Timeline HostMachine::timeline() const {
  std::vector<std::uint64_t> starts;
  for (const LaneLog& log : logs_) starts.push_back(log.last.start);
  return measured_timeline(plan_, step_times_, starts);
}

}  // namespace collsim
