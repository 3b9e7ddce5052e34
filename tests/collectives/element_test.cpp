// SPDX-License-Identifier: Apache-2.0
#include "collectives/element.hpp"
#include "tests/contains.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace collsim {
namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <class T>
std::vector<T> reduced(ElementType type, Reduction reduction, const std::vector<T>& a,
                       const std::vector<T>& b) {
  auto accumulator = bytes_of(a);
  const auto operand = bytes_of(b);
  reduce_elements(type, reduction, accumulator.data(), operand.data(),
                  static_cast<std::int64_t>(a.size()));
  return values_of<T>(accumulator);
}

std::uint16_t bits_of(ElementType type, double value) {
  std::uint16_t bits = 0;
  from_number(type, value, reinterpret_cast<std::byte*>(&bits));
  return bits;
}

double number_of(ElementType type, std::uint16_t bits) {
  return to_number(type, reinterpret_cast<const std::byte*>(&bits));
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Element, SizesAreThoseOfTheTypes) {
  EXPECT_EQ(size_of(ElementType::i8), 1);
  EXPECT_EQ(size_of(ElementType::f16), 2);
  EXPECT_EQ(size_of(ElementType::bf16), 2);
  EXPECT_EQ(size_of(ElementType::u32), 4);
  EXPECT_EQ(size_of(ElementType::f64), 8);
  EXPECT_EQ(all_element_types().size(), 10U);
  EXPECT_EQ(all_reductions().size(), 5U);
}

TEST(Element, NamesAreReadBack) {
  for (const ElementType type : all_element_types())
    EXPECT_EQ(parse_element_type(to_string(type)), type);
  for (const Reduction reduction : all_reductions())
    EXPECT_EQ(parse_reduction(to_string(reduction)), reduction);
}

TEST(Element, AcceptsTheNamesPeopleBring) {
  EXPECT_EQ(parse_element_type("float"), ElementType::f32);
  EXPECT_EQ(parse_element_type("ncclFloat32"), ElementType::f32);
  EXPECT_EQ(parse_element_type("torch.bfloat16"), ElementType::bf16);
  EXPECT_EQ(parse_element_type("half"), ElementType::f16);
  EXPECT_EQ(parse_element_type("ncclUint64"), ElementType::u64);
  EXPECT_EQ(parse_reduction("ncclSum"), Reduction::sum);
  EXPECT_EQ(parse_reduction("mean"), Reduction::avg);
}

TEST(Element, UnknownNamesListWhatIsAllowed) {
  try {
    (void)parse_element_type("f23");
    FAIL() << "accepted f23";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unknown_name);
    expect_contains(error.what(), "did you mean 'f32'");
    expect_contains(error.what(), "bf16");
  }
  EXPECT_THROW((void)parse_reduction("xor"), Error);
  EXPECT_THROW((void)parse_reduction(""), Error);
}

// Every 16-bit pattern means what the formats say, computed here with powers of two.
void expect_every_pattern(ElementType type, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  for (int bits = 0; bits < 65536; ++bits) {
    const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const double sign = bits >= 32768 ? -1 : 1;
    const double found = number_of(type, static_cast<std::uint16_t>(bits));
    if (exponent == (1 << exponent_bits) - 1) {
      ASSERT_EQ(std::isnan(found), fraction != 0) << bits;
      if (fraction == 0) {
        ASSERT_EQ(found, sign * infinity);
      }
      continue;
    }
    const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                           : std::ldexp(fraction + (1 << fraction_bits),
                                                        exponent - bias - fraction_bits);
    ASSERT_EQ(found, sign * magnitude) << bits;
    ASSERT_EQ(std::signbit(found), sign < 0) << bits;
    ASSERT_EQ(bits_of(type, found), bits);  // and back
  }
}

TEST(Element, EveryF16MeansWhatTheFormatSays) {
  expect_every_pattern(ElementType::f16, 5);
}
TEST(Element, EveryBf16MeansWhatTheFormatSays) {
  expect_every_pattern(ElementType::bf16, 8);
}

// Between two neighbours: below the middle down, above up, in the middle to the even one.
void expect_nearest_even(ElementType type, int largest_finite) {
  for (int bits = 0; bits < largest_finite; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint16_t>(bits + 1);
    const double middle = (number_of(type, low) + number_of(type, high)) / 2;
    ASSERT_EQ(bits_of(type, middle), bits % 2 == 0 ? low : high) << bits;
    ASSERT_EQ(bits_of(type, std::nextafter(middle, 0)), low) << bits;
    ASSERT_EQ(bits_of(type, std::nextafter(middle, infinity)), high) << bits;
    ASSERT_EQ(bits_of(type, -middle), (bits % 2 == 0 ? low : high) | 0x8000) << bits;
  }
}

