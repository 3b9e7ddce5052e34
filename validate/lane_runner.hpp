// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/instruction.hpp"
#include "validate/lane_job.hpp"
#include "validate/lane_waits.hpp"
#include "validate/portable.hpp"

namespace collsim {

// Runs one lane's instructions for real.  A lane is a team of threads: one CPU thread, several, or
// a GPU's thread block; every thread of the team executes this code.
//
// Policy is what a thread can do:
//   thread(), threads()      this thread's number in the team, and the team's size
//   barrier()                the team meets; writes before are seen by all after
//   all(bool leader_says)    the team meets, and all get the value of thread 0
//   all_agree(bool)          the team meets; true if all said true
//   load_acquire(p), store_release(p, v), load(p), store(p, v)   8-byte words shared between lanes
//   release(); publish(p, v), publish(q, w)   the same as store_release() of each word, with one
//                            fence for all of them where fences are what takes the time
//   add(p, v)                adds to such a word, acquiring and releasing; returns the old value
//   claim(p)                 changes such a word from 0 to 1; false if it was not 0
//   unclaim(p)               back to 0, releasing
//   load_line(line, w0, w1), store_line(line, w0, w1)   each word whole, in any order
//   now()                    nanoseconds, never backwards
//   pause(p, seen, times)    waiting for the word at p to change from `seen`: spin, yield, sleep
//   pause_for_line(times)    the same for a line or a lock, whose writer does not wake waiters
//   sleep_until(t)           until now() is t
//   begins(step), ended(step)   for whoever watches the lane; the leader calls them
//
// Mover<Policy> moves and combines bytes, each thread its part; of(step) is the mover for a step:
//   move(policy, from, to, also_to, bytes)                to := from (also_to too unless null)
//   combine(policy, message, source, to, also_to, bytes)  to := message (+) source, likewise
//   combine_word(message, source)                         8 bytes, whole elements
//
// Memory order.  A lane's writes to a slot happen before its release of `tail`; the receiver
// acquires `tail` before it reads; it releases `head` after its last read, and the sender acquires
// `head` before it writes the slot again.  Threads of a team are ordered by its barriers in
// between.  With `ll` every word carries its own number, and only `head` orders.
//
// Paced.  A lane has a clock of its own: the moment until which it is busy on the emulated machine.
// It does the real work as soon as the data are there, and sends it at the moment at which that
// machine would have; a message, a signal and a slot that is free again bring the moment along.  So
// a lane that wakes up late is not late on the emulated machine, and catches up.  How late it still
// is at the end, which counts in the time, is written down (LaneTimes::lag).
//
// Pace keeps that clock; a lane's leader calls it.
//   is_on()                  false: nothing below is called
//   starts_run(t)            all lanes have come together, and start at t; the last to come calls
//   begins(step, ready)      after the real work; moves ready to when the step begins
//   ends(step, ready)        then; moves ready to when the step ends
//   works_ahead              lanes sleep only before they send, and at the end
//   writes_moments           its lanes write down when what they send arrives and slots are free:
//   not_before(p, ready)     moves ready to what was written down
//   notes(step, p, q, ready) when ready has come: writes down when what is sent arrives, and that a
//                            slot is free; either may be null
// False: the lane gave up waiting.
//
// Nothing waits forever: see LaneWaits.
template <class Policy, class Mover, class Pace>
class LaneRunner {
 public:
  COLLSIM_LANE_CODE LaneRunner(Policy& policy, const Mover& mover, const LaneJob& job,
                               Protocol protocol, Pace pace)
      : policy_(policy),
        mover_(mover),
        job_(job),
        protocol_(protocol),
        waits_(policy, job),
        pace_(pace) {}

  // One run.  False if it stalled; RunShared::trouble says why.
  COLLSIM_LANE_CODE bool run() {
    run_ = policy_.load(job_.run);
    if (!policy_.all(leads() && come_together())) return false;
    for (std::uint32_t i = 0; i < job_.step_count; ++i) {
      step_ = i;
      if (leads()) policy_.begins(i);
      if (!step(job_.steps[i])) return false;
      if (leads()) policy_.ended(i);
    }
    if (leads()) {
      if (Pace::works_ahead && pace_.is_on()) policy_.sleep_until(ready_);
      job_.times->end = policy_.now();
      if (pace_.is_on()) job_.times->lag = job_.times->end - ready_;
      policy_.store(job_.run, run_ + 1);
    }
    // The next run begins by reading what was just written.
    return policy_.all(!leads() || !lost_its_links());
  }

