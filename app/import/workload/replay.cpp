// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "app/import/workload/workload_parts.hpp"

namespace collsim {
namespace {

// Between two kernels of computing: the GPU is busy launching, and waits for nothing.
constexpr double launch_gap_us = 10;

// Traces have no finer times; the difference of two has digits that mean nothing.
constexpr double ns_in_us = 1e3;

// Something that happens on the main stream.
struct MainEvent {
  double at = 0;
  double goes_on = 0;                // of a wait: when; of a launch: at
  std::vector<std::size_t> waits{};  // for these collectives; none: a launch
  std::size_t launched = 0;
};

std::vector<TracedKernel> joined(std::vector<TracedKernel> kernels, double gap_us) {
  std::sort(kernels.begin(), kernels.end(),
            [](const auto& a, const auto& b) { return a.begin_us < b.begin_us; });
  std::vector<TracedKernel> all;
  for (const TracedKernel& kernel : kernels) {
    if (all.empty() || kernel.begin_us > all.back().end_us + gap_us)
      all.push_back(kernel);
    else
      all.back().end_us = std::max(all.back().end_us, kernel.end_us);
  }
  return all;
}

class Replay {
 public:
  Replay(std::vector<TracedKernel> kernels, std::vector<TracedCollective> collectives,
         ImportedWorkload& workload)
      : busy_(joined(std::move(kernels), launch_gap_us)),
        collectives_(std::move(collectives)),
        workload_(workload) {}

  void run() {
    std::stable_sort(collectives_.begin(), collectives_.end(),
                     [](const auto& a, const auto& b) { return a.begin_us < b.begin_us; });
    find_limits();
    find_dead();
    find_waits();
    find_launches();
    std::stable_sort(events_.begin(), events_.end(), [](const MainEvent& a, const MainEvent& b) {
      return std::pair(a.at, !a.waits.empty()) < std::pair(b.at, !b.waits.empty());
    });
    for (const MainEvent& event : events_) emit(event);
    work_until(last_);
    tell_idle();
  }

 private:
  void find_limits() {
    first_ = std::numeric_limits<double>::max();
    for (const TracedCollective& one : collectives_) first_ = std::min(first_, one.begin_us);
    if (!busy_.empty()) first_ = std::min(first_, busy_.front().begin_us);
    last_ = busy_.empty() ? first_ : busy_.back().end_us;
    now_ = first_;
  }

  // When nothing computed and no collective was under way.
  void find_dead() {
    std::vector<TracedKernel> all = busy_;
    for (const TracedCollective& one : collectives_) all.push_back({one.begin_us, one.end_us});
    all = joined(std::move(all), 0);
    for (std::size_t i = 1; i < all.size(); ++i) {
      dead_.push_back({all[i - 1].end_us, all[i].begin_us});
      const bool is_long = dead_.back().end_us - dead_.back().begin_us > launch_gap_us;
      const double before = long_dead_until_.empty() ? first_ : long_dead_until_.back();
      long_dead_until_.push_back(is_long ? dead_.back().end_us : before);
    }
  }

  // A collective that could have begun would have begun, on a GPU that did nothing: it was called
  // after that.  Not so in the moment between two kernels, which launching them takes.
  [[nodiscard]] double called_at(const TracedCollective& one) const {
    double at = std::clamp(one.ready_us, first_, std::max(first_, one.begin_us));
    const auto ends_later = [](double t, const TracedKernel& gap) { return t < gap.end_us; };
    const auto next = std::upper_bound(dead_.begin(), dead_.end(), at, ends_later);
    if (next != dead_.end() && next->begin_us <= at && at < one.begin_us) at = next->end_us;
    const auto behind = std::upper_bound(dead_.begin(), dead_.end(), one.begin_us, ends_later);
    if (behind == dead_.begin()) return at;
    return std::max(at, long_dead_until_[static_cast<std::size_t>(behind - dead_.begin()) - 1]);
  }

