// SPDX-License-Identifier: Apache-2.0
#include "topo/units.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "tests/topo/testing.hpp"

namespace collsim {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

TEST(Time, UnitsAreMultiplesOfPicoseconds) {
  EXPECT_EQ(picoseconds(7).ps(), 7);
  EXPECT_EQ(nanoseconds(7).ps(), 7'000);
  EXPECT_EQ(microseconds(7).ps(), 7'000'000);
  EXPECT_EQ(milliseconds(7).ps(), 7'000'000'000);
  EXPECT_EQ(seconds(7).ps(), 7'000'000'000'000);
  EXPECT_DOUBLE_EQ(microseconds(3).seconds(), 3e-6);
}

TEST(Time, ArithmeticIsExactAndOrdered) {
  EXPECT_EQ(nanoseconds(1) + picoseconds(1), picoseconds(1001));
  EXPECT_EQ(nanoseconds(1) - picoseconds(1), picoseconds(999));
  EXPECT_EQ(3 * picoseconds(5), picoseconds(15));
  Time sum;
  sum += picoseconds(4);
  sum += picoseconds(5);
  EXPECT_EQ(sum, picoseconds(9));
  EXPECT_LT(picoseconds(-1), Time{});
  EXPECT_LT(seconds(9'000'000), Time::never());
}

TEST(Time, OverflowIsAnErrorAtTheFirstPicosecondTooMany) {
  EXPECT_EQ((Time(largest - 1) + Time(1)).ps(), largest);
  expect_error(ErrorCode::overflow, {"106 days"}, [] { (void)(Time(largest) + Time(1)); });
  expect_error(ErrorCode::overflow, {}, [] { (void)(Time(-largest) - Time(2)); });
  expect_error(ErrorCode::overflow, {}, [] { (void)(2 * Time(largest / 2 + 1)); });
  expect_error(ErrorCode::overflow, {}, [] { (void)seconds(10'000'000); });
}

static_assert(gigabytes_per_second(3).bytes_per_second() == 3'000'000'000);
static_assert(kibibytes(3) == 3072 && mebibytes(1) == 1'048'576 && gibibytes(1) == 1'073'741'824);
static_assert(kibibytes(-1) == -1024 && microseconds(2) == Time(2'000'000));

TEST(Units, OverflowIsAnErrorAtTheFirstUnitTooMany) {
  EXPECT_EQ(gigabytes_per_second(largest / 1'000'000'000).bytes_per_second(),
            9'223'372'036'000'000'000);
  expect_error(ErrorCode::overflow, {"9223372037 GB/s"},
               [] { (void)gigabytes_per_second(9'223'372'037); });
  EXPECT_EQ(kibibytes(largest >> 10), largest - 1023);
  EXPECT_EQ(gibibytes(-(std::int64_t{1} << 33)), std::numeric_limits<std::int64_t>::min());
  expect_error(ErrorCode::overflow, {"9007199254740992 KiB"},
               [] { (void)kibibytes(std::int64_t{1} << 53); });
  expect_error(ErrorCode::overflow, {"MiB"}, [] { (void)mebibytes(std::int64_t{1} << 43); });
  expect_error(ErrorCode::overflow, {"8589934592 GiB"},
               [] { (void)gibibytes(std::int64_t{1} << 33); });
  expect_error(ErrorCode::overflow, {}, [] { (void)nanoseconds(largest / 1'000 + 1); });
  expect_error(ErrorCode::overflow, {}, [] { (void)microseconds(largest / 1'000'000 + 1); });
  expect_error(ErrorCode::overflow, {}, [] { (void)milliseconds(largest); });
}

TEST(RoundedPicoseconds, NearestHalvesUp) {
  EXPECT_EQ(rounded_picoseconds(0.0).ps(), 0);
  EXPECT_EQ(rounded_picoseconds(0.4).ps(), 0);
  EXPECT_EQ(rounded_picoseconds(0.5).ps(), 1);
  EXPECT_EQ(rounded_picoseconds(1.5).ps(), 2);
  EXPECT_EQ(rounded_picoseconds(2.5).ps(), 3);
  EXPECT_EQ(rounded_picoseconds(2.6).ps(), 3);
}

TEST(RoundedPicoseconds, AddingOneHalfWouldRoundTheseWrongly) {
  EXPECT_EQ(rounded_picoseconds(std::nextafter(0.5, 0.0)).ps(), 0);
  EXPECT_EQ(rounded_picoseconds(4503599627370497.0).ps(), 4503599627370497);
  EXPECT_EQ(rounded_picoseconds(9007199254740991.0).ps(), 9007199254740991);
}

TEST(RoundedPicoseconds, RefusesWhatIsNoTime) {
  expect_error(ErrorCode::invalid_argument, {"NaN"},
               [] { (void)rounded_picoseconds(std::nan("")); });
  expect_error(ErrorCode::invalid_argument, {"-1"}, [] { (void)rounded_picoseconds(-1.0); });
  expect_error(ErrorCode::overflow, {"106 days"}, [] { (void)rounded_picoseconds(1e19); });
  expect_error(ErrorCode::overflow, {}, [] { (void)rounded_picoseconds(9223372036854775808.0); });
  expect_error(ErrorCode::overflow, {}, [] { (void)from_seconds(HUGE_VAL); });
  EXPECT_EQ(rounded_picoseconds(9223372036854774784.0).ps(), 9223372036854774784);
}

TEST(FromSeconds, IsPicosecondsTimesTenToTheTwelve) {
  EXPECT_EQ(from_seconds(1.5e-6), nanoseconds(1500));
  EXPECT_EQ(from_seconds(2), seconds(2));
}

TEST(TransferTime, IsBytesOverBandwidthRoundedUp) {
  EXPECT_EQ(transfer_time(0, gigabytes_per_second(1)).ps(), 0);
  EXPECT_EQ(transfer_time(1, gigabytes_per_second(1)).ps(), 1000);
  EXPECT_EQ(transfer_time(1, Bandwidth(2'000'000'000'000)).ps(), 1);  // 0.5
  EXPECT_EQ(transfer_time(1, Bandwidth(1'000'000'000'000)).ps(), 1);  // exactly 1
  EXPECT_EQ(transfer_time(1, Bandwidth(999'999'999'999)).ps(), 2);    // just above 1
  EXPECT_EQ(transfer_time(3, Bandwidth(2'000'000'000'000)).ps(), 2);  // 1.5
  EXPECT_EQ(transfer_time(1, Bandwidth(3'000'000'000'000)).ps(), 1);  // 0.33
  EXPECT_EQ(transfer_time(2, Bandwidth(3'000'000'000'000)).ps(), 1);  // 0.67
  EXPECT_EQ(transfer_time(mebibytes(64), gigabytes_per_second(25)).ps(), 2'684'354'560);
}

TEST(TransferTime, ShortAndLongWayAgree) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto bytes = static_cast<Bytes>(random() >> (40 + random() % 24));
    const Bandwidth bandwidth(static_cast<std::int64_t>((random() >> (1 + random() % 60)) | 1));
    const long double exact = 1e12L * static_cast<long double>(bytes) /
                              static_cast<long double>(bandwidth.bytes_per_second());
    if (exact > 9e18L) continue;
    ASSERT_EQ(transfer_time(bytes, bandwidth), long_transfer_time(bytes, bandwidth))
        << bytes << " " << bandwidth.bytes_per_second();
  }
}

TEST(TransferTime, IsExactBeyond64BitsInBetween) {
  EXPECT_EQ(transfer_time(largest, Bandwidth(largest)), seconds(1));
  EXPECT_EQ(transfer_time(gibibytes(1024), Bandwidth(1'000'000'000'000)).ps(), 1'099'511'627'776);
  EXPECT_EQ(transfer_time(9'223'372, Bandwidth(1)), seconds(9'223'372));
}

TEST(TransferTime, RefusesNegativeSizesAndTooLongTimes) {
  expect_error(ErrorCode::invalid_argument, {"-1 bytes"},
               [] { (void)transfer_time(-1, gigabytes_per_second(1)); });
  expect_error(ErrorCode::overflow, {"1 B/s"},
               [] { (void)transfer_time(9'223'373, Bandwidth(1)); });
}

TEST(Bandwidth, MustBePositive) {
  EXPECT_EQ(Bandwidth(1).bytes_per_second(), 1);
  EXPECT_EQ(gigabytes_per_second(25).bytes_per_second(), 25'000'000'000);
  expect_error(ErrorCode::invalid_argument, {"0 B/s"}, [] { (void)Bandwidth(0); });
  expect_error(ErrorCode::invalid_argument, {"-5 B/s"}, [] { (void)Bandwidth(-5); });
}

TEST(Text, TimesInTheLargestUnitThatIsNotBelowOne) {
  EXPECT_EQ(to_text(Time{}), "0 ps");
  EXPECT_EQ(to_text(picoseconds(999)), "999 ps");
  EXPECT_EQ(to_text(nanoseconds(1)), "1 ns");
  EXPECT_EQ(to_text(nanoseconds(12'500)), "12.5 us");
  EXPECT_EQ(to_text(microseconds(-12)), "-12 us");
  EXPECT_EQ(to_text(milliseconds(1'070)), "1.07 s");
  EXPECT_EQ(to_text(seconds(9'000'000)), "9000000 s");
  EXPECT_EQ(to_text(seconds(12'345)), "12345 s");
}

TEST(Text, SizesAreBinaryAndBandwidthsDecimal) {
  EXPECT_EQ(bytes_to_text(0), "0 B");
  EXPECT_EQ(bytes_to_text(1000), "1000 B");
  EXPECT_EQ(bytes_to_text(kibibytes(1)), "1 KiB");
  EXPECT_EQ(bytes_to_text(mebibytes(64)), "64 MiB");
  EXPECT_EQ(bytes_to_text(gibibytes(3) / 2), "1.5 GiB");
  EXPECT_EQ(bytes_to_text(gibibytes(1024)), "1 TiB");
  EXPECT_EQ(bytes_to_text(gibibytes(1024) * 20'000), "20000 TiB");
  EXPECT_EQ(to_text(gigabytes_per_second(25)), "25 GB/s");
  EXPECT_EQ(to_text(Bandwidth(12'500'000)), "12.5 MB/s");
  EXPECT_EQ(to_text(Bandwidth(7)), "7 B/s");
}

}  // namespace
}  // namespace collsim
