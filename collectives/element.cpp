// SPDX-License-Identifier: Apache-2.0
#include "collectives/element.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "collectives/names.hpp"

namespace collsim {
namespace {

// A floating-point number of 16 bits: a sign, Exponent bits, the rest of the significand.
template <int Exponent>
struct Narrow {
  std::uint16_t bits = 0;

  static constexpr int fraction = 15 - Exponent;
  static constexpr int bias = (1 << (Exponent - 1)) - 1;
  static constexpr std::uint16_t infinity =
      static_cast<std::uint16_t>(((1 << Exponent) - 1) << fraction);

  // To the nearest, ties to the even neighbour, directly from 64 bits so that nothing is rounded
  // twice.
  static Narrow rounded(double value) {
    const auto wide = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint16_t>((wide >> 48) & 0x8000U);
    if (std::isnan(value)) return {static_cast<std::uint16_t>(sign | infinity | infinity_quiet)};
    const int exponent = static_cast<int>((wide >> 52) & 0x7FFU) - 1023;
    if (exponent > bias) return {static_cast<std::uint16_t>(sign | infinity)};
    const int smallest = 1 - bias;  // below, numbers have this exponent and fewer bits
    const int lost = 52 - fraction + std::max(0, smallest - exponent);
    if (lost > 53) return {sign};
    const std::uint64_t significand = (wide & ((1ULL << 52) - 1)) | (1ULL << 52);
    const std::uint64_t half = 1ULL << (lost - 1);
    std::uint64_t kept = significand >> lost;
    const std::uint64_t rest = significand & ((1ULL << lost) - 1);
    if (rest > half || (rest == half && kept % 2 == 1)) ++kept;
    // The leading 1 adds itself to the exponent, and so does a carry out of the fraction, up to
    // infinity.
    const int below = std::max(exponent, smallest) - smallest;
    return {static_cast<std::uint16_t>(sign |
                                       ((static_cast<std::uint64_t>(below) << fraction) + kept))};
  }

  [[nodiscard]] float widened() const {
    const auto magnitude = static_cast<std::uint32_t>(bits & 0x7FFFU);
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    if (magnitude >= infinity) {
      const std::uint32_t payload = (magnitude - infinity) << (23 - fraction);
      return std::bit_cast<float>(sign | 0x7F800000U | payload);
    }
    // As though the exponent had a float's bias, then corrected: exact, also below the normal
    // numbers, where float still has room or the same limits.
    const auto unscaled = std::bit_cast<float>(sign | magnitude << (23 - fraction));
    if constexpr (bias == 127) return unscaled;
    return unscaled * std::bit_cast<float>(static_cast<std::uint32_t>(2 * 127 - bias) << 23);
  }

 private:
  static constexpr std::uint16_t infinity_quiet = 1 << (fraction - 1);
};

using F16 = Narrow<5>;
using BF16 = Narrow<8>;

template <class T>
constexpr bool is_narrow = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;

// Calls `use` with a value of the C++ type behind an element type.
template <class Use>
decltype(auto) with_type(ElementType type, Use use) {
  switch (type) {
    case ElementType::i8: return use(std::int8_t{});
    case ElementType::u8: return use(std::uint8_t{});
    case ElementType::i32: return use(std::int32_t{});
    case ElementType::u32: return use(std::uint32_t{});
    case ElementType::i64: return use(std::int64_t{});
    case ElementType::u64: return use(std::uint64_t{});
    case ElementType::f16: return use(F16{});
    case ElementType::bf16: return use(BF16{});
    case ElementType::f32: return use(float{});
    case ElementType::f64: break;
  }
  return use(double{});
}

// Memory is bytes: elements need not be aligned.
template <class T>
T load(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}
template <class T>
void store(std::byte* element, T value) {
  std::memcpy(element, &value, sizeof value);
}

// Signed overflow is undefined and small types promote to int: integers go through unsigned ones.
template <class T>
auto without_overflow(T value) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::uint64_t>(value);
  else
    return value;
}

template <class T, class Combine>
void reduce_loop(std::byte* accumulator, const std::byte* operand, std::int64_t count,
                 Combine combine) {
  constexpr std::ptrdiff_t size = sizeof(T);
  for (std::int64_t i = 0; i < count; ++i) {
    const T a = load<T>(accumulator + i * size);
    const T b = load<T>(operand + i * size);
    if constexpr (is_narrow<T>)
      store(accumulator + i * size, T::rounded(combine(a.widened(), b.widened())));
    else
      store(accumulator + i * size, static_cast<T>(combine(a, b)));
  }
}

template <class T>
T divided(T sum, std::int64_t contributors) {
  if constexpr (is_narrow<T>)
    return T::rounded(sum.widened() / static_cast<float>(contributors));
  else if constexpr (std::is_floating_point_v<T>)
    return sum / static_cast<T>(contributors);
  else if constexpr (std::is_signed_v<T>)
    return static_cast<T>(std::int64_t{sum} / contributors);
  else
    return static_cast<T>(std::uint64_t{sum} / static_cast<std::uint64_t>(contributors));
}

// To the nearest whole number the type has.
template <class T>
T whole_number(double value) {
  if (std::isnan(value)) return 0;
  const double nearest = std::nearbyint(value);
  if (nearest <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (nearest >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return static_cast<T>(nearest);
}

struct TypeRow {
  ElementType type;
  Bytes size;
  std::string_view name;
  std::array<std::string_view, 2> others;  // lower case, without the prefixes of libraries
};
constexpr std::array<TypeRow, 10> type_rows = {{
    {ElementType::i8, 1, "i8", {"int8", "char"}},
    {ElementType::u8, 1, "u8", {"uint8", "byte"}},
    {ElementType::i32, 4, "i32", {"int32", "int"}},
    {ElementType::u32, 4, "u32", {"uint32", "uint"}},
    {ElementType::i64, 8, "i64", {"int64", "long"}},
    {ElementType::u64, 8, "u64", {"uint64", "ulong"}},
    {ElementType::f16, 2, "f16", {"float16", "half"}},
    {ElementType::bf16, 2, "bf16", {"bfloat16", "bfloat"}},
    {ElementType::f32, 4, "f32", {"float32", "float"}},
    {ElementType::f64, 8, "f64", {"float64", "double"}},
}};
constexpr std::array<ElementType, 10> every_type = {
    ElementType::i8,  ElementType::u8,  ElementType::i32,  ElementType::u32, ElementType::i64,
    ElementType::u64, ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64};

struct ReductionRow {
  Reduction reduction;
  std::string_view name;
  std::array<std::string_view, 2> others;
};
constexpr std::array<ReductionRow, 5> reduction_rows = {{
    {Reduction::sum, "sum", {"add", "plus"}},
    {Reduction::prod, "prod", {"product", "mul"}},
    {Reduction::min, "min", {"minimum", "least"}},
    {Reduction::max, "max", {"maximum", "greatest"}},
    {Reduction::avg, "avg", {"average", "mean"}},
}};
constexpr std::array<Reduction, 5> every_reduction = {
    Reduction::sum, Reduction::prod, Reduction::min, Reduction::max, Reduction::avg};

// "ncclFloat32" and "torch.float32" are "float32".
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view prefix : {"nccl", "torch.", "mpi_"})
    if (plain.starts_with(prefix)) return plain.substr(prefix.size());
  return plain;
}

template <class Rows>
const typename Rows::value_type& find_row(const Rows& rows, const char* what,
                                          std::string_view name) {
  const std::string plain = plain_name(name);
  std::vector<std::string_view> known;
  for (const auto& row : rows) {
    if (row.name == plain || row.others[0] == plain || row.others[1] == plain) return row;
    known.push_back(row.name);
  }
  throw_unknown_name(what, name, known);
}

}  // namespace

