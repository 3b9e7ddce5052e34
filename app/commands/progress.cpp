// SPDX-License-Identifier: Apache-2.0
#include "app/commands/progress.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ostream>

namespace collsim {
namespace {

constexpr std::chrono::milliseconds before_it_shows{500};
constexpr std::chrono::milliseconds between_updates{100};

std::string duration(double seconds) {
  if (!(seconds < 360'000)) return "days";
  const auto whole = static_cast<long>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

Progress::Progress(Terminal& terminal)
    : terminal_(terminal),
      wanted_(terminal.err_is_terminal && !terminal.quiet),
      next_(start_ + before_it_shows) {}

void Progress::update(std::size_t done, std::size_t total) {
  if (!wanted_ || done == 0) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + between_updates;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done) / seconds;
  terminal_.err << "\r\033[K"
                << fmt::format("{} of {} points, {:.3g}/s, {} left", done, total, rate,
                               duration(static_cast<double>(total - done) / rate))
                << std::flush;
  shown_ = true;
}

void Progress::clear() {
  if (shown_) terminal_.err << "\r\033[K" << std::flush;
  shown_ = false;
}

}  // namespace collsim
