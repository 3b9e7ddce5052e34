// SPDX-License-Identifier: Apache-2.0
#include "app/commands/progress.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ostream>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/study/run_case.hpp"

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

Progress::Progress(Terminal& terminal, Clock clock, std::chrono::seconds in_a_log)
    : terminal_(terminal),
      on_terminal_(terminal.err_is_terminal && !terminal.quiet),
      next_(start_) {
  next_ += on_terminal_ ? Steady::duration(before_it_shows) : in_a_log;
  if (terminal.quiet || clock == Clock::caller) return;
  clock_ = std::jthread([this](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, stop, before_it_shows, [&] { return stop.stop_requested(); })) {
      lock.unlock();
      tell_the_time();
      lock.lock();
    }
  });
}

void Progress::watch(std::shared_ptr<const SimulationGauge> gauge) {
  const std::lock_guard lock(mutex_);
  gauge_ = std::move(gauge);
}

void Progress::update(std::size_t done, std::size_t total) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  total_ = total;
  const Steady::time_point now = Steady::now();
  if (now < next_) return;
  if (!on_terminal_) tell_a_log(now);
  if (!on_terminal_ || done == 0) return;
  next_ = now + between_updates;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done) / seconds;
  show(fmt::format("{}, {:.3g}/s, {} left", part_text(done, total, "point"), rate,
                   duration(static_cast<double>(total - done) / rate)));
}

void Progress::tell_the_time() {
  const std::lock_guard lock(mutex_);
  const Steady::time_point now = Steady::now();
  if (!on_terminal_)
    tell_a_log(now);
  else if (now >= next_ + before_it_shows)
    show(time_so_far());
}

void Progress::tell_a_log(Steady::time_point now) {
  if (terminal_.quiet || now < next_) return;
  terminal_.err << time_so_far() << std::endl;
  while (next_ <= now) next_ += next_ - start_;
}

std::string Progress::time_so_far() const {
  const std::string points = total_ == 0 ? "" : part_text(done_, total_, "point") + ", ";
  const double seconds = std::chrono::duration<double>(Steady::now() - start_).count();
  const std::string share = gauge_ == nullptr ? "" : gauge_->text();
  return points + duration(seconds) + " so far" + (share.empty() ? "" : ", " + share);
}

// Blanks take the old line away on every terminal, and a ^C behind it.  Not all know how to erase.
void Progress::show(const std::string& line) {
  const std::size_t longer = shown_ > line.size() ? shown_ - line.size() : 0;
  terminal_.err << '\r' << line << std::string(longer, ' ') << std::flush;
  shown_ = line.size() + 2;
}

void Progress::clear() {
  if (clock_.joinable()) {
    clock_.request_stop();
    clock_.join();
  }
  const std::lock_guard lock(mutex_);
  if (shown_ > 0) terminal_.err << '\r' << std::string(shown_, ' ') << '\r' << std::flush;
  shown_ = 0;
}

}  // namespace collsim
