// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/collective.hpp"
#include "collectives/cost/cost.hpp"
#include "collectives/instruction.hpp"
#include "collectives/schedule.hpp"
#include "topo/topology.hpp"

namespace collsim {

struct ListedSchedule;

// Limits of the knobs, for readers of user input.
inline constexpr int max_chunks = 1 << 24;
inline constexpr int max_channels = 1024;
inline constexpr int max_radix = 1024;

// The knobs of an algorithm.  Defaults are the textbook's: one message per step, one copy, no limit
// on slots.
struct AlgorithmChoice {
  std::string name;  // empty: the operation's default, the first of its algorithms
  int chunks = 1;    // pieces that each step's message is cut into
  // Instead of chunks: cut every step's message into pieces of at most this size.
  std::optional<Bytes> chunk_size;
  int channels = 1;          // parallel copies of the algorithm, each on its share of the data
  std::optional<int> slots;  // messages a connection holds before its sender waits
  int radix = 4;             // k of k-nomial trees
  std::optional<int> aggregation;  // pat: blocks sent together at most; default as many as possible
  // Hierarchical, torus: how positions are arranged, slowest dimension first ({nodes, gpus per
  // node}); empty: the most square arrangement.
  std::vector<int> dims;
  // So many neighbouring positions share a node (1: all alike).  Rings, chains, all-reduce along
  // double trees: channel c enters every node at its c-th member, each behind a NIC of its own.
  int per_node = 1;
  // Rings, chains, all-reduce along double trees among nodes: in which order channel c goes through
  // the positions, orders[c mod their number]; each has every position once, or where per_node is
  // more than 1 every member of a node, and all nodes are gone through alike.  Empty: 0, 1, ...
  std::vector<std::vector<int>> orders = {};
  // All-reduce, all-gather, reduce-scatter by one lane per channel end with one more pass over the
  // rank's own block, as NCCL's kernels do.
  bool local_pass = false;
  // The programs themselves, for a name with listed_prefix (listed_schedule.hpp).
  std::shared_ptr<const ListedSchedule> list = nullptr;

  bool operator==(const AlgorithmChoice&) const = default;
};

// The ranks that run one program together, as seen by one of them: positions 0..size-1, my own is
// `me`.  Positions wrap around once: group[me + 1] and group[me - 1] are the ring neighbours.
//
// A group may be a part of a larger one (every stride-th position from `first`: the GPUs of a node,
// a rail, a row of a torus) and may be turned so that its position 0 is any member (the root).  All
// of it is arithmetic; nothing is stored per rank, so a million ranks cost nothing.
class Group {
 public:
  Group() = default;
  // All positions of `ranks`, which must outlive the group.
  Group(const Rank* ranks, int size, int me, Lane lane)
      : ranks_(ranks), size_(size), me_(me), lane_(lane) {}

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int me() const { return me_; }
  [[nodiscard]] Lane lane() const { return lane_; }

  // The member at a position in [-size, 2 size), on the same lane as mine.
  [[nodiscard, gnu::always_inline]] Endpoint operator[](int position) const {
    const int turned = wrap(wrap(position) + turn_);
    return {ranks_[first_ + stride_ * turned], lane_};
  }
  [[nodiscard]] int wrap(int position) const {
    if (position < 0) return position + size_;
    return position >= size_ ? position - size_ : position;
  }
  [[nodiscard]] Endpoint self() const { return (*this)[me_]; }

  // The same ranks with `root` at position 0 (and me where that puts me).
  [[nodiscard]] Group turned_to(int root) const {
    Group turned = *this;
    turned.turn_ = wrap(turn_ + root);
    turned.me_ = wrap(me_ - root);
    return turned;
  }
  // Every stride-th position from `first`, `size` of them; I must be among them.  Only for a group
  // not yet turned.
  [[nodiscard]] Group every(int stride, int first, int size) const {
    Group part = *this;
    part.first_ = first_ + stride_ * first;
    part.stride_ = stride_ * stride;
    part.size_ = size;
    part.me_ = (me_ - first) / stride;
    COLLSIM_CHECK(turn_ == 0 && first + stride * part.me_ == me_ && part.me_ < size,
                  "a sub-group must contain its viewer");
    return part;
  }