TEST(Element, F16RoundsToNearestEven) {
  expect_nearest_even(ElementType::f16, 0x7BFF);
  EXPECT_EQ(number_of(ElementType::f16, 0x7BFF), 65504);
  EXPECT_EQ(bits_of(ElementType::f16, 65519.99), 0x7BFF);
  EXPECT_EQ(bits_of(ElementType::f16, 65520), 0x7C00);  // infinity
  EXPECT_EQ(bits_of(ElementType::f16, 1e300), 0x7C00);
  EXPECT_EQ(bits_of(ElementType::f16, -infinity), 0xFC00);
  EXPECT_EQ(bits_of(ElementType::f16, 1e-300), 0);
  EXPECT_EQ(bits_of(ElementType::f16, -0.0), 0x8000);
  EXPECT_TRUE(std::isnan(number_of(ElementType::f16, bits_of(ElementType::f16, nan))));
}

TEST(Element, Bf16RoundsToNearestEven) {
  expect_nearest_even(ElementType::bf16, 0x7F7F);
  EXPECT_EQ(bits_of(ElementType::bf16, std::ldexp(511, 120)), 0x7F80);  // infinity
  EXPECT_EQ(bits_of(ElementType::bf16, 5e-324), 0);
  EXPECT_TRUE(std::isnan(number_of(ElementType::bf16, bits_of(ElementType::bf16, nan))));
}

TEST(Element, IntegersWrap) {
  using i8s = std::vector<std::int8_t>;
  EXPECT_EQ(reduced(ElementType::i8, Reduction::sum, i8s{127, -128, 5}, i8s{1, -1, 6}),
            (i8s{-128, 127, 11}));
  EXPECT_EQ(reduced(ElementType::i8, Reduction::prod, i8s{-128, 16}, i8s{-1, 17}), (i8s{-128, 16}));
  using i32s = std::vector<std::int32_t>;
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(reduced(ElementType::i32, Reduction::sum, i32s{most}, i32s{1}), (i32s{-most - 1}));
  EXPECT_EQ(reduced(ElementType::i32, Reduction::prod, i32s{most}, i32s{2}), (i32s{-2}));
  using i64s = std::vector<std::int64_t>;
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(reduced(ElementType::i64, Reduction::sum, i64s{least}, i64s{-1}), (i64s{-(least + 1)}));
  EXPECT_EQ(reduced(ElementType::i64, Reduction::prod, i64s{least, 7}, i64s{-1, -6}),
            (i64s{least, -42}));
  using u32s = std::vector<std::uint32_t>;
  EXPECT_EQ(reduced(ElementType::u32, Reduction::sum, u32s{0xFFFFFFFFU}, u32s{2}), (u32s{1}));
}

TEST(Element, SignedAndUnsignedCompareAsSuch) {
  EXPECT_EQ(reduced(ElementType::i8, Reduction::min, std::vector<std::int8_t>{-1},
                    std::vector<std::int8_t>{1}),
            std::vector<std::int8_t>{-1});
  EXPECT_EQ(reduced(ElementType::u8, Reduction::min, std::vector<std::uint8_t>{255},
                    std::vector<std::uint8_t>{1}),
            std::vector<std::uint8_t>{1});
  EXPECT_EQ(reduced(ElementType::u64, Reduction::max, std::vector<std::uint64_t>{1ULL << 63},
                    std::vector<std::uint64_t>{1}),
            std::vector<std::uint64_t>{1ULL << 63});
}

TEST(Element, FloatsReduceInTheirOwnType) {
  using floats = std::vector<float>;
  EXPECT_EQ(reduced(ElementType::f32, Reduction::sum, floats{16777216.0F}, floats{1.0F}),
            floats{16777216.0F});
  EXPECT_EQ(reduced(ElementType::f32, Reduction::prod, floats{1.5F}, floats{-2.0F}), floats{-3.0F});
  using doubles = std::vector<double>;
  EXPECT_EQ(reduced(ElementType::f64, Reduction::sum, doubles{16777216.0}, doubles{1.0}),
            doubles{16777217.0});
  EXPECT_EQ(reduced(ElementType::f64, Reduction::avg, doubles{1.0}, doubles{2.0}), doubles{3.0});
}

TEST(Element, NarrowFloatsRoundAfterEveryStep) {
  using halves = std::vector<std::uint16_t>;
  const auto f16 = [](double value) { return bits_of(ElementType::f16, value); };
  // 2048 + 1 is no f16: back to 2048 every time; 2048 + 3 = 2051 is a tie and goes to 2052.
  EXPECT_EQ(reduced(ElementType::f16, Reduction::sum, halves{f16(2048), f16(2048), f16(65504)},
                    halves{f16(1), f16(3), f16(65504)}),
            (halves{f16(2048), f16(2052), f16(infinity)}));
  const auto bf16 = [](double value) { return bits_of(ElementType::bf16, value); };
  EXPECT_EQ(reduced(ElementType::bf16, Reduction::sum, halves{bf16(256), bf16(256)},
                    halves{bf16(1), bf16(3)}),
            (halves{bf16(256), bf16(260)}));
  EXPECT_EQ(reduced(ElementType::bf16, Reduction::prod, halves{bf16(3)}, halves{bf16(-0.5)}),
            (halves{bf16(-1.5)}));
}

