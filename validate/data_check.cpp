// SPDX-License-Identifier: Apache-2.0
#include "validate/data_check.hpp"

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

}  // namespace collsim
