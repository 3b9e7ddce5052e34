// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "app/import/msccl_internal.hpp"

namespace collsim {
namespace {

// A step of a gpu.
struct StepOf {
  int block = 0;
  int step = 0;
};
struct LaneOfGpu {
  std::vector<StepOf> order;
  // After which place in the order which lanes are to be told.
  std::vector<std::pair<int, int>> signals;
};

class LaneMaker {
 public:
  LaneMaker(const std::vector<MscclGpu>& gpus, ListedSchedule& list, Diagnostics& diagnostics)
      : gpus_(gpus), list_(list), diagnostics_(diagnostics) {}

  void make() {
    number_lanes();
    connect();
    bool all_sound =
        std::all_of(gpus_.begin(), gpus_.end(), [](const MscclGpu& gpu) { return gpu.is_sound; });
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      const bool sound = check(gpu) && order_steps(gpu);
      all_sound = all_sound && sound;
      if (!all_sound) continue;
      list_.programs.resize((gpu + 1) * lanes_.size());
      find_signals(gpu);
      write_programs(gpu);
    }
  }

 private:
  void wrong(SourceRange place, const char* code, std::string message, std::string hint = {}) {
    diagnostics_.add(
        {.code = code, .message = std::move(message), .place = place, .hint = std::move(hint)});
  }

  // --- lanes and connections --------------------------------------------------------------------

  [[nodiscard]] static int lane_of(const MscclGpu& gpu, int block) {
    const int given = gpu.blocks[static_cast<std::size_t>(block)].lane;
    return given >= 0 ? given : block;
  }

  void number_lanes() {
    list_.lanes = 1;
    for (const MscclGpu& gpu : gpus_)
      for (std::size_t block = 0; block < gpu.blocks.size(); ++block)
        list_.lanes = std::max(list_.lanes, 1 + lane_of(gpu, static_cast<int>(block)));
  }

  // What needs no order; whether there was nothing wrong, here or when the gpu was read.
  bool check(std::size_t number) {
    const std::size_t mistakes = diagnostics_.size();
    const MscclGpu& gpu = gpus_[number];
    for (const MscclBlock& block : gpu.blocks) {
      if ((block.lane == -1) != (gpu.blocks.front().lane == -1))
        wrong(block.place, "missing-attribute",
              "either all thread blocks of a gpu say their lane, or none");
      check_ends(block, static_cast<int>(number));
    }
    if (gpu.has_numbers) check_dependencies(gpu);
    return gpu.is_sound && diagnostics_.size() == mistakes;
  }

  // Of a queue: from a gpu to another, on a channel.
  using Queue = std::tuple<int, int, int>;

  void connect() {
    for (int gpu = 0; gpu < static_cast<int>(gpus_.size()); ++gpu) {
      const auto& blocks = gpus_[static_cast<std::size_t>(gpu)].blocks;
      for (int i = 0; i < static_cast<int>(blocks.size()); ++i) {
        const MscclBlock& block = blocks[static_cast<std::size_t>(i)];
        if (block.channel == unclear) continue;
        if (block.send >= 0) note_end(senders_, {gpu, block.send, block.channel}, i, true);
        if (block.receive >= 0) note_end(receivers_, {block.receive, gpu, block.channel}, i, false);
      }
    }
  }

  void note_end(std::map<Queue, int>& ends, const Queue& queue, int block, bool sends) {
    const auto [found, is_new] = ends.emplace(queue, block);
    if (is_new) return;
    const auto [source, target, channel] = queue;
    const int gpu = sends ? source : target;
    wrong(gpus_[static_cast<std::size_t>(gpu)].blocks[static_cast<std::size_t>(block)].place,
          "repeated",
          fmt::format("thread blocks {} and {} of gpu {} both {} gpu {} on channel {}",
                      found->second, block, gpu, sends ? "send to" : "receive from",
                      sends ? target : source, channel),
          "one of them needs another channel, or the order of their messages is open");
  }