TEST(Element, MinAndMaxPreferNumbersToNan) {
  for (const Reduction reduction : {Reduction::min, Reduction::max}) {
    EXPECT_EQ(reduced(ElementType::f64, reduction, std::vector<double>{nan, 2},
                      std::vector<double>{1, nan}),
              (std::vector<double>{1, 2}));
    EXPECT_EQ(reduced(ElementType::f16, reduction,
                      std::vector<std::uint16_t>{bits_of(ElementType::f16, nan)},
                      std::vector<std::uint16_t>{bits_of(ElementType::f16, -7)}),
              std::vector<std::uint16_t>{bits_of(ElementType::f16, -7)});
    const auto both = reduced(ElementType::f32, reduction, std::vector<float>{std::nanf("")},
                              std::vector<float>{std::nanf("")});
    EXPECT_TRUE(std::isnan(both[0]));
  }
  EXPECT_EQ(
      reduced(ElementType::f32, Reduction::min, std::vector<float>{1, 2}, std::vector<float>{2, 1}),
      (std::vector<float>{1, 1}));
  EXPECT_EQ(
      reduced(ElementType::f32, Reduction::max, std::vector<float>{1, 2}, std::vector<float>{2, 1}),
      (std::vector<float>{2, 2}));
}

TEST(Element, MinAndMaxOfNothingTouchNothing) {
  std::byte untouched{42};
  reduce_elements(ElementType::i8, Reduction::max, &untouched, &untouched, 0);
  EXPECT_EQ(untouched, std::byte{42});
}

template <class T>
std::vector<T> averaged(ElementType type, const std::vector<T>& sums, std::int64_t contributors) {
  auto bytes = bytes_of(sums);
  finish_average(type, bytes.data(), static_cast<std::int64_t>(sums.size()), contributors);
  return values_of<T>(bytes);
}

TEST(Element, AveragesDivideTowardsZeroOrInTheirType) {
  EXPECT_EQ(averaged(ElementType::i32, std::vector<std::int32_t>{7, -7, 0}, 2),
            (std::vector<std::int32_t>{3, -3, 0}));
  EXPECT_EQ(averaged(ElementType::i8, std::vector<std::int8_t>{100}, 200),
            (std::vector<std::int8_t>{0}));
  EXPECT_EQ(averaged(ElementType::u64, std::vector<std::uint64_t>{~0ULL}, 2),
            (std::vector<std::uint64_t>{~0ULL / 2}));
  EXPECT_EQ(averaged(ElementType::f32, std::vector<float>{1.0F}, 3),
            (std::vector<float>{1.0F / 3.0F}));
  EXPECT_EQ(
      averaged(ElementType::f16, std::vector<std::uint16_t>{bits_of(ElementType::f16, 1.0)}, 3),
      (std::vector<std::uint16_t>{bits_of(ElementType::f16, 1.0 / 3.0)}));
}

TEST(Element, NumbersBecomeTheNearestElement) {
  std::int8_t small = 0;
  auto* memory = reinterpret_cast<std::byte*>(&small);
  const auto stored = [&](double value) {
    from_number(ElementType::i8, value, memory);
    return static_cast<int>(small);
  };
  EXPECT_EQ(stored(2.5), 2);
  EXPECT_EQ(stored(3.5), 4);
  EXPECT_EQ(stored(-1000), -128);
  EXPECT_EQ(stored(1000), 127);
  EXPECT_EQ(stored(nan), 0);
  EXPECT_EQ(stored(-3), -3);
  EXPECT_EQ(to_number(ElementType::i8, memory), -3.0);
  std::uint64_t large = 0;
  from_number(ElementType::u64, 1e30, reinterpret_cast<std::byte*>(&large));
  EXPECT_EQ(large, ~0ULL);
}

TEST(Element, MemoryNeedNotBeAligned) {
  std::vector<std::byte> memory(2 * sizeof(double) + 1);
  from_number(ElementType::f64, 1.25, memory.data() + 1);
  from_number(ElementType::f64, 2.5, memory.data() + 1 + sizeof(double));
  reduce_elements(ElementType::f64, Reduction::sum, memory.data() + 1,
                  memory.data() + 1 + sizeof(double), 1);
  EXPECT_EQ(to_number(ElementType::f64, memory.data() + 1), 3.75);
}

}  // namespace
}  // namespace collsim
