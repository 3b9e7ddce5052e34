// SPDX-License-Identifier: Apache-2.0
//
// The table itself, the choices that make_schedule accepts, and the trees.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>
#include <string>

#include "collectives/algorithms.hpp"
#include "collectives/algorithms/idioms.hpp"
#include "collectives/names.hpp"
#include "tests/collectives/collective_of.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

// The message of the error, which must have the given code.
std::string refusal(ErrorCode code, const Collective& collective, const AlgorithmChoice& choice) {
  try {
    (void)make_schedule(collective, choice);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

// The names and their order are those of tests/data/fingerprints.txt.
TEST(Table, RowsAreComplete) {
  for (const Algorithm& row : algorithms()) {
    EXPECT_FALSE(row.summary.empty()) << row.name;
    EXPECT_LE(row.summary.size(), 88U) << row.name;
    EXPECT_NE(row.program, nullptr) << row.name;
    EXPECT_GE(row.lanes, 1) << row.name;
  }
}

// Whom a rank's programs send to, and what, for one root.
std::string sendings(const Algorithm& row, int root) {
  Collective collective = collective_of(row.operation, 4, 64);
  collective.root = root;
  AlgorithmChoice choice;
  choice.name = row.name;
  const Schedule schedule = make_schedule(collective, choice);
  std::string text;
  for (int position = 0; position < 4; ++position)
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      LaneProgram program = schedule.program(position, Lane(static_cast<std::size_t>(lane)));
      while (const Instruction* instruction = program.next())
        if (sends(instruction->op))
          text += std::to_string(position) + ">" + std::to_string(instruction->to.rank.index()) +
                  ":" + std::to_string(instruction->count) + " ";
    }
  return text;
}

TEST(Table, TheRootMattersWhereARowSaysSo) {
  for (const Algorithm& row : algorithms()) {
    const bool matters = sendings(row, 0) != sendings(row, 1);
    EXPECT_EQ(takes_root(row), matters && row.operation != Operation::barrier)
        << to_string(row.operation) << " " << row.name;
  }
}

TEST(Table, NamesAndAliasesAreUnique) {
  for (const Operation operation : all_operations()) {
    std::set<std::string_view> names;
    for (const Algorithm* row : algorithms(operation)) {
      EXPECT_TRUE(names.insert(row->name).second) << row->name;
      for (const std::string_view alias : row->aliases)
        EXPECT_TRUE(names.insert(alias).second) << alias;
    }
  }
}

TEST(Table, FindsByNameAliasAndDefault) {
  EXPECT_EQ(find_algorithm(Operation::broadcast, "").name, "chain");
  EXPECT_EQ(find_algorithm(Operation::broadcast, "ring").name, "chain");
  EXPECT_EQ(find_algorithm(Operation::broadcast, "linear").name, "flat");
  EXPECT_EQ(find_algorithm(Operation::gather, "flat").operation, Operation::gather);
}

TEST(Table, UnknownNamesListTheOperationsAlgorithms) {
  AlgorithmChoice choice;
  choice.name = "dobule-tree";
  const std::string message =
      refusal(ErrorCode::unknown_name, collective_of(Operation::broadcast, 4, 8), choice);
  expect_contains(message, "did you mean 'double-tree'");
  expect_contains(message, "scatter-allgather");
  expect_lacks(message, "pairwise");
}

TEST(Names, DistanceCountsEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("ring", "ring"), 0);
  EXPECT_EQ(edit_distance("rnig", "ring"), 1);
  EXPECT_EQ(edit_distance("ring", "rings"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(Names, NothingNearIsNotSuggested) {
  const std::string_view allowed[] = {"ring", "chain"};
  EXPECT_EQ(nearest_name("rign", allowed), "ring");
  EXPECT_EQ(nearest_name("hypercube", allowed), "");
  const std::vector<std::string_view> commands{"algorithms", "explain", "predict", "presets"};
  EXPECT_EQ(nearest_name("algo", commands), "algorithms");
  EXPECT_EQ(nearest_name("ex", commands), "");
  EXPECT_EQ(nearest_name("pre", commands), "") << "two begin so";
  EXPECT_EQ(nearest_name(std::string(100000, 'r'), allowed), "");
}

struct BadChoice {
  const char* what;
  ErrorCode code;
  std::function<void(AlgorithmChoice&)> change;
  const char* says;
};

TEST(MakeSchedule, RefusesChoicesThatDoNotFit) {
  constexpr int most = std::numeric_limits<int>::max();
  constexpr auto bad = ErrorCode::invalid_argument;
  constexpr auto large = ErrorCode::too_large;
  const BadChoice cases[] = {
      {"chunks", bad, [](auto& c) { c.chunks = 0; }, "not 0"},
      {"chunks", bad, [](auto& c) { c.chunks = -3; }, "not -3"},
      {"chunks", large, [](auto& c) { c.chunks = (1 << 24) + 1; }, "16777217"},
      {"channels", bad, [](auto& c) { c.channels = 0; }, "1 to 1024"},
      {"channels", large, [](auto& c) { c.channels = 1025; }, "1025"},
      {"channels", large, [](auto& c) { c.channels = most; }, "1 to 1024"},
      {"slots", bad, [](auto& c) { c.slots = 0; }, "at least 1"},
      {"radix", bad, [](auto& c) { c.radix = 1; }, "2 to 1024"},
      {"radix", large, [](auto& c) { c.radix = 1025; }, "2 to 1024"},
      {"aggregation", bad, [](auto& c) { c.aggregation = 0; }, "at least 1"},
      {"chunk_size", bad, [](auto& c) { c.chunk_size = 0; }, "at least 1"},
      {"dims", bad,
       [](auto& c) {
         c.dims = {2, 3};
       },
       "2 x 3"},
      {"dims", bad,
       [](auto& c) {
         c.dims = {-2, -6};
       },
       "-2"},
      {"dims", bad,
       [](auto& c) {
         c.dims = {most, most, 12};
       },
       "12"},
  };
  for (const BadChoice& test : cases) {
    AlgorithmChoice choice;
    test.change(choice);
    const std::string message =
        refusal(test.code, collective_of(Operation::all_reduce, 12, 64), choice);
    expect_contains(message, test.what);
    expect_contains(message, test.says);
  }
  AlgorithmChoice both;
  both.chunks = 4;
  both.chunk_size = 1024;
  expect_contains(refusal(bad, collective_of(Operation::all_reduce, 12, 64), both),
                  "give one of them");
}

TEST(MakeSchedule, RefusesRankCountsThatAnAlgorithmDoesNotHave) {
  for (const Algorithm& row : algorithms()) {
    if (row.why_not == nullptr) continue;
    for (int ranks = 1; ranks <= 20; ++ranks) {
      AlgorithmChoice choice;
      choice.name = row.name;
      const std::string reason = row.why_not(ranks);
      if (reason.empty()) {
        EXPECT_NO_THROW((void)make_schedule(collective_of(row.operation, ranks, 8), choice));
        continue;
      }
      const std::string message =
          refusal(ErrorCode::unsupported_ranks, collective_of(row.operation, ranks, 8), choice);
      expect_contains(message, reason);
      expect_contains(message, std::to_string(ranks));
    }
  }
}

int chunks_for(Operation operation, const char* name, std::int64_t count, int channels,
               Bytes chunk_size) {
  AlgorithmChoice choice;
  choice.name = name;
  choice.channels = channels;
  choice.chunk_size = chunk_size;
  return make_schedule(collective_of(operation, 4, count), choice).chunks();  // f32
}

TEST(MakeSchedule, CutsMessagesIntoChunksOfAGivenSize) {
  EXPECT_EQ(chunks_for(Operation::broadcast, "chain", 100, 1, 40), 10);
  EXPECT_EQ(chunks_for(Operation::broadcast, "chain", 101, 1, 40), 11);
  EXPECT_EQ(chunks_for(Operation::broadcast, "chain", 100, 2, 40), 5);
  EXPECT_EQ(chunks_for(Operation::all_gather, "ring", 100, 1, 40), 3);  // blocks of 100 bytes
  EXPECT_EQ(chunks_for(Operation::all_gather, "ring", 101, 1, 40), 3);
  EXPECT_EQ(chunks_for(Operation::broadcast, "chain", 0, 1, 40), 1);
  EXPECT_EQ(chunks_for(Operation::broadcast, "chain", 100, 1, 1 << 30), 1);
  AlgorithmChoice choice;
  choice.chunk_size = 1;
  (void)refusal(ErrorCode::too_large, collective_of(Operation::broadcast, 4, 1 << 23), choice);
}

TEST(MakeSchedule, GivesEveryChannelItsLanesAndScratch) {
  AlgorithmChoice choice;
  choice.name = "double-tree";
  choice.channels = 3;
  choice.slots = 5;
  const Schedule schedule = make_schedule(collective_of(Operation::reduce, 8, 80), choice);
  EXPECT_EQ(schedule.lanes(), 6);
  EXPECT_EQ(schedule.channels(), 3);
  EXPECT_EQ(schedule.slots(), 5);
  EXPECT_EQ(schedule.algorithm(), "double-tree");
  EXPECT_EQ(schedule.scratch_count(0), 0);
  EXPECT_EQ(schedule.scratch_count(1), 3 * 27);  // every channel has room for 27 of 80
}

// The schedule keeps what its programs need: nothing of the caller's is referred to.
TEST(MakeSchedule, OutlivesWhatItWasMadeFrom) {
  auto collective = std::make_unique<Collective>(collective_of(Operation::all_to_all, 6, 36));
  AlgorithmChoice choice;
  choice.name = "hierarchical";
  choice.dims = {2, 3};
  const Schedule schedule = make_schedule(*collective, choice);
  collective.reset();
  choice.dims.clear();
  LaneProgram program = schedule.program(5, Lane(0));
  int sends_seen = 0;
  while (const Instruction* instruction = program.next())
    if (sends(instruction->op)) ++sends_seen;
  EXPECT_EQ(sends_seen, 2 + 1);
}

TEST(Dims, AreAsSquareAsPossible) {
  EXPECT_EQ(squarest_dims(1), (std::vector<int>{1, 1}));
  EXPECT_EQ(squarest_dims(12), (std::vector<int>{3, 4}));
  EXPECT_EQ(squarest_dims(13), (std::vector<int>{1, 13}));
  EXPECT_EQ(squarest_dims(1 << 20), (std::vector<int>{1 << 10, 1 << 10}));
  EXPECT_EQ(squarest_dims(std::numeric_limits<int>::max()),
            (std::vector<int>{1, std::numeric_limits<int>::max()}));
  EXPECT_THROW((void)squarest_dims(0), Error);
}

using Tree = TreeNode (*)(int tree, int position, int size);

// Parents and children agree, there is one root, everybody hangs on it; returns the depth.
int depth_of(Tree make_tree, int tree, int size) {
  int roots = 0;
  int deepest = 0;
  for (int i = 0; i < size; ++i) {
    const TreeNode node = make_tree(tree, i, size);
    roots += node.parent < 0 ? 1 : 0;
    for (int c = 0; c < node.children; ++c) {
      const int child = node.child[static_cast<std::size_t>(c)];
      EXPECT_EQ(make_tree(tree, child, size).parent, i);
    }
    if (node.parent >= 0) {
      const TreeNode parent = make_tree(tree, node.parent, size);
      EXPECT_TRUE(parent.child[0] == i || parent.child[1] == i) << i << " of " << size;
    }
    int depth = 0;
    for (int at = i; at >= 0 && depth <= size; at = make_tree(tree, at, size).parent) ++depth;
    EXPECT_LE(depth, size) << "a circle at " << i << " of " << size;
    deepest = std::max(deepest, depth - 1);
  }
  EXPECT_EQ(roots, 1);
  return deepest;
}

int inner_in_both(Tree make_tree, int size, int from) {
  int both = 0;
  for (int i = from; i < size; ++i)
    both += make_tree(0, i, size).children > 0 && make_tree(1, i, size).children > 0 ? 1 : 0;
  return both;
}

TEST(DoubleTree, IsTwoTreesOfLogarithmicDepth) {
  for (const Tree tree : {&double_tree, &double_tree_from_root})
    for (int size = 1; size <= 200; ++size) {
      int levels = 0;
      while ((1 << levels) < size) ++levels;
      for (const int which : {0, 1}) {
        const int depth = depth_of(tree, which, size);
        EXPECT_LE(depth, levels + (size & (size - 1) ? 1 : 0)) << which << " of " << size;
        if (size == 1 << levels) {
          EXPECT_EQ(depth, levels) << which << " of " << size;
        }
      }
    }
}

TEST(DoubleTree, HasNobodyInnerTwice) {
  for (int size = 1; size <= 200; ++size) {
    if (size % 2 == 0) {
      EXPECT_EQ(inner_in_both(double_tree, size, 0), 0) << size;
    }
    EXPECT_LE(inner_in_both(double_tree, size, 0), 1) << size;
    EXPECT_EQ(inner_in_both(double_tree_from_root, size, 1), 0) << size;  // but the root
  }
}

TEST(DoubleTree, IsTheOneOfNccl) {
  const TreeNode root = double_tree(0, 0, 6);
  EXPECT_EQ(root.children, 1);
  EXPECT_EQ(root.child[0], 4);
  const TreeNode inner = double_tree(0, 4, 6);
  EXPECT_EQ(inner.parent, 0);
  EXPECT_EQ(inner.child[0], 2);
  EXPECT_EQ(inner.child[1], 5);
  EXPECT_EQ(double_tree(1, 5, 6).parent, -1);  // mirrored
  EXPECT_EQ(double_tree(1, 5, 6).child[0], 1);
  EXPECT_EQ(double_tree(1, 1, 7).parent, -1);  // shifted
  EXPECT_EQ(double_tree(1, 1, 7).child[0], 5);
  EXPECT_EQ(double_tree_from_root(1, 0, 8).child[0], 5);
  EXPECT_EQ(double_tree_from_root(1, 0, 7).child[0], 3);
}

}  // namespace
}  // namespace collsim
