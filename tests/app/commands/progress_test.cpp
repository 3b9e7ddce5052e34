// SPDX-License-Identifier: Apache-2.0
#include "app/commands/progress.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "app/study/run_case.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

TEST(Progress, TellsTheTimeWhileAPointTakesLong) {
  std::ostringstream out, err;
  const std::atomic<bool> interrupted = false;
  Terminal terminal{.out = out, .err = err, .err_is_terminal = true, .interrupted = interrupted};
  Progress progress(terminal);
  progress.update(0, 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  progress.clear();
  const std::string line = "0 of 3 points, 2 s so far";
  expect_contains(err.str(), "\r" + line);
  EXPECT_TRUE(err.str().ends_with("\r" + std::string(line.size() + 2, ' ') + "\r")) << err.str();
  EXPECT_EQ(err.str().find('\033'), std::string::npos);
}

TEST(Progress, InALogIsALineNowAndThen) {
  std::ostringstream out, err;
  const std::atomic<bool> interrupted = false;
  Terminal terminal{.out = out, .err = err, .interrupted = interrupted};
  Progress progress(terminal, Progress::Clock::thread, std::chrono::seconds(1));
  progress.update(0, 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  progress.clear();
  EXPECT_TRUE(err.str().starts_with("0 of 3 points, ")) << err.str();
  EXPECT_TRUE(err.str().ends_with(" s so far\n")) << err.str();
  EXPECT_EQ(err.str().find('\r'), std::string::npos);
}

// Whoever has no thread tells the time when a point is done, too, and once after a silence.
TEST(Progress, InALogIsToldByItsCaller) {
  std::ostringstream out, err;
  const std::atomic<bool> interrupted = false;
  Terminal terminal{.out = out, .err = err, .interrupted = interrupted};
  Progress progress(terminal, Progress::Clock::caller, std::chrono::seconds(1));
  progress.update(1, 3);
  EXPECT_EQ(err.str(), "");
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  progress.update(2, 3);
  progress.tell_the_time();
  EXPECT_EQ(err.str(), "2 of 3 points, 3 s so far\n");
}

TEST(Progress, SaysHowFarAnAlgorithmIs) {
  std::ostringstream out, err;
  const std::atomic<bool> interrupted = false;
  Terminal terminal{.out = out, .err = err, .err_is_terminal = true, .interrupted = interrupted};
  const auto gauge = std::make_shared<SimulationGauge>();
  gauge->begin("Tree LL", 1'000);
  EXPECT_EQ(gauge->text(), "Tree LL less than 1%");
  gauge->executed = 429;
  Progress progress(terminal);
  progress.watch(gauge);
  progress.update(0, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  progress.clear();
  expect_contains(err.str(), "0 of 1 point, 2 s so far, Tree LL about 42%");
  gauge->end();
  EXPECT_EQ(gauge->text(), "");
}

}  // namespace
}  // namespace collsim
