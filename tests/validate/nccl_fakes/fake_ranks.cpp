// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "tests/validate/nccl_fakes/fake_nccl.hpp"
#include "tests/validate/shared_pages.hpp"

// Ranks of the fake NCCL that are processes: through memory that they share, each tells the others
// what it calls, with its data, and then carries out its own part of all calls.

namespace collsim::testing {

struct Meeting {
  std::atomic<std::uint64_t> came{0};  // ranks, to all meetings so far
};

namespace {

constexpr std::size_t ranks_at_most = 16, bytes_of_rank = std::size_t{32} << 20U;
constexpr std::size_t line = 4096;

std::byte* area_of(Meeting* meeting, int rank) {
  return reinterpret_cast<std::byte*>(meeting) + line +
         static_cast<std::size_t>(rank) * bytes_of_rank;
}

// Whoever waits sleeps: the others may need its core.
bool meet(Communicator& communicator) {
  constexpr int most_s = 60;
  const auto begin = std::chrono::steady_clock::now();
  Meeting& meeting = *communicator.meeting;
  const auto ranks = static_cast<std::uint64_t>(communicator.ranks);
  const std::uint64_t all = (meeting.came.fetch_add(1) / ranks + 1) * ranks;
  for (int turn = 0; meeting.came.load() < all; ++turn) {
    if (communicator.aborted ||
        std::chrono::steady_clock::now() - begin > std::chrono::seconds(most_s))
      return false;
    std::this_thread::sleep_for(std::chrono::microseconds(turn < 50 ? 20 : 500));
  }
  return true;
}

// In a rank's area: how many calls, then each with its data.
void hand_over(const std::vector<Call>& own, std::byte* area) {
  const auto put = [&area](const void* data, std::size_t bytes) {
    if (bytes > 0) std::memcpy(area, data, bytes);
    area += (bytes + 63) / 64 * 64;
  };
  const std::size_t count = own.size();
  put(&count, sizeof count);
  for (const Call& call : own) {
    put(&call, sizeof call);
    put(call.from, bytes_from(call));
  }
}

void take_over(std::vector<Call>& all, const std::byte* area) {
  const auto get = [&area](std::size_t bytes) {
    const std::byte* const at = area;
    area += (bytes + 63) / 64 * 64;
    return at;
  };
  std::size_t count = 0;
  std::memcpy(&count, get(sizeof count), sizeof count);
  for (std::size_t i = 0; i < count; ++i) {
    Call call;
    std::memcpy(static_cast<void*>(&call), get(sizeof call), sizeof call);
    call.from = get(bytes_from(call));
    call.to = nullptr;
    all.push_back(call);
  }
}

}  // namespace

bool make_id(Id& id) {
  const SharedPages pages = make_shared_pages(line + ranks_at_most * bytes_of_rank);
  std::memcpy(id.bytes, &pages, sizeof pages);
  return pages.file >= 0;
}

Communicator* join(const Id& id, int ranks, int rank) {
  SharedPages pages;
  std::memcpy(static_cast<void*>(&pages), id.bytes, sizeof pages);
  void* const begin = map_shared_pages(pages);
  if (begin == nullptr || static_cast<std::size_t>(ranks) > ranks_at_most) return nullptr;
  auto* const communicator = new Communicator{rank, ranks, static_cast<Meeting*>(begin)};
  if (meet(*communicator)) return communicator;
  delete communicator;
  return nullptr;
}

void leave(Communicator& communicator) {
  ::munmap(communicator.meeting, line + ranks_at_most * bytes_of_rank);
}

Result carry_out_with_others(const std::vector<Call>& own) {
  Communicator& communicator = *own.front().communicator;
  hand_over(own, area_of(communicator.meeting, communicator.rank));
  if (!meet(communicator)) return remote;
  std::vector<Call> all;
  for (int rank = 0; rank < communicator.ranks; ++rank)
    if (rank != communicator.rank) take_over(all, area_of(communicator.meeting, rank));
  all.insert(all.end(), own.begin(), own.end());
  const Result result = carry_out_calls(all);
  // Nobody hands over anything new before all have read this.
  return meet(communicator) ? result : remote;
}

}  // namespace collsim::testing
