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
  parts.scratch_count = [lanes = draft.programs.size()](int) {
    return static_cast<std::int64_t>(lanes) * plenty;
  };
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

// The same communication with data that cannot be wrong before the end: every lane reads the input
// and writes its own part of scratch.  Nobody writes the output, so the checker's last resort is
// unwritten_output.
Schedule skeleton_of(Draft draft) {
  draft.collective.operation = Operation::all_reduce;
  draft.collective.count = plenty;
  draft.collective.in_place = false;
  draft.collective.root = 0;
  for (std::size_t lane = 0; lane < draft.programs.size(); ++lane) {
    for (Instruction& instruction : draft.programs[lane]) {
      if (instruction.op == Op::receive_reduce) instruction.op = Op::receive;
      if (instruction.op == Op::receive_reduce_send) instruction.op = Op::receive_send;
      if (instruction.op == Op::receive_reduce_store_send) instruction.op = Op::receive_send;
      if (instruction.op == Op::local_reduce) instruction.op = Op::copy;
      instruction.source_buffer = Buffer::input;
      instruction.source_offset = 0;
      instruction.destination_buffer = Buffer::scratch;
      instruction.destination_offset = static_cast<std::int64_t>(lane) * plenty;
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
    case 6:
      return make_hypercube(std::size_t{1} << static_cast<unsigned>(draw.up_to(4)), draw.link());
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
    const auto n =
        static_cast<std::size_t>(std::find(there.begin(), there.end(), LinkId(id)) - there.begin());
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
    const std::size_t before = draw_.chance(disorder_) ? below(program.size() + 1) : program.size();
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
    add(from,
        draw_.chance(50) ? send(at(to), span(count)) : copy_send(span(count), span(count), at(to)));
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
    auto& list = draft.programs[static_cast<std::size_t>(
        draw.up_to(static_cast<int>(draft.programs.size())))];
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
      EXPECT_EQ(now.result->time,
                *std::max_element(first->finished.begin(), first->finished.end()));
    }
  }
  return all;
}

struct Tally {
  int fine = 0;   // communicates
  int right = 0;  // does what the collective asks for
  std::map<FaultKind, int> faults;
};