  // Of each direction the first step says it for all.
  void check_ends(const MscclBlock& block, int gpu) {
    if (block.channel == unclear) return;
    bool sent = block.send < 0, received = block.receive < 0;
    for (const MscclStep& step : block.steps) {
      const MscclOperation* operation = find_msccl_operation(step.type);
      if (operation == nullptr || !operation->op) continue;
      if (sends(*operation->op) && !std::exchange(sent, true))
        check_end(receivers_, {gpu, block.send, block.channel}, step, true);
      if (receives(*operation->op) && !std::exchange(received, true))
        check_end(senders_, {block.receive, gpu, block.channel}, step, false);
    }
  }

  void check_end(const std::map<Queue, int>& ends, const Queue& queue, const MscclStep& step,
                 bool sends) {
    const auto [source, target, channel] = queue;
    if (ends.contains(queue) || !gpus_[static_cast<std::size_t>(sends ? target : source)].has_peers)
      return;
    wrong(step.place, "no-peer",
          sends ? fmt::format("no thread block of gpu {} receives from gpu {} on channel {}",
                              target, source, channel)
                : fmt::format("no thread block of gpu {} sends to gpu {} on channel {}", source,
                              target, channel));
  }

  // The lane at the other end.
  [[nodiscard]] Endpoint other_end(const std::map<Queue, int>& ends, const Queue& queue,
                                   bool sends) const {
    const auto gpu = static_cast<std::size_t>(sends ? std::get<1>(queue) : std::get<0>(queue));
    const int lane = lane_of(gpus_[gpu], ends.at(queue));
    return {Rank(gpu), Lane(static_cast<std::size_t>(lane))};
  }

  // --- the order of steps -----------------------------------------------------------------------

  void check_dependencies(const MscclGpu& gpu) {
    for (std::size_t b = 0; b < gpu.blocks.size(); ++b) {
      const auto& steps = gpu.blocks[b].steps;
      for (std::size_t s = 0; s < steps.size(); ++s) {
        const MscclStep& step = steps[s];
        if (step.other_block >= 0) check_dependency(gpu, step, b, s);
        if (step.type != "nop" || (s + 1 < steps.size() && steps[s + 1].other_block != -1))
          continue;
        wrong(step.place, "bad-dependency", "a nop must be followed by a step with a depid",
              "MSCCL collects what nops wait for until a step with a depid comes");
      }
    }
  }

  void check_dependency(const MscclGpu& gpu, const MscclStep& step, std::size_t block,
                        std::size_t index) {
    if (step.other_step == unclear) return;
    const auto other = static_cast<std::size_t>(step.other_block);
    const std::string what =
        fmt::format("thread block {} step {}", step.other_block, step.other_step);
    if (other >= gpu.blocks.size() || step.other_step < 0 ||
        step.other_step >= static_cast<int>(gpu.blocks[other].steps.size())) {
      wrong(step.place, "bad-dependency", "waits for " + what + ", which does not exist");
      return;
    }
    if (other == block && step.other_step >= static_cast<int>(index))
      wrong(step.place, "bad-dependency", "waits for " + what + ", which comes only after it");
    const MscclStep& awaited = gpu.blocks[other].steps[static_cast<std::size_t>(step.other_step)];
    if (!awaited.is_awaited && other != block)
      wrong(step.place, "bad-dependency",
            fmt::format("waits for {} (line {}), which has hasdep=\"0\" and tells nobody", what,
                        awaited.line));
  }

