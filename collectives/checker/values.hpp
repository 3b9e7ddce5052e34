// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/checker.hpp"

// Three ways to say what an element of memory holds; the checker's run loop is a template over
// them. All share one interface:
//   Value                      of the first element of a stretch
//   follows_data               false: values are not looked at at all
//   input(position, offset)    element `offset` of a position's input
//   reduced(offset)            that element summed over all positions
//   advanced, continues        see IntervalMap
//   add(left, right)           left := left (+) right, or why that makes no sense
//   same(a, b)                 the same contributions
//   with_writer(value, w)      the value, remembering who stored it where that is of use
//   writer(value)              who stored it
//   contributors(value)        in words
namespace collsim::checker {

// A stretch of elements with one value, in messages and on the way through an instruction.
template <class Value>
struct Piece {
  std::int64_t count = 0;
  Value value;
};

struct Writer {
  std::uint32_t lane = 0;  // numbered over all ranks
  std::int64_t step = -1;  // -1: none, it is input
  bool operator==(const Writer&) const = default;
};

struct AddFault {
  FaultKind kind{};
  int position = 0;  // whose contribution is wrong
};

// ---- nothing: for runs that only ask whether all lanes reach the end

class NoValues {
 public:
  struct Value {};
  static constexpr bool follows_data = false;

  NoValues(int /*positions*/, std::uint64_t /*seed*/) {}
  static Value input(int /*position*/, std::int64_t /*offset*/) { return {}; }
  static Value reduced(std::int64_t /*offset*/) { return {}; }
  static Value advanced(Value value, std::int64_t /*n*/) { return value; }
  static bool continues(Value, std::int64_t, Value) { return true; }
  static std::optional<AddFault> add(Value&, Value) { return std::nullopt; }
  static bool same(Value, Value) { return true; }
  static Value with_writer(Value value, Writer) { return value; }
  static std::optional<Writer> writer(Value) { return std::nullopt; }
  static std::string contributors(const Schedule&, Value) { return {}; }
};

// ---- numbers: V, V + W, V + 2 W, ... modulo 2^61 - 1

struct LinearForm {
  std::uint64_t first = 0;  // V
  std::uint64_t slope = 0;  // W
  std::uint32_t terms = 0;  // contributions in it; stays at its maximum
};

class LinearForms {
 public:
  using Value = LinearForm;
  static constexpr bool follows_data = true;

  LinearForms(int positions, std::uint64_t seed);
  [[nodiscard]] Value input(int position, std::int64_t offset) const {
    return advanced(inputs_[static_cast<std::size_t>(position)], offset);
  }
  [[nodiscard]] Value reduced(std::int64_t offset) const { return advanced(all_, offset); }

  static Value advanced(Value value, std::int64_t n) {
    if (n != 0) value.first = plus(value.first, times(value.slope, static_cast<std::uint64_t>(n)));
    return value;
  }
  static bool continues(const Value& value, std::int64_t length, const Value& following) {
    return value.slope == following.slope && same(advanced(value, length), following);
  }
  static std::optional<AddFault> add(Value& left, const Value& right) {
    left.first = plus(left.first, right.first);
    left.slope = plus(left.slope, right.slope);
    const std::uint32_t room = std::numeric_limits<std::uint32_t>::max() - left.terms;
    left.terms += right.terms < room ? right.terms : room;
    return std::nullopt;
  }
  static bool same(const Value& a, const Value& b) {
    return a.first == b.first && a.slope == b.slope && a.terms == b.terms;
  }
  static Value with_writer(const Value& value, Writer) { return value; }
  static std::optional<Writer> writer(const Value&) { return std::nullopt; }
  static std::string contributors(const Schedule&, const Value& value) {
    return std::to_string(value.terms) + " contributions";
  }

 private:
  static constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;

  static std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t sum = a + b;
    return sum >= prime ? sum - prime : sum;
  }
  static std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * (b % prime);
    return plus(static_cast<std::uint64_t>(product & prime),
                static_cast<std::uint64_t>(product >> 61));
  }
  std::vector<LinearForm> inputs_;  // A_j, B_j by position
  LinearForm all_;                  // element 0 summed over all positions
};

// ---- lists: which positions, and which element of their input

struct Contributions {
  std::int64_t offset = 0;                     // of the element, in every contributor's input
  std::vector<std::pair<int, int>> positions;  // runs, both ends included, in order, not adjacent
  Writer writer;
};

// A run with lists ends where a sum would hold a position twice or different elements, so one
// offset and no multiplicities are enough.
class ContributorLists {
 public:
  using Value = Contributions;
  static constexpr bool follows_data = true;

  ContributorLists(int positions, std::uint64_t /*seed*/) : positions_(positions) {}
  [[nodiscard]] Value input(int position, std::int64_t offset) const {
    return {offset, {{position, position}}, {}};
  }
  [[nodiscard]] Value reduced(std::int64_t offset) const {
    return {offset, {{0, positions_ - 1}}, {}};
  }
  static Value advanced(Value value, std::int64_t n) {
    value.offset += n;
    return value;
  }
  static bool continues(const Value& value, std::int64_t length, const Value& following) {
    return value.offset + length == following.offset && value.writer == following.writer &&
           value.positions == following.positions;
  }
  static std::optional<AddFault> add(Value& left, const Value& right);
  static bool same(const Value& a, const Value& b) {
    return a.offset == b.offset && a.positions == b.positions;
  }
  static Value with_writer(Value value, Writer writer) {
    value.writer = writer;
    return value;
  }
  static std::optional<Writer> writer(const Value& value) {
    return value.writer.step < 0 ? std::nullopt : std::optional(value.writer);
  }
  static std::string contributors(const Schedule& schedule, const Value& value);

 private:
  int positions_;
};

}  // namespace collsim::checker
