// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>

#include "validate/host/threads.hpp"
#include "validate/lane_job.hpp"

namespace collsim {

// Hears of every step of a lane: before it begins, and when the lane has published it.
class LaneWatch {
 public:
  LaneWatch() = default;
  LaneWatch(const LaneWatch&) = delete;
  LaneWatch& operator=(const LaneWatch&) = delete;
  virtual ~LaneWatch() = default;
  virtual void begins(std::uint32_t step) = 0;
  virtual void ended(std::uint32_t step) = 0;
};

// What the threads of one lane share.
struct LaneTeam {
  explicit LaneTeam(int size) : threads(size), meeting(size) {}
  const int threads;
  std::barrier<> meeting;
  std::atomic<bool> leader_says{false};
  std::atomic<int> disagree{0};
  LaneWatch* watch = nullptr;
};

// How a thread waits for another.
//   spin      keeps its core, but yields every turn after a while, in case the system has put two
//             lanes on one core: for lanes that have a core each
//   sleep     spins briefly, then sleeps until it is woken: for more lanes than cores, and for
//             paced runs, in which nearly all time is waiting
enum class Waiting : std::uint8_t { spin, sleep };

// The policy of LaneRunner for a CPU thread: std::atomic_ref on the shared words.
class HostPolicy {
 public:
  HostPolicy(LaneTeam& team, int thread, Waiting waiting)
      : team_(team), thread_(thread), waiting_(waiting) {}

  static constexpr std::uint32_t turns_between_looks = 8;  // of 2 ms each, when it sleeps

  [[nodiscard]] std::uint64_t thread() const { return static_cast<std::uint64_t>(thread_); }
  [[nodiscard]] std::uint64_t threads() const { return static_cast<std::uint64_t>(team_.threads); }

  void barrier() {
    if (team_.threads > 1) team_.meeting.arrive_and_wait();
  }
  bool all(bool leader_says) {
    if (team_.threads == 1) return leader_says;
    if (thread_ == 0) team_.leader_says.store(leader_says, std::memory_order_relaxed);
    team_.meeting.arrive_and_wait();
    const bool said = team_.leader_says.load(std::memory_order_relaxed);
    team_.meeting.arrive_and_wait();  // before the leader's next word
    return said;
  }
  bool all_agree(bool agree) {
    if (team_.threads == 1) return agree;
    if (!agree) team_.disagree.fetch_add(1, std::memory_order_relaxed);
    team_.meeting.arrive_and_wait();
    const bool agreed = team_.disagree.load(std::memory_order_relaxed) == 0;
    team_.meeting.arrive_and_wait();
    return agreed;
  }

  [[nodiscard]] std::uint64_t load_acquire(const std::uint64_t* word) const {
    return ref(word).load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t load(const std::uint64_t* word) const {
    return ref(word).load(std::memory_order_relaxed);
  }
  void store(std::uint64_t* word, std::uint64_t value) {
    ref(word).store(value, std::memory_order_relaxed);
  }
  void store_release(std::uint64_t* word, std::uint64_t value) {
    ref(word).store(value, std::memory_order_release);
    wake(word);
  }
  void release() const {}
  void publish(std::uint64_t* word, std::uint64_t value) { store_release(word, value); }
  std::uint64_t add(std::uint64_t* word, std::uint64_t value) {
    return ref(word).fetch_add(value, std::memory_order_acq_rel);
  }
  bool claim(std::uint64_t* word) {
    std::uint64_t free = 0;
    return ref(word).compare_exchange_strong(free, 1, std::memory_order_acquire);
  }
  void unclaim(std::uint64_t* word) { ref(word).store(0, std::memory_order_release); }

  // Each word carries its own number, so the two may come in any order.
  void load_line(const LowLatencyLine* line, std::uint64_t& first, std::uint64_t& second) const {
    first = load(&line->words[0]);
    second = load(&line->words[1]);
  }
  void store_line(LowLatencyLine* line, std::uint64_t first, std::uint64_t second) {
    store(&line->words[0], first);
    store(&line->words[1], second);
  }

  [[nodiscard]] static std::uint64_t now() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
  }

  void pause(const std::uint64_t* word, std::uint64_t seen, std::uint32_t times) {
    if (times < (waiting_ == Waiting::spin ? long_while : short_while))
      spin_a_little();
    else if (waiting_ == Waiting::spin)
      std::this_thread::yield();
    else
      wait_on_word(word, seen);
  }

  void pause_for_line(std::uint32_t times) const {
    if (times < (waiting_ == Waiting::spin ? long_while : short_while))
      spin_a_little();
    else
      std::this_thread::yield();
  }

  void begins(std::uint32_t step) const {
    if (team_.watch != nullptr) team_.watch->begins(step);
  }
  void ended(std::uint32_t step) const {
    if (team_.watch != nullptr) team_.watch->ended(step);
  }

  // A sleeper wakes up late, so spin for the last stretch.
  void sleep_until(std::uint64_t time) const {
    for (std::uint64_t t = now(); t < time; t = now()) {
      if (waiting_ == Waiting::sleep && time - t > wake_up_ns)
        std::this_thread::sleep_for(std::chrono::nanoseconds(time - t - wake_up_ns));
      else
        spin_a_little();
    }
  }

 private:
  static constexpr std::uint64_t wake_up_ns = 60'000;
  static constexpr std::uint32_t short_while = 64;    // turns: some microseconds
  static constexpr std::uint32_t long_while = 1'000;  // some tens of microseconds

  static std::atomic_ref<std::uint64_t> ref(const std::uint64_t* word) {
    return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word));
  }
  static void spin_a_little() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  void wake(const std::uint64_t* word) const {
    if (waiting_ == Waiting::sleep) wake_waiters(word);
  }

  LaneTeam& team_;
  int thread_;
  Waiting waiting_;
};

}  // namespace collsim
