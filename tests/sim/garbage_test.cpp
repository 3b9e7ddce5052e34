// SPDX-License-Identifier: Apache-2.0
//
// The negative space: whatever programs say and however absurd the numbers, simulate() gives a
// result or a typed Error, and it refuses exactly the schedules whose communication the checker
// refuses.  Where the two differ, and why that is right:
//
//   - The simulator does not look at data.  Spans outside their buffer, buffers that do not exist,
//     writes to the input, unwritten reads, races, wrong results and barriers that let go early
//     take the time they take.  (Negative counts are no data: nothing takes negative time.)
//   - A forced engine that does not apply may find that out before it finds the fault, and says
//     engine_not_applicable; `automatic` and `event` always name the fault.
//   - Which fault is named depends on the order in which lanes run: bad_schedule and deadlock count
//     alike here.
//   - A route that does not exist and a time beyond 64 bits have no meaning to the checker.
//   - A schedule that claims a symmetry it does not have breaks the contract of Schedule::Parts.
//     The symmetry engine looks at rank 0 alone and believes the rest; it must not crash.
#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <sstream>

#include "collectives/checker.hpp"
#include "sim/critical_path.hpp"
#include "tests/sim/random_case.hpp"

namespace collsim::testing {
namespace {

using Programs = std::vector<std::vector<Instruction>>;  // lane after lane, position after position

constexpr std::int64_t plenty = std::int64_t{1} << 40U;  // elements of scratch

Program play(std::shared_ptr<const Programs> programs, std::size_t lane) {
  for (const Instruction& instruction : (*programs)[lane]) co_yield instruction;
}

struct Draft {
  Collective collective;
  Programs programs;
  int lanes = 1;
  std::optional<int> slots;
  Symmetry symmetry = Symmetry::none;
};

Schedule schedule_of(const Draft& draft) {
  Schedule::Parts parts;
  parts.collective = draft.collective;
  parts.algorithm = "garbage";
  parts.lanes = draft.lanes;
  parts.slots = draft.slots;
  parts.symmetry = draft.symmetry;
  parts.scratch_count = [](int) { return plenty; };
  const auto programs = std::make_shared<const Programs>(draft.programs);
  const auto lanes = static_cast<std::size_t>(draft.lanes);
  parts.program = [programs, lanes](int position, Lane lane) {
    return play(programs, static_cast<std::size_t>(position) * lanes + lane.index());
  };
  return Schedule(std::move(parts));
}

// Nobody owes anybody anything, so no time is too early.
Collective no_duties(std::vector<Rank> group, ElementType type) {
  Collective collective;
  collective.operation = Operation::send_recv;
  collective.pattern.kind = Pattern::Kind::pairs;
  collective.group = std::move(group);
  collective.type = type;
  return collective;
}

// The same communication without data: all spans lie in scratch, source upon destination.
Schedule skeleton_of(Draft draft) {
  draft.collective = no_duties(draft.collective.group, draft.collective.type);
  for (std::vector<Instruction>& program : draft.programs) {
    for (Instruction& instruction : program) {
      instruction.source_buffer = instruction.destination_buffer = Buffer::scratch;
      instruction.source_offset = instruction.destination_offset = 0;
    }
  }
  return schedule_of(draft);
}

// ---- machines

LinkParameters plain(LinkParameters parameters) {
  parameters.half_duplex = false;
  return parameters;
}

// GPUs and switches joined into a tree, then cables beside cables and some one-way links.
Topology explicit_graph(RandomCase& draw) {
  TopologyBuilder builder;
  const int ranks = 2 + draw.up_to(5);
  const int nodes = ranks + draw.up_to(3);
  const auto any_below = [&](int limit) {
    return NodeId(static_cast<std::size_t>(draw.up_to(limit)));
  };
  for (int node = 0; node < nodes; ++node)
    builder.add_node(node < ranks ? NodeKind::gpu : NodeKind::network_switch);
  for (int node = 1; node < nodes; ++node) {
    const LinkParameters cable = draw.link();
    const NodeId other = any_below(node);
    for (int parallel = 1 + draw.up_to(3); parallel > 0; --parallel)
      builder.connect(NodeId(static_cast<std::size_t>(node)), other, cable);
  }
  for (int more = draw.up_to(4); more > 0; --more) {
    const NodeId from = any_below(nodes);
    const NodeId to = any_below(nodes);
    if (from == to) continue;
    if (draw.chance(50))
      builder.connect(from, to, draw.link());
    else
      builder.connect_one_way(from, to, plain(draw.link()));
  }
  return builder.build();
}

Topology nodes_of(RandomCase& draw) {
  using Intra = NodesShape::Intra;
  constexpr Intra kinds[] = {Intra::chain, Intra::ring, Intra::fully_connected,
                             Intra::network_switch, Intra::hypercube};
  NodesShape shape{.intra_dims = {}, .intra_link = draw.link(), .inter_link = draw.link()};
  shape.nodes = 1 + draw.up_to(3);
  shape.gpus_per_node = 1 << draw.up_to(3);
  shape.nics_per_node = draw.chance(50) ? shape.gpus_per_node : 1;
  shape.intra = kinds[draw.up_to(static_cast<int>(std::size(kinds)))];
  return make_nodes(shape);
}

Topology shape_of(RandomCase& draw) {
  const auto ranks = 1 + static_cast<std::size_t>(draw.up_to(8));
  const std::vector<int> dims{1 + draw.up_to(3), 1 + draw.up_to(3)};
  switch (draw.up_to(13)) {
    case 0: return make_chain(ranks, draw.link());
    case 1: return make_ring(ranks, draw.link());
    case 2: return make_fully_connected(ranks, draw.link());
    case 3: return make_switch(ranks, draw.link());
    case 4: return make_torus(dims, draw.link());
    case 5: return make_mesh(dims, draw.link());
    case 6: return make_hypercube(std::size_t{1} << static_cast<unsigned>(draw.up_to(4)),
                                  draw.link());
    case 7:
    case 8: return nodes_of(draw);
    case 9: return make_fat_tree(2 + 2 * draw.up_to(2), draw.link());
    case 10:
      return make_dragonfly({.groups = 2 + draw.up_to(2),
                             .routers_per_group = 1 + draw.up_to(2),
                             .ranks_per_router = 1 + draw.up_to(2),
                             .link = draw.link()});
    default: return explicit_graph(draw);
  }
}

// Some links differ from the others; half duplex only where there is a way back, and alike.
Topology machine_of(RandomCase& draw) {
  const Topology topology = shape_of(draw);
  if (draw.chance(50)) return topology;
  std::vector<Topology::LinkChange> changes;
  for (std::size_t id = 0; id < topology.links().size(); ++id) {
    if (draw.chance(60)) continue;
    LinkParameters changed = draw.link();
    const Link& link = topology.link(LinkId(id));
    const auto there = topology.links_between(link.from, link.to);
    const auto back = topology.links_between(link.to, link.from);
    const auto n = static_cast<std::size_t>(
        std::find(there.begin(), there.end(), LinkId(id)) - there.begin());
    if (n >= back.size()) changed.half_duplex = false;
    changes.push_back({LinkId(id), changed});
    if (changed.half_duplex) changes.push_back({back[n], changed});
  }
  return topology.with_changed_links(changes);
}

// ---- programs

// What belongs together, mostly; then, the wilder the more, what does not.
class Scribbler {
 public:
  Scribbler(RandomCase& draw, const Topology& topology) : draw_(draw) {
    std::vector<Rank> group = first_ranks(topology.rank_count());
    if (draw.chance(60)) {
      for (std::size_t i = group.size(); i > 1; --i)
        std::swap(group[i - 1], group[static_cast<std::size_t>(draw.up_to(static_cast<int>(i)))]);
      group.resize(1 + static_cast<std::size_t>(draw.up_to(static_cast<int>(group.size()))));
    }
    constexpr ElementType types[] = {ElementType::u8, ElementType::f32, ElementType::f64};
    draft_.collective = no_duties(std::move(group), types[draw.up_to(3)]);
    draft_.lanes = 1 + draw.up_to(3);
    if (draw.chance(60)) draft_.slots = 1 + draw.up_to(3);
    draft_.programs.resize(draft_.collective.group.size() * static_cast<std::size_t>(draft_.lanes));
    disorder_ = 4 * draw.up_to(4);
    wildness_ = std::max(0, draw.up_to(6) - 2);
  }

