// SPDX-License-Identifier: Apache-2.0
// The GPU's mover and arithmetic, compiled for the CPU: every thread's part, one after the other.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collectives/element.hpp"
#include "validate/cuda/device_arithmetic.cuh"
#include "validate/cuda/device_mover.cuh"

namespace collsim {
namespace {

struct OneThread {
  std::uint32_t number, of;
  [[nodiscard]] std::uint32_t thread() const { return number; }
  [[nodiscard]] std::uint32_t threads() const { return of; }
};

template <class Work>
void everybody(std::uint32_t threads, Work work) {
  for (std::uint32_t i = 0; i < threads; ++i) work(OneThread{i, threads});
}

// Bytes that begin so far from a boundary of 16, with untouched ones around them.
class Memory {
 public:
  Memory(std::size_t offset, std::size_t bytes, std::mt19937_64& random)
      : bytes_(bytes), store_(bytes + 4 * margin) {
    for (std::byte& byte : store_) byte = static_cast<std::byte>(random());
    std::size_t space = store_.size();
    void* start = store_.data();
    std::align(16, 1, start, space);
    begin_ = static_cast<std::byte*>(start) + margin + offset;
  }
  [[nodiscard]] std::byte* begin() { return begin_; }
  [[nodiscard]] std::vector<std::byte> content() const { return {begin_, begin_ + bytes_}; }
  [[nodiscard]] auto around() const {
    const std::byte* const end = begin_ + bytes_;
    return std::pair(std::vector<std::byte>(begin_ - margin, begin_),
                     std::vector<std::byte>(end, end + margin));
  }

