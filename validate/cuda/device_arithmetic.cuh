// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

#include "collectives/element.hpp"
#include "validate/portable.hpp"

namespace collsim {

// reduce_elements() of collectives/element.hpp on 8 bytes at a time, whole elements.  The
// same bits, but for what is inside a NaN.  A unit smaller than 8 bytes is widened with zeros, and
// what comes out beyond it is thrown away.

struct Add {
  template <class T>
  COLLSIM_LANE_CODE static T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Multiply {
  template <class T>
  COLLSIM_LANE_CODE static T apply(T a, T b) {
    return static_cast<T>(a * b);
  }
};
// A NaN is unequal to itself.
struct Least {
  template <class T>
  COLLSIM_LANE_CODE static T apply(T a, T b) {
    if (a != a) return b;
    return b < a ? b : a;
  }
};
struct Greatest {
  template <class T>
  COLLSIM_LANE_CODE static T apply(T a, T b) {
    if (a != a) return b;
    return b > a ? b : a;
  }
};

// How the elements of a type lie in memory (Bits) and compute (Value).
template <class Number>
struct Plain {
  using Bits = Number;
  using Value = Number;
  COLLSIM_LANE_CODE static Value widened(Bits bits) { return bits; }
  COLLSIM_LANE_CODE static Bits rounded(Value value) { return value; }
};
struct Half {
  using Bits = std::uint16_t;
  using Value = float;
  COLLSIM_LANE_CODE static float widened(Bits bits) { return __half2float(__ushort_as_half(bits)); }
  COLLSIM_LANE_CODE static Bits rounded(float value) {
    return __half_as_ushort(__float2half_rn(value));
  }
};
struct Brain {
  using Bits = std::uint16_t;
  using Value = float;
  COLLSIM_LANE_CODE static float widened(Bits bits) {
    return __bfloat162float(__ushort_as_bfloat16(bits));
  }
  COLLSIM_LANE_CODE static Bits rounded(float value) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
  }
};

template <class Type, class Operator>
COLLSIM_LANE_CODE std::uint64_t combined(std::uint64_t message, std::uint64_t source) {
  using Bits = typename Type::Bits;
  constexpr int elements = sizeof message / sizeof(Bits);
  Bits a[elements], b[elements];
  memcpy(a, &message, sizeof message);
  memcpy(b, &source, sizeof source);
  for (int i = 0; i < elements; ++i)
    a[i] = Type::rounded(Operator::apply(Type::widened(a[i]), Type::widened(b[i])));
  memcpy(&message, a, sizeof message);
  return message;
}

// One type and one reduction, known when this is compiled.
template <class Type, class Operator>
struct FixedArithmetic {
  // As many as there are registers for: 16-bit elements take twice the room while they compute.
  static constexpr int vectors_at_once = sizeof(typename Type::Bits) == 2 ? 2 : 4;
  COLLSIM_LANE_CODE FixedArithmetic(ElementType /*type*/, Reduction /*reduction*/) {}
  [[nodiscard]] COLLSIM_LANE_CODE static constexpr std::uint32_t element_bytes() {
    return sizeof(typename Type::Bits);
  }
  template <int count>
  COLLSIM_LANE_CODE void combine(std::uint64_t (&message)[count],
                                 const std::uint64_t (&source)[count]) const {
    for (int i = 0; i < count; ++i) message[i] = combined<Type, Operator>(message[i], source[i]);
  }
};

// Any type and reduction, chosen once for several words.
class AnyArithmetic {
 public:
  static constexpr int vectors_at_once = 1;  // there is much code for each

  COLLSIM_LANE_CODE AnyArithmetic(ElementType type, Reduction reduction)
      : type_(type), reduction_(reduction) {}

  [[nodiscard]] COLLSIM_LANE_CODE std::uint32_t element_bytes() const {
    switch (type_) {
      case ElementType::i8:
      case ElementType::u8: return 1;
      case ElementType::f16:
      case ElementType::bf16: return 2;
      case ElementType::i32:
      case ElementType::u32:
      case ElementType::f32: return 4;
      default: return 8;
    }
  }

  template <int count>
  COLLSIM_LANE_CODE void combine(std::uint64_t (&message)[count],
                                 const std::uint64_t (&source)[count]) const {
    const bool orders = reduction_ == Reduction::min || reduction_ == Reduction::max;
    switch (type_) {
      // Sums and products wrap alike with and without a sign, and unsigned ones may.
      case ElementType::i8:
        return orders ? order<Plain<std::int8_t>>(message, source)
                      : accumulate<Plain<std::uint8_t>>(message, source);
      case ElementType::u8: return any<Plain<std::uint8_t>>(message, source);
      case ElementType::i32:
        return orders ? order<Plain<std::int32_t>>(message, source)
                      : accumulate<Plain<std::uint32_t>>(message, source);
      case ElementType::u32: return any<Plain<std::uint32_t>>(message, source);
      case ElementType::i64:
        return orders ? order<Plain<std::int64_t>>(message, source)
                      : accumulate<Plain<std::uint64_t>>(message, source);
      case ElementType::u64: return any<Plain<std::uint64_t>>(message, source);
      case ElementType::f16: return any<Half>(message, source);
      case ElementType::bf16: return any<Brain>(message, source);
      case ElementType::f32: return any<Plain<float>>(message, source);
      case ElementType::f64: return any<Plain<double>>(message, source);
    }
  }

 private:
  template <class Type, class Operator, int count>
  COLLSIM_LANE_CODE static void run(std::uint64_t (&message)[count],
                                    const std::uint64_t (&source)[count]) {
    for (int i = 0; i < count; ++i) message[i] = combined<Type, Operator>(message[i], source[i]);
  }
  template <class Type, int count>
  COLLSIM_LANE_CODE void accumulate(std::uint64_t (&message)[count],
                                    const std::uint64_t (&source)[count]) const {
    if (reduction_ == Reduction::prod)
      run<Type, Multiply>(message, source);
    else
      run<Type, Add>(message, source);
  }
  template <class Type, int count>
  COLLSIM_LANE_CODE void order(std::uint64_t (&message)[count],
                               const std::uint64_t (&source)[count]) const {
    if (reduction_ == Reduction::min)
      run<Type, Least>(message, source);
    else
      run<Type, Greatest>(message, source);
  }
  template <class Type, int count>
  COLLSIM_LANE_CODE void any(std::uint64_t (&message)[count],
                             const std::uint64_t (&source)[count]) const {
    if (reduction_ == Reduction::min || reduction_ == Reduction::max)
      order<Type>(message, source);
    else
      accumulate<Type>(message, source);
  }

  ElementType type_;
  Reduction reduction_;
};

}  // namespace collsim
