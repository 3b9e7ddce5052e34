// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

namespace collsim::testing {

enum Result { success = 0, system_error = 2, invalid_argument = 4, invalid_usage = 5, remote = 6 };
enum class Kind { all_reduce, broadcast, reduce, all_gather, reduce_scatter, send, receive };

// Where ranks of several processes meet (fake_ranks.cpp).
struct Meeting;

struct Communicator {
  int rank = 0;
  int ranks = 0;
  Meeting* meeting = nullptr;  // null: all ranks are in this process
  std::atomic<bool> aborted{false};
};

struct Call {
  Kind kind{};
  const std::byte* from = nullptr;
  std::byte* to = nullptr;  // null: of a rank in another process
  std::size_t count = 0;
  int type = 0;
  int reduction = 0;
  int peer = 0;
  int rank = 0;
  int ranks = 0;
  Communicator* communicator = nullptr;
  void* stream = nullptr;
};

std::size_t bytes_from(const Call& call);  // that a rank hands in

// The calls of all ranks.
Result carry_out_calls(const std::vector<Call>& calls);

// --- ranks in several processes ------------------------------------------------------------------

struct Id {
  char bytes[128];
};
bool make_id(Id& id);
// Waits for all; null: they did not come.
Communicator* join(const Id& id, int ranks, int rank);
void leave(Communicator& communicator);
// Hands this rank's calls to the others, and carries out its part of all.
Result carry_out_with_others(const std::vector<Call>& own);

}  // namespace collsim::testing
