// SPDX-License-Identifier: Apache-2.0
#include "sim/effort.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "collectives/message_router.hpp"
#include "sim/quotient.hpp"
#include "topo/routes.hpp"

namespace collsim {
namespace {

// What the engines keep, roughly: a lane with its coroutine, a connection, a message in flight.
constexpr double bytes_per_lane = 512;
constexpr double bytes_per_connection = 200;
constexpr double bytes_per_message = 100;  // on its way between two links
constexpr double bytes_per_way = 450;      // of a connection with several

constexpr auto longest_lane = static_cast<double>(max_instructions_per_lane);

struct LaneCount {
  double instructions = 0;
  double posted = 0;  // sent before the lane receives anything
  double peers = 0;   // to whom
};

LaneCount count(LaneProgram program) {
  LaneCount count;
  std::set<Endpoint> peers;
  bool has_received = false;
  while (const Instruction* const instruction = program.next()) {
    if (++count.instructions > longest_lane) break;
    has_received = has_received || takes_from_lane(instruction->op);
    if (has_received || !gives_to_lane(instruction->op)) continue;
    ++count.posted;
    peers.insert(instruction->to);
  }
  count.peers = static_cast<double>(peers.size());
  return count;
}

// Of one rank, or a sum of such.
struct Sample {
  double longest = 0;
  double instructions = 0;
  double posted = 0;
  double peers = 0;
};

// Instructions are a linear function of the number of chunks: some come once, some for each.
class Sampler {
 public:
  Sampler(const AlgorithmChoice& choice, const Schedule& schedule)
      : once_(cut(choice, schedule, 1)),
        twice_(cut(choice, schedule, schedule.chunks() > 1 ? 2 : 1)),
        more_chunks_(schedule.chunks() - 1) {}

  [[nodiscard]] Sample sample(int position) const {
    Sample sample;
    // Channels are copies of one another: the first stands for all.
    for (int lane = 0; lane < once_.lanes() / once_.channels(); ++lane) {
      add(sample, position, Lane(static_cast<std::size_t>(lane)));
      if (sample.longest > longest_lane) break;
    }
    sample.instructions *= once_.channels();
    sample.posted *= once_.channels();
    sample.peers *= once_.channels();
    return sample;
  }

 private:
  static Schedule cut(AlgorithmChoice choice, const Schedule& schedule, int chunks) {
    choice.chunks = chunks;
    choice.chunk_size.reset();
    return make_schedule(schedule.collective(), choice);
  }

  void add(Sample& sample, int position, Lane lane) const {
    LaneCount all = count(once_.program(position, lane));
    if (more_chunks_ > 0) {
      const LaneCount twice = count(twice_.program(position, lane));
      all.instructions += more_chunks_ * (twice.instructions - all.instructions);
      all.posted += more_chunks_ * (twice.posted - all.posted);
    }
    sample.longest = std::max(sample.longest, all.instructions);
    sample.instructions += all.instructions;
    sample.posted += all.posted;
    sample.peers += all.peers;
  }

  Schedule once_, twice_;
  double more_chunks_;
};

// The root and position 0 may do much more than the others and count once; the others are similar
// enough for three of them to stand for all.
struct Positions {
  std::vector<int> single, typical;
};

Positions positions_of(const Schedule& schedule) {
  const int ranks = schedule.size();
  if (schedule.symmetry() != Symmetry::none) return {{}, {0}};
  std::set<int> single{0, schedule.collective().root};
  std::set<int> typical;
  for (const int distance : {1, ranks / 2, ranks - 1}) {
    const auto position = static_cast<int>((std::int64_t{schedule.collective().root} + distance) %
                                           std::int64_t{ranks});
    if (!single.contains(position)) typical.insert(position);
  }
  return {{single.begin(), single.end()}, {typical.begin(), typical.end()}};
}

void add(Sample& sum, const Sample& sample, double times) {
  sum.longest = std::max(sum.longest, sample.longest);
  sum.instructions += times * sample.instructions;
  sum.posted += times * sample.posted;
  sum.peers += times * sample.peers;
}

}  // namespace

Effort effort_of(const Schedule& schedule, const AlgorithmChoice& choice, double ways) {
  const Sampler sampler(choice, schedule);
  const Positions positions = positions_of(schedule);
  const double others = schedule.size() - static_cast<double>(positions.single.size());
  Sample sum;
  for (const int position : positions.single) add(sum, sampler.sample(position), 1);
  for (const int position : positions.typical) {
    if (sum.longest > longest_lane) break;
    add(sum, sampler.sample(position), others / static_cast<double>(positions.typical.size()));
  }
  return {.per_lane = sum.longest,
          .instructions = sum.instructions,
          .bytes = bytes_per_lane * schedule.size() * schedule.lanes() +
                   bytes_per_connection * sum.peers + bytes_per_message * sum.posted +
                   (ways > 1 ? bytes_per_way * ways * sum.peers : 0)};
}

double ways_of_messages(const Topology& topology, const std::vector<Rank>& group) {
  if (!chooses_per_message(topology) || group.size() < 2) return 1;
  constexpr std::size_t pairs = 16;
  Router router(topology);
  double ways = 0;
  for (std::size_t pair = 1; pair <= pairs; ++pair) {
    const Rank to = group[pair * (group.size() - 1) / pairs];
    ways += to == group.front()
                ? 1.0
                : static_cast<double>(router.choices(group.front(), to).ways.size());
  }
  return ways / pairs;
}

double links_per_message(const Topology& topology, const Schedule& schedule) {
  constexpr int most_read = 20'000, most_routed = 256;
  MessageRouter router(topology, schedule);
  const int position = schedule.size() / 2;
  double links = 0;
  int routed = 0;
  std::optional<Endpoint> last;
  LaneProgram program = schedule.program(position, Lane(0));
  for (int read = 0; read < most_read && routed < most_routed; ++read) {
    const Instruction* const instruction = program.next();
    if (instruction == nullptr) break;
    if (!sends(instruction->op) || orders_lanes(instruction->op) || instruction->to == last)
      continue;
    last = instruction->to;
    links += static_cast<double>(
        router.route({schedule.rank(position), Lane(0)}, instruction->to).size());
    ++routed;
  }
  return routed > 0 ? links / routed : 1;
}

std::size_t ranks_for_each(const Topology& topology, const Programs& programs,
                           const CostModel& costs) {
  const std::optional<Quotient> quotient = Quotient::of(topology, programs, costs);
  return quotient ? quotient->order() : 1;
}

}  // namespace collsim
