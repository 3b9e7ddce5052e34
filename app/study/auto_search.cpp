// SPDX-License-Identifier: Apache-2.0
#include "app/study/auto_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/study/auto_candidates.hpp"
#include "app/study/run_case.hpp"
#include "collectives/cost/bounds.hpp"
#include "sim/causal_chain.hpp"

namespace collsim {
namespace {

// Work in microseconds, roughly: what an instruction takes in each engine.
constexpr double of_dataflow = 0.03;
constexpr double of_exclusive_event = 0.3;
constexpr double of_fair_event = 4;
constexpr double of_crossing = 0.02;  // of a further link, where that takes an event
constexpr double of_reading = 0.03;
constexpr double most_of_one = 3e6;
constexpr double most_of_all = 1e7;
constexpr double most_bytes = 1e9;
constexpr double little_work = 2e4;
constexpr double little_gain = 0.01;

struct Trial {
  AutoFamily* family = nullptr;
  int chunks = 0;
  Effort effort = {};
  Time bound = {};
  double guess = std::numeric_limits<double>::infinity();  // seconds, by a closed form
  bool by_formula = false;                                 // an exact one is the bound
};

class AutoSearch {
 public:
  AutoSearch(const Case& asked, const SimulateCase& simulate)
      : asked_(asked), simulate_(simulate), families_(auto_families(asked, reasons_)) {
    least_ = lower_bound(asked.collective, asked.cluster->topology) + asked.costs.launch;
    for (const Link& link : asked.cluster->topology.links())
      if (link.sharing == Sharing::fair) of_event_ = of_fair_event;
    for (AutoFamily& family : families_)
      for (const int chunks : family.chunks()) trials_.push_back(trial_of(family, chunks));
  }

  Chosen run() {
    std::ranges::stable_sort(trials_, {}, [this](const Trial& trial) {
      return std::pair(roughly(trial.guess), work_of(trial, Engine::event));
    });
    for (auto likely = trials_.begin(); !best_ && likely != trials_.end();) {
      if (!is_good_start(*likely)) {
        ++likely;
        continue;
      }
      consider(*likely);
      likely = trials_.erase(likely);
    }
    std::stable_sort(trials_.begin(), trials_.end(), [this](const Trial& a, const Trial& b) {
      return work_of(a, Engine::event) < work_of(b, Engine::event);
    });
    for (const Trial& trial : trials_) consider(trial);
    if (!best_) take_any();
    if (!best_) fail();
    if (asked_.open.chunks) refine();
    name_what_was_too_large();
    best_->row.search = search_;
    return std::move(*best_);
  }

 private:
  Trial trial_of(AutoFamily& family, int chunks) {
    Trial trial{&family, chunks, family.effort(chunks), std::max(least_, family.at_least(chunks))};
    const std::optional<ClosedForm> form = formula_of(with_schedule(family.with_chunks(chunks)));
    if (form) trial.guess = form->seconds;
    if (!form || !form->exact) return trial;
    // A little less, for the errors of doubles; simulated times are rounded up.
    const Time time(static_cast<std::int64_t>(form->seconds * (1 - 1e-12) * 1e12));
    trial.by_formula = time > trial.bound;
    trial.bound = std::max(trial.bound, time);
    return trial;
  }

  // The same, as a rule, for guesses that differ by next to nothing.
  [[nodiscard]] static double roughly(double seconds) {
    return std::floor(std::log(seconds) / little_gain);
  }

  // What is fast by a closed form rules out many that have none.  Whether the event engine, for
  // which it may be too large, has to simulate it is not known: only one is tried that may fail.
  [[nodiscard]] bool is_good_start(const Trial& trial) const {
    constexpr double some_work = 5e5;
    const bool may_be_tried =
        search_.candidates == 0 || work_of(trial, Engine::event) <= most_of_one;
    return std::isfinite(trial.guess) && may_be_tried &&
           (work_of(trial, Engine::dataflow) <= some_work || trial.guess < 2 * least_.seconds());
  }

  // Whatever the engine: of a message that crosses many links none does without events.
  [[nodiscard]] static bool is_much_work(const Trial& trial) {
    const double of_links = of_crossing * (trial.family->links_per_message() - 1);
    return trial.effort.instructions * std::max(of_dataflow, of_links) > little_work;
  }

  // Cutting c times finer saves a factor of c at most: of a chain of causes that takes time T one
  // with the first of every c pieces is left, which takes T/c at least.  (Links that serve in
  // another order then might break this; no test has met that.)
  [[nodiscard]] bool cannot_catch_up(const Trial& trial) const {
    const auto family = times_.find(trial.family);
    if (family == times_.end()) return false;
    return std::any_of(family->second.begin(), family->second.end(), [&](const auto& known) {
      const auto& [chunks, time] = known;
      return chunks < trial.chunks &&
             time.seconds() * chunks >= best_->row.time.seconds() * trial.chunks;
    });
  }

