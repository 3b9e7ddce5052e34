// SPDX-License-Identifier: Apache-2.0
#include "validate/host/run_on_threads.hpp"

#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "topo/error.hpp"

namespace collsim {
namespace {

class StartingGate {
 public:
  // Until it is opened, or cancelled: then false.
  [[nodiscard]] bool wait() const {
    state_.wait(closed, std::memory_order_acquire);
    return state_.load(std::memory_order_acquire) == opened;
  }
  void open() { set(opened); }
  void call_off() { set(called_off); }

 private:
  static constexpr int closed = 0, opened = 1, called_off = 2;
  void set(int state) {
    state_.store(state, std::memory_order_release);
    state_.notify_all();
  }
  std::atomic<int> state_{closed};
};

}  // namespace

void run_on_threads(std::size_t teams, int threads_per_team,
                    const std::function<void(std::size_t team, int thread)>& work) {
  StartingGate gate;
  std::vector<std::jthread> threads;
  const std::size_t wanted = teams * static_cast<std::size_t>(threads_per_team);
  try {
    threads.reserve(wanted);
    for (std::size_t team = 0; team < teams; ++team)
      for (int thread = 0; thread < threads_per_team; ++thread)
        threads.emplace_back([&gate, &work, team, thread] {
          if (gate.wait()) work(team, thread);
        });
  } catch (const std::exception& error) {
    gate.call_off();
    throw_error(ErrorCode::too_large,
                "this run needs " + std::to_string(wanted) + " threads, and the system gave only " +
                    std::to_string(threads.size()) + " (" + error.what() +
                    "): use fewer ranks, channels or threads per lane, or raise its limits");
  }
  gate.open();
}

}  // namespace collsim
