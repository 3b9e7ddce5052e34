// SPDX-License-Identifier: Apache-2.0
#include "topo/ids.hpp"

#include <type_traits>

#include "tests/topo/testing.hpp"

namespace collsim {
namespace {

static_assert(!std::is_convertible_v<Rank, NodeId>);
static_assert(!std::is_convertible_v<int, Rank>);
static_assert(!std::is_constructible_v<NodeId, Rank>);
static_assert(sizeof(Rank) == 4 && sizeof(Lane) == 2);

TEST(Index, HoldsItsNumberAndOrdersByIt) {
  EXPECT_EQ(Rank(7).index(), 7U);
  EXPECT_EQ(Rank{}.index(), 0U);
  EXPECT_LT(Rank(6), Rank(7));
  EXPECT_EQ(Lane(65'535).index(), 65'535U);
  EXPECT_EQ(LinkId(4'294'967'295).index(), 4'294'967'295U);
}

TEST(Index, RefusesWhatDoesNotFit) {
  expect_error(ErrorCode::too_large, {"lane 65536"}, [] { (void)Lane(65'536); });
  expect_error(ErrorCode::too_large, {"rank"}, [] { (void)Rank(4'294'967'296); });
  expect_error(ErrorCode::too_large, {"node"}, [] { (void)NodeId(static_cast<std::size_t>(-1)); });
}

}  // namespace
}  // namespace collsim
