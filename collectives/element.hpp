// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "topo/units.hpp"

namespace collsim {

enum class ElementType : std::uint8_t { i8, u8, i32, u32, i64, u64, f16, bf16, f32, f64 };
enum class Reduction : std::uint8_t { sum, prod, min, max, avg };

[[nodiscard]] Bytes size_of(ElementType type);
[[nodiscard]] std::string_view to_string(ElementType type);
[[nodiscard]] std::string_view to_string(Reduction reduction);
[[nodiscard]] std::span<const ElementType> all_element_types();
[[nodiscard]] std::span<const Reduction> all_reductions();

// Accept the names people bring ("float", "ncclFloat32", "bfloat16", "half", "ncclSum", ...);
// Error{unknown_name} lists what is allowed.
[[nodiscard]] ElementType parse_element_type(std::string_view name);
[[nodiscard]] Reduction parse_reduction(std::string_view name);

// The reference arithmetic, one element after the other, that every executor must reproduce bit for
// bit: accumulator[i] := accumulator[i] (+) operand[i].  Integers wrap (two's complement); f16 and
// bf16 compute in f32 and round to nearest even after every step; min and max return the other
// operand when one is NaN. `avg` adds here; finish_average divides once at the end.
void reduce_elements(ElementType type, Reduction reduction, std::byte* accumulator,
                     const std::byte* operand, std::int64_t count);

// What `avg` still needs after the sum over `contributors`: integers divide towards zero, floats in
// their own type.
void finish_average(ElementType type, std::byte* values, std::int64_t count,
                    std::int64_t contributors);

// The largest whole number up to which the type has every one, at most 2^53 (as a double can say).
[[nodiscard]] double exact_limit(ElementType type);

// Conversion of single elements, for tests, tables and people.  from_number rounds to nearest even
// where needed.
[[nodiscard]] double to_number(ElementType type, const std::byte* element);
void from_number(ElementType type, double value, std::byte* element);

}  // namespace collsim
