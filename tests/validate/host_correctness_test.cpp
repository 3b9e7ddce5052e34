// SPDX-License-Identifier: Apache-2.0
// Every algorithm as real threads on real memory, compared bit for bit with what the collective
// asks.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "tests/collectives/rows.hpp"
#include "tests/validate/real_cases.hpp"

namespace collsim {
namespace {

using testing::problem_of;
using testing::real_case;
using testing::RealCase;

HostOptions patient() {
  HostOptions options;
  options.waiting = Waiting::sleep;  // there are more lanes than cores
  options.patience_s = 20;           // sanitizers are slow, and machines are shared
  return options;
}

class HostCorrectness : public ::testing::TestWithParam<const Algorithm*> {};

// Ranks 2..8 x both protocols x slots: as few as work, one more, 8, as many as messages.
TEST_P(HostCorrectness, EveryByteIsRight) {
  const Algorithm& row = *GetParam();
  std::size_t turn = static_cast<std::size_t>(&row - algorithms().data());
  int cases = 0;
  for (const int ranks : nearest_ranks(row, from_to(2, 8))) {
    for (const Protocol protocol : {Protocol::simple, Protocol::ll}) {
      for (int more = 0; more < 4; ++more) {
        RealCase real = real_case(row, ranks, ++turn);
        real.protocol = protocol;
        const std::optional<int> least = least_slots(make_schedule(real.collective, real.choice));
        ASSERT_TRUE(least) << to_text(real);
        if (more < 3) real.choice.slots = more == 2 ? std::max(8, *least) : *least + more;
        EXPECT_EQ(problem_of<HostPolicy>(real, patient()), "") << to_text(real);
        ++cases;
      }
    }
  }
  RecordProperty("cases", cases);
  EXPECT_GE(cases, 8);
}

// Several threads carry out one lane's instructions together.
TEST_P(HostCorrectness, TeamsOfThreadsAreRightToo) {
  const Algorithm& row = *GetParam();
  std::size_t turn = 11 + static_cast<std::size_t>(&row - algorithms().data());
  HostOptions options = patient();
  options.threads_per_lane = 3;
  for (const int ranks : nearest_ranks(row, {2, 4, 5})) {
    for (const Protocol protocol : {Protocol::simple, Protocol::ll}) {
      RealCase real = real_case(row, ranks, ++turn);
      real.protocol = protocol;
      EXPECT_EQ(problem_of<HostPolicy>(real, options), "") << to_text(real);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostCorrectness, ::testing::ValuesIn(all_rows()), name_of);

// Every type with every reduction, through the fused instructions of a ring.
TEST(HostTypes, EveryTypeWithEveryReductionIsBitExact) {
  for (const ElementType type : all_element_types())
    for (const Reduction reduction : all_reductions())
      for (const Protocol protocol : {Protocol::simple, Protocol::ll})
        for (const std::int64_t count : {7, 1021}) {
          RealCase real;
          real.collective.operation = Operation::all_reduce;
          real.collective.count = count;
          real.collective.type = type;
          real.collective.reduction = reduction;
          real.collective.group = first_ranks(3);
          real.choice.name = "ring";
          real.choice.slots = 2;
          real.protocol = protocol;
          EXPECT_EQ(problem_of<HostPolicy>(real, patient()), "") << to_text(real);
        }
}

// Takes a nap of random length before whatever lanes do to each other.
class DreamyPolicy : public HostPolicy {
 public:
  DreamyPolicy(LaneTeam& team, int thread, Waiting waiting)
      : HostPolicy(team, thread, waiting), random_(seed.fetch_add(1)) {}

  std::uint64_t load_acquire(const std::uint64_t* word) {
    return nap(), HostPolicy::load_acquire(word);
  }
  void store_release(std::uint64_t* word, std::uint64_t value) {
    nap();
    HostPolicy::store_release(word, value);
    nap();
  }
  void publish(std::uint64_t* word, std::uint64_t value) { store_release(word, value); }
  void load_line(const LowLatencyLine* line, std::uint64_t& first, std::uint64_t& second) {
    nap();
    HostPolicy::load_line(line, first, second);
  }
  void store_line(LowLatencyLine* line, std::uint64_t first, std::uint64_t second) {
    nap();
    HostPolicy::store_line(line, first, second);
  }

  static inline std::atomic<std::uint32_t> seed{1};

 private:
  void nap() {
    const std::uint32_t dice = static_cast<std::uint32_t>(random_());
    if (dice % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(dice / 16 % 100));
    if (dice % 16 == 1) std::this_thread::yield();
  }
  std::minstd_rand random_;
};

TEST(HostDelays, RandomNapsFindNoDependenceOnOrder) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    DreamyPolicy::seed = seed * 1000;
    std::size_t turn = seed;
    for (const Algorithm& row : algorithms()) {
      const int ranks = nearest_ranks(row, 2 + static_cast<int>(turn % 4));
      RealCase real = real_case(row, ranks, ++turn);
      real.collective.count = std::min<std::int64_t>(real.collective.count, 37);
      real.protocol = turn % 2 == 0 ? Protocol::simple : Protocol::ll;
      real.choice.slots = least_slots(make_schedule(real.collective, real.choice));
      EXPECT_EQ(problem_of<DreamyPolicy>(real, patient()), "")
          << to_text(real) << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace collsim
