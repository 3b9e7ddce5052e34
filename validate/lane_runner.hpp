// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/instruction.hpp"
#include "validate/lane_job.hpp"
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
// It does the real work as soon as the data are there, and publishes it at the moment at which that
// machine would have; a message, a signal and a slot that is free again bring the moment along.  So
// a lane that wakes up late is not late on the emulated machine, and catches up.  How late it still
// is at the end, which counts in the time, is written down (LaneTimes::lag).
//
// Nothing waits forever: see wait_until().
template <class Policy, class Mover>
class LaneRunner {
 public:
  COLLSIM_LANE_CODE LaneRunner(Policy& policy, const Mover& mover, const LaneJob& job,
                               Protocol protocol)
      : policy_(policy), mover_(mover), job_(job), protocol_(protocol) {}

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
      job_.times->end = policy_.now();
      if (job_.paced) job_.times->lag = job_.times->end - ready_;
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
      policy_.store(&shared.start_at, policy_.now() + job_.start_lead_ns);
      policy_.store_release(&shared.runs_started, run_ + 1);
    } else if (!wait_until(&shared.runs_started, run_ + 1, WaitKind::start, no_wire)) {
      return false;
    }
    const std::uint64_t start =
        job_.start_lead_ns == 0 ? policy_.now() : policy_.load(&shared.start_at);
    policy_.sleep_until(start + job_.late_ns);
    job_.times->start = start;
    ready_ = start + job_.late_ns;
    if (job_.paced) job_.times->left = ready_;
    return true;
  }

  COLLSIM_LANE_CODE bool step(const LaneStep& step) {
    if (leads() && job_.step_times) times().reached = job_.paced ? ready_ : policy_.now();
    if (!policy_.all(!leads() || may_begin(step))) return false;
    if (leads() && !job_.paced && (job_.step_times || step.op == Op::work)) ready_ = policy_.now();
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
      if (job_.paced) not_before(policy_.load(&wire.arrivals[moment(wire, number)]));
    }
    if (step.to != no_wire && step.op != Op::signal) {
      const Wire& wire = job_.wires[step.to];
      const std::uint64_t number = run_ * wire.messages + step.to_message;
      if (number >= wire.slots) {
        if (!wait_until(wire.head, number + 1 - wire.slots, WaitKind::slot, step.to)) return false;
        if (job_.paced) not_before(policy_.load(&wire.arrivals[slot(wire, number)]));
      }
    }
    if (step.op == Op::drain && job_.paced) not_before(job_.times->left);
    return true;
  }

  // Lines of `ll` show that they have arrived, but not when they are due.
  [[nodiscard]] COLLSIM_LANE_CODE bool counts_messages() const {
    return protocol_ == Protocol::simple || job_.paced;
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
    if (job_.paced) ready_ += emulated_cost(step);
    if (step.op == Op::work) ready_ += step.bytes;
    if (job_.paced || step.op == Op::work) policy_.sleep_until(ready_);
    if (job_.step_times) times().ended = job_.paced ? ready_ : policy_.now();
    if (job_.paced && !note_moments(step)) return;
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
      if (!is_time_to_look(times)) continue;
      if (begin == 0) begin = policy_.now();
      if (is_hopeless(begin, job_.patience_ns)) {
        complain(WaitKind::lines, step.from, flag, low >> 32U);
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

  // --- paced ------------------------------------------------------------------------------------

  COLLSIM_LANE_CODE void not_before(std::uint64_t time) {
    if (time > ready_) ready_ = time;
  }

  [[nodiscard]] COLLSIM_LANE_CODE std::uint64_t emulated_cost(const LaneStep& step) const {
    if (takes_time_only(step.op)) return 0;
    const PacedLinks& paced = *job_.paced;
    double per_byte = reduces(step.op) ? paced.reduce_ns_per_byte : paced.copy_ns_per_byte;
    if (stores(step.op) && sends(step.op)) per_byte += paced.second_write_ns_per_byte;
    const double bytes = orders_lanes(step.op) ? 0 : static_cast<double>(step.bytes);
    return static_cast<std::uint64_t>(paced.instruction_overhead_ns + per_byte * bytes);
  }

  // When what is sent arrives, and when the slot is free again, for whoever fills it next.
  COLLSIM_LANE_CODE bool note_moments(const LaneStep& step) {
    if (step.to != no_wire) {
      const Wire& wire = job_.wires[step.to];
      const std::uint64_t number = run_ * wire.messages + step.to_message;
      if (step.op == Op::signal)
        policy_.store(&wire.arrivals[moment(wire, number)], ready_);
      else if (!post(step, wire, number, ready_))
        return false;
    }
    if (step.from != no_wire && step.op != Op::wait) {
      const Wire& wire = job_.wires[step.from];
      const std::uint64_t number = run_ * wire.messages + step.from_message;
      policy_.store(&wire.arrivals[slot(wire, number)], ready_);
    }
    return true;
  }

  // Takes the links of the route for this message, each as soon as its head gets there.
  COLLSIM_LANE_CODE bool post(const LaneStep& step, const Wire& wire, std::uint64_t number,
                              std::uint64_t now) {
    const PacedLinks& paced = *job_.paced;
    const PacedWire& route = paced.wires[step.to];
    const auto bytes = static_cast<double>(step.bytes);
    double head = static_cast<double>(now);
    double departs = head, leaves = head, arrives = head;
    if (!lock_links(step.to)) return false;
    for (std::uint32_t i = 0; i < route.link_count; ++i) {
      const PacedLink& link = paced.route_links[route.first_link + i];
      double& free_at = paced.free_at[link.resource];
      const double ready = link.startup_is_delay ? head + link.startup_ns : head;
      const double begins = free_at > ready ? free_at : ready;
      free_at = begins + (link.startup_is_delay ? 0 : link.startup_ns) + link.ns_per_byte * bytes;
      if (i == 0) departs = begins;
      if (i == 0) leaves = free_at;
      arrives = (free_at > arrives ? free_at : arrives) + link.latency_ns;
      head = begins + link.latency_ns;
    }
    policy_.unclaim(paced.lock);
    policy_.store(&wire.arrivals[slot(wire, number)], static_cast<std::uint64_t>(arrives));
    const auto left = static_cast<std::uint64_t>(leaves);
    if (left > job_.times->left) job_.times->left = left;
    if (!job_.step_times) return true;
    times().departed = static_cast<std::uint64_t>(departs);
    times().left = static_cast<std::uint64_t>(leaves);
    times().arrives = static_cast<std::uint64_t>(arrives);
    return true;
  }

  // Whether a message of this lane got no links, which aborted the run.  Read where the team meets
  // anyway: remembering it would cost a register in every GPU thread.
  [[nodiscard]] COLLSIM_LANE_CODE bool lost_its_links() const {
    return job_.paced && policy_.load(&verdict().abort) != 0;
  }

  // The holder of the lock may have been descheduled.
  COLLSIM_LANE_CODE bool lock_links(std::uint32_t wire) {
    const std::uint64_t begin = policy_.now();
    for (std::uint32_t times = 1; !policy_.claim(job_.paced->lock); ++times) {
      policy_.pause_for_line(times);
      if (!is_time_to_look(times) || !is_hopeless(begin, job_.patience_ns)) continue;
      complain(WaitKind::links, wire, 0, 0);
      return false;
    }
    return true;
  }

  // --- waiting ----------------------------------------------------------------------------------

  // Until the word is at least `least`. Stops if another lane has stalled, or when this lane times
  // out, and then records what it waited for.
  COLLSIM_LANE_CODE bool wait_until(const std::uint64_t* word, std::uint64_t least, WaitKind kind,
                                    std::uint32_t wire) {
    std::uint64_t seen = policy_.load_acquire(word);
    if (seen >= least) return true;
    const std::uint64_t begin = policy_.now();
    // Whoever is to give a signal may itself wait for a message, and then tells more.
    const std::uint64_t patience = job_.patience_ns * (kind == WaitKind::signal ? 2 : 1);
    for (std::uint32_t times = 1;; ++times) {
      policy_.pause(word, seen, times);
      seen = policy_.load_acquire(word);
      if (seen >= least) return true;
      if (is_time_to_look(times) && is_hopeless(begin, patience)) {
        complain(kind, wire, least, seen);
        return false;
      }
    }
  }

  // Reading the clock and the abort word may be slow: not at every turn.
  [[nodiscard]] COLLSIM_LANE_CODE bool is_time_to_look(std::uint32_t times) const {
    return times % Policy::turns_between_looks == 0;
  }
  [[nodiscard]] COLLSIM_LANE_CODE bool is_hopeless(std::uint64_t begin, std::uint64_t patience) {
    return policy_.load(&verdict().abort) != 0 || policy_.now() - begin > patience;
  }
  [[nodiscard]] COLLSIM_LANE_CODE RunShared& verdict() const {
    return job_.verdict ? *job_.verdict : *job_.shared;
  }

  COLLSIM_LANE_CODE void complain(WaitKind kind, std::uint32_t wire, std::uint64_t wanted,
                                  std::uint64_t seen) {
    RunShared& shared = verdict();
    if (policy_.load(&shared.abort) == 0 && policy_.claim(&shared.trouble.claimed)) {
      shared.trouble.kind = kind;
      shared.trouble.lane = job_.number;
      shared.trouble.step = step_;
      shared.trouble.wire = wire;
      shared.trouble.wanted = wanted;
      shared.trouble.seen = seen;
    }
    policy_.store_release(&shared.abort, 1);
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
  std::uint64_t run_ = 0;  // runs before this one
  // Paced: the emulated clock.  Else when the step could begin, where that is asked for.
  std::uint64_t ready_ = 0;
  std::uint32_t step_ = 0;
};

}  // namespace collsim