  // Whether there is an order.
  bool order_steps(std::size_t number) {
    const std::size_t mistakes = diagnostics_.size();
    const MscclGpu& gpu = gpus_[number];
    lanes_.assign(static_cast<std::size_t>(list_.lanes), {});
    places_.assign(gpu.blocks.size(), {});
    std::vector<std::vector<int>> parts(lanes_.size());
    for (std::size_t b = 0; b < gpu.blocks.size(); ++b) {
      places_[b].assign(gpu.blocks[b].steps.size(), -1);
      parts[static_cast<std::size_t>(lane_of(gpu, static_cast<int>(b)))].push_back(
          static_cast<int>(b));
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) merge(gpu, parts[lane], lanes_[lane]);
    return diagnostics_.size() == mistakes;
  }

  // The steps of one lane's thread blocks in the one order that their dependencies leave.
  void merge(const MscclGpu& gpu, const std::vector<int>& parts, LaneOfGpu& lane) {
    std::size_t left = 0;
    for (const int part : parts) left += gpu.blocks[static_cast<std::size_t>(part)].steps.size();
    std::vector<int> next(gpu.blocks.size());
    int last = -1;
    for (; left > 0; --left) {
      int chosen = -1;
      for (const int part : parts) {
        if (!may_come(gpu, part, next, last, parts.size() > 1)) continue;
        if (chosen >= 0) return refuse_lane(gpu, part);
        chosen = part;
      }
      if (chosen < 0) return refuse_lane(gpu, parts.front());
      const int step = next[static_cast<std::size_t>(chosen)]++;
      places_[static_cast<std::size_t>(chosen)][static_cast<std::size_t>(step)] =
          static_cast<int>(lane.order.size());
      lane.order.push_back({chosen, step});
      last = chosen;
    }
  }

  // Whether a thread block's next step has all that it waits for in its lane, and follows the last
  // one.
  [[nodiscard]] bool may_come(const MscclGpu& gpu, int part, const std::vector<int>& next, int last,
                              bool shares) const {
    const auto& steps = gpu.blocks[static_cast<std::size_t>(part)].steps;
    const auto begin = static_cast<std::size_t>(next[static_cast<std::size_t>(part)]);
    if (begin == steps.size()) return false;
    if (!shares) return true;
    bool follows = last < 0 || last == part;
    const int lane = lane_of(gpu, part);
    for (std::size_t s = begin; s < steps.size(); ++s) {  // nops belong to the step behind them
      const MscclStep& step = steps[s];
      if (step.other_block >= 0 && lane_of(gpu, step.other_block) == lane) {
        const int done = next[static_cast<std::size_t>(step.other_block)] - 1;
        if (done < step.other_step) return false;
        follows = follows || (step.other_block == last && done == step.other_step);
      }
      if (step.type != "nop") break;
    }
    return follows;
  }

  void refuse_lane(const MscclGpu& gpu, int part) {
    wrong(gpu.blocks[static_cast<std::size_t>(part)].place, "bad-order",
          fmt::format("the thread blocks of lane {} do not run one step after the other",
                      lane_of(gpu, part)),
          "leave the attribute lane out, and each of them is a lane of its own");
  }

  // --- programs ---------------------------------------------------------------------------------

  // The lane that a step of this lane has to wait for, and the place there; -1: none, or it follows
  // from what it waited for before.
  std::pair<int, int> wait_of(const MscclGpu& gpu, const MscclStep& step, int lane,
                              std::vector<int>& waited) const {
    if (step.other_block < 0) return {-1, 0};
    const int other = lane_of(gpu, step.other_block);
    const int place = places_[static_cast<std::size_t>(step.other_block)]
                             [static_cast<std::size_t>(step.other_step)];
    int& latest = waited[static_cast<std::size_t>(other)];
    if (other == lane || latest >= place) return {-1, 0};
    latest = place;
    return {other, place};
  }

  void find_signals(std::size_t number) {
    const MscclGpu& gpu = gpus_[number];
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      std::vector<int> waited(lanes_.size(), -1);
      for (const StepOf& at : lanes_[lane].order) {
        const auto [other, place] = wait_of(gpu, step_at(gpu, at), static_cast<int>(lane), waited);
        if (other >= 0)
          lanes_[static_cast<std::size_t>(other)].signals.emplace_back(place,
                                                                       static_cast<int>(lane));
      }
    }
    for (LaneOfGpu& lane : lanes_) std::sort(lane.signals.begin(), lane.signals.end());
  }