  // In every stretch without computing: the collectives that end in it, and when one at least of
  // them is under way.
  void find_waits() {
    std::vector<std::size_t> by_end(collectives_.size());
    for (std::size_t i = 0; i < by_end.size(); ++i) by_end[i] = i;
    std::stable_sort(by_end.begin(), by_end.end(), [&](std::size_t a, std::size_t b) {
      return collectives_[a].end_us < collectives_[b].end_us;
    });
    std::size_t next = 0;
    for (std::size_t i = 0; i <= busy_.size(); ++i) {
      const double begin = i == 0 ? first_ : busy_[i - 1].end_us;
      const double end = i == busy_.size() ? std::numeric_limits<double>::max() : busy_[i].begin_us;
      std::vector<std::size_t> ending;
      for (; next < by_end.size() && collectives_[by_end[next]].end_us <= end; ++next)
        if (collectives_[by_end[next]].end_us > begin) ending.push_back(by_end[next]);
      add_waits(begin, std::move(ending));
    }
  }

  void add_waits(double begin, std::vector<std::size_t> ending) {
    std::sort(ending.begin(), ending.end());  // by their begin
    for (const std::size_t i : ending) {
      const double from = std::max(begin, collectives_[i].begin_us);
      if (!waits_.empty() && waits_.back().at >= begin && from <= waits_.back().goes_on) {
        waits_.back().goes_on = std::max(waits_.back().goes_on, collectives_[i].end_us);
        waits_.back().waits.push_back(i);
      } else {
        waits_.push_back({from, collectives_[i].end_us, {i}});
      }
    }
  }

  // What is launched while the main stream waits was launched before it did.
  void find_launches() {
    std::map<int, double> last;  // by stream: launches are in the order of the kernels
    for (std::size_t i = 0; i < collectives_.size(); ++i) {
      const TracedCollective& one = collectives_[i];
      double at = called_at(one);
      auto after = std::upper_bound(waits_.begin(), waits_.end(), at,
                                    [](double t, const MainEvent& w) { return t < w.at; });
      if (after != waits_.begin() && std::prev(after)->goes_on >= at) at = std::prev(after)->at;
      const auto [previous, is_new] = last.emplace(one.stream, at);
      if (!is_new) at = previous->second = std::max(previous->second, at);
      events_.push_back({at, at, {}, i});
    }
    events_.insert(events_.end(), waits_.begin(), waits_.end());
    item_of_.resize(collectives_.size());
  }

  void work_until(double at) {
    if (at <= now_) return;
    ImportedWorkload::Item work;
    work.us = std::round((at - now_) * ns_in_us) / ns_in_us;
    idle_us_ += work.us;
    work.after = std::exchange(pending_, {});
    workload_.items.push_back(std::move(work));
    main_ = workload_.items.size();
    now_ = at;
  }

  void emit(const MainEvent& event) {
    work_until(event.at);
    if (!event.waits.empty()) {
      for (const std::size_t i : event.waits) pending_.push_back(item_of_[i]);
      now_ = std::max(now_, event.goes_on);
      return;
    }
    ImportedWorkload::Item item = std::move(collectives_[event.launched].item);
    item.after = pending_;
    if (main_ > 0) item.after.push_back(main_ - 1);
    item_of_[event.launched] = workload_.items.size();
    workload_.items.push_back(std::move(item));
  }

  void tell_idle() {
    if (busy_.empty()) return;
    for (const TracedKernel& kernel : busy_) idle_us_ -= kernel.end_us - kernel.begin_us;
    if (idle_us_ <= launch_gap_us) return;
    workload_.assumed.push_back(
        fmt::format("{:.6g} ms in which the GPU neither computed nor waited for a collective are "
                    "work, done before the collectives that began after them",
                    idle_us_ / 1e3));
  }

  std::vector<TracedKernel> busy_, dead_;
  std::vector<double> long_dead_until_;  // by dead_: the end of the latest that was long
  std::vector<TracedCollective> collectives_;
  ImportedWorkload& workload_;
  std::vector<MainEvent> waits_, events_;
  std::vector<std::size_t> item_of_;  // by collective
  std::vector<std::size_t> pending_;  // what the next work waits for
  std::size_t main_ = 0;              // one behind the latest work; 0: none
  double first_ = 0, last_ = 0, now_ = 0, idle_us_ = 0;
};

}  // namespace

void replay(std::vector<TracedKernel> kernels, std::vector<TracedCollective> collectives,
            ImportedWorkload& workload) {
  if (collectives.empty()) return;
  Replay(std::move(kernels), std::move(collectives), workload).run();
}

}  // namespace collsim