 private:
  [[nodiscard]] COLLSIM_LANE_CODE bool leads() const { return policy_.thread() == 0; }

  // All lanes start at once: the last to arrive sets the time.
  COLLSIM_LANE_CODE bool come_together() {
    RunShared& shared = *job_.shared;
    if (policy_.add(&shared.arrived, 1) + 1 == (run_ + 1) * job_.lanes) {
      const std::uint64_t start_at = policy_.now() + job_.start_lead_ns;
      policy_.store(&shared.start_at, start_at);
      if (pace_.is_on()) pace_.starts_run(start_at);
      policy_.store_release(&shared.runs_started, run_ + 1);
    } else if (!wait_until(&shared.runs_started, run_ + 1, WaitKind::start, no_wire)) {
      return false;
    }
    const std::uint64_t start =
        job_.start_lead_ns == 0 ? policy_.now() : policy_.load(&shared.start_at);
    policy_.sleep_until(start + job_.late_ns);
    job_.times->start = start;
    ready_ = start + job_.late_ns;
    if (pace_.is_on()) job_.times->left = ready_;
    return true;
  }

  COLLSIM_LANE_CODE bool step(const LaneStep& step) {
    if (leads() && job_.step_times) times().reached = pace_.is_on() ? ready_ : policy_.now();
    if (!policy_.all(!leads() || may_begin(step))) return false;
    if (leads() && !pace_.is_on() && (job_.step_times || step.op == Op::work))
      ready_ = policy_.now();
    if (leads() && job_.step_times) times().began = ready_;
    if (!transfer(step)) return false;
    if (leads()) finish(step);
    return true;
  }

  // The message has arrived and there is room for the next.  With `ll` the data itself shows that
  // it has arrived.
  COLLSIM_LANE_CODE bool may_begin(const LaneStep& step) {
    if (lost_its_links()) return false;
    if (step.from != no_wire) {
      const Wire& wire = job_.wires[step.from];
      const std::uint64_t number = run_ * wire.messages + step.from_message;
      const bool signal = step.op == Op::wait;
      if (signal || counts_messages()) {
        const WaitKind kind = signal ? WaitKind::signal : WaitKind::message;
        if (!wait_until(wire.tail, number + 1, kind, step.from)) return false;
      }
      not_before(wire, moment(wire, number));
    }
    if (step.to != no_wire && step.op != Op::signal) {
      const Wire& wire = job_.wires[step.to];
      const std::uint64_t number = run_ * wire.messages + step.to_message;
      if (number >= wire.slots) {
        if (!wait_until(wire.head, number + 1 - wire.slots, WaitKind::slot, step.to)) return false;
        not_before(wire, slot(wire, number));
      }
    }
    return true;
  }
  COLLSIM_LANE_CODE void not_before(const Wire& wire, std::uint64_t place) {
    if constexpr (Pace::writes_moments)
      if (pace_.is_on()) pace_.not_before(&wire.arrivals[place], ready_);
  }

  // Lines of `ll` show that they have arrived, but not when they are due.
  [[nodiscard]] COLLSIM_LANE_CODE bool counts_messages() const {
    return protocol_ == Protocol::simple || pace_.is_on();
  }

  COLLSIM_LANE_CODE bool transfer(const LaneStep& step) {
    // all() of step() was a barrier
    if (orders_lanes(step.op) || takes_time_only(step.op)) return true;
    if (protocol_ == Protocol::ll && (step.from != no_wire || step.to != no_wire))
      return policy_.all_agree(transfer_lines(step));
    std::byte* const source = job_.memory + step.source;
    std::byte* const destination = stores(step.op) ? job_.memory + step.destination : nullptr;
    std::byte* const out = step.to == no_wire ? nullptr : data_of(step.to, step.to_message);
    const std::byte* const in =
        step.from == no_wire ? nullptr : data_of(step.from, step.from_message);
    std::byte* const first = destination ? destination : out;
    std::byte* const second = destination ? out : nullptr;
    if (step.op == Op::local_reduce)
      mover_.of(step).combine(policy_, destination, source, destination, nullptr, step.bytes);
    else if (reduces(step.op))
      mover_.of(step).combine(policy_, in, source, first, second, step.bytes);
    else
      mover_.move(policy_, in ? in : source, first, second, step.bytes);
    policy_.barrier();
    return true;
  }

