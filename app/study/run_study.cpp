// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "app/expression/expectation.hpp"
#include "app/json/screen_text.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/make_case.hpp"
#include "app/study/run_case.hpp"
#include "app/study/run_step.hpp"
#include "app/study/run_study.hpp"
#include "app/study/study_summary.hpp"

namespace collsim {
namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
// After an error, this many more points are searched for others.
constexpr std::size_t most_points_looked_at = 10'000;

std::string_view path_for(ErrorCode code, bool is_step) {
  if (is_step && code != ErrorCode::no_route) return "workload";
  switch (code) {
    case ErrorCode::no_route: return "cluster";
    case ErrorCode::unsupported_ranks: return "collective.algorithm";
    default: return "collective";
  }
}

// Where in what the user wrote an error of the core is at home.
SourceRange place_for(const Scenario& scenario, std::string_view path) {
  const JsonValue* value = value_at(scenario.document, path);
  if (value == nullptr) value = value_at(scenario.document, path.substr(0, path.find('.')));
  return value == nullptr ? SourceRange{} : value->place;
}

Diagnostic diagnostic_of(const Scenario& scenario, const Error& error) {
  Diagnostic diagnostic;
  diagnostic.code = to_string(error.code());
  diagnostic.message = error.what();
  const std::string_view path = path_for(error.code(), scenario.is_step());
  diagnostic.place = place_for(scenario, path);
  diagnostic.pointer = "/" + std::string(path);
  std::replace(diagnostic.pointer.begin(), diagnostic.pointer.end(), '.', '/');
  if (const auto* const misfit = dynamic_cast<const MisfitError*>(&error))
    diagnostic.place = misfit->place().value_or(diagnostic.place);
  return diagnostic;
}

Diagnostic out_of_memory() {
  Diagnostic diagnostic;
  diagnostic.code = "out-of-memory";
  diagnostic.message = "there is not enough memory to simulate this";
  diagnostic.hint = "use fewer ranks or chunks, or --jobs 1 to keep only one case in memory";
  return diagnostic;
}

// Distinct mistakes, each with the point at which it was met first.
class Mistakes {
 public:
  explicit Mistakes(const Scenario& scenario) : scenario_(scenario) {}

  [[nodiscard]] bool empty() const { return seen_.empty(); }
  void add(std::size_t point, const Diagnostics& diagnostics) {
    for (Diagnostic& diagnostic : diagnostics.sorted()) add(point, std::move(diagnostic));
  }
  void add(std::size_t point, Diagnostic diagnostic) {
    if (!seen_.insert(diagnostic.pointer + '\n' + diagnostic.message).second) return;
    const std::string at = to_text(scenario_.params(point));
    if (!at.empty()) diagnostic.message = "at " + at + ": " + diagnostic.message;
    all_.push_back(std::move(diagnostic));
  }
  Refusal report(Diagnostics& diagnostics) const {
    for (const Diagnostic& diagnostic : all_) diagnostics.add(diagnostic);
    return {};
  }

 private:
  const Scenario& scenario_;
  std::set<std::string> seen_;
  std::vector<Diagnostic> all_;
};

// Everything that can be wrong with a point short of simulating it.
void look_at(const Scenario& scenario, std::size_t point, ClusterCache& clusters,
             Mistakes& mistakes) {
  Diagnostics diagnostics;
  try {
    const std::optional<Case> found = make_case(scenario, point, clusters, diagnostics);
    if (found && found->schedule)
      if (const Effort effort = effort_of(*found, *found->schedule); exceeds_lane_limit(effort))
        throw_too_large(*found, effort, *found->schedule);
  } catch (const Error& error) {
    diagnostics.add(diagnostic_of(scenario, error));
  }
  mistakes.add(point, diagnostics);
}

void look_for_more(const Scenario& scenario, std::size_t from, const std::atomic<bool>* stop,
                   Mistakes& mistakes) {
  ClusterCache clusters;
  const std::size_t end = from + std::min(scenario.points() - from, most_points_looked_at);
  for (std::size_t point = from; point < end && (stop == nullptr || !*stop); ++point)
    look_at(scenario, point, clusters, mistakes);
}

// Some points of a sweep in order, or all.
class PointsToRun {
 public:
  explicit PointsToRun(std::vector<std::size_t> some)
      : some_(std::move(some)), size_(some_.size()) {}
  explicit PointsToRun(std::size_t all) : size_(all) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t operator[](std::size_t i) const { return some_.empty() ? i : some_[i]; }