 private:
  const Rank* ranks_ = nullptr;
  int first_ = 0;
  int stride_ = 1;
  int turn_ = 0;
  int size_ = 0;
  int me_ = 0;
  Lane lane_{};
};

// What one lane of one rank knows; algorithms are functions of this and nothing else.
struct Task {
  Group group;             // of all K ranks, not turned to the root
  int root = 0;            // position
  int role = 0;            // which of the algorithm's lanes this is, 0 .. lanes-1
  Share channel;           // which copy of the algorithm this is
  std::int64_t count = 0;  // as in Collective
  Span input, output;      // this rank's, whole
  Span scratch;            // this channel's part of the rank's scratch
  bool in_place = false;
  int radix = 4;
  std::optional<int> aggregation;
  std::span<const int> dims;  // product == group.size()
  int per_node = 1;
  // Of the positions, or of each node's members, for this channel's ring; empty: as they are.
  std::span<const int> order;
  const Collective* collective = nullptr;

  // The vector of a broadcast, reduce or all-reduce, cut down to this channel's share.
  [[nodiscard]] Span share(Span whole) const { return whole.piece(channel.part, channel.of); }
  // A whole buffer as K blocks of which this channel sees its share.
  [[nodiscard]] Blocks blocks(Span whole) const { return {whole, group.size(), channel}; }
};

// The knobs of AlgorithmChoice, and of Collective, that an algorithm listens to besides those that
// all do.
struct OwnKnobs {
  bool root = false;  // it has a coordinator, Collective::root, though the operation is unrooted
  bool radix = false;
  bool aggregation = false;
  bool dims = false;
};

// Other names under which an algorithm is known, at most three.  Scenario files may spell them with
// capitals and without hyphens.
struct Aliases {
  std::array<std::string_view, 3> names{};

  [[nodiscard]] constexpr const std::string_view* begin() const { return names.data(); }
  [[nodiscard]] constexpr const std::string_view* end() const {
    return std::find(begin(), begin() + names.size(), std::string_view{});
  }
};

struct Algorithm;

// Of an algorithm that works level by level (node, rail; rows, columns): what runs on each of them.
// The cost of the whole is the sum of theirs.
struct Levels {
  std::array<const Algorithm*, 2> inner{};  // one after the other, on every level but the outermost
  const Algorithm* outer = nullptr;
};

// The messages that are in flight at the same time; closed forms need this on links that differ,
// and have none there where it is unknown.
enum class MessagesAtOnce : std::uint8_t { unknown, chain_from_root, ring, pairs };

// Everything the product knows about an algorithm.  It is defined in the algorithm's file, as an
// `extern const Algorithm <operation>_<name>`, and named in algorithms/list.hpp.
struct Algorithm {
  Operation operation{};
  std::string_view name;  // as in scenario files
  Aliases aliases{};
  std::string_view summary;  // one line for `collsim algorithms`
  Program (*program)(const Task&) = nullptr;
  OwnKnobs knobs{};
  int lanes = 1;  // per channel
  // The last so many of them run in the switch behind the rank, where that can add and multicast
  // (LinkProtocol::nvls), else in the rank as all others.
  int lanes_in_switch = 0;
  // So many before those run in the switch of the network that joins nodes, likewise
  // (LinkProtocol::collnet).
  int lanes_in_network = 0;
  // For networks whose switches add, and elsewhere of no use to anyone: not tried there.
  bool for_adding_networks = false;
  // Which renaming of the peers turns one position's program into another's where all blocks are
  // equally long (Schedule::Parts); a test compares them.  It speeds up simulation; none is safe.
  Symmetry symmetry = Symmetry::none;
  // Likewise among nodes (AlgorithmChoice::per_node) where the vector is cut evenly by the channels
  // and each channel's share into this many pieces; null: never.
  NodeTurns node_turns = {};
  int (*node_pieces)(int ranks, int members) = nullptr;
  bool exchanges_in_rounds = false;  // likewise (Schedule::exchanges_in_rounds())
  // Elements per channel; null: none.  Task.scratch is not set yet when it is asked.
  std::int64_t (*scratch)(const Task&) = nullptr;
  // Why it does not work with this many ranks; empty: it does; null: it always does.
  std::string (*why_not)(int ranks) = nullptr;
  // Its dims, where nobody gives any and the network is no torus or mesh, are {K}, not the most
  // square ones.
  bool one_dimension_elsewhere = false;
  // Each channel takes another dimension and direction of a torus, or of a mesh, first.
  bool channel_per_direction = false;
  // With many ranks a message, before it is cut into chunks, is longer than one rank's block;
  // chunk_size then allows for a message as long as the vector.  A test compares.
  bool messages_exceed_a_block = false;
  MessagesAtOnce messages = MessagesAtOnce::unknown;
  std::array<Cost, 4> costs{};  // unused ones are for no network
  Levels levels{};