  // Leader only: the lane continues, and publishes what it did.  If it times out, its team learns
  // of it at their next barrier.
  COLLSIM_LANE_CODE void finish(const LaneStep& step) {
    const bool paced = pace_.is_on();
    if (paced && !pace_.begins(step_, ready_)) return;
    if (paced && job_.step_times) times().began = ready_;
    if (paced && !pace_.ends(step_, ready_)) return;
    if (!paced && step.op == Op::work) ready_ += step.bytes;
    if (sleeps_after(step)) policy_.sleep_until(ready_);
    if (job_.step_times) times().ended = paced ? ready_ : policy_.now();
    if (paced && !note_moments(step)) return;
    const bool sent = step.to != no_wire && (counts_messages() || step.op == Op::signal);
    const bool emptied = step.from != no_wire && step.op != Op::wait;
    if (sent || emptied) policy_.release();
    if (sent) {
      const Wire& wire = job_.wires[step.to];
      policy_.publish(wire.tail, run_ * wire.messages + step.to_message + 1);
    }
    if (emptied) {
      const Wire& wire = job_.wires[step.from];
      policy_.publish(wire.head, run_ * wire.messages + step.from_message + 1);
    }
  }

  // Others see what a lane sends when its moment has come.  What they do not see need not wait: a
  // lane that works ahead is in time where others work at the same moment on too few cores.
  [[nodiscard]] COLLSIM_LANE_CODE bool sleeps_after(const LaneStep& step) const {
    if (step.op == Op::work) return true;
    return pace_.is_on() && (!Pace::works_ahead || step.to != no_wire);
  }

  COLLSIM_LANE_CODE bool note_moments(const LaneStep& step) {
    if constexpr (Pace::writes_moments) {
      std::uint64_t* sent = nullptr;
      std::uint64_t* freed = nullptr;
      if (step.to != no_wire) {
        const Wire& wire = job_.wires[step.to];
        sent = &wire.arrivals[moment(wire, run_ * wire.messages + step.to_message)];
      }
      if (step.from != no_wire && step.op != Op::wait) {
        const Wire& wire = job_.wires[step.from];
        freed = &wire.arrivals[slot(wire, run_ * wire.messages + step.from_message)];
      }
      return pace_.notes(step_, sent, freed, ready_);
    }
    return true;
  }

  // --- ll ---------------------------------------------------------------------------------------

  COLLSIM_LANE_CODE bool transfer_lines(const LaneStep& step) {
    const std::uint64_t lines =
        step.bytes == 0 ? 1 : (step.bytes + low_latency_data - 1) / low_latency_data;
    auto* in = step.from == no_wire ? nullptr : lines_of(step.from, step.from_message);
    auto* out = step.to == no_wire ? nullptr : lines_of(step.to, step.to_message);
    for (std::uint64_t i = policy_.thread(); i < lines; i += policy_.threads()) {
      const std::uint64_t at = i * low_latency_data;
      const std::uint64_t left = step.bytes - at;
      const std::uint64_t bytes = left < low_latency_data ? left : low_latency_data;
      std::uint64_t value = 0;
      if (in && !receive_line(in + i, step, value)) return false;
      if (reads(step.op)) {
        const std::uint64_t own = read_bytes(job_.memory + step.source + at, bytes);
        value = in ? mover_.of(step).combine_word(value, own) : own;
      }
      if (stores(step.op)) write_bytes(job_.memory + step.destination + at, value, bytes);
      if (out) send_line(out + i, flag_of(step.to, step.to_message), value);
    }
    return true;
  }