std::string run_case(std::uint64_t seed, bool mutated, Tally& tally) {
  RandomCase draw(seed, {.half_duplex = 20});
  const Topology topology = mutated ? draw.topology() : machine_of(draw);
  Draft draft = mutated ? mutant(draw, topology) : Scribbler(draw, topology).draft();
  const CostModel costs = draw.costs();
  const SimulationOptions options = draw.options(topology.rank_count());

  const FaultKind fault = check(skeleton_of(draft)).fault.value().kind;
  const bool fine = fault == FaultKind::unwritten_output;
  EXPECT_TRUE(fine || is_of_communication(fault) || fault == FaultKind::bad_instruction ||
              fault == FaultKind::bad_span)
      << to_string(fault);
  ++tally.faults[fault];
  const CheckReport report = check(schedule_of(draft));
  EXPECT_TRUE(fine || !report.ok);
  EXPECT_FALSE(fine && report.fault && is_of_communication(report.fault->kind));
  tally.fine += fine ? 1 : 0;
  tally.right += report.ok ? 1 : 0;

  std::string all;
  if (report.ok) all = expect_agreement(topology, draft, costs, options, true);
  // What does the wrong thing may be faster than the right thing can be.
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

// ---- absurd numbers

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::int64_t absurd_number(RandomCase& draw) {
  constexpr std::int64_t numbers[] = {0,
                                      0,
                                      0,
                                      0,
                                      1,
                                      2,
                                      999,
                                      std::int64_t{1} << 31U,
                                      std::int64_t{1} << 53U,
                                      std::int64_t{1} << 60U,
                                      std::int64_t{1} << 61U,
                                      std::int64_t{1} << 62U,
                                      most / 3,
                                      most - 1,
                                      most};
  const std::int64_t number = numbers[draw.up_to(static_cast<int>(std::size(numbers)))];
  return draw.chance(20) && number < most ? number + 1 : number;
}

LinkParameters absurd_link(RandomCase& draw) {
  constexpr std::int64_t rates[] = {1, 3, 1'000'000'007, 1'000'000'000'000, most / 2, most};
  LinkParameters link{Bandwidth(rates[draw.up_to(6)])};
  if (draw.chance(30)) link.overhead = Time(absurd_number(draw));
  if (draw.chance(30)) link.latency = Time(absurd_number(draw));
  if (draw.chance(40)) link.sharing = Sharing::fair;
  return link;
}

// One cable, one connection: every time is a sum that 128 bits hold.
TEST(Garbage, TimesBetweenTwoRanksAreExactOrRefused) {
  __extension__ using Wide = __int128;
  constexpr ElementType types[] = {ElementType::u8, ElementType::f32, ElementType::f64};
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    RandomCase draw(seed);
    const LinkParameters link = absurd_link(draw);
    const Topology topology = make_chain(2, link);
    Draft draft{no_duties(first_ranks(2), types[draw.up_to(3)]), Programs(2)};
    const Bytes size = size_of(draft.collective.type);
    Wide left = 0;
    Wide bytes = 0;
    const int messages = 1 + draw.up_to(4);
    for (int i = 0; i < messages; ++i) {
      const std::int64_t count = absurd_number(draw);
      draft.programs[0].push_back(send({Rank(1), Lane(0)}, {Buffer::scratch, 0, count}));
      draft.programs[1].push_back(receive({Rank(0), Lane(0)}, {Buffer::scratch, 0, count}));
      const Wide n = Wide{count} * size;
      const Wide rate = link.bandwidth.bytes_per_second();
      const Wide alpha = link.overhead.ps();
      left = link.sharing == Sharing::fair ? std::max(left, alpha) : left + alpha;
      left += (n * 1'000'000'000'000 + rate - 1) / rate;
      bytes += n;
    }
    const Wide end = left + link.latency.ps();
    const bool fits = end < most && bytes <= most;
    refused += fits ? 0 : 1;
    for (const Engine engine : {Engine::event, Engine::dataflow, Engine::automatic}) {
      for (const Recording recording : recordings) {
        const Outcome now =
            outcome(topology, schedule_of(draft), {}, {.engine = engine, .recording = recording});
        ASSERT_EQ(now.result.has_value(), fits) << seed << " " << to_string(engine) << now.text;
        if (!fits) {
          ASSERT_EQ(now.error, ErrorCode::overflow) << seed << now.text;
          continue;
        }
        ASSERT_TRUE(now.result->time.ps() == end) << seed << " " << to_string(engine);
        ASSERT_TRUE(now.result->wire_bytes == bytes) << seed << " " << to_string(engine);
      }
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 3000);
}

// Counts that were equal stay equal.
void make_counts_absurd(RandomCase& draw, Draft& draft) {
  std::map<std::int64_t, std::int64_t> renamed;
  for (std::vector<Instruction>& program : draft.programs)
    for (Instruction& instruction : program)
      if (instruction.count >= 0)
        instruction.count =
            renamed.try_emplace(instruction.count, absurd_number(draw)).first->second;
}

CostModel absurd_costs(RandomCase& draw) {
  CostModel costs;
  if (draw.chance(20)) costs.reduce_bandwidth = absurd_link(draw).bandwidth;
  if (draw.chance(20)) costs.copy_bandwidth = absurd_link(draw).bandwidth;
  if (draw.chance(20)) costs.instruction_overhead = Time(absurd_number(draw));
  if (draw.chance(20)) costs.launch = Time(absurd_number(draw));
  if (draw.chance(3)) costs.launch = Time(-1 - absurd_number(draw));
  if (draw.chance(3)) costs.instruction_overhead = Time(-1 - absurd_number(draw));
  return costs;
}

Topology absurd_machine(RandomCase& draw) {
  const Topology topology = shape_of(draw);
  std::vector<Topology::LinkChange> changes;
  for (std::size_t id = 0; id < topology.links().size(); ++id)
    changes.push_back({LinkId(id), absurd_link(draw)});
  return topology.with_changed_links(changes);
}

TEST(Garbage, AbsurdNumbersAreErrorsOrTimes) {
  std::map<ErrorCode, int> errors;
  int results = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    RandomCase draw(seed);
    const Topology topology = absurd_machine(draw);
    Draft draft = Scribbler(draw, topology).draft();
    make_counts_absurd(draw, draft);
    const CostModel costs = absurd_costs(draw);
    SimulationOptions options;
    options.max_recorded_steps = 20;
    for (std::size_t rank = 0; rank < topology.rank_count(); ++rank)
      if (draw.chance(5)) options.late.emplace_back(Rank(rank), Time(absurd_number(draw)));
    std::optional<Simulation> first;
    for (const Engine engine : engines) {
      for (const Recording recording : recordings) {
        options.engine = engine;
        options.recording = recording;
        const Outcome now = outcome(topology, schedule_of(draft), costs, options);
        if (now.error) {
          ++errors[*now.error];
          continue;
        }
        ++results;
        if (!first) first = now.result;
        EXPECT_EQ(now.result->finished, first->finished) << to_string(engine);
        for (const std::vector<Instruction>& program : draft.programs)
          for (const Instruction& instruction : program)
            if (sends(instruction.op))
              EXPECT_GE(now.result->time, transfer_time(instruction.count, Bandwidth(most)));
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(results, 3000);
  for (const auto& [code, count] : errors) {
    const bool apt = code == ErrorCode::overflow || code == ErrorCode::invalid_argument ||
                     code == ErrorCode::too_large || code == ErrorCode::bad_schedule ||
                     code == ErrorCode::deadlock || code == ErrorCode::engine_not_applicable;
    EXPECT_TRUE(apt) << to_string(code);
    EXPECT_GT(count, 50) << to_string(code);
  }
  EXPECT_EQ(errors.size(), 6U);
}

TEST(Garbage, FalseClaimsOfSymmetryDoNoHarm) {
  int believed = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomCase draw(seed);
    const Topology topology = shape_of(draw);
    Draft draft = Scribbler(draw, topology).draft();
    draft.symmetry = draw.chance(50) ? Symmetry::rotation : Symmetry::exchange;
    for (const Engine engine : {Engine::symmetry, Engine::automatic}) {
      const Outcome now = outcome(topology, schedule_of(draft), {}, {.engine = engine});
      believed += now.result && now.result->engine == Engine::symmetry ? 1 : 0;
      if (now.error == ErrorCode::overflow) ADD_FAILURE() << seed << now.text;
    }
  }
  EXPECT_GT(believed, 100);
}

TEST(Garbage, IslandsHaveNoRoute) {
  int without_route = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RandomCase draw(seed);
    TopologyBuilder builder;
    for (int gpu = 0; gpu < 5; ++gpu) builder.add_node(NodeKind::gpu);
    builder.connect(NodeId(0), NodeId(1), draw.link());
    builder.connect_one_way(NodeId(1), NodeId(2), plain(draw.link()));
    builder.connect(NodeId(3), NodeId(4), draw.link());
    const Topology topology = builder.build();
    const Draft draft = Scribbler(draw, topology).draft();
    const bool fine = check(skeleton_of(draft)).fault.value().kind == FaultKind::unwritten_output;
    for (const Engine engine : {Engine::event, Engine::automatic}) {
      const Outcome now = outcome(topology, schedule_of(draft), {}, {.engine = engine});
      if (now.error == ErrorCode::no_route)
        ++without_route;
      else
        EXPECT_EQ(now.result.has_value(), fine) << seed << now.text;
    }
  }
  EXPECT_GT(without_route, 100);
}

// ---- one of each, by hand

constexpr Span eight{Buffer::scratch, 0, 8};

Endpoint at(int rank, int lane = 0) {
  return {Rank(static_cast<std::size_t>(rank)), Lane(static_cast<std::size_t>(lane))};
}

Outcome by_hand(Programs programs, Engine engine, const CostModel& costs = {}, int lanes = 1) {
  const std::size_t ranks = programs.size() / static_cast<std::size_t>(lanes);
  const Draft draft{no_duties(first_ranks(ranks), ElementType::u8), std::move(programs), lanes};
  return outcome(make_ring(ranks, link_of(gigabytes_per_second(10))), schedule_of(draft), costs,
                 {.engine = engine});
}

TEST(Garbage, NegativeCountsAreNoTimeMachines) {
  CostModel costly;
  costly.copy_bandwidth = costly.reduce_bandwidth = gigabytes_per_second(1);
  for (const Engine engine : {Engine::event, Engine::dataflow}) {
    for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{-8}, -most - 1}) {
      const Span span{Buffer::scratch, 0, count};
      for (const CostModel& costs : {CostModel{}, costly})
        for (const Programs& programs :
             {Programs{{send(at(1), span)}, {receive(at(0), span)}},
              Programs{{copy_send(span, span, at(1))}, {receive_reduce(at(0), span, span)}},
              Programs{{copy(span, span)}, {}}, Programs{{local_reduce(span, span)}, {}}}) {
          const Outcome now = by_hand(programs, engine, costs);
          EXPECT_EQ(now.error, ErrorCode::bad_schedule) << to_string(engine) << ": " << now.text;
        }
    }
  }
}

