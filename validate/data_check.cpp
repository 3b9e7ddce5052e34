// SPDX-License-Identifier: Apache-2.0
#include "validate/data_check.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

#include "collectives/execute.hpp"

namespace collsim {
namespace {

std::string number(ElementType type, const std::byte* element) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", to_number(type, element));
  return text;
}

// The distance from 1 to the next number; 0 for integers.
double epsilon_of(ElementType type) {
  switch (type) {
    case ElementType::bf16: return std::ldexp(1, -7);
    case ElementType::f16: return std::ldexp(1, -10);
    case ElementType::f32: return std::ldexp(1, -23);
    case ElementType::f64: return std::ldexp(1, -52);
    default: return 0;
  }
}

bool is_near(double found, double wanted, double tolerance) {
  return std::abs(found - wanted) <= tolerance * std::abs(wanted);
}

}  // namespace

std::string first_difference(const Collective& collective,
                             const std::vector<std::vector<std::byte>>& inputs, int position,
                             const std::vector<std::byte>& finished) {
  const std::vector<std::byte> expected = expected_output(collective, inputs, position);
  if (expected == finished) return "";
  const auto size = static_cast<std::size_t>(size_of(collective.type));
  std::optional<std::size_t> first;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size() / size; ++i) {
    if (std::memcmp(expected.data() + i * size, finished.data() + i * size, size) == 0) continue;
    if (!first) first = i;
    ++wrong;
  }
  if (!first) return "an output has the wrong size";
  std::string text = "rank " +
                     std::to_string(collective.group[static_cast<std::size_t>(position)].index()) +
                     " element " + std::to_string(*first) + " is " +
                     number(collective.type, finished.data() + *first * size) + ", not " +
                     number(collective.type, expected.data() + *first * size);
  if (wrong > 1) text += " (and " + std::to_string(wrong - 1) + " more are wrong)";
  return text;
}

bool nccl_rounds(const Collective& collective) {
  return reduces(collective.operation) && collective.reduction == Reduction::avg &&
         epsilon_of(collective.type) > 0 &&
         !std::has_single_bit(static_cast<unsigned>(collective.size()));
}

double nccl_tolerance(const Collective& collective) {
  if (!nccl_rounds(collective)) return 0;
  return (collective.size() + 2) / 2.0 * epsilon_of(collective.type);
}

std::string nccl_difference(const Collective& collective,
                            const std::vector<std::vector<std::byte>>& inputs, int position,
                            const std::vector<std::byte>& output) {
  if (!nccl_rounds(collective)) return first_difference(collective, inputs, position, output);
  // Whatever is near enough counts as what was wanted; the rest is reported as usual.
  std::vector<std::byte> forgiven = expected_output(collective, inputs, position);
  const auto size = static_cast<std::size_t>(size_of(collective.type));
  if (output.size() != forgiven.size()) return "an output has the wrong size";
  for (std::size_t at = 0; at < output.size(); at += size) {
    const double found = to_number(collective.type, output.data() + at);
    const double wanted = to_number(collective.type, forgiven.data() + at);
    if (is_near(found, wanted, nccl_tolerance(collective))) continue;
    for (std::size_t i = at; i < at + size; ++i) forgiven[i] = output[i];
  }
  return first_difference(collective, inputs, position, forgiven);
}

}  // namespace collsim