  [[nodiscard]] bool works_with(int ranks) const { return !why_not || why_not(ranks).empty(); }
};

// All, in the order of the list; those of an operation, the first being its default.
[[nodiscard]] std::span<const Algorithm> algorithms();
[[nodiscard]] const std::vector<const Algorithm*>& algorithms(Operation operation);

// Those that listen to a knob, for messages: "the algorithm k-nomial", "the algorithms hierarchical
// and torus".
[[nodiscard]] std::string algorithms_with(bool OwnKnobs::*knob);

// Whether users may choose Collective::root: a barrier has no data, and scenarios no root for it.
[[nodiscard]] bool takes_root(const Algorithm& algorithm);

// By name or alias, "" for the default; Error{unknown_name} lists the operation's algorithms.  A
// name
// with listed_prefix is a listed schedule: its row is the same for all of them.
[[nodiscard]] const Algorithm& find_algorithm(Operation operation, std::string_view name);

// Error if the choice does not fit: unsupported_ranks says which counts work, invalid_argument or
// too_large name the value. `choice.name` is ignored: find_algorithm() checks it.
void validate(const AlgorithmChoice& choice, const Algorithm& algorithm, int ranks);

// The collective and the choice must be valid, or Error.
[[nodiscard]] Schedule make_schedule(const Collective& collective,
                                     const AlgorithmChoice& choice = {});

// How many neighbouring positions of the group share a node: all where there are no nodes, 1 where
// nodes have different numbers of members.
[[nodiscard]] int members_per_node(const Topology& topology, const std::vector<Rank>& group);
// Parallel channels enter a node at different GPUs, each behind a NIC of its own, and what runs in
// switches does so in those of each node: sets per_node.
void spread_over_nodes(AlgorithmChoice& choice, const Topology& topology,
                       const Collective& collective);

// The most square factorisation a x b = ranks with a <= b, as {a, b}.
[[nodiscard]] std::vector<int> squarest_dims(int ranks);

// The dims of an algorithm when nobody says: the machine's own arrangement where all of it takes
// part, else those of so many ranks.
[[nodiscard]] std::vector<int> natural_dims(const Algorithm& algorithm, const Topology& topology,
                                            std::span<const Rank> group);
[[nodiscard]] std::vector<int> natural_dims(const Algorithm& algorithm, int ranks);

// Of those dimensions, how many have more than one place.
[[nodiscard]] int dimensions_to_cross(std::span<const int> dims);
// How many channels an algorithm takes to use all that the network has when nobody says: one, or
// where each takes another direction as many as there are, if all ranks of a torus or mesh take
// part and `dims` are its own.
[[nodiscard]] int default_channels(const Algorithm& algorithm, std::span<const int> dims,
                                   const Topology& topology, std::span<const Rank> group);

}  // namespace collsim