TEST(Garbage, OnlyOperationsThatExist) {
  int known = 0;
  for (int code = 0; code < 256; ++code) {
    Instruction instruction = copy_send(eight, eight, at(1));
    instruction.op = static_cast<Op>(code);
    const Outcome now = by_hand({{instruction}, {}}, Engine::event);
    if (std::string_view(to_string(instruction.op)) != "?")
      ++known;
    else
      EXPECT_EQ(now.error, ErrorCode::bad_schedule) << code << ": " << now.text;
  }
  EXPECT_EQ(known, 11);
}

TEST(Garbage, SignalsGoToAnotherLaneAndCarryNothing) {
  for (const Engine engine : {Engine::event, Engine::dataflow}) {
    EXPECT_EQ(by_hand({{signal(at(0)), wait(at(0))}, {}}, engine).error, ErrorCode::bad_schedule);
    EXPECT_EQ(by_hand({{wait(at(0)), signal(at(0))}, {}}, engine).error, ErrorCode::bad_schedule);
    for (const std::int64_t count : {std::int64_t{3}, std::int64_t{-3}, most}) {
      Instruction counted = signal(at(0, 1));
      counted.count = count;
      const Outcome now = by_hand({{counted}, {wait(at(0, 0))}, {}, {}}, engine, {}, 2);
      ASSERT_TRUE(now.result) << now.text;
      EXPECT_EQ(now.result->wire_bytes, 0);
    }
  }
}