 private:
  std::vector<std::size_t> some_;  // empty: all, or none
  std::size_t size_;
};

// Runs the points of a scenario on several threads.  These share it, and so may go on for a while
// when nobody waits for them any more.
class Runner : public std::enable_shared_from_this<Runner> {
 public:
  Runner(const Scenario& scenario, const PointsToRun& points, const StudyOptions& options,
         const CaseOptions& case_options)
      : scenario_(scenario),
        points_(points),
        options_(options),
        may_leave_(options.stop != nullptr && options.kept_alive != nullptr),
        case_options_{case_options.bottleneck_bandwidth, &turns_, nullptr, true},
        given_up_(options.stop != nullptr && *options.stop),
        rows_(points.size()),
        is_there_(points.size(), false) {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t wanted = options.jobs > 0 ? static_cast<std::size_t>(options.jobs) : cores;
    jobs_ = std::clamp<std::size_t>(rows_.size(), 1, wanted);
    summaries_.resize(jobs_);
    // Neighbours often share a cluster; but the last blocks should end at about the same time.
    constexpr std::size_t largest_block = 64;
    block_ = std::clamp<std::size_t>(rows_.size() / (8 * jobs_), 1, largest_block);
  }

  void run() {
    std::vector<std::thread> threads;
    for (std::size_t job = may_leave_ ? 0 : 1; job < jobs_; ++job) {
      try {
        threads.emplace_back([self = shared_from_this(), job] { self->work(job); });
      } catch (const std::system_error&) {
        break;  // no more threads to be had: those there are do it
      }
    }
    if (threads.empty()) may_leave_ = false;
    if (!may_leave_) work(0);
    if (may_leave_) wait_for(threads.size());
    for (std::thread& thread : threads)
      if (left_)
        thread.detach();
      else
        thread.join();
    if (unexpected_) std::rethrow_exception(unexpected_);
    if (options_.progress) options_.progress(done_, rows_.size());
  }

  // The first point that was wrong, or none.
  [[nodiscard]] std::size_t first_wrong() const { return first_wrong_; }
  [[nodiscard]] const Diagnostics& wrong() const { return wrong_; }
  [[nodiscard]] SimulatedPoints take() {
    SimulatedPoints taken;
    for (const StudySummary& summary : summaries_) taken.summary.merge(summary);
    // In place: there may be millions of them.
    std::size_t count = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!is_there_[i]) continue;
      if (count < i) rows_[count] = std::move(rows_[i]);
      ++count;
    }
    taken.complete = count == rows_.size();
    rows_.resize(count);
    taken.rows = std::move(rows_);
    return taken;
  }

 private:
  // Until all threads have finished; or, once stopped, for as long as short cases take.
  void wait_for(std::size_t threads) {
    constexpr std::chrono::milliseconds between_looks{20}, patience{200};
    std::unique_lock lock(mutex_);
    std::optional<std::chrono::steady_clock::time_point> stopped;
    while (finished_ < threads) {
      changed_.wait_for(lock, between_looks);
      if (!*options_.stop) continue;
      given_up_ = true;
      const auto now = std::chrono::steady_clock::now();
      if (!stopped) stopped = now;
      left_ = now - *stopped > patience;
      if (left_) return;
    }
  }

  void work(std::size_t job) {
    ClusterCache clusters(scenario_);
    CutsCache cuts;
    for (;;) {
      const std::size_t begin = next_.fetch_add(block_);
      const std::size_t end = std::min(begin + block_, points_.size());
      for (std::size_t row = begin; row < end; ++row) {
        const std::size_t point = points_[row];
        // Points before a wrong one still run, so that it is always the first that is reported.
        if (is_stopped() || point > first_wrong_) break;
        if (run_point(row, clusters, cuts, job)) count_done();
      }
      if (end >= points_.size() || begin >= points_.size() || is_stopped()) break;
    }
    const std::lock_guard lock(mutex_);
    ++finished_;
    changed_.notify_all();
  }

  // What options_.stop points to may be gone before a thread that nobody waits for.
  [[nodiscard]] bool is_stopped() const {
    return given_up_ || (!may_leave_ && options_.stop != nullptr && *options_.stop);
  }

  bool run_point(std::size_t at, ClusterCache& clusters, CutsCache& cuts, std::size_t job) {
    const std::size_t point = points_[at];
    Diagnostics diagnostics;
    CaseOptions options = case_options_;
    options.cuts = &cuts;
    if (job == 0) options.gauge = options_.gauge;
    try {
      const std::optional<Case> found = make_case(scenario_, point, clusters, diagnostics);
      if (found) {
        CaseResult row = run_case(*found, options);
        if (options.gauge != nullptr) options.gauge->end();
        row.params = scenario_.params(point);
        const std::lock_guard lock(mutex_);
        if (left_) return false;
        rows_[at] = std::move(row);
        is_there_[at] = true;
        summaries_[job].add(*found, point);
        for (; options_.row && told_ < rows_.size() && is_there_[told_]; ++told_)
          options_.row(rows_[told_]);
        return true;
      }
    } catch (const Error& error) {
      diagnostics.add(diagnostic_of(scenario_, error));
    } catch (const std::bad_alloc&) {
      diagnostics.add(out_of_memory());
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!left_) unexpected_ = std::current_exception();
      given_up_ = true;
      return false;
    }
    const std::lock_guard lock(mutex_);
    if (!left_ && point < first_wrong_) {
      first_wrong_ = point;
      wrong_ = diagnostics;
    }
    return false;
  }

  void count_done() {
    const std::size_t done = ++done_;
    if (!options_.progress) return;
    constexpr std::chrono::milliseconds between{50};
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || left_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_progress_) return;
    next_progress_ = now + between;
    options_.progress(done, points_.size());
  }

  const Scenario& scenario_;
  const PointsToRun points_;
  const StudyOptions options_;
  bool may_leave_;  // threads may go on when nobody waits for them any more
  std::mutex turns_;
  const CaseOptions case_options_;
  std::size_t jobs_ = 1;
  std::size_t block_ = 1;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> done_ = 0;
  std::atomic<std::size_t> first_wrong_ = none;
  std::atomic<bool> given_up_;

  std::mutex mutex_;  // of what follows, while threads run
  std::vector<CaseResult> rows_;
  std::vector<bool> is_there_;           // of the rows
  std::vector<StudySummary> summaries_;  // of each thread
  std::size_t finished_ = 0;             // threads
  std::size_t told_ = 0;                 // rows
  bool left_ = false;                    // what they still find is of no use
  std::condition_variable changed_;
  Diagnostics wrong_;
  std::exception_ptr unexpected_;
  std::chrono::steady_clock::time_point next_progress_{};
};

