// SPDX-License-Identifier: Apache-2.0
#include "collectives/checker/step_values.hpp"

#include <algorithm>

namespace collsim::checker {

namespace {

constexpr std::uint64_t modulus = (std::uint64_t{1} << 61) - 1;

std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;
  return sum >= modulus ? sum - modulus : sum;
}

std::uint64_t product_of(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return sum_of(static_cast<std::uint64_t>(product & modulus),
                static_cast<std::uint64_t>(product >> 61));
}

std::uint64_t inverse_of(std::uint64_t value) {
  std::uint64_t result = 1;
  for (std::uint64_t power = modulus - 2; power > 0; power /= 2) {
    if (power % 2 == 1) result = product_of(result, value);
    value = product_of(value, value);
  }
  return result;
}

// SplitMix64's mixing: neither 0 nor predictable from another one.
StepValue mixed(StepValue state, std::uint64_t next) {
  std::uint64_t z = state * 0x9E3779B97F4A7C15U + next + 0xD1B54A32D192ED03U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return (z ^ (z >> 31)) % (modulus - 1) + 1;
}

StepValue reduced(Reduction reduction, const std::vector<StepValue>& values) {
  StepValue result = 0;
  const bool adds = reduction == Reduction::sum || reduction == Reduction::avg;
  for (const StepValue value : values) result = sum_of(result, adds ? value : mixed(0, value));
  if (reduction == Reduction::avg) return product_of(result, inverse_of(values.size()));
  return adds ? result : mixed(static_cast<StepValue>(reduction), result);
}

template <class Visitor>
void for_each_item(const std::vector<Items>& items, Visitor&& visitor) {
  for (const Items& range : items)
    for (std::uint32_t item = range.begin; item < range.end; ++item) visitor(item);
}

}  // namespace

StepValues::StepValues(const Workload& workload, const WorkloadData& data)
    : data_(data), items_(data.items) {
  for (std::size_t member = 0; member < static_cast<std::size_t>(workload.size()); ++member) {
    const std::uint64_t secret = mixed(0x5EC2E7U, member);
    secrets_.push_back({secret, inverse_of(secret)});
  }
  held_.resize(items_ * static_cast<std::size_t>(workload.size()));
  const auto initial = [&data](Rank rank, std::uint32_t item) {
    const std::uint64_t own = (std::uint64_t{rank.index()} << 32) + item + 1;
    return data.initial ? data.initial(rank, item) : own;
  };
  for (int place = 0; place < workload.size(); ++place) {
    const auto position = static_cast<std::size_t>(place);
    const Rank rank = workload.rank(place);
    positions_[rank] = position;
    for (std::uint32_t item = 0; item < items_; ++item)
      if (const std::uint64_t content = initial(rank, item); content != 0)
        held(position, item).now = mixed(1, content);
  }
}

std::vector<StepValue> StepValues::read(std::size_t position, const Uses& uses) const {
  std::vector<StepValue> values;
  for_each_item(uses.reads,
                [&](std::uint32_t item) { values.push_back(held(position, item).now); });
  return values;
}

void StepValues::write(std::size_t position, const Uses& uses,
                       const std::vector<StepValue>& values) {
  std::size_t next = 0;
  for_each_item(uses.writes, [&](std::uint32_t item) {
    held(position, item).now = next < values.size() ? values[next] : 0;
    ++next;
  });
}

void StepValues::work(std::size_t position, const Label& label, const Uses& uses) {
  StepValue function =
      mixed(static_cast<std::uint64_t>(label.kind), static_cast<std::uint64_t>(label.number));
  function = mixed(function, static_cast<std::uint64_t>(label.microbatch));
  for_each_item(uses.reads, [&](std::uint32_t item) {
    Held& one = held(position, item);
    function = mixed(function, one.now);
    if (label.kind == Label::Kind::optimizer) one.optimized = one.now;
  });
  std::uint64_t number = 0;
  for_each_item(uses.writes, [&](std::uint32_t item) {
    Held& one = held(position, item);
    one.now = one.worked = mixed(function, number++);
  });
}

StepValue StepValues::part_of(StepValue whole, std::size_t member) const {
  return product_of(whole, secrets_[member].secret);
}