TEST(Garbage, UnusedBitsOfAnEndpointMeanNothing) {
  Instruction odd_send = send(at(1), eight);
  Instruction odd_receive = receive(at(0), eight);
  odd_send.to.unused = odd_receive.from.unused = 7;
  const Instruction even_send = send(at(1), eight);
  const Instruction even_receive = receive(at(0), eight);
  for (const Engine engine : {Engine::event, Engine::dataflow}) {
    const Outcome now = by_hand({{even_send, odd_send, even_send, odd_send},
                                 {even_receive, odd_receive, even_receive, odd_receive}},
                                engine);
    ASSERT_TRUE(now.result) << to_string(engine) << now.text;
    EXPECT_EQ(now.result->time, picoseconds(3200));
  }
}

TEST(Garbage, WhatDoesNotDoItsDutyIsNoBugOfOurs) {
  const Schedule idle =
      byte_schedule(Operation::all_reduce, 4, 1000, "ring").with_programs([](int, Lane) {
        return Program();
      });
  const Topology topology = make_ring(4, link_of(gigabytes_per_second(10)));
  expect_error(ErrorCode::bad_schedule, {"nobody has written it"},
               [&] { static_cast<void>(simulate(topology, idle)); });
}

TEST(Garbage, ALateRankMayHaveNothingToDo) {
  const Draft draft{no_duties(first_ranks(2), ElementType::u8), {{copy(eight, eight)}, {}}};
  const Outcome now = outcome(make_ring(2, link_of(gigabytes_per_second(10))), schedule_of(draft),
                              {}, {.recording = Recording::full, .late = {{Rank(1), Time(5)}}});
  ASSERT_TRUE(now.result) << now.text;
  EXPECT_EQ(now.result->time, Time(5));
}

TEST(Garbage, MoreLanesThanCanBeHeld) {
  Schedule::Parts parts;
  parts.collective = byte_collective(Operation::barrier, 5000, 0);
  parts.lanes = 65536;
  parts.program = [](int, Lane) { return Program(); };
  const Topology topology = make_switch(5000, link_of(gigabytes_per_second(10)));
  for (const Recording recording : recordings)
    expect_error(ErrorCode::too_large, {"327680000"}, [&] {
      static_cast<void>(simulate(topology, Schedule(parts), {}, {.recording = recording}));
    });
}

}  // namespace
}  // namespace collsim::testing
