// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/probe_cases.hpp"

#include <algorithm>

#include "collectives/algorithms.hpp"
#include "collectives/schedule.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

// What the lane of a rank with an even number does to the next rank's, and what that one does.
enum class Work { copy, copy_and_store, reduce, reduce_store_and_pass_on };

Program even_lane(Work work, Endpoint partner, Span input, Span output, int chunks) {
  for (int i = 0; i < chunks; ++i) {
    const Span from = input.piece(i, chunks);
    if (work == Work::copy_and_store)
      co_yield copy_send(from, output.piece(i, chunks), partner);
    else
      co_yield send(partner, from);
  }
  if (work == Work::reduce_store_and_pass_on)
    for (int i = 0; i < chunks; ++i) co_yield receive(partner, output.piece(i, chunks));
}

Program odd_lane(Work work, Endpoint partner, Span input, Span output, int chunks) {
  for (int i = 0; i < chunks; ++i) {
    const Span own = input.piece(i, chunks);
    const Span result = output.piece(i, chunks);
    switch (work) {
      case Work::copy:
      case Work::copy_and_store: co_yield receive(partner, result); break;
      case Work::reduce: co_yield receive_reduce(partner, own, result); break;
      case Work::reduce_store_and_pass_on:
        co_yield receive_reduce_store_send(partner, own, result, partner);
        break;
    }
  }
}

// Every rank with an even number works with the next one, each lane with its like.  The exchange
// only lends its buffers: an input and an output of this many bytes.
Schedule pairs_at_work(Work work, int ranks, Bytes bytes, int chunks, int lanes = 1) {
  Collective collective;
  collective.operation = Operation::send_recv;
  collective.pattern.kind = Pattern::Kind::exchange;
  collective.group = first_ranks(static_cast<std::size_t>(ranks));
  collective.count = bytes / size_of(collective.type);
  const std::int64_t count = collective.count;
  const Schedule buffers_of = make_schedule(collective, {.channels = lanes});
  return buffers_of.with_programs([=](int position, Lane lane) -> Program {
    const bool even = position % 2 == 0;
    const int number = static_cast<int>(lane.index());
    if (number >= lanes || (even && position + 1 == ranks)) return {};
    const Endpoint partner{Rank(static_cast<std::size_t>(even ? position + 1 : position - 1)),
                           lane};
    const Span input = Span{Buffer::input, 0, count}.piece(number, lanes);
    const Span output = Span{Buffer::output, 0, count}.piece(number, lanes);
    return even ? even_lane(work, partner, input, output, chunks)
                : odd_lane(work, partner, input, output, chunks);
  });
}

Schedule barrier(int ranks) {
  Collective collective;
  collective.operation = Operation::barrier;
  collective.group = first_ranks(static_cast<std::size_t>(ranks));
  return make_schedule(collective, {});
}

std::string in_chunks(const char* name, int chunks) {
  return chunks == 1 ? std::string(name)
                     : std::string(name) + " in " + std::to_string(chunks) + " chunks";
}

std::vector<Bytes> sizes_between(Bytes smallest, Bytes largest) {
  std::vector<Bytes> sizes;
  for (Bytes size = smallest; size < largest; size *= 2) sizes.push_back(size);
  sizes.push_back(largest);
  return sizes;
}

}  // namespace

std::vector<ProbeCase> probe_cases(int ranks, int lanes, Bytes smallest, Bytes largest) {
  constexpr std::pair<Work, const char*> every_work[] = {
      {Work::copy, "copy"},
      {Work::copy_and_store, "copy and store"},
      {Work::reduce, "reduce"},
      {Work::reduce_store_and_pass_on, "reduce, store and pass on"}};
  std::vector<ProbeCase> cases;
  const auto add = [&](std::string name, Schedule schedule) {
    const Bytes touched = working_set(schedule);
    cases.push_back({std::move(name), std::move(schedule), touched});
  };
  constexpr Bytes tiny = 128;
  add("barrier", barrier(ranks));
  for (const int chunks : {1, 4, 16, 64})
    add(in_chunks("copy of 128 B", chunks), pairs_at_work(Work::copy, ranks, tiny, chunks));
  for (const Bytes size : sizes_between(smallest, largest))
    for (const auto& [work, name] : every_work)
      for (const int chunks : {1, 8})
        add(in_chunks(name, chunks), pairs_at_work(work, ranks, size, chunks));
  for (const Bytes size : sizes_between(smallest, largest))
    for (const auto& [work, name] : {every_work[0], every_work[2]})
      for (int count = lanes; count > 1; count /= 4)
        add(std::string(name) + " by " + std::to_string(count) + " lanes",
            pairs_at_work(work, ranks, size, 1, count));
  return cases;
}

std::vector<Bytes> knots(int ranks, Bytes smallest, Bytes largest) {
  std::vector<Bytes> knots;
  for (const Bytes size : sizes_between(smallest, largest))
    knots.push_back(working_set(pairs_at_work(Work::copy, ranks, size, 1)));
  return knots;
}

Schedule send_recv(int ranks, const std::vector<std::pair<int, int>>& pairs, Bytes bytes,
                   int chunks) {
  Collective collective;
  collective.operation = Operation::send_recv;
  collective.group = first_ranks(static_cast<std::size_t>(ranks));
  collective.count = bytes / size_of(collective.type);
  collective.pattern.kind = Pattern::Kind::pairs;
  collective.pattern.pairs = pairs;
  AlgorithmChoice choice;
  choice.chunks = chunks;
  return make_schedule(collective, choice);
}

Topology shared_memory(int ranks, double latency_s) {
  LinkParameters link{gigabytes_per_second(1'000'000)};  // no wire: lanes copy
  link.latency = from_seconds(latency_s);
  return make_fully_connected(static_cast<std::size_t>(ranks), link);
}

}  // namespace collsim
