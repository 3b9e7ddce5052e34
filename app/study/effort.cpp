// SPDX-License-Identifier: Apache-2.0
#include "app/study/effort.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace collsim {
namespace {

// What the engines keep, roughly: a lane with its coroutine, a connection, a message under way.
constexpr double bytes_per_lane = 512;
constexpr double bytes_per_connection = 200;
constexpr double bytes_per_message = 32;

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
  Sampler(const Case& point, const Schedule& schedule)
      : once_(cut(point, 1)), twice_(cut(point, schedule.chunks() > 1 ? 2 : 1)) {
    more_chunks_ = schedule.chunks() - 1;
  }

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
  static Schedule cut(const Case& point, int chunks) {
    AlgorithmChoice choice = point.choice;
    choice.chunks = chunks;
    choice.chunk_size.reset();
    return make_schedule(point.collective, choice);
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
  double more_chunks_ = 0;
};

// The root and position 0 may do much more than anybody else and count once; the others are alike
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

std::string number(double value) {
  return value < 1e15 ? fmt::format("{:.2g}", value) : "more than 1e15";
}

}  // namespace

Effort effort_of(const Case& point, const Schedule& schedule) {
  const Sampler sampler(point, schedule);
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
                   bytes_per_connection * sum.peers + bytes_per_message * sum.posted};
}

bool is_too_long(const Effort& effort) {
  return effort.per_lane > longest_lane;
}

bool is_too_much(const Effort& effort) {
  return effort.instructions > max_instructions || effort.bytes > max_simulation_bytes;
}

void refuse(const Effort& effort, const Schedule& schedule) {
  std::string knobs = fmt::format("{} rank{}", schedule.size(), schedule.size() == 1 ? "" : "s");
  std::string fewer = "ranks";
  if (schedule.chunks() > 1) {
    knobs += fmt::format(", {} chunks", schedule.chunks());
    fewer = "chunks, " + fewer;
  }
  if (schedule.channels() > 1) {
    knobs += fmt::format(", {} channels", schedule.channels());
    fewer = "channels, " + fewer;
  }
  std::string size;
  if (is_too_long(effort))
    size = fmt::format("more than {} instructions for one rank, which is the limit",
                       max_instructions_per_lane);
  else if (effort.instructions > max_instructions)
    size = fmt::format("about {} instructions, and {} is the limit", number(effort.instructions),
                       number(max_instructions));
  else
    size = fmt::format("about {} GB of memory, and {} GB is the limit",
                       std::ceil(effort.bytes / 1e9), max_simulation_bytes / 1e9);
  throw_error(ErrorCode::too_large,
              fmt::format("too large to simulate: {} by {} with {} takes {}; use fewer {}",
                          to_string(schedule.collective().operation), schedule.algorithm(), knobs,
                          size, fewer));
}

}  // namespace collsim