  // More chunks than the last that paid.
  [[nodiscard]] bool stopped_paying(const Trial& trial) const {
    const auto family = times_.find(trial.family);
    if (family == times_.end() || family->second.size() < 2) return false;
    const auto last = std::prev(family->second.end());
    return trial.chunks > last->first &&
           last->second.seconds() > (1 - little_gain) * std::prev(last)->second.seconds();
  }

  // By a + b/S + cS through the last three numbers of chunks: what startup and filling a pipeline
  // make of time.
  [[nodiscard]] std::optional<double> expected_seconds(const Trial& trial) const {
    const auto family = times_.find(trial.family);
    if (family == times_.end() || family->second.size() < 3) return std::nullopt;
    std::array<double, 3> s{}, t{};
    auto known = family->second.end();
    for (std::size_t i = 3; i-- > 0;) {
      --known;
      s[i] = known->first;
      t[i] = known->second.seconds();
    }
    const double first = (t[1] - t[0]) / (s[1] - s[0]);
    const double second = (t[2] - t[1]) / (s[2] - s[1]);
    const double b = (second - first) / (1 / (s[0] * s[1]) - 1 / (s[1] * s[2]));
    const double c = first + b / (s[0] * s[1]);
    const double a = t[0] - b / s[0] - c * s[0];
    return a + b / trial.chunks + c * trial.chunks;
  }

  [[nodiscard]] bool wins_little(const Trial& trial) const {
    const double enough = (1 - little_gain) * best_->row.time.seconds();
    if (trial.bound.seconds() >= enough || stopped_paying(trial)) return true;
    const std::optional<double> expected = expected_seconds(trial);
    return expected && *expected >= enough;
  }

  // Where that takes less than simulating, by the load of all links, too.  Not of fair links: these
  // overlap startups, and what they rule out leaves work for what wins by less than 1 %.
  void raise_bound(Trial& trial) {
    constexpr double much = 2;
    AutoFamily& family = *trial.family;
    const double reading = family.instructions_of_all() * of_reading;
    if (of_event_ == of_fair_event || trial.bound >= best_->row.time || reading > little_work ||
        work_of(trial, Engine::event) < much * reading)
      return;
    const Time by_load = family.at_least_on_all_links(trial.chunks);
    if (by_load <= trial.bound) return;
    trial.bound = by_load;
    trial.by_formula = false;
  }

  // As of a ring of very many ranks: its messages one after the other, each alone.  Of S pieces the
  // first ones make such a chain, which is that of an S-th of the data in one piece.
  [[nodiscard]] bool has_long_chain(AutoFamily& family, int chunks) const {
    constexpr ChainBudget budget{.messages = 6'000, .instructions = 1'000'000};
    Case one_case = family.with_chunks(chunks > 0 ? 1 : chunks);
    one_case.collective.count /= std::max(chunks, 1);
    one_case = with_schedule(std::move(one_case));
    const Time enough = best_->row.time - one_case.costs.launch;
    CausalChains chains(one_case.cluster->topology, *one_case.schedule);
    return chains.longest(enough, budget) >= enough;
  }

  // Where simulating takes much longer than looking for a chain.
  [[nodiscard]] bool takes_too_many_messages(const Trial& trial) {
    constexpr double much = 3e5;
    if (long_chains_.contains(trial.family)) return true;
    if (work_of(trial, Engine::event) < much || !has_long_chain(*trial.family, trial.chunks))
      return false;
    const int most = trial.chunks > 0 ? trial.family->most_chunks() : trial.chunks;
    if (has_long_chain(*trial.family, most)) long_chains_.insert(trial.family);
    return true;
  }

  void consider(Trial trial) {
    ++search_.candidates;
    try {
      if (best_ && is_ruled_out(trial)) {
        ++(trial.by_formula ? search_.formulas : search_.ruled_out);
      } else if (best_ && is_much_work(trial) && wins_little(trial)) {
        ++search_.unpromising;
      } else if (std::optional<CaseResult> row = simulated(trial)) {
        take(trial, std::move(*row));
      } else {
        too_large_.push_back(trial);
      }
    } catch (const Error& error) {
      refused(trial, error);
    }
  }

  [[nodiscard]] bool is_ruled_out(Trial& trial) {
    raise_bound(trial);
    return trial.bound >= best_->row.time || cannot_catch_up(trial) ||
           takes_too_many_messages(trial);
  }

  void take(const Trial& trial, CaseResult row) {
    ++search_.simulated;
    times_[trial.family][trial.chunks] = row.time;
    const bool is_first = !best_;
    const bool ties = best_ && row.time == best_->row.time && comes_first(trial, best_trial_);
    if (!is_first && row.time >= best_->row.time && !ties) return;
    best_ = Chosen{trial.family->with_chunks(trial.chunks), std::move(row)};
    best_trial_ = trial;
  }

  // Of equals the first of the table, with the fewest channels and chunks.
  static bool comes_first(const Trial& a, const Trial& b) {
    return std::pair(a.family, a.chunks) < std::pair(b.family, b.chunks);
  }

  // Of all links that a message crosses the first may need no event.
  [[nodiscard]] double work_of(const Trial& trial, Engine engine) const {
    const double instructions = trial.effort.instructions / trial.family->ranks_for_each();
    if (engine != Engine::event) return instructions * of_dataflow;
    return instructions * (of_event_ + of_crossing * (trial.family->links_per_message() - 1));
  }

  // Nothing when that would be too much work.
  std::optional<CaseResult> simulated(const Trial& trial) {
    const double left = std::min(most_of_one, most_of_all - work_done_);
    const Effort& effort = trial.effort;
    const auto affordable = [&](Engine engine) {
      return !exceeds_lane_limit(effort) && work_of(trial, engine) <= left &&
             (engine == Engine::symmetry || effort.bytes <= most_bytes);
    };
    const Case one_case = trial.family->with_chunks(trial.chunks);
    if (affordable(Engine::event)) return counted(simulate_(one_case, Engine::automatic), trial);
    // The faster engines say at once when a case is not for them, or after doing part of it.
    for (const Engine engine : {Engine::symmetry, Engine::dataflow}) {
      if (!affordable(engine)) continue;
      try {
        return counted(simulate_(one_case, engine), trial);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::engine_not_applicable) throw;
      }
    }
    return std::nullopt;
  }