Bytes size_of(ElementType type) {
  return type_rows[static_cast<std::size_t>(type)].size;
}

std::string_view to_string(ElementType type) {
  return type_rows[static_cast<std::size_t>(type)].name;
}

std::string_view to_string(Reduction reduction) {
  return reduction_rows[static_cast<std::size_t>(reduction)].name;
}

std::span<const ElementType> all_element_types() {
  return every_type;
}

std::span<const Reduction> all_reductions() {
  return every_reduction;
}

ElementType parse_element_type(std::string_view name) {
  return find_row(type_rows, "element type", name).type;
}

Reduction parse_reduction(std::string_view name) {
  return find_row(reduction_rows, "reduction", name).reduction;
}

void reduce_elements(ElementType type, Reduction reduction, std::byte* accumulator,
                     const std::byte* operand, std::int64_t count) {
  with_type(type, [=](auto zero) {
    const auto loop = [=](auto combine) {
      reduce_loop<decltype(zero)>(accumulator, operand, count, combine);
    };
    switch (reduction) {
      case Reduction::sum:
      case Reduction::avg:
        return loop([](auto a, auto b) { return without_overflow(a) + without_overflow(b); });
      case Reduction::prod:
        return loop([](auto a, auto b) { return without_overflow(a) * without_overflow(b); });
      // A NaN is unequal to itself.
      case Reduction::min: return loop([](auto a, auto b) { return a != a || b < a ? b : a; });
      case Reduction::max: return loop([](auto a, auto b) { return a != a || b > a ? b : a; });
    }
  });
}

void finish_average(ElementType type, std::byte* values, std::int64_t count,
                    std::int64_t contributors) {
  COLLSIM_CHECK(contributors > 0, std::to_string(contributors) + " contributors to an average");
  with_type(type, [=](auto zero) {
    using T = decltype(zero);
    constexpr std::ptrdiff_t size = sizeof(T);
    for (std::int64_t i = 0; i < count; ++i)
      store(values + i * size, divided(load<T>(values + i * size), contributors));
  });
}

double exact_limit(ElementType type) {
  switch (type) {
    case ElementType::i8: return 127;
    case ElementType::u8: return 255;
    case ElementType::bf16: return 256;
    case ElementType::f16: return 2048;
    case ElementType::f32: return 16'777'216;
    case ElementType::i32: return 2'147'483'647;
    case ElementType::u32: return 4'294'967'295;
    default: return 9'007'199'254'740'992;
  }
}

double to_number(ElementType type, const std::byte* element) {
  return with_type(type, [=](auto zero) {
    using T = decltype(zero);
    const T value = load<T>(element);
    if constexpr (is_narrow<T>)
      return static_cast<double>(value.widened());
    else
      return static_cast<double>(value);
  });
}

void from_number(ElementType type, double value, std::byte* element) {
  with_type(type, [=](auto zero) {
    using T = decltype(zero);
    if constexpr (is_narrow<T>)
      store(element, T::rounded(value));
    else if constexpr (std::is_floating_point_v<T>)
      store(element, static_cast<T>(value));
    else
      store(element, whole_number<T>(value));
  });
}

}  // namespace collsim
