// SPDX-License-Identifier: Apache-2.0
#include "collectives/collective.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <limits>

#include "collectives/names.hpp"

namespace collsim {
namespace {

constexpr std::array<Operation, 10> every_operation = {
    Operation::broadcast,      Operation::reduce,   Operation::all_reduce, Operation::all_gather,
    Operation::reduce_scatter, Operation::gather,   Operation::scatter,    Operation::all_to_all,
    Operation::barrier,        Operation::send_recv};

// Letters only, so that all-reduce, all_reduce and AllReduce are the same name.
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (c != '-' && c != '_')
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

void validate_group(const std::vector<Rank>& group) {
  if (group.empty())
    throw_error(ErrorCode::invalid_argument, "a collective needs a group of at least 1 rank");
  if (group.size() > max_ranks)
    throw_error(ErrorCode::too_large, "a group of ", group.size(), " ranks: at most ", max_ranks);
  const bool ascends =
      std::adjacent_find(group.begin(), group.end(), std::greater_equal<>()) == group.end();
  if (ascends) return;
  std::vector<Rank> sorted = group;
  std::sort(sorted.begin(), sorted.end());
  const auto twin = std::adjacent_find(sorted.begin(), sorted.end());
  if (twin != sorted.end())
    throw_error(ErrorCode::invalid_argument, "rank ", twin->index(),
                " is in the group more than once");
}

void validate_count(const Collective& collective) {
  if (collective.count < 0)
    throw_error(ErrorCode::invalid_argument, "a collective of ", collective.count,
                " elements: the count must not be negative");
  // Half of 64 bits: offsets and the few elements by which pieces are rounded up then always fit.
  constexpr Bytes limit = std::numeric_limits<Bytes>::max() / 2;
  if (collective.count > limit / size_of(collective.type))
    throw_error(ErrorCode::too_large, collective.count, " elements of ", to_string(collective.type),
                " are too many bytes (at most ", limit, ")");
}

void validate_position(const Collective& collective, int position, const char* what) {
  if (position < 0 || position >= collective.size())
    throw_error(ErrorCode::invalid_argument, what, " ", position, " is not in the group of ",
                collective.size(), " (0 to ", collective.size() - 1, ")");
}

void validate_pairs(const Collective& collective) {
  std::vector<bool> sends(collective.group.size());
  std::vector<bool> receives(collective.group.size());
  for (const auto& [source, target] : collective.pattern.pairs) {
    validate_position(collective, source, "sender");
    validate_position(collective, target, "receiver");
    if (sends[static_cast<std::size_t>(source)])
      throw_error(ErrorCode::invalid_argument, "position ", source, " sends more than once");
    if (receives[static_cast<std::size_t>(target)])
      throw_error(ErrorCode::invalid_argument, "position ", target, " receives more than once");
    sends[static_cast<std::size_t>(source)] = true;
    receives[static_cast<std::size_t>(target)] = true;
  }
}

// The piece of a vector of `count` elements that belongs to a position.
Span piece_of(const Collective& collective, int position) {
  return Span{Buffer::output, 0, collective.count}.piece(position, collective.size());
}

// Piece i of the output comes whole from position i.
std::vector<Requirement> all_pieces(const Collective& collective) {
  std::vector<Requirement> pieces;
  for (int i = 0; i < collective.size(); ++i) {
    const Span piece = piece_of(collective, i);
    if (piece.count > 0) pieces.push_back({piece.offset, piece.count, i, 0});
  }
  return pieces;
}

std::vector<Requirement> my_piece_of_all(const Collective& collective, int position) {
  const Span piece = piece_of(collective, position);
  std::vector<Requirement> pieces;
  for (int i = 0; i < collective.size() && piece.count > 0; ++i)
    pieces.push_back({i * piece.count, piece.count, i, piece.offset});
  return pieces;
}

}  // namespace

std::string_view to_string(Operation operation) {
  switch (operation) {
    case Operation::broadcast: return "broadcast";
    case Operation::reduce: return "reduce";
    case Operation::all_reduce: return "all-reduce";
    case Operation::all_gather: return "all-gather";
    case Operation::reduce_scatter: return "reduce-scatter";
    case Operation::gather: return "gather";
    case Operation::scatter: return "scatter";
    case Operation::all_to_all: return "all-to-all";
    case Operation::barrier: return "barrier";
    case Operation::send_recv: return "send-recv";
  }
  return "?";
}

std::span<const Operation> all_operations() {
  return every_operation;
}

bool has_root(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::reduce ||
         operation == Operation::gather || operation == Operation::scatter;
}

bool reduces(Operation operation) {
  return operation == Operation::reduce || operation == Operation::all_reduce ||
         operation == Operation::reduce_scatter;
}

Operation parse_operation(std::string_view name) {
  std::vector<std::string_view> allowed;
  for (const Operation operation : every_operation) {
    allowed.push_back(to_string(operation));
    if (letters_of(name) == letters_of(allowed.back())) return operation;
  }
  throw_unknown_name("operation", name, allowed);
}

std::vector<Rank> first_ranks(std::size_t count) {
  std::vector<Rank> ranks;
  ranks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) ranks.emplace_back(i);
  return ranks;
}