  CaseResult counted(CaseResult row, const Trial& trial) {
    work_done_ += work_of(trial, row.engine);
    return row;
  }

  void refused(const Trial& trial, const Error& error) {
    --search_.candidates;
    reasons_.emplace_back(error.code(),
                          std::string(trial.family->algorithm().name) + ": " + error.what());
  }

  // All are too much work: the least of them, however long it takes.
  void take_any() {
    std::vector<Trial> left = std::exchange(too_large_, {});
    for (const Trial& trial : left) {
      if (best_) {
        too_large_.push_back(trial);
        continue;
      }
      try {
        take(trial, simulate_(trial.family->with_chunks(trial.chunks), Engine::automatic));
      } catch (const Error& error) {
        refused(trial, error);
      }
    }
  }

  // Half way, then a quarter of the way, to the next numbers of chunks tried.
  void refine() {
    AutoFamily& family = *best_trial_.family;
    std::set<int> tried(family.chunks().begin(), family.chunks().end());
    const auto try_chunks = [&](int chunks) {
      if (chunks < 1 || chunks > family.most_chunks() || !tried.insert(chunks).second) return;
      consider(trial_of(family, chunks));
    };
    if (best_->row.analytic && best_->row.analytic->best_chunks) {
      const double by_formula = std::min(*best_->row.analytic->best_chunks, 1.0 * max_chunks);
      try_chunks(static_cast<int>(std::floor(by_formula)));
      try_chunks(static_cast<int>(std::ceil(by_formula)));
    }
    for (const int part : {4, 8, 16}) {
      const int step = best_trial_.chunks / part;
      if (step == 0) return;
      const int middle = best_trial_.chunks;
      for (const int chunks : {middle - step, middle + step, middle + 2 * step}) try_chunks(chunks);
    }
  }

  // "ring over 8 channels in 64 chunks or more"
  void name_what_was_too_large() {
    std::map<const AutoFamily*, int> least;
    for (const Trial& trial : too_large_) {
      const auto [entry, is_new] = least.try_emplace(trial.family, trial.chunks);
      if (!is_new) entry->second = std::min(entry->second, trial.chunks);
    }
    for (const auto& [family, chunks] : least) {
      std::string name(family->algorithm().name);
      const int channels = family->with_chunks(chunks).choice.channels;
      if (channels > 1) name += fmt::format(" over {} channels", channels);
      if (chunks > 1) name += fmt::format(" in {} chunks or more", chunks);
      search_.too_large.push_back(std::move(name));
    }
  }

  [[noreturn]] void fail() const {
    std::string reasons;
    for (const Error& reason : reasons_) reasons += std::string("; ") + reason.what();
    throw_error(reasons_.empty() ? ErrorCode::unsupported_ranks : reasons_.front().code(),
                fmt::format("no algorithm of {} works here{}",
                            to_string(asked_.collective.operation), reasons));
  }

  const Case& asked_;
  const SimulateCase& simulate_;
  std::vector<Error> reasons_;  // why some do not work
  std::vector<AutoFamily> families_;
  std::vector<Trial> trials_;
  Time least_;  // that any algorithm takes
  double of_event_ = of_exclusive_event;
  double work_done_ = 0;
  Search search_;
  std::optional<Chosen> best_;
  Trial best_trial_;
  std::map<const AutoFamily*, std::map<int, Time>> times_;  // simulated, by chunks
  std::set<const AutoFamily*> long_chains_;  // too long for the best, however they are cut
  std::vector<Trial> too_large_;
};

}  // namespace

Chosen search_fastest(const Case& asked, const SimulateCase& simulate) {
  return AutoSearch(asked, simulate).run();
}

}  // namespace collsim
