// SPDX-License-Identifier: Apache-2.0
#include "app/commands/progress.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <sstream>
#include <thread>

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

}  // namespace
}  // namespace collsim