  [[nodiscard]] static const MscclStep& step_at(const MscclGpu& gpu, const StepOf& at) {
    return gpu.blocks[static_cast<std::size_t>(at.block)].steps[static_cast<std::size_t>(at.step)];
  }

  void write_programs(std::size_t number) {
    const MscclGpu& gpu = gpus_[number];
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      auto& program = list_.programs[number * lanes_.size() + lane];
      const auto self = [&](int other) {
        return Endpoint{Rank(number), Lane(static_cast<std::size_t>(other))};
      };
      std::vector<int> waited(lanes_.size(), -1);
      auto signal = lanes_[lane].signals.begin();
      for (std::size_t place = 0; place < lanes_[lane].order.size(); ++place) {
        const StepOf& at = lanes_[lane].order[place];
        const MscclStep& step = step_at(gpu, at);
        ListedInstruction marked;
        marked.line = step.line;
        marked.block_of_threads = at.block;
        marked.step = at.step;
        if (const int other = wait_of(gpu, step, static_cast<int>(lane), waited).first;
            other >= 0) {
          program.push_back(marked);
          program.back().op = Op::wait;
          program.back().from = self(other);
        }
        if (step.type != "nop") add(number, at, marked, program);
        for (; signal != lanes_[lane].signals.end() && signal->first == static_cast<int>(place);
             ++signal) {
          program.push_back(marked);
          program.back().op = Op::signal;
          program.back().to = self(signal->second);
        }
      }
    }
  }

  void add(std::size_t number, const StepOf& at, ListedInstruction instruction,
           std::vector<ListedInstruction>& program) {
    const MscclGpu& gpu = gpus_[number];
    const MscclBlock& block = gpu.blocks[static_cast<std::size_t>(at.block)];
    const MscclStep& step = step_at(gpu, at);
    const int me = static_cast<int>(number);
    instruction.op = *find_msccl_operation(step.type)->op;
    instruction.source_buffer = step.source_buffer;
    instruction.destination_buffer = step.destination_buffer;
    instruction.source = step.source;
    instruction.destination = step.destination;
    instruction.count = step.count;
    if (sends(instruction.op))
      instruction.to = other_end(receivers_, {me, block.send, block.channel}, true);
    if (receives(instruction.op))
      instruction.from = other_end(senders_, {block.receive, me, block.channel}, false);
    const bool joins = at.step > 0 && block.steps[static_cast<std::size_t>(at.step) - 1].is_half &&
                       !program.empty() && is_sent_copy(program.back(), instruction);
    if (joins) {
      program.back().op = Op::copy_send;
      program.back().to = instruction.to;
    } else {
      program.push_back(instruction);
    }
  }

  [[nodiscard]] static bool is_sent_copy(const ListedInstruction& copy,
                                         const ListedInstruction& send) {
    return copy.op == Op::copy && send.op == Op::send && copy.step + 1 == send.step &&
           copy.destination_buffer == send.source_buffer && copy.destination == send.source &&
           copy.count == send.count;
  }

  const std::vector<MscclGpu>& gpus_;
  ListedSchedule& list_;
  Diagnostics& diagnostics_;
  std::map<Queue, int> senders_, receivers_;  // thread blocks
  // Of the gpu at hand.
  std::vector<LaneOfGpu> lanes_;
  std::vector<std::vector<int>> places_;  // in its lane's order, by thread block and step
};

}  // namespace

void make_msccl_lanes(const std::vector<MscclGpu>& gpus, ListedSchedule& list,
                      Diagnostics& diagnostics) {
  LaneMaker(gpus, list, diagnostics).make();
}

}  // namespace collsim