void validate(const Collective& collective) {
  validate_group(collective.group);
  validate_position(collective, collective.root, "root");
  validate_count(collective);
  const bool exchanges =
      collective.operation == Operation::all_to_all || collective.operation == Operation::send_recv;
  if (collective.in_place && exchanges)
    throw_error(ErrorCode::invalid_argument,
                std::string(to_string(collective.operation)) + " has no in-place form");
  if (collective.operation == Operation::send_recv) validate_pairs(collective);
}

std::int64_t input_count(const Collective& collective, int position) {
  switch (collective.operation) {
    case Operation::broadcast:
    case Operation::scatter: return position == collective.root ? collective.count : 0;
    case Operation::reduce:
    case Operation::all_reduce:
    case Operation::reduce_scatter:
    case Operation::all_to_all: return collective.count;
    case Operation::all_gather:
    case Operation::gather: return piece_of(collective, position).count;
    case Operation::barrier: return 0;
    case Operation::send_recv: return target_of(collective, position) ? collective.count : 0;
  }
  return 0;
}

std::int64_t output_count(const Collective& collective, int position) {
  switch (collective.operation) {
    case Operation::broadcast:
    case Operation::all_reduce:
    case Operation::all_gather: return collective.count;
    case Operation::reduce:
    case Operation::gather: return position == collective.root ? collective.count : 0;
    case Operation::reduce_scatter:
    case Operation::scatter: return piece_of(collective, position).count;
    case Operation::all_to_all: return collective.size() * piece_of(collective, position).count;
    case Operation::barrier: return 0;
    case Operation::send_recv: return source_of(collective, position) ? collective.count : 0;
  }
  return 0;
}

Aliasing aliasing(const Collective& collective, int position) {
  if (!collective.in_place) return {};
  const bool at_root = position == collective.root;
  switch (collective.operation) {
    case Operation::broadcast:
    case Operation::reduce: return {at_root, 0, 0};
    case Operation::all_reduce: return {true, 0, 0};
    case Operation::all_gather: return {true, piece_of(collective, position).offset, 0};
    case Operation::reduce_scatter: return {true, 0, piece_of(collective, position).offset};
    case Operation::gather:
      return at_root ? Aliasing{true, piece_of(collective, position).offset, 0} : Aliasing{};
    case Operation::scatter:
      return at_root ? Aliasing{true, 0, piece_of(collective, position).offset} : Aliasing{};
    case Operation::all_to_all:
    case Operation::barrier:
    case Operation::send_recv: return {};
  }
  return {};
}

std::vector<Requirement> requirements(const Collective& collective, int position) {
  const std::int64_t count = output_count(collective, position);
  if (count == 0) return {};
  switch (collective.operation) {
    case Operation::broadcast: return {{0, count, collective.root, 0}};
    case Operation::reduce:
    case Operation::all_reduce: return {{0, count, std::nullopt, 0}};
    case Operation::all_gather:
    case Operation::gather: return all_pieces(collective);
    case Operation::reduce_scatter:
      return {{0, count, std::nullopt, piece_of(collective, position).offset}};
    case Operation::scatter:
      return {{0, count, collective.root, piece_of(collective, position).offset}};
    case Operation::all_to_all: return my_piece_of_all(collective, position);
    case Operation::barrier: return {};
    case Operation::send_recv: return {{0, count, source_of(collective, position), 0}};
  }
  return {};
}

namespace {

// The partner in an exchange: 0 and 1, 2 and 3, ...; a last odd one has none.
std::optional<int> exchange_partner(const Collective& collective, int position) {
  const int partner = position ^ 1;
  return partner < collective.size() ? std::optional<int>(partner) : std::nullopt;
}

int shifted(const Collective& collective, int position, std::int64_t distance) {
  const std::int64_t size = collective.size();
  return static_cast<int>(((position + distance) % size + size) % size);
}

}  // namespace

std::optional<int> target_of(const Collective& collective, int position) {
  const Pattern& pattern = collective.pattern;
  switch (pattern.kind) {
    case Pattern::Kind::shift: return shifted(collective, position, pattern.distance);
    case Pattern::Kind::exchange: return exchange_partner(collective, position);
    case Pattern::Kind::pairs:
      for (const auto& [source, target] : pattern.pairs)
        if (source == position) return target;
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<int> source_of(const Collective& collective, int position) {
  const Pattern& pattern = collective.pattern;
  switch (pattern.kind) {
    case Pattern::Kind::shift:
      return shifted(collective, position, -std::int64_t{pattern.distance});
    case Pattern::Kind::exchange: return exchange_partner(collective, position);
    case Pattern::Kind::pairs:
      for (const auto& [source, target] : pattern.pairs)
        if (target == position) return source;
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace collsim
