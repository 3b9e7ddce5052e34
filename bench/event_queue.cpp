// SPDX-License-Identifier: Apache-2.0
//
// The queue of future events in its steady state: take the earliest, put it back later.
#include <random>

#include "bench/cases.hpp"
#include "sim/radix_heap.hpp"
#include "topo/error.hpp"

namespace collsim::bench {

namespace {

class Churn {
 public:
  explicit Churn(std::uint32_t pending) {
    for (std::uint32_t value = 0; value < pending; ++value) queue_.push(increment(), value);
  }

  std::int64_t turn(std::int64_t events) {
    for (std::int64_t event = 0; event < events; ++event) {
      const std::int64_t now = queue_.top_time();
      queue_.push(now + increment(), queue_.pop());
    }
    return events;
  }

 private:
  // Up to 69 ms: among 50,000 times, two equal ones are unlikely.
  std::int64_t increment() { return 1 + static_cast<std::int64_t>(random_() >> 28U); }

  std::mt19937_64 random_{3};
  RadixHeap<std::uint32_t> queue_;
};

}  // namespace

std::vector<Case> event_queue_cases() {
  return {{.name = "event_queue/50000_pending",
           .item = "events",
           .limit = {.instructions = 372, .loops = 2.3},
           .prepare = [] {
             const auto churn = std::make_shared<Churn>(50'000);
             return [churn] { return churn->turn(1'000'000); };
           }}};
}

}  // namespace collsim::bench