 private:
  static constexpr std::size_t margin = 64;
  std::size_t bytes_;
  std::vector<std::byte> store_;
  std::byte* begin_ = nullptr;
};

constexpr std::uint32_t team_sizes[] = {32, 64, 512};

TEST(CudaMover, MovesAnyBytesFromAnywhereToOneOrTwoPlaces) {
  const DeviceMover<AnyArithmetic> mover(AnyArithmetic(ElementType::u8, Reduction::sum));
  std::mt19937_64 random(1);
  const std::size_t sizes[] = {0, 1, 3, 15, 16, 17, 31, 64, 333, 4096, 100'003};
  for (int turn = 0; turn < 1500; ++turn) {
    const std::size_t bytes = sizes[random() % std::size(sizes)];
    const std::size_t step = std::size_t{1} << random() % 5;  // offsets of 1, 2, 4, 8 or 16 bytes
    const auto offset = [&] { return random() % 16 / step * step; };
    Memory from(offset(), bytes, random), to(offset(), bytes, random),
        also(offset(), bytes, random);
    const bool twice = random() % 2 == 0;
    const auto before = from.content(), also_before = also.content();
    const auto around_to = to.around(), around_also = also.around();
    everybody(team_sizes[turn % 3], [&](const OneThread& thread) {
      mover.move(thread, from.begin(), to.begin(), twice ? also.begin() : nullptr, bytes);
    });
    ASSERT_EQ(to.content(), before) << bytes << " bytes, turn " << turn;
    ASSERT_EQ(also.content(), twice ? before : also_before) << bytes << " bytes, turn " << turn;
    ASSERT_EQ(to.around(), around_to);
    ASSERT_EQ(also.around(), around_also);
  }
}

// Random bits are numbers of all sizes, infinities and NaN among them; what is inside a NaN does
// not count.
bool same(ElementType type, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  const auto size = static_cast<std::size_t>(size_of(type));
  for (std::size_t i = 0; i + size <= a.size(); i += size) {
    if (std::memcmp(&a[i], &b[i], size) == 0) continue;
    if (!std::isnan(to_number(type, &a[i])) || !std::isnan(to_number(type, &b[i]))) return false;
  }
  return a.size() == b.size();
}

template <class Arithmetic>
void combines_like_the_reference(ElementType type, Reduction reduction, int turns) {
  const DeviceMover<Arithmetic> mover(Arithmetic(type, reduction));
  const auto size = static_cast<std::size_t>(size_of(type));
  std::mt19937_64 random(static_cast<std::uint64_t>(type) * 8 +
                         static_cast<std::uint64_t>(reduction));
  const std::size_t counts[] = {0, 1, 2, 7, 16, 33, 255, 1031, 20'000};
  for (int turn = 0; turn < turns; ++turn) {
    const std::size_t count = counts[random() % std::size(counts)];
    const std::size_t bytes = count * size;
    const std::size_t step = turn % 2 == 0 ? 16 : size;
    const auto offset = [&] { return random() % 16 / step * step; };
    Memory message(offset(), bytes, random), source(offset(), bytes, random);
    Memory to(offset(), bytes, random), also(offset(), bytes, random);
    auto expected = message.content();
    reduce_elements(type, reduction, expected.data(), source.content().data(),
                    static_cast<std::int64_t>(count));
    const bool in_place = random() % 3 == 0, twice = random() % 2 == 0;
    Memory& place = in_place ? source : to;
    const auto around = place.around();
    const auto also_before = also.content();
    everybody(team_sizes[turn % 3], [&](const OneThread& thread) {
      mover.combine(thread, message.begin(), source.begin(), place.begin(),
                    twice ? also.begin() : nullptr, bytes);
    });
    const std::string what = std::string(to_string(type)) + " " +
                             std::string(to_string(reduction)) + ", " + std::to_string(count) +
                             " elements, turn " + std::to_string(turn);
    ASSERT_TRUE(same(type, place.content(), expected)) << what;
    ASSERT_TRUE(same(type, also.content(), twice ? expected : also_before)) << what;
    ASSERT_EQ(place.around(), around) << what;
  }
}

TEST(CudaArithmetic, EveryTypeAndReductionIsTheReferenceBitForBit) {
  for (const ElementType type : all_element_types())
    for (const Reduction reduction : all_reductions())
      combines_like_the_reference<AnyArithmetic>(type, reduction, 60);
}

TEST(CudaArithmetic, SoAreTheSumsWithKernelsOfTheirOwn) {
  combines_like_the_reference<FixedArithmetic<Plain<float>, Add>>(ElementType::f32, Reduction::sum,
                                                                  200);
  combines_like_the_reference<FixedArithmetic<Half, Add>>(ElementType::f16, Reduction::avg, 200);
  combines_like_the_reference<FixedArithmetic<Brain, Add>>(ElementType::bf16, Reduction::sum, 200);
}

TEST(CudaArithmetic, AWordIsWholeElements) {
  for (const ElementType type : all_element_types())
    for (const Reduction reduction : all_reductions()) {
      const DeviceMover<AnyArithmetic> mover(AnyArithmetic(type, reduction));
      std::mt19937_64 random(7);
      for (int turn = 0; turn < 300; ++turn) {
        std::uint64_t message = random();
        const std::uint64_t source = random();
        std::vector<std::byte> expected(8), result(8), operand(8);
        std::memcpy(expected.data(), &message, 8);
        std::memcpy(operand.data(), &source, 8);
        message = mover.combine_word(message, source);
        std::memcpy(result.data(), &message, 8);
        reduce_elements(type, reduction, expected.data(), operand.data(), 8 / size_of(type));
        ASSERT_TRUE(same(type, result, expected)) << to_string(type) << " " << to_string(reduction);
      }
    }
}

// Every pair of special numbers, since random bits rarely meet: zeros of both signs, NaN,
// infinities, the smallest and the largest, and halves that must go to the even neighbour.
TEST(CudaArithmetic, SpecialNumbersToo) {
  const double specials[] = {0.0,    -0.0,   NAN,     INFINITY,   -INFINITY,
                             1.0,    2049.0, 65504.0, 65520.0,    6e-8,
                             3.4e38, 1e-40,  -257.0,  0.00390625, 1.00390625};
  for (const ElementType type :
       {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64})
    for (const Reduction reduction : all_reductions())
      for (const double a : specials)
        for (const double b : specials) {
          const auto size = static_cast<std::size_t>(size_of(type));
          std::vector<std::byte> expected(size), operand(size), result(size);
          from_number(type, a, expected.data());
          from_number(type, b, operand.data());
          std::uint64_t message = 0, source = 0;
          std::memcpy(&message, expected.data(), size);
          std::memcpy(&source, operand.data(), size);
          const DeviceMover<AnyArithmetic> mover(AnyArithmetic(type, reduction));
          message = mover.combine_word(message, source);
          std::memcpy(result.data(), &message, size);
          reduce_elements(type, reduction, expected.data(), operand.data(), 1);
          ASSERT_TRUE(same(type, result, expected))
              << to_string(type) << " " << to_string(reduction) << " of " << a << " and " << b;
        }
}

}  // namespace
}  // namespace collsim