StepValue StepValues::joined(const std::vector<StepValue>& parts) const {
  StepValue whole = 0;
  for (std::size_t member = 0; member < parts.size(); ++member)
    whole = sum_of(whole, product_of(parts[member], secrets_[member].inverse));
  return product_of(whole, inverse_of(parts.size()));
}

// What comes of what all members have.
StepValue StepValues::whole_of(const Call& call, const std::vector<StepValue>& values) const {
  switch (call.operation) {
    case Operation::all_reduce:
    case Operation::reduce:
    case Operation::reduce_scatter: return reduced(call.reduction, values);
    case Operation::all_gather:
    case Operation::gather: return joined(values);
    case Operation::broadcast:
    case Operation::scatter: return values[static_cast<std::size_t>(call.root)];
    default: break;  // all-to-all: in order
  }
  StepValue all = 0;
  for (const StepValue value : values) all = mixed(all, value);
  return all;
}

// What a member gets of it.
StepValue StepValues::result_of(const Call& call, StepValue whole, std::size_t member) const {
  switch (call.operation) {
    case Operation::reduce_scatter:
    case Operation::scatter: return part_of(whole, member);
    case Operation::all_reduce:
    case Operation::reduce:
    case Operation::all_gather:
    case Operation::gather:
    case Operation::broadcast: return whole;
    default: return mixed(whole, member);  // all-to-all: its own from every one
  }
}

void StepValues::call(const Call& call, const std::vector<Member>& members) {
  std::vector<std::vector<StepValue>> inputs;
  std::size_t items = 0;
  for (const Member& member : members) {
    inputs.push_back(read(member.position, member.uses));
    items = std::max(items, inputs.back().size());
  }
  std::vector<std::vector<StepValue>> outputs(members.size());
  std::vector<StepValue> of_item(members.size());
  for (std::size_t item = 0; item < items; ++item) {
    for (std::size_t member = 0; member < members.size(); ++member)
      of_item[member] = item < inputs[member].size() ? inputs[member][item] : 0;
    const StepValue whole = whole_of(call, of_item);
    for (std::size_t member = 0; member < members.size(); ++member)
      outputs[member].push_back(result_of(call, whole, member));
  }
  for (std::size_t member = 0; member < members.size(); ++member)
    write(members[member].position, members[member].uses, outputs[member]);
}

std::optional<StepValues::Broken> StepValues::broken(const WorkloadData::Claim& claim,
                                                     std::size_t group) const {
  const std::vector<Rank>& ranks = claim.groups[group];
  const auto place = [this](Rank rank) { return positions_.at(rank); };
  const std::size_t parts = claim.parts > 0 ? claim.parts : ranks.size();
  for (std::uint32_t item = claim.items.begin; item < claim.items.end; ++item) {
    std::vector<StepValue> worked;
    if (claim.kind != WorkloadData::Claim::Kind::same)
      for (const Rank rank : ranks)
        worked.push_back(held(place(rank), claim.of + item - claim.items.begin).worked);
    const bool adds = claim.kind == WorkloadData::Claim::Kind::sum;
    const StepValue wanted = claim.kind == WorkloadData::Claim::Kind::same
                                 ? held(place(ranks.front()), item).now
                                 : reduced(adds ? Reduction::sum : Reduction::avg, worked);
    for (std::size_t member = 0; member < (adds ? 1 : ranks.size()); ++member) {
      const Held& one = held(place(ranks[member]), item);
      const bool as_part = claim.kind == WorkloadData::Claim::Kind::part_of_mean;
      const bool as_read = claim.kind != WorkloadData::Claim::Kind::same && one.optimized != 0;
      if ((as_read ? one.optimized : one.now) !=
          (as_part ? part_of(wanted, member % parts) : wanted))
        return Broken{&claim, group, ranks[member], ranks.front(), item};
    }
  }
  return std::nullopt;
}

std::optional<StepValues::Broken> StepValues::broken_claim() const {
  for (const WorkloadData::Claim& claim : data_.claims)
    for (std::size_t group = 0; group < claim.groups.size(); ++group)
      if (const auto found = broken(claim, group)) return found;
  return std::nullopt;
}

}  // namespace collsim::checker
