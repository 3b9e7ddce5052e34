// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/scenario/cluster/cluster.hpp"
#include "app/scenario/object_reader.hpp"
#include "collectives/collective.hpp"

// The parts of "collective" that have a shape of their own.  All report what is wrong and go on.

namespace collsim {

// Reports a mistake in an element of the list that a key holds.
Refusal wrong_item(ObjectReader& reader, std::string_view key, std::size_t index, std::string code,
                   std::string message, std::string hint = {});

// A list of whole numbers.
[[nodiscard]] std::optional<std::vector<std::int64_t>> read_integers(ObjectReader& reader,
                                                                     std::string_view key,
                                                                     std::int64_t low,
                                                                     std::int64_t high);

// "ranks"; all ranks of the cluster when absent.  Empty: unknown, because it is wrong or the
// cluster is.
[[nodiscard]] std::vector<Rank> read_group(ObjectReader& reader, const Cluster* cluster);

// "root", as a position in the group.
[[nodiscard]] int read_root(ObjectReader& reader, const std::vector<Rank>& group);

[[nodiscard]] Pattern read_pattern(ObjectReader& reader, const std::vector<Rank>& group);

// Why a number is not an element of the type; empty: it is one (floating point rounds).
[[nodiscard]] std::string element_misfit(const JsonValue& value, ElementType type);

// "data", by position; sets the count of the collective to what follows from it.
[[nodiscard]] std::optional<std::vector<std::vector<double>>> read_data(ObjectReader& reader,
                                                                        Collective& collective);

}  // namespace collsim