void add_warning_of_interruption(bool expects, Results& results) {
  if (results.complete) return;
  results.warnings.insert(
      results.warnings.begin(),
      {"interrupted",
       fmt::format("interrupted: {} {} {}{}",
                   part_text(results.rows.size(), results.points, "point"),
                   results.rows.size() == 1 || results.points == 1 ? "was" : "were",
                   results.comparison ? "measured" : "simulated",
                   expects ? "; the expectations were not checked" : ""),
       {}});
}

std::optional<SimulatedPoints> simulate(const Scenario& scenario, const PointsToRun& points,
                                        const StudyOptions& options, Diagnostics& diagnostics) {
  Mistakes mistakes(scenario);
  const std::size_t before = diagnostics.size();
  const Expectations expectations = Expectations::read(scenario, diagnostics);
  if (diagnostics.size() > before) {
    look_for_more(scenario, 0, options.stop, mistakes);
    return mistakes.report(diagnostics);
  }
  const auto shared = std::make_shared<Runner>(
      scenario, points, options,
      CaseOptions{.bottleneck_bandwidth = expectations.needs_bottleneck_bandwidth()});
  Runner& runner = *shared;
  runner.run();
  if (runner.first_wrong() != none) {
    mistakes.add(runner.first_wrong(), runner.wrong());
    look_for_more(scenario, runner.first_wrong() + 1, options.stop, mistakes);
    return mistakes.report(diagnostics);
  }
  return runner.take();
}

}  // namespace

std::optional<SimulatedPoints> simulate_points(const Scenario& scenario,
                                               const std::vector<std::size_t>& points,
                                               const StudyOptions& options,
                                               Diagnostics& diagnostics) {
  return simulate(scenario, PointsToRun(points), options, diagnostics);
}

Results finish_study(const Scenario& scenario, SimulatedPoints simulated,
                     const StudyOptions& options) {
  Results results;
  results.file = scenario.file;
  results.name = scenario.name;
  results.title = scenario.title;
  results.scenario = scenario.resolved;
  for (const Axis& axis : scenario.axes)
    results.axes.insert(results.axes.end(), axis.paths.begin(), axis.paths.end());
  results.points = scenario.points();
  results.rows = std::move(simulated.rows);
  results.complete = results.rows.size() == results.points;
  if (results.complete && options.measure) {
    options.measure(results);
    results.complete = results.rows.size() == results.points;
  }
  if (results.complete) {
    Diagnostics none_new;  // simulate_points() has reported them
    results.expect = Expectations::read(scenario, none_new).check(results.rows);
  }
  results.description = description_of(results, simulated.summary);
  for (Warning& warning : warnings_about(scenario, results, simulated.summary))
    results.warnings.push_back(std::move(warning));
  add_warning_of_interruption(!scenario.expect.items().empty(), results);
  return results;
}

std::optional<Results> run_study(const Scenario& scenario, const StudyOptions& options,
                                 Diagnostics& diagnostics) {
  std::optional<SimulatedPoints> simulated =
      simulate(scenario, PointsToRun(scenario.points()), options, diagnostics);
  if (!simulated) return std::nullopt;
  return finish_study(scenario, std::move(*simulated), options);
}

}  // namespace collsim
