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
#include <limits>
#include <map>
#include <memory>
#include <sstream>

#include "collectives/checker.hpp"
#include "sim/critical_path.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/random_case.hpp"

namespace collsim::testing {
namespace {

using ListedPrograms = std::vector<std::vector<Instruction>>;  // lane by lane of each position

constexpr std::int64_t plenty = std::int64_t{1} << 40U;  // elements for each lane

Program play(std::shared_ptr<const ListedPrograms> programs, std::size_t lane) {
  for (const Instruction& instruction : (*programs)[lane]) co_yield instruction;
}

struct Draft {
  Collective collective;
  ListedPrograms programs;
  int lanes = 1;
  std::optional<int> slots{};
  Symmetry symmetry = Symmetry::none;
};

Schedule schedule_of(const Draft& draft) {
  Schedule::Parts parts;
  parts.collective = draft.collective;
  parts.algorithm = "garbage";
  parts.lanes = draft.lanes;
  parts.slots = draft.slots;
  parts.symmetry = draft.symmetry;
  parts.scratch_count = [](int) { return plenty << 20U; };
  const auto programs = std::make_shared<const ListedPrograms>(draft.programs);
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
  draft.collective = no_duties(draft.collective.group, draft.collective.type);
  draft.collective.operation = Operation::all_reduce;
  draft.collective.count = plenty;
  for (std::size_t lane = 0; lane < draft.programs.size(); ++lane) {
    for (Instruction& instruction : draft.programs[lane]) {
      if (instruction.op == Op::local_reduce) instruction.op = Op::copy;
      if (instruction.op == Op::receive_reduce) instruction.op = Op::receive;
      if (instruction.op == Op::receive_reduce_send) instruction.op = Op::receive_send;
      if (instruction.op == Op::receive_reduce_store_send) instruction.op = Op::receive_send;
      instruction.source_buffer = Buffer::input;
      instruction.source_offset = 0;
      instruction.destination_buffer = Buffer::scratch;
      instruction.destination_offset = static_cast<std::int64_t>(lane) * plenty;
    }
  }
  return schedule_of(draft);
}

std::size_t below(RandomCase& draw, std::size_t limit) {
  return static_cast<std::size_t>(draw.up_to(static_cast<int>(limit)));
}

constexpr ElementType types[] = {ElementType::u8, ElementType::f32, ElementType::f64};

// ---- machines

LinkParameters plain(LinkParameters parameters) {
  parameters.half_duplex = false;
  return parameters;
}

// GPUs and switches joined into a tree, then cables beside cables and some one-way links.
Topology explicit_graph(RandomCase& draw) {
  TopologyBuilder builder;
  const std::size_t ranks = 2 + below(draw, 5);
  const std::size_t nodes = ranks + below(draw, 3);
  for (std::size_t node = 0; node < nodes; ++node)
    builder.add_node(node < ranks ? NodeKind::gpu : NodeKind::network_switch);
  for (std::size_t node = 1; node < nodes; ++node) {
    const LinkParameters cable = draw.link();
    const NodeId other(below(draw, node));
    for (int parallel = 1 + draw.up_to(3); parallel > 0; --parallel)
      builder.connect(NodeId(node), other, cable);
  }
  for (int more = draw.up_to(4); more > 0; --more) {
    const NodeId from(below(draw, nodes - 1));
    builder.connect_one_way(from, NodeId(from.index() + 1), plain(draw.link()));
  }
  return builder.build();
}

Topology shape_of(RandomCase& draw) {
  const std::vector<int> dims{1 + draw.up_to(3), 1 + draw.up_to(3)};
  if (draw.chance(25)) return explicit_graph(draw);
  switch (draw.up_to(9)) {
    case 0: return make_ring(1, draw.link());
    case 1: return make_torus(dims, draw.link());
    case 2: return make_mesh(dims, draw.link());
    case 3: return make_hypercube(std::size_t{1} << draw.up_to(4), draw.link());
    case 4: return make_fat_tree(2 + 2 * draw.up_to(2), draw.link());
    case 5: return make_dragonfly({2 + draw.up_to(2), 1 + draw.up_to(2), 1, draw.link()});
    default: return draw.topology();
  }
}

// The same machine, and so many per cent of its links drawn anew.
template <class Draw>
Topology with_other_links(const Topology& topology, RandomCase& draw, int percent, Draw new_link) {
  std::vector<Topology::LinkChange> changes;
  for (std::size_t id = 0; id < topology.links().size(); ++id)
    if (draw.chance(percent)) changes.push_back({LinkId(id), plain(new_link())});
  return topology.with_changed_links(changes);
}

// ---- programs

// What belongs together, mostly; then, the wilder the more, what does not.
class Scribbler {
 public:
  Scribbler(RandomCase& draw, const Topology& topology) : draw_(draw) {
    std::vector<Rank> group = first_ranks(topology.rank_count());
    if (draw.chance(60)) {
      for (std::size_t i = group.size(); i > 1; --i) std::swap(group[i - 1], group[below(draw, i)]);
      group.resize(1 + below(draw, group.size()));
    }
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
  using Place = std::size_t;  // a lane among all lanes

  std::size_t lanes() const { return static_cast<std::size_t>(draft_.lanes); }
  Place elsewhere(Place here) {  // on another rank
    return (here / lanes() * lanes() + lanes() + below(draw_, draft_.programs.size() - lanes())) %
           draft_.programs.size();
  }
  Endpoint at(Place place) const {
    return {draft_.collective.group[place / lanes()], Lane(place % lanes())};
  }
  Span span(std::int64_t count) {
    if (!draw_.chance(wildness_)) return {Buffer::scratch, 0, count};
    return {static_cast<Buffer>(draw_.up_to(256)), draw_.up_to(100) - 50, count};
  }

  void add(Place place, Instruction instruction) {
    if (draw_.chance(wildness_)) return;
    if (draw_.chance(wildness_)) spoil(instruction, at(place));
    auto& program = draft_.programs[place];
    const std::size_t before =
        draw_.chance(disorder_) ? below(draw_, program.size() + 1) : program.size();
    program.insert(program.begin() + static_cast<std::ptrdiff_t>(before), instruction);
  }

  void spoil(Instruction& instruction, const Endpoint& here) {
    Endpoint& peer = draw_.chance(50) ? instruction.to : instruction.from;
    switch (draw_.up_to(10)) {
      case 0: peer.rank = Rank(below(draw_, 1 << 30) * 3); break;
      case 1: peer.rank = Rank(below(draw_, 16)); break;  // perhaps not of the group
      case 2: peer.lane = Lane(below(draw_, 1 << 16)); break;
      case 3: peer.rank = here.rank; break;
      case 4: instruction.from = instruction.to = here; break;
      case 5: instruction.count += draw_.up_to(3) - 1; break;
      case 6: instruction.count = -1 - draw_.up_to(3); break;
      case 7: instruction.count = std::numeric_limits<std::int64_t>::min() + draw_.up_to(2); break;
      case 8: instruction.op = static_cast<Op>(draw_.up_to(256)); break;
      default: peer.unused = 7; break;
    }
  }

  void message(Place from, Place to, std::int64_t count) {
    add(from,
        draw_.chance(50) ? send(at(to), span(count)) : copy_send(span(count), span(count), at(to)));
    add(to, draw_.chance(50) ? receive(at(from), span(count))
                             : receive_reduce(at(from), span(count), span(count)));
  }

  void relayed(Place from, Place over, std::int64_t count) {
    const Place to = elsewhere(over);
    add(from, send(at(over), span(count)));
    constexpr Op ops[] = {Op::receive_send, Op::receive_reduce_send, Op::receive_reduce_store_send};
    Instruction passes_on = receive_send(at(from), span(count), at(to));
    passes_on.op = ops[draw_.up_to(3)];
    add(over, passes_on);
    add(to, receive(at(over), span(count)));
  }

  // Nobody waits for anybody when there are slots enough.
  void volleys(Place one, Place other, std::int64_t count) {
    const int shots = 1 + draw_.up_to(4);
    for (int i = 0; i < 2 * shots; ++i)
      add(i < shots ? one : other, send(at(i < shots ? other : one), span(count)));
    for (int i = 0; i < 2 * shots; ++i)
      add(i < shots ? one : other, receive(at(i < shots ? other : one), span(count)));
  }

  void handover(Place here) {
    const Place there = here / lanes() * lanes() + below(draw_, lanes());
    if (there == here && !draw_.chance(wildness_)) return;
    Instruction tells = signal(at(there));
    if (draw_.chance(wildness_)) tells.count = draw_.up_to(5) - 2;
    add(here, tells);
    add(there, wait(at(here)));
  }

  void add_something() {
    const Place here = below(draw_, draft_.programs.size());
    const std::int64_t count = draw_.chance(20) ? 0 : draw_.up_to(200'000);
    switch (draft_.programs.size() == lanes() ? draw_.up_to(2) : draw_.up_to(8)) {
      case 0: handover(here); break;
      case 1:
        add(here, draw_.chance(50) ? copy(span(count), span(count))
                                   : local_reduce(span(count), span(count)));
        break;
      case 2: volleys(here, elsewhere(here), count); break;
      case 3:
      case 4: relayed(here, elsewhere(here), count); break;
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
      LaneProgram program = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
      auto& list = draft.programs.emplace_back();
      while (const Instruction* instruction = program.next()) list.push_back(*instruction);
    }
  }
  for (int mutations = draw.up_to(3); mutations > 0; --mutations) {
    auto& list = draft.programs[below(draw, draft.programs.size())];
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

constexpr FaultKind communication_faults[] = {
    FaultKind::bad_peer,       FaultKind::size_mismatch,      FaultKind::missing_message,
    FaultKind::missing_signal, FaultKind::unreceived_message, FaultKind::unreceived_signal,
    FaultKind::deadlock};

struct Outcome {
  std::optional<Simulation> result;
  std::optional<ErrorCode> error;
  std::string text;  // everything that came out
};

std::string text_of(const Simulation& simulation) {
  std::ostringstream out;
  const auto put = [&out](const auto&... values) { ((out << " " << values), ...); };
  put(to_string(simulation.engine), simulation.time.ps(), simulation.fingerprint);
  for (const Time finished : simulation.finished) put(finished.ps());
  for (const RankUsage& rank : simulation.ranks)
    put(rank.waiting_for_messages.ps(), rank.waiting_for_slots.ps(), rank.working.ps());
  for (const LinkUsage& link : simulation.links) put(link.busy.ps(), link.bytes, link.messages);
  for (const Step& step : simulation.timeline.value_or(Timeline{}).steps)
    put(step.rank.index(), step.lane.index(), step.index, step.began.ps(), step.departed.ps(),
        step.arrived.ps(), step.message_from, step.slot_freed_by, step.queued_behind);
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

// Every engine with every recording.
template <class Visit>
void in_every_way(SimulationOptions options, const Visit& visit) {
  for (const Engine engine :
       {Engine::event, Engine::dataflow, Engine::symmetry, Engine::automatic}) {
    for (const Recording recording : {Recording::off, Recording::summary, Recording::full}) {
      options.engine = engine;
      options.recording = recording;
      visit(options);
    }
  }
}

bool declined(const Outcome& outcome, Engine way) {
  const bool may = way == Engine::dataflow || way == Engine::symmetry;
  return may && outcome.error == ErrorCode::engine_not_applicable;
}

// All must agree with the checker, with the programs and with each other.  Returns what came out.
std::string expect_agreement(const Topology& topology, const Draft& draft, const CostModel& costs,
                             const SimulationOptions& options, bool fine) {
  const Schedule schedule = schedule_of(draft);
  std::uint64_t instructions = 0;
  std::uint64_t messages = 0;
  Bytes elements = 0;
  for (const std::vector<Instruction>& program : draft.programs) {
    instructions += program.size();
    for (const Instruction& instruction : program) {
      messages += sends(instruction.op) ? 1 : 0;
      elements += fine && sends(instruction.op) ? instruction.count : 0;
    }
  }
  std::string all;
  std::optional<Simulation> first;
  in_every_way(options, [&](const SimulationOptions& way) {
    const Outcome now = outcome(topology, schedule, costs, way);
    all += now.text + "\n";
    if (declined(now, way.engine)) return;
    EXPECT_EQ(now.result.has_value(), fine) << to_string(way.engine) << ": " << now.text;
    if (!now.result) {
      EXPECT_TRUE(now.error == ErrorCode::bad_schedule || now.error == ErrorCode::deadlock);
      return;
    }
    if (!first) first = now.result;
    EXPECT_EQ(now.result->instructions, instructions);
    EXPECT_EQ(now.result->messages, messages);
    EXPECT_EQ(now.result->wire_bytes, elements * size_of(draft.collective.type));
    EXPECT_EQ(now.result->finished, first->finished) << to_string(way.engine);
    EXPECT_EQ(now.result->fingerprint, first->fingerprint) << to_string(way.engine);
    EXPECT_EQ(now.result->time, *std::max_element(first->finished.begin(), first->finished.end()));
  });
  return all;
}

struct Tally {
  int fine = 0;   // communicates
  int right = 0;  // does what the collective asks for
  std::map<FaultKind, int> faults;
};

std::string run_case(std::uint64_t seed, bool mutated, Tally& tally) {
  RandomCase draw(seed, {.half_duplex = 20});
  const Topology topology = mutated
                                ? draw.topology()
                                : with_other_links(shape_of(draw), draw, draw.chance(50) ? 0 : 40,
                                                   [&] { return draw.link(); });
  Draft draft = mutated ? mutant(draw, topology) : Scribbler(draw, topology).draft();
  const CostModel costs = draw.costs();
  const SimulationOptions options = draw.options(topology.rank_count());

  const FaultKind fault = check(skeleton_of(draft)).fault.value().kind;
  const bool fine = fault == FaultKind::unwritten_output;
  ++tally.faults[fault];
  const CheckReport report = check(schedule_of(draft));
  for (const FaultKind kind : communication_faults)
    EXPECT_FALSE(fine && report.fault && report.fault->kind == kind) << report.fault->text;
  tally.fine += fine ? 1 : 0;
  tally.right += report.ok ? 1 : 0;

  std::string all;
  if (report.ok) all = expect_agreement(topology, draft, costs, options, fine);
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
  run_cases(0, random_cases(8000), false, tally);
  EXPECT_GT(tally.fine, random_cases(2000));
  EXPECT_LT(tally.fine, random_cases(6000));
  EXPECT_GT(tally.faults[FaultKind::bad_instruction], random_cases(10));
  EXPECT_GT(tally.faults[FaultKind::bad_span], random_cases(10));
  for (const FaultKind kind : communication_faults)
    EXPECT_GT(tally.faults[kind], random_cases(10)) << to_string(kind);
}

TEST(Garbage, MutantsOfRealAlgorithmsLikewise) {
  Tally tally;
  run_cases(0, random_cases(1500), true, tally);
  EXPECT_GT(tally.right, random_cases(300));
  EXPECT_GT(tally.fine, tally.right + random_cases(10));
  for (const FaultKind kind : {FaultKind::bad_peer, FaultKind::size_mismatch,
                               FaultKind::missing_message, FaultKind::deadlock})
    EXPECT_GT(tally.faults[kind], random_cases(10)) << to_string(kind);
}

TEST(Garbage, TheSameAgainInOneProcess) {
  Tally tally;
  const auto cases = [&](bool mutated) { return run_cases(0, random_cases(200), mutated, tally); };
  for (const bool mutated : {false, true}) EXPECT_EQ(cases(mutated), cases(mutated));
}

// ---- absurd numbers

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::int64_t absurd_number(RandomCase& draw) {
  if (draw.chance(30)) return 0;
  if (draw.chance(15)) return most - draw.up_to(3);
  const int bit = draw.chance(50) ? draw.up_to(63) : 52 + draw.up_to(11);
  return (std::int64_t{1} << bit) + draw.up_to(2);
}

LinkParameters absurd_link(RandomCase& draw) {
  constexpr std::int64_t rates[] = {1, 3, 1'000'000'007, 1'000'000'000'000, most / 2, most};
  LinkParameters link{Bandwidth(rates[draw.up_to(6)])};
  if (draw.chance(30)) link.startup = Time(absurd_number(draw) / 2);  // more is refused
  if (draw.chance(30)) link.latency = Time(absurd_number(draw) / 2);
  if (draw.chance(40)) link.sharing = Sharing::fair;
  return link;
}

// One cable, one connection: every time is a sum that 128 bits hold.
TEST(Garbage, TimesBetweenTwoRanksAreExactOrRefused) {
  __extension__ using Wide = __int128;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < random_cases(4000U) && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomCase draw(seed);
    const LinkParameters link = absurd_link(draw);
    const Topology topology = make_chain(2, link);
    Draft draft{no_duties(first_ranks(2), types[draw.up_to(3)]), ListedPrograms(2)};
    const Wide rate = link.bandwidth.bytes_per_second();
    const Wide alpha = link.startup.ps();
    Wide left = 0;
    Wide bytes = 0;
    bool uncountable = false;
    for (int messages = 1 + draw.up_to(4); messages > 0; --messages) {
      const std::int64_t count = absurd_number(draw);
      draft.programs[0].push_back(send({Rank(1), Lane(0)}, {Buffer::scratch, 0, count}));
      draft.programs[1].push_back(receive({Rank(0), Lane(0)}, {Buffer::scratch, 0, count}));
      const Wide n = Wide{count} * size_of(draft.collective.type);
      left = link.sharing == Sharing::fair ? std::max(left, alpha) : left + alpha;
      left += (n * 1'000'000'000'000 + rate - 1) / rate;
      bytes += n;
      uncountable = uncountable || n > most;  // a message no memory can hold
    }
    const Wide end = left + link.latency.ps();
    const bool fits = end < most && bytes <= most;
    refused += fits ? 0 : 1;
    in_every_way({}, [&](const SimulationOptions& way) {
      const Outcome now = outcome(topology, schedule_of(draft), {}, way);
      if (declined(now, way.engine)) return;
      EXPECT_EQ(now.result.has_value(), fits) << to_string(way.engine) << ": " << now.text;
      EXPECT_TRUE(fits || now.error == ErrorCode::overflow ||
                  (uncountable && now.error == ErrorCode::bad_schedule))
          << now.text;
      EXPECT_TRUE(!fits || now.result->time.ps() == end) << now.text;
      EXPECT_TRUE(!fits || now.result->wire_bytes == bytes) << now.text;
    });
  }
  EXPECT_GT(refused, random_cases(1000));
  EXPECT_LT(refused, random_cases(3000));
}

// Counts that were equal stay equal.  Returns the longest message.
std::int64_t make_counts_absurd(RandomCase& draw, Draft& draft) {
  std::int64_t longest = 0;
  std::map<std::int64_t, std::int64_t> renamed;
  for (std::vector<Instruction>& program : draft.programs) {
    for (Instruction& instruction : program) {
      std::int64_t& count = instruction.count;
      if (count >= 0) count = renamed.try_emplace(count, absurd_number(draw)).first->second;
      if (sends(instruction.op)) longest = std::max(longest, count);
    }
  }
  return longest;
}

CostModel absurd_costs(RandomCase& draw) {
  CostModel costs;
  if (draw.chance(20)) costs.reduce_bandwidth = absurd_link(draw).bandwidth;
  if (draw.chance(20)) costs.copy_bandwidth = absurd_link(draw).bandwidth;
  const auto time = [&] { return Time((draw.chance(10) ? -1 : 1) * absurd_number(draw)); };
  if (draw.chance(20)) costs.instruction_overhead = time();
  if (draw.chance(20)) costs.launch = time();
  return costs;
}

TEST(Garbage, AbsurdNumbersAndFalseClaimsAreErrorsOrTimes) {
  std::map<ErrorCode, int> errors;
  int results = 0, believed = 0;  // claims of a symmetry that is not there
  for (std::uint64_t seed = 0; seed < random_cases(9000U); ++seed) {
    SCOPED_TRACE(seed);
    RandomCase draw(seed);
    const Topology topology = with_other_links(shape_of(draw), draw, draw.chance(70) ? 0 : 100,
                                               [&] { return absurd_link(draw); });
    Draft draft = Scribbler(draw, topology).draft();
    const std::int64_t longest = make_counts_absurd(draw, draft);
    if (draw.chance(80)) draft.symmetry = Symmetry::rotation;
    const CostModel costs = absurd_costs(draw);
    SimulationOptions options;
    options.max_recorded_steps = 20;
    for (std::size_t rank = 0; rank < topology.rank_count(); ++rank)
      if (draw.chance(5)) options.late.emplace_back(Rank(rank), Time(absurd_number(draw)));
    std::optional<Simulation> first;
    in_every_way(options, [&](const SimulationOptions& way) {
      const Outcome now = outcome(topology, schedule_of(draft), costs, way);
      if (now.error) ++errors[*now.error];
      if (!now.result) return;
      ++results;
      if (now.result->engine == Engine::symmetry && ++believed > 0) return;
      if (!first) first = now.result;
      EXPECT_EQ(now.result->finished, first->finished) << to_string(way.engine);
      EXPECT_GE(now.result->time, transfer_time(longest, Bandwidth(most)));
    });
    if (HasFailure()) return;
  }
  EXPECT_GT(results, random_cases(3000));
  EXPECT_GT(believed, random_cases(100));
  for (const ErrorCode apt :
       {ErrorCode::overflow, ErrorCode::invalid_argument, ErrorCode::too_large,
        ErrorCode::bad_schedule, ErrorCode::deadlock, ErrorCode::engine_not_applicable})
    EXPECT_GT(errors[apt], random_cases(20)) << to_string(apt);
  EXPECT_EQ(errors.size(), 6U);
}

}  // namespace
}  // namespace collsim::testing