  Draft draft() {
    for (int things = draw_.up_to(16); things > 0; --things) add_something();
    return draft_;
  }

 private:
  struct Place {
    std::size_t position;
    std::size_t lane;
  };
  std::size_t below(std::size_t limit) {
    return static_cast<std::size_t>(draw_.up_to(static_cast<int>(limit)));
  }
  std::size_t ranks() const { return draft_.collective.group.size(); }
  Place place() { return {below(ranks()), below(static_cast<std::size_t>(draft_.lanes))}; }
  Place elsewhere(const Place& here) {
    return {(here.position + 1 + below(ranks() - 1)) % ranks(),
            below(static_cast<std::size_t>(draft_.lanes))};
  }
  Endpoint at(const Place& place) const {
    return {draft_.collective.group[place.position], Lane(place.lane)};
  }
  std::int64_t length() { return draw_.chance(20) ? 0 : draw_.up_to(200'000); }
  Span span(std::int64_t count) {
    if (!draw_.chance(wildness_)) return {Buffer::scratch, 0, count};
    return {static_cast<Buffer>(draw_.up_to(256)), draw_.up_to(100) - 50, count};
  }

  void add(const Place& place, Instruction instruction) {
    if (draw_.chance(wildness_)) return;
    if (draw_.chance(wildness_)) spoil(instruction, at(place));
    auto& program =
        draft_.programs[place.position * static_cast<std::size_t>(draft_.lanes) + place.lane];
    const std::size_t before =
        draw_.chance(disorder_) ? below(program.size() + 1) : program.size();
    program.insert(program.begin() + static_cast<std::ptrdiff_t>(before), instruction);
  }

  void spoil(Instruction& instruction, const Endpoint& here) {
    Endpoint& peer = draw_.chance(50) ? instruction.to : instruction.from;
    switch (draw_.up_to(10)) {
      case 0: peer.rank = Rank(static_cast<std::size_t>(draw_.up_to(1 << 30)) * 3); break;
      case 1: peer.rank = Rank(below(16)); break;  // perhaps of the machine but not of the group
      case 2: peer.lane = Lane(below(1 << 16)); break;
      case 3: peer.rank = here.rank; break;
      case 4: instruction.from = instruction.to = here; break;
      case 5: instruction.count += draw_.up_to(3) - 1; break;
      case 6: instruction.count = -1 - draw_.up_to(3); break;
      case 7: instruction.count = std::numeric_limits<std::int64_t>::min() + draw_.up_to(2); break;
      case 8: instruction.op = static_cast<Op>(draw_.up_to(256)); break;
      default: peer.unused = 7; break;
    }
  }

  void message(const Place& from, const Place& to, std::int64_t count) {
    add(from, draw_.chance(50) ? send(at(to), span(count))
                               : copy_send(span(count), span(count), at(to)));
    add(to, draw_.chance(50) ? receive(at(from), span(count))
                             : receive_reduce(at(from), span(count), span(count)));
  }

  void relayed(const Place& from, const Place& over, const Place& to, std::int64_t count) {
    add(from, send(at(over), span(count)));
    const Instruction passed_on[] = {
        receive_send(at(from), span(count), at(to)),
        receive_reduce_send(at(from), span(count), at(to)),
        receive_reduce_store_send(at(from), span(count), span(count), at(to))};
    add(over, passed_on[below(3)]);
    add(to, receive(at(over), span(count)));
  }

  // Nobody waits for anybody when there are slots enough.
  void volleys(const Place& one, const Place& other, std::int64_t count) {
    const int shots = 1 + draw_.up_to(4);
    for (int i = 0; i < shots; ++i) add(one, send(at(other), span(count)));
    for (int i = 0; i < shots; ++i) add(other, send(at(one), span(count)));
    for (int i = 0; i < shots; ++i) add(one, receive(at(other), span(count)));
    for (int i = 0; i < shots; ++i) add(other, receive(at(one), span(count)));
  }

  void handover(const Place& here) {
    const Place there{here.position, below(static_cast<std::size_t>(draft_.lanes))};
    if (there.lane == here.lane && !draw_.chance(wildness_)) return;
    Instruction tells = signal(at(there));
    if (draw_.chance(wildness_)) tells.count = draw_.up_to(5) - 2;
    add(here, tells);
    add(there, wait(at(here)));
  }

  void add_something() {
    const Place here = place();
    const std::int64_t count = length();
    switch (ranks() == 1 ? draw_.up_to(2) : draw_.up_to(8)) {
      case 0: handover(here); break;
      case 1:
        add(here, draw_.chance(50) ? copy(span(count), span(count))
                                   : local_reduce(span(count), span(count)));
        break;
      case 2: volleys(here, elsewhere(here), count); break;
      case 3:
      case 4: {
        const Place over = elsewhere(here);
        relayed(here, over, elsewhere(over), count);
        break;
      }
      default: message(here, elsewhere(here), count);
    }
  }

  RandomCase& draw_;
  Draft draft_;
  int disorder_ = 0;  // per cent of the instructions go anywhere in their program
  int wildness_ = 0;  // per cent of the instructions are spoilt
};

// An algorithm of the product with an instruction dropped, doubled, moved or retold, or untouched.
Draft mutant(RandomCase& draw, const Topology& topology) {
  const Schedule schedule = draw.schedule(topology.rank_count());
  Draft draft{schedule.collective(), {}, schedule.lanes(), schedule.slots()};
  for (int position = 0; position < schedule.size(); ++position) {
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      Program program = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
      auto& list = draft.programs.emplace_back();
      while (const Instruction* instruction = program.next()) list.push_back(*instruction);
    }
  }
  for (int mutations = draw.up_to(3); mutations > 0; --mutations) {
    auto& list =
        draft.programs[static_cast<std::size_t>(draw.up_to(static_cast<int>(draft.programs.size())))];
    if (list.empty()) continue;
    const auto any = [&] { return list.begin() + draw.up_to(static_cast<int>(list.size())); };
    const auto victim = any();
    switch (draw.up_to(6)) {
      case 0: list.erase(victim); break;
      case 1: list.insert(any(), Instruction(*victim)); break;
      case 2: std::iter_swap(victim, any()); break;
      case 3: std::swap(victim->to, any()->to); break;
      case 4: std::swap(victim->from, any()->from); break;
      default: victim->count += draw.up_to(3) - 1; break;
    }
  }
  return draft;
}

// ---- judgement

// Bad spans, bad buffers, overlaps and everything about values are the data's business.
bool is_of_communication(FaultKind kind) {
  switch (kind) {
    case FaultKind::bad_peer:
    case FaultKind::size_mismatch:
    case FaultKind::missing_message:
    case FaultKind::unreceived_message:
    case FaultKind::missing_signal:
    case FaultKind::unreceived_signal:
    case FaultKind::deadlock: return true;
    default: return false;
  }
}

bool communicates(const Draft& draft) {
  const std::optional<int> least = least_slots(skeleton_of(draft));
  return least && *least <= draft.slots.value_or(*least);
}

struct Outcome {
  std::optional<Simulation> result;
  std::optional<ErrorCode> error;
  std::string text;  // everything that came out
};

void print_steps(std::ostream& out, const Timeline& timeline) {
  for (const Step& step : timeline.steps)
    out << "; " << step.rank.index() << "." << step.lane.index() << "." << step.index << " "
        << step.began.ps() << " " << step.ended.ps() << " " << step.departed.ps() << " "
        << step.left.ps() << " " << step.arrived.ps() << " " << step.message_from << " "
        << step.slot_freed_by << " " << step.queued_behind;
}

std::string text_of(const Simulation& simulation) {
  std::ostringstream out;
  out << to_string(simulation.engine) << " " << simulation.time.ps() << " "
      << simulation.fingerprint << " " << simulation.instructions << " " << simulation.messages
      << " " << simulation.wire_bytes;
  for (const Time finished : simulation.finished) out << " " << finished.ps();
  for (const RankUsage& rank : simulation.ranks)
    out << " " << rank.waiting_for_messages.ps() << " " << rank.waiting_for_slots.ps() << " "
        << rank.working.ps();
  for (const LinkUsage& link : simulation.links)
    out << " " << link.busy.ps() << " " << link.bytes << " " << link.messages;
  if (simulation.timeline) print_steps(out, *simulation.timeline);
  return out.str();
}

Outcome outcome(const Topology& topology, const Schedule& schedule, const CostModel& costs,
                const SimulationOptions& options) {
  Outcome outcome;
  try {
    outcome.result = simulate(topology, schedule, costs, options);
    outcome.text = text_of(*outcome.result);
    if (!outcome.result->timeline) return outcome;
    Time end{};
    for (const auto& segment : critical_path(topology, schedule, *outcome.result).segments) {
      EXPECT_EQ(segment.from, end);
      end = segment.to;
    }
    EXPECT_EQ(end, outcome.result->time);
  } catch (const Error& error) {
    outcome.result.reset();
    outcome.error = error.code();
    outcome.text = std::string(to_string(error.code())) + ": " + error.what();
  }
  return outcome;
}

constexpr Engine engines[] = {Engine::event, Engine::dataflow, Engine::symmetry, Engine::automatic};
constexpr Recording recordings[] = {Recording::off, Recording::summary, Recording::full};

bool may_decline(Engine engine) {
  return engine == Engine::dataflow || engine == Engine::symmetry;
}

// The engines one after the other, each with every recording: they must agree with the checker,
// with the programs and with each other.  Returns what came out of all of them.
std::string expect_agreement(const Topology& topology, const Draft& draft, const CostModel& costs,
                             SimulationOptions options, bool fine) {
  const Schedule schedule = schedule_of(draft);
  std::uint64_t instructions = 0;
  std::uint64_t messages = 0;
  Bytes elements = 0;
  for (const std::vector<Instruction>& program : draft.programs) {
    instructions += program.size();
    for (const Instruction& instruction : program) {
      if (!fine || !sends(instruction.op)) continue;
      ++messages;
      elements += instruction.count;
    }
  }
  std::string all;
  std::optional<Simulation> first;
  for (const Engine engine : engines) {
    for (const Recording recording : recordings) {
      options.engine = engine;
      options.recording = recording;
      const Outcome now = outcome(topology, schedule, costs, options);
      all += now.text + "\n";
      if (may_decline(engine) && now.error == ErrorCode::engine_not_applicable) continue;
      EXPECT_EQ(now.result.has_value(), fine) << to_string(engine) << ": " << now.text;
      if (now.error) {
        EXPECT_TRUE(now.error == ErrorCode::bad_schedule || now.error == ErrorCode::deadlock)
            << to_string(engine) << ": " << now.text;
        continue;
      }
      if (!first) first = now.result;
      EXPECT_EQ(now.result->instructions, instructions);
      EXPECT_EQ(now.result->messages, messages);
      EXPECT_EQ(now.result->wire_bytes, elements * size_of(draft.collective.type));
      EXPECT_EQ(now.result->finished, first->finished) << to_string(engine);
      EXPECT_EQ(now.result->fingerprint, first->fingerprint) << to_string(engine);
      EXPECT_EQ(now.result->time, *std::max_element(first->finished.begin(), first->finished.end()));
    }
  }
  return all;
}

struct Tally {
  int fine = 0;
  int right = 0;
  std::map<FaultKind, int> faults;
};

std::string run_case(std::uint64_t seed, bool mutated, Tally& tally) {
  RandomCase draw(seed, {.half_duplex = 20});
  const Topology topology = mutated ? draw.topology() : machine_of(draw);
  Draft draft = mutated ? mutant(draw, topology) : Scribbler(draw, topology).draft();
  const CostModel costs = draw.costs();
  const SimulationOptions options = draw.options(topology.rank_count());
  const bool fine = communicates(draft);
  const CheckReport report = check(schedule_of(draft));
  tally.fine += fine ? 1 : 0;
  tally.right += report.ok ? 1 : 0;
  if (report.fault) ++tally.faults[report.fault->kind];
  if (report.ok) EXPECT_TRUE(fine);
  if (report.fault && is_of_communication(report.fault->kind)) EXPECT_FALSE(fine);
  std::string all;
  // What does the wrong thing may be faster than the right thing can be.
  if (report.ok) all = expect_agreement(topology, draft, costs, options, true);
  draft.collective = no_duties(draft.collective.group, draft.collective.type);
  return all + expect_agreement(topology, draft, costs, options, fine);
}

std::vector<std::string> run_cases(std::uint64_t first, std::uint64_t last, bool mutated,
                                   Tally& tally) {
  std::vector<std::string> all;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    SCOPED_TRACE((mutated ? "mutant " : "garbage ") + std::to_string(seed));
    all.push_back(run_case(seed, mutated, tally));
    if (::testing::Test::HasFailure()) break;
  }
  return all;
}

TEST(Garbage, WhatTheCheckerRefusesIsRefusedAndNothingElse) {
  Tally tally;
  run_cases(0, 4000, false, tally);
  EXPECT_GT(tally.fine, 1000);
  EXPECT_LT(tally.fine, 3000);
  for (const FaultKind kind :
       {FaultKind::bad_instruction, FaultKind::bad_peer, FaultKind::bad_span,
        FaultKind::size_mismatch, FaultKind::missing_message, FaultKind::unreceived_message,
        FaultKind::missing_signal, FaultKind::unreceived_signal, FaultKind::deadlock})
    EXPECT_GT(tally.faults[kind], 10) << to_string(kind);
}

TEST(Garbage, MutantsOfRealAlgorithmsLikewise) {
  Tally tally;
  run_cases(0, 1500, true, tally);
  EXPECT_GT(tally.right, 300);
  EXPECT_GT(tally.fine, tally.right + 10);
  for (const FaultKind kind : {FaultKind::bad_peer, FaultKind::size_mismatch,
                               FaultKind::missing_message, FaultKind::deadlock})
    EXPECT_GT(tally.faults[kind], 10) << to_string(kind);
}

TEST(Garbage, TheSameAgainInOneProcess) {
  Tally tally;
  for (const bool mutated : {false, true})
    EXPECT_EQ(run_cases(5000, 5200, mutated, tally), run_cases(5000, 5200, mutated, tally));
}

}  // namespace
}  // namespace collsim::testing
