// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/cost/bounds.hpp"
#include "collectives/cost/cost_model.hpp"
#include "collectives/schedule.hpp"
#include "collectives/timeline.hpp"
#include "topo/topology.hpp"

namespace collsim {

struct BusyLink;  // busy_link.hpp

// Predicts when every instruction of a schedule begins and ends on a topology.
//
// Model.  Of link i: alpha_i = its startup, B_i = its bandwidth, L_i = its latency.
//
//   An instruction begins when its lane has ended the one before, the message it receives has
//   arrived, and there is a free slot for the message it sends.  It ends after what the cost model
//   says (nothing, in the ideal model).  Computing goes slower by CostModel::slowdown while a
//   collective is under way on its rank, and ends at the first picosecond not before its exact end.
//   The message it sends is then ready, and the lane goes on: sending is posting, the links work by
//   themselves.
//
//   Exclusive links.  A message asks for the first link of its route when it is ready, for the next
//   one L_i after it began on this one: when its head gets there.  A link serves in the order of
//   asking and is busy for alpha_i + n/B_i.  The last byte leaves it at the end of that, and not
//   before it came; it arrives L_i later.  Waiting holds no other link: switches have room.  So a
//   message alone takes max(alpha_i + n/B_i) + sum(L_i).
//
//   Fair links.  A ready message waits alpha (the largest), occupying nothing, then for the earlier
//   messages of its connection, then flows over all links of its route at the rate that max-min
//   sharing between connections gives it, and arrives sum(L_i) after its last byte.  An empty one
//   takes no share.
//
//   Both on a route.  The fair links come last, wherever they are: they are asked for when the head
//   has left the last exclusive one, and the flow does not end before the last byte has.
//
//   Ties.  At one instant, flows end first.  Then come rounds: whoever asks for a link, by rank,
//   then lane, then order of sending: lanes for their next message, messages for their next link;
//   what follows from a round at once joins the next.  New rates come last.
//
// All times are whole picoseconds.  n/B is rounded up once per message, and a flow whose rate
// changed ends at the first picosecond not before its exact end (see transfer_time).
//
// Failure.  Error{no_route}; {overflow}; {bad_schedule}: a peer that is no member, sizes that
// differ, messages never received, or programs so wrong that they beat the lower bound of their
// collective; {deadlock}, naming the lanes that wait for each other; {engine_not_applicable}: a
// forced engine cannot do this case exactly; {too_large}: a full recording beyond its limit;
// {too_slow}: beyond SimulationOptions::at_most.  A correct schedule that beats its lower bound
// would be a bug in collsim, and aborts.  Programs must end, and are not proved correct here: that
// is what check() of collectives/checker.hpp is for.
//
// Engines.  All give the same picoseconds wherever two apply; `automatic` takes the fastest that is
// exact.
//
//   dataflow   Every link is used by one lane only (fair: by one connection only), so its order of
//              use is that lane's program, and nothing slows computing down.  No clock is needed:
//              run each lane until it blocks, wake whom it unblocks.  O(messages).
//   event      Always applies.  Runs in time order; one pending event per lane, one per message
//              between two links, one per flow.
//   symmetry   One rank of every orbit stands for the others.  Needs a schedule and a topology that
//              allow the same turns of the ranks (topo/turns.hpp), the whole machine as the group,
//              and ranks that start together.  O(messages of those ranks).
enum class Engine : std::uint8_t { automatic, dataflow, event, symmetry };
[[nodiscard]] std::string_view to_string(Engine engine);

// What to keep besides the times of ranks.  off: nothing.  activities: of a workload, for how long
// its ranks did what.  summary: also waiting per rank, load per link.  full: every step, from which
// the critical path can be found; it holds every step twice while sorting them (some 300 bytes per
// instruction, and 32 per link that a message crosses).
enum class Recording : std::uint8_t { off, activities, summary, full };

struct SimulationOptions {
  Engine engine = Engine::automatic;
  Recording recording = Recording::off;
  // Ranks that start later than the others, in addition to CostModel::launch; each at most once.
  // Those that take no part in the collective do not matter.
  std::vector<std::pair<Rank, Time>> late = {};
  // Of collectives of a workload: RankActivity::gives_up.
  Time timeout = Time::never();
  // The stream of a workload, if any, on which hosts launch what the others do: RankActivity.
  std::optional<int> host = {};
  // Lanes that come to wait for each other for ever are not an Error{deadlock}: the result says
  // what happened until then, and Simulation::hangs.
  bool may_hang = false;
  std::uint64_t max_recorded_steps = 50'000'000;  // more are refused, as are 8 times more crossings
  // Of the topology and the schedule's group, for the bounds; without them, those that need no
  // search are found anew.
  const NetworkCuts* cuts = nullptr;
  // A run that takes longer is of no use: Error{too_slow} soon after that is certain, by the clock
  // or by what a busy link of it, if one is known, has still to carry.  Only the event engine
  // looks, now and then: a longer run may also end as usual.
  Time at_most = Time::never();
  const BusyLink* busy_link = nullptr;
  // For those who wait: how many instructions have been executed, now and then.
  std::atomic<std::uint64_t>* executed = nullptr;
};

// How a rank spent its time, over all its lanes (so it can exceed the run time).  Recorded by
// summary and full.
struct RankUsage {
  Time waiting_for_messages;
  Time waiting_for_slots;
  Time working;  // what the cost model charges
};

// What a rank of a workload did.  Recorded by activities, summary and full.
struct RankActivity {
  // At least one of its streams works; what the host launches hides no collective, and counts only
  // where none is under way.
  Time computing;
  Time communicating;  // a collective is under way on it, be it only waiting for another rank
  Time exposed;        // of that, while no stream works
  // Of a single collective, from when this rank came to it: a shorter time-out would have ended it.
  Time longest_call;
  // When it is the first of its calls to last longer than SimulationOptions::timeout; never().
  Time gives_up = Time::never();
  struct Part {
    Time communicating, exposed;
  };
  std::vector<Part> communicators;  // the same of each
};

struct LinkUsage {
  Time busy;  // exclusive: held; fair: n / bandwidth
  Bytes bytes = 0;
  std::uint64_t messages = 0;
};

struct Simulation {
  bool hangs = false;          // SimulationOptions::may_hang
  Time time;                   // until the last rank has finished, from time 0
  std::vector<Time> finished;  // per position: last instruction ended, last message left
  std::uint64_t instructions = 0;
  std::uint64_t messages = 0;            // signals between lanes do not count
  Bytes wire_bytes = 0;                  // sum of the sizes of all messages
  Engine engine = Engine::dataflow;      // the one that was used
  std::uint64_t fingerprint = 0;         // see fingerprint.hpp
  LowerBounds bounds;                    // launch not included; time is never less
  std::vector<RankUsage> ranks;          // per position; with Recording::summary or full
  std::vector<LinkUsage> links;          // per link of the topology; likewise
  std::vector<RankActivity> activities;  // per position, of workloads; likewise
  std::optional<Timeline> timeline;      // with Recording::full
};

// How many lanes were at work on average; needs RankUsage.
[[nodiscard]] double lanes_at_work(const Simulation& simulation);

[[nodiscard]] Simulation simulate(const Topology& topology, const Schedule& schedule,
                                  const CostModel& costs = {},
                                  const SimulationOptions& options = {});
// Of programs that are not for one collective; there are no bounds.
[[nodiscard]] Simulation simulate(const Topology& topology, const Programs& programs,
                                  const CostModel& costs = {},
                                  const SimulationOptions& options = {});

}  // namespace collsim
