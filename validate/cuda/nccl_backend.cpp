// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/nccl_backend.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "collectives/execute.hpp"
#include "validate/cuda/gpus.hpp"
#include "validate/cuda/nccl_gpus.hpp"
#include "validate/cuda/nccl_library.hpp"
#include "validate/data_check.hpp"
#include "validate/in_child.hpp"

namespace collsim {
namespace {

using Clock = std::chrono::steady_clock;

std::string count_of(int count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

NoMeasurement unavailable(const std::string& reason) {
  return {NoMeasurement::Why::unavailable, reason};
}

// As many GPUs as the collective has ranks.
std::vector<Gpu> gpus_for(const Collective& collective) {
  std::vector<Gpu> gpus = find_gpus();
  const auto ranks = static_cast<std::size_t>(collective.size());
  if (ranks > gpus.size())
    throw unavailable("NCCL has one rank per GPU: " + count_of(collective.size(), "rank") +
                      " cannot be compared with it on " +
                      count_of(static_cast<int>(gpus.size()), "GPU"));
  gpus.resize(ranks);
  return gpus;
}

// What calls in a row took, by one process or by all.
struct Timing {
  std::vector<double> each_s;             // between events, the mean over the GPUs
  double launching_s = 0, elapsed_s = 0;  // of all, by the host's clock

  [[nodiscard]] bool is_of_the_cpu() const {
    constexpr double most = 0.5;  // then launching sets the pace of some calls at least
    return launching_s > most * elapsed_s;
  }
};

class NcclRun {
 public:
  // `team`: null when all ranks are in this process.
  NcclRun(const NcclTask& task, const RunOptions& options, ProcessTeam* team)
      : collective_(task.collective),
        options_(options),
        team_(team),
        patience_s_(nccl_patience_s(collective_, options.patience_s)),
        iterations_(std::max(1, options.iterations)),
        work_(nccl_work(collective_)) {
    const std::vector<NcclGpus::Place> places = choose_gpus();
    variables_.emplace(task.settings);
    NcclSearch search = load_nccl();
    if (!search.library) throw unavailable(search.problem);
    note("NCCL " + nccl_version_text(search.library->version) + " (" + search.library->path + ")");
    note(variables_->notes());
    note(work_.notes);
    gpus_.emplace(*search.library, collective_, work_, places);
    connect(search.library->version);
  }

  RunOutcome run() {
    gpus_->start_marks(static_cast<std::size_t>(iterations_) + 1);
    if (options_.check) check();
    warm_up();
    measure();
    if (const auto expected = gpus_->expected_us()) note("NCCL expects " + in_us(*expected / 1e6));
    if (options_.timeline) note("NCCL does not report its steps: no timeline");
    return std::move(measured_);
  }

 private:
  void note(const std::string& text) { measured_.notes.push_back(text); }
  void note(const std::vector<std::string>& texts) {
    measured_.notes.insert(measured_.notes.end(), texts.begin(), texts.end());
  }

  // What each process gives; this one alone when there are no others.  `limit_s`: how much longer
  // than this one they may take.
  std::vector<Note> exchange(const Note& own, double limit_s) {
    if (team_ != nullptr) return team_->exchange(own, limit_s);
    return {own};
  }

  // NCCL itself has no time limits.
  void watch(const char* what, double limit_s) {
    if (team_ != nullptr) team_->must_come_within(limit_s, what);
  }

  std::vector<NcclGpus::Place> choose_gpus() {
    if (team_ != nullptr) {
      const TeamGpu found = gpu_in(*team_);
      measured_.device = found.names;
      return {{team_->me(), found.own.device}};
    }
    const std::vector<Gpu> gpus = gpus_for(collective_);
    measured_.device = names_of(gpus, gpus.size());
    std::vector<NcclGpus::Place> places;
    for (std::size_t i = 0; i < gpus.size(); ++i)
      places.push_back({static_cast<int>(i), gpus[i].device});
    return places;
  }

  // Nobody begins to connect before all are able to.
  void connect(int version) {
    if (team_ == nullptr) return gpus_->connect();
    NoteWriter writer;
    writer.put(version);
    writer.put(team_->me() == 0 ? gpus_->make_id() : NcclId());
    const std::vector<Note> notes = exchange(writer.take(), to_load_s);
    NcclId id;
    for (std::size_t process = notes.size(); process-- > 0;) {
      NoteReader reader(notes[process]);
      const int other = reader.get<int>();
      if (other != version)
        throw unavailable("process " + std::to_string(process) + " has NCCL " +
                          nccl_version_text(other) + ", process " + std::to_string(team_->me()) +
                          " " + nccl_version_text(version) + ": set COLLSIM_NCCL to one for all");
      id = reader.get<NcclId>();
    }
    constexpr double for_each_s = 0.1;
    const double limit_s = to_connect_s + for_each_s * collective_.size();
    watch("connecting NCCL's ranks", limit_s);
    gpus_->connect(id);
    static_cast<void>(exchange({}, limit_s));
  }

  void check() {
    const auto inputs = make_test_inputs(collective_, options_.seed);
    gpus_->fill(inputs);
    watch("the first run of NCCL", to_connect_s + patience_s_);
    run_times(1);
    std::string wrong;
    for (const int position : gpus_->positions())
      if (wrong.empty())
        wrong = nccl_difference(collective_, inputs, position, gpus_->output(position));
    for (const Note& note : exchange(note_of_text(wrong), to_check_s))
      if (measured_.wrong_data.empty()) measured_.wrong_data = NoteReader(note).get_text();
    measured_.data = measured_.wrong_data.empty() ? DataVerdict::right : DataVerdict::wrong;
    if (nccl_rounds(collective_)) {
      char text[200];
      std::snprintf(
          text, sizeof text,
          "NCCL's average rounds differently: differences up to %.2g of the value were allowed",
          nccl_tolerance(collective_));
      note(text);
    }
  }

  // The first call connects the ranks, which takes long and must not be timed.
  void warm_up() {
    if (!options_.check) gpus_->fill(make_test_inputs(collective_, options_.seed));
    const int runs = std::max(1, options_.warmup);
    watch("NCCL's runs", to_connect_s + patience_s_ * (runs + 3.0 * calls_of_graph * iterations_));
    run_times(runs);
  }

  void run_times(int times) {
    for (int i = 0; i < times; ++i) {
      gpus_->start_marks(1);
      gpus_->launch();
      gpus_->wait_for(gpus_->mark(), patience_s_);
    }
  }

  void measure() {
    Timing timing = time_calls();
    note("nccl-tests' method (the host's clock around " + count_of(iterations_, "call") +
         " in a row) gives " + in_us(timing.elapsed_s / iterations_) + " per call");
    std::string problem;
    if (timing.is_of_the_cpu()) {
      const std::string why = "launching them one by one took " + in_us(timing.launching_s) +
                              " of " + in_us(timing.elapsed_s);
      problem = problem_of_graph();
      if (problem.empty()) {
        timing = time_graphs();
        note("calls were launched as CUDA graphs of " + std::to_string(calls_of_graph) +
             ", because " + why);
      }
    }
    measured_.times_s = timing.each_s;
    if (!timing.is_of_the_cpu()) return;
    measured_.doubt = "launching the calls from one thread took " + in_us(timing.launching_s) +
                      " of " + in_us(timing.elapsed_s) + ": these are times of the CPU";
    if (!problem.empty()) measured_.doubt += ", and in a CUDA graph it failed: " + problem;
  }

  Timing time_calls() {
    return time_rounds(1, [this] { gpus_->launch(); });
  }
  Timing time_graphs() {
    return time_rounds(calls_of_graph, [this] { gpus_->launch_graph(); });
  }

  // Rounds of so many calls, launched without waiting in between.
  template <class Launch>
  Timing time_rounds(int calls, const Launch& launch) {
    const auto rounds = static_cast<std::size_t>(iterations_);
    gpus_->start_marks(rounds + 1);
    launch();  // so that the first mark, too, has work before it
    gpus_->mark();
    for (std::size_t i = 0; i < rounds; ++i) {
      launch();
      gpus_->mark();
    }
    for (std::size_t i = 0; i <= rounds; ++i) gpus_->wait_for(i, patience_s_ * calls);
    Timing own;
    for (std::size_t i = 0; i < rounds; ++i)
      own.each_s.push_back(gpus_->seconds_between(i, i + 1) / calls);
    time_by_the_host(calls, launch, own);
    return of_all(own);
  }

  template <class Launch>
  void time_by_the_host(int calls, const Launch& launch, Timing& own) {
    gpus_->start_marks(1);
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < iterations_; ++i) launch();
    own.launching_s = seconds_since(begin);
    gpus_->wait_for(gpus_->mark(), patience_s_ * calls * iterations_);
    own.elapsed_s = seconds_since(begin);
  }

  // The mean over processes, which have equally many GPUs, and the slowest launching.
  Timing of_all(const Timing& own) {
    NoteWriter writer;
    writer.put_all(own.each_s);
    writer.put(own.launching_s);
    writer.put(own.elapsed_s);
    const std::vector<Note> notes = exchange(writer.take(), to_check_s);
    Timing all;
    all.each_s.resize(own.each_s.size());
    for (const Note& note : notes) {
      NoteReader reader(note);
      const std::vector<double> each_s = reader.get_all<double>();
      for (std::size_t i = 0; i < each_s.size(); ++i)
        all.each_s[i] += each_s[i] / static_cast<double>(notes.size());
      all.launching_s = std::max(all.launching_s, reader.get<double>());
      all.elapsed_s = std::max(all.elapsed_s, reader.get<double>());
    }
    return all;
  }

  // "" when every process has its graph.
  std::string problem_of_graph() {
    const std::optional<NoMeasurement> problem = gpus_->capture(calls_of_graph);
    for (const Note& note : exchange(note_of_text(problem ? problem->reason : ""), to_check_s))
      if (std::string reason = NoteReader(note).get_text(); !reason.empty()) return reason;
    return "";
  }

  static constexpr int calls_of_graph = 20;
  static constexpr double to_load_s = 120, to_connect_s = 60, to_check_s = 120;

  const Collective collective_;
  const RunOptions options_;
  ProcessTeam* const team_;
  double patience_s_;
  int iterations_;
  NcclWork work_;
  std::optional<NcclVariables> variables_;
  std::optional<NcclGpus> gpus_;
  Measurement measured_;
};

}  // namespace

std::optional<std::string> nccl_unavailable() {
  constexpr double limit_s = 60;
  const RunOutcome outcome = run_in_child(
      []() -> RunOutcome {
        try {
          static_cast<void>(find_gpus());
        } catch (const NoMeasurement& none) {
          return none;
        }
        NcclSearch search = load_nccl();
        if (!search.library) return unavailable(search.problem);
        return Measurement{};
      },
      limit_s);
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) return none->reason;
  return std::nullopt;
}

NcclTask nccl_task(const RunCase& run_case, NcclChoice choice) {
  if (run_case.paced) throw unavailable("NCCL cannot be paced: it always runs at full speed");
  const Collective& collective = run_case.schedule().collective();
  if (nccl_work(collective).calls.empty())
    throw unavailable("there is nothing to measure: without elements NCCL does nothing");
  return {collective, nccl_settings(run_case.schedule(), run_case.protocol, choice)};
}

RunOutcome run_on_nccl(const NcclTask& task, const RunOptions& options, ProcessTeam& team) {
  return NcclRun(task, options, &team).run();
}

RunOutcome run_on_nccl(const RunCase& run_case, const RunOptions& options, NcclChoice choice) {
  try {
    return NcclRun(nccl_task(run_case, choice), options, nullptr).run();
  } catch (const NoMeasurement& none) {
    return none;
  }
}

RunOutcome run_on_nccl(const RunCase& run_case, const RunOptions& options) {
  return run_on_nccl(run_case, options, NcclChoice::as_scheduled);
}

RunOutcome run_on_free_nccl(const RunCase& run_case, const RunOptions& options) {
  return run_on_nccl(run_case, options, NcclChoice::free);
}

}  // namespace collsim