  COLLSIM_LANE_CODE bool receive_line(LowLatencyLine* line, const LaneStep& step,
                                      std::uint64_t& value) {
    const std::uint32_t flag = flag_of(step.from, step.from_message);
    std::uint64_t low = 0, high = 0;
    std::uint64_t begin = 0;
    for (std::uint32_t times = 1;; ++times) {
      policy_.load_line(line, low, high);
      if (static_cast<std::uint32_t>(low >> 32U) == flag &&
          static_cast<std::uint32_t>(high >> 32U) == flag)
        break;
      policy_.pause_for_line(times);
      if (!waits_.is_time_to_look(times)) continue;
      if (begin == 0) begin = policy_.now();
      if (waits_.is_hopeless(begin, job_.patience_ns)) {
        waits_.complain(WaitKind::lines, step_, step.from, flag, low >> 32U);
        return false;
      }
    }
    value = (low & 0xFFFF'FFFFU) | high << 32U;
    return true;
  }

  COLLSIM_LANE_CODE void send_line(LowLatencyLine* line, std::uint32_t flag, std::uint64_t value) {
    const std::uint64_t mark = std::uint64_t{flag} << 32U;
    policy_.store_line(line, mark | (value & 0xFFFF'FFFFU), mark | value >> 32U);
  }

  // Memory is bytes: elements need not be aligned, though whole words mostly are.
  COLLSIM_LANE_CODE static bool is_whole_word(const std::byte* at, std::uint64_t count) {
    return count == sizeof(std::uint64_t) &&
           reinterpret_cast<std::uintptr_t>(at) % sizeof(std::uint64_t) == 0;
  }
  COLLSIM_LANE_CODE static std::uint64_t read_bytes(const std::byte* from, std::uint64_t count) {
    std::uint64_t value = 0;
    if (is_whole_word(from, count)) {
      __builtin_memcpy(&value, __builtin_assume_aligned(from, sizeof value), sizeof value);
      return value;
    }
    for (std::uint64_t i = 0; i < count; ++i)
      value |= static_cast<std::uint64_t>(from[i]) << (8 * i);
    return value;
  }
  COLLSIM_LANE_CODE static void write_bytes(std::byte* to, std::uint64_t value,
                                            std::uint64_t count) {
    if (is_whole_word(to, count)) {
      __builtin_memcpy(__builtin_assume_aligned(to, sizeof value), &value, sizeof value);
      return;
    }
    for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
  }

  // --- waiting ----------------------------------------------------------------------------------

  COLLSIM_LANE_CODE bool wait_until(const std::uint64_t* word, std::uint64_t least, WaitKind kind,
                                    std::uint32_t wire) {
    return waits_.until(word, least, kind, step_, wire);
  }
  // Whether a message of this lane got no links, which aborted the run.  Read where the team meets
  // anyway: remembering it would cost a register in every GPU thread.
  [[nodiscard]] COLLSIM_LANE_CODE bool lost_its_links() const {
    return pace_.is_on() && waits_.gave_up();
  }

  // --- places -----------------------------------------------------------------------------------

  [[nodiscard]] COLLSIM_LANE_CODE static std::uint64_t slot(const Wire& wire,
                                                            std::uint64_t number) {
    return number % wire.slots;
  }
  // Where the time of a message or signal is written down.
  [[nodiscard]] COLLSIM_LANE_CODE static std::uint64_t moment(const Wire& wire,
                                                              std::uint64_t number) {
    return number % (wire.slots > 0 ? wire.slots : wire.messages);
  }
  [[nodiscard]] COLLSIM_LANE_CODE std::byte* data_of(std::uint32_t wire,
                                                     std::uint32_t message) const {
    const Wire& w = job_.wires[wire];
    return w.data + slot(w, run_ * w.messages + message) * w.slot_bytes;
  }
  [[nodiscard]] COLLSIM_LANE_CODE LowLatencyLine* lines_of(std::uint32_t wire,
                                                           std::uint32_t message) const {
    return reinterpret_cast<LowLatencyLine*>(data_of(wire, message));
  }
  // Never 0, the content of fresh memory, nor the number of an earlier message in the same slot.
  [[nodiscard]] COLLSIM_LANE_CODE std::uint32_t flag_of(std::uint32_t wire,
                                                        std::uint32_t message) const {
    constexpr std::uint32_t not_zero = 0x8000'0000U;
    return static_cast<std::uint32_t>(run_ * job_.wires[wire].messages + message) | not_zero;
  }
  [[nodiscard]] COLLSIM_LANE_CODE StepTimes& times() const { return job_.step_times[step_]; }

  Policy& policy_;
  const Mover& mover_;
  const LaneJob& job_;
  const Protocol protocol_;
  LaneWaits<Policy> waits_;
  Pace pace_;
  std::uint64_t run_ = 0;  // runs before this one
  // Paced: the emulated clock.  Else when the step could begin, where that is asked for.
  std::uint64_t ready_ = 0;
  std::uint32_t step_ = 0;
};

}  // namespace collsim
