// SPDX-License-Identifier: Apache-2.0
#include "validate/mpi/mpi_backend.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "collectives/checker.hpp"
#include "validate/host/threads.hpp"
#include "validate/mpi/crew.hpp"
#include "validate/mpi/on_gpus.hpp"

namespace collsim {
namespace {

// A Backend is a plain function: what it works with is here.
struct {
  Crew* crew = nullptr;
  MpiSettings settings;
  Idle idle = Idle::spin;
  std::string broken;  // why nothing can run any more
} mpi;

std::string count_of(int count, const char* one, const char* several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}
std::string processes_text(int count) {
  return count_of(count, "process", "processes");
}

std::string microseconds(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g us", seconds * 1e6);
  return text;
}

NoMeasurement unavailable(std::string reason) {
  return {NoMeasurement::Why::unavailable, std::move(reason)};
}

// Why the launcher's processes are fewer than it says; empty: they are not.
std::string misfit_of_launcher() {
  const int started = processes_by_launcher();
  if (started <= mpi.crew->size()) return "";
  return ": the launcher started " + std::to_string(started) +
         " that do not know of each other, so it belongs to another MPI than " +
         mpi_library_name() + ", which this program was built with" +
         (std::getenv("SLURM_STEP_ID") != nullptr
              ? "; srun --mpi=pmix starts those of Open MPI, --mpi=pmi2 those of MPICH"
              : "");
}

// "4 ranks need 4 processes, and 2 processes were started"
std::string too_few_text(int ranks, int needed) {
  const int processes = mpi.crew->size();
  return count_of(ranks, "rank needs ", "ranks need ") + processes_text(needed) + ", and " +
         processes_text(processes) + (processes == 1 ? " was" : " were") + " started";
}

// Why these processes cannot run it as messages; empty: they can.
std::string why_no_messages(const RunCase& run_case) {
  if (run_case.paced)
    return "messages of MPI cannot be paced: they use the network that there is; leave out "
           "--paced, give --native if the scenario says so, or use collsim validate --paced";
  if (run_case.protocol == Protocol::ll)
    return "MPI has one way of announcing messages: leave out --protocol ll";
  const int ranks = run_case.schedule().collective().size();
  const int processes = mpi.crew->size(), most = mpi.settings.ranks_per_process;
  if (static_cast<long long>(processes) * most >= ranks) return "";
  const int needed = (ranks + most - 1) / most;
  if (std::string misfit = misfit_of_launcher(); !misfit.empty())
    return too_few_text(ranks, needed) + misfit;
  return too_few_text(ranks, needed) + ": start " + std::to_string(needed) +
         " (mpirun -np), or let each run several (--ranks-per-process " +
         std::to_string((ranks + processes - 1) / processes) + ")";
}

// Likewise on GPUs.
std::string why_no_gpus(const RunCase& run_case) {
  const int ranks = run_case.schedule().collective().size();
  if (mpi.crew->size() >= ranks) return "";
  if (std::string misfit = misfit_of_launcher(); !misfit.empty())
    return too_few_text(ranks, ranks) + misfit;
  return too_few_text(ranks, ranks) + ": every rank has a GPU and a process of its own, so start " +
         std::to_string(ranks) + " (mpirun -np)";
}

class MpiRun {
 public:
  // Data are in memory of the host, or of a GPU for each process of a job of `on_gpus`.
  MpiRun(Plan plan, const RunOptions& options, std::vector<TeamMember> on_gpus)
      : crew_(*mpi.crew), options_(options), plan_(std::move(plan)), on_gpus_(std::move(on_gpus)) {
    ranks_ = static_cast<int>(plan_.memory.size());
    processes_ = std::min(crew_.size(), ranks_);
    // Ten times the longest wait is a hundred times what was predicted.
    constexpr double least_s = 10, waits = 10;
    limit_s_ = least_s + waits * options_.patience_s;
  }

  RunOutcome run() {
    // At 20 MB/s, after a GPU has been started.
    constexpr double least_s = 60, s_per_byte = 50e-9;
    const double to_load_s = least_s + s_per_byte * static_cast<double>(plan_.bytes());
    const auto loaded =
        take(crew_.carry_out(of_kind(OrderKind::load), to_load_s, [this](int process) {
          return note_of_part(plan_, process, processes_, on_gpus_);
        }));
    gpus_ = NoteReader(loaded.front().note).get_text();
    fill(options_.seed);
    if (options_.check) run_checked();
    const int before = std::max(0, options_.warmup - (options_.check ? 1 : 0));
    for (int i = 0; i < before; ++i) static_cast<void>(timed_run(OrderKind::run));
    measured_.times_s = repeat(OrderKind::run);
    // Once more when slots and memory have been used, with other data.
    if (options_.check) {
      fill(options_.seed + 1);
      run_checked();
    }
    run_own();
    if (options_.timeline) record();
    tell_conditions();
    return std::move(measured_);
  }

 private:
  static constexpr double to_answer_s = 120;
  static constexpr int least_for_a_median = 3;

  [[nodiscard]] Order of_kind(OrderKind kind) const {
    Order order;
    order.kind = kind;
    order.patience_ns = static_cast<std::uint64_t>(options_.patience_s * 1e9);
    return order;
  }

  // Throws a NoMeasurement when one of them failed or is stuck.
  [[nodiscard]] std::vector<Member::Done> take(std::vector<Member::Done> all) const {
    const auto is = [](Outcome outcome) {
      return [outcome](const Member::Done& done) { return done.report.outcome == outcome; };
    };
    const auto failed = std::find_if(all.begin(), all.end(), is(Outcome::failed));
    if (failed != all.end()) {
      // What several say is not about one of them.
      const bool is_alone = std::none_of(failed + 1, all.end(), [&](const Member::Done& done) {
        return is(Outcome::failed)(done) && done.note == failed->note;
      });
      const std::string reason = NoteReader(failed->note).get_text();
      throw NoMeasurement{
          failed->report.why,
          is_alone ? crew_.name_of(static_cast<int>(failed - all.begin())) + ": " + reason
                   : reason};
    }
    // The others wait for one whose GPU does not end.
    auto stuck = std::find_if(all.begin(), all.end(), [](const Member::Done& done) {
      return done.report.trouble.kind == WaitKind::gpu;
    });
    if (stuck == all.end()) stuck = std::find_if(all.begin(), all.end(), is(Outcome::stuck));
    if (stuck != all.end())
      throw NoMeasurement{NoMeasurement::Why::stuck,
                          describe(stuck->report.trouble, plan_, options_.patience_s)};
    return all;
  }

  void fill(std::uint64_t seed) {
    Order order = of_kind(OrderKind::fill);
    order.seed = seed;
    static_cast<void>(take(crew_.carry_out(order, to_answer_s)));
  }

  double timed_run(OrderKind kind, bool record = false) {
    Order order = of_kind(kind);
    order.record = record ? 1 : 0;
    const auto all = take(crew_.start_together(order, limit_s_));
    std::uint64_t longest = 0;
    for (const Member::Done& done : all) {
      longest = std::max(longest, done.report.took_ns);
      if (done.report.late_ns > 0) ++late_runs_;
    }
    return static_cast<double>(longest) * 1e-9;
  }

  // As many runs as are asked for, and short ones more often.
  std::vector<double> repeat(OrderKind kind) {
    constexpr double most_s = 3;  // with the time between runs
    const bool once = options_.iterations < least_for_a_median;
    std::vector<double> times;
    double taken = 0;
    const std::uint64_t begin = host_time_ns();
    const auto is_enough = [&] {
      if (static_cast<int>(times.size()) < options_.iterations) return false;
      return once || taken >= options_.at_least_s ||
             static_cast<double>(host_time_ns() - begin) * 1e-9 > most_s;
    };
    while (!is_enough()) {
      times.push_back(timed_run(kind));
      taken += times.back();
    }
    return times;
  }

  [[nodiscard]] std::string first_text(OrderKind kind) {
    for (const Member::Done& done : take(crew_.carry_out(of_kind(kind), to_answer_s)))
      if (std::string text = NoteReader(done.note).get_text(); !text.empty()) return text;
    return "";
  }

  void run_checked() {
    static_cast<void>(timed_run(OrderKind::run));
    if (measured_.data == DataVerdict::wrong) return;
    measured_.wrong_data = first_text(OrderKind::check);
    measured_.data = measured_.wrong_data.empty() ? DataVerdict::right : DataVerdict::wrong;
  }

  void run_own() {
    const std::string name = OwnCollective::name_of(plan_.schedule->collective());
    if (name.empty() || processes_ != ranks_ || !on_gpus_.empty()) return;
    static_cast<void>(timed_run(OrderKind::own));
    std::string wrong = options_.check ? first_text(OrderKind::check_own) : "";
    if (!wrong.empty()) measured_.notes.push_back(name + " gave wrong data: " + wrong);
    measured_.own = Measurement::Own{name, repeat(OrderKind::own)};
  }

  void record() {
    static_cast<void>(timed_run(OrderKind::run, true));
    const auto all = take(crew_.carry_out(of_kind(OrderKind::timeline), to_answer_s));
    std::vector<StepTimes> times(plan_.steps.size());
    std::vector<std::uint64_t> starts;
    std::vector<PartTimes> parts;
    parts.reserve(all.size());
    for (const Member::Done& done : all) parts.push_back(times_from(done.note));
    std::vector<std::size_t> next(parts.size());
    for (const PlannedLane& lane : plan_.lanes) {
      const auto process =
          static_cast<std::size_t>(process_of(lane.position, plan_.memory.size(), processes_));
      const auto begin = parts[process].steps.begin() + static_cast<std::ptrdiff_t>(next[process]);
      std::copy_n(begin, lane.step_count, times.begin() + lane.first_step);
      next[process] += lane.step_count;
      starts.push_back(parts[process].start_ns);
    }
    measured_.timeline = measured_timeline(plan_, times, starts);
  }

  void tell_conditions() {
    const std::string hosts = " on " + count_of(crew_.hosts(), "host", "hosts");
    measured_.device =
        (on_gpus_.empty() ? processes_text(processes_) + hosts + " of " + processor_name()
                          : gpus_ + ", a process for each," + hosts) +
        ", " + mpi_library_name();
    if (!on_gpus_.empty())
      measured_.notes.push_back(
          mpi_reaches_gpu_memory()
              ? "GPUs of several hosts: messages over MPI from GPU memory"
              : "GPUs of several hosts: messages over MPI staged through memory of the host, since "
                "this MPI does not say that it reaches a GPU's");
    if (processes_ < ranks_)
      measured_.notes.push_back("several ranks shared a process, which predictions do not model");
    if (crew_.size() > processes_)
      measured_.notes.push_back(processes_text(crew_.size() - processes_) +
                                " had no rank and only waited");
    if (crew_.is_crowded())
      measured_.notes.push_back(
          "a host had more processes than cores: they took turns, which predictions do not model");
    if (crew_.start_uncertainty_s() > 0)
      measured_.notes.push_back("clocks of hosts were aligned to within " +
                                microseconds(crew_.start_uncertainty_s()));
    if (late_runs_ > 0)
      measured_.notes.push_back(count_of(late_runs_, "run", "runs") + " did not start together");
  }

  Crew& crew_;
  const RunOptions options_;
  const Plan plan_;
  const std::vector<TeamMember> on_gpus_;
  std::string gpus_;  // their names
  int ranks_ = 0, processes_ = 0;
  int late_runs_ = 0;
  double limit_s_ = 0;
  Measurement measured_;
};

RunOutcome run_messages(const RunCase& run_case, const RunOptions& options) {
  return MpiRun(make_plan(run_case.schedule(), {}), options, {}).run();
}

RunOutcome run_nccl(const RunCase& run_case, const RunOptions& options) {
  GpuWork work;
  work.options = options;
  work.what = nccl_task(run_case, NcclChoice::as_scheduled);
  return run_on_gpus(*mpi.crew, std::move(work));
}

// GPUs reach each other's memory only within a host.
RunOutcome run_messages_of_gpus(Plan plan, const RunOptions& options) {
  if (plan.protocol == Protocol::ll)
    return unavailable(
        "the ranks' processes are on several hosts, and messages of MPI between their GPUs are "
        "announced in one way: leave out --protocol ll");
  mpi.crew->set_idle(mpi.idle);
  return MpiRun(std::move(plan), patient(options), members_of(*mpi.crew)).run();
}

RunOutcome run_cuda(const RunCase& run_case, const RunOptions& options) {
  if (run_case.paced)
    return unavailable(
        "paced runs need one clock, and so all ranks on one GPU of one process: use collsim "
        "validate --backend cuda");
  PlanLimits limits;
  limits.bytes = std::numeric_limits<std::uint64_t>::max();  // each GPU has its own
  Plan plan = make_plan(run_case.schedule(), run_case.protocol, limits);
  const std::vector<int> hosts = mpi.crew->host_of_process();
  const auto ranks = static_cast<std::ptrdiff_t>(plan.memory.size());
  if (*std::max_element(hosts.begin(), hosts.begin() + ranks) > 0)
    return run_messages_of_gpus(std::move(plan), options);
  GpuWork work;
  work.options = options;
  work.what = std::move(plan);
  return run_on_gpus(*mpi.crew, std::move(work));
}

// Whether processes can still work together after such an end: GPUs that failed once do so again.
bool is_the_end(const NoMeasurement& none, bool on_gpus) {
  return none.why == NoMeasurement::Why::stuck || none.why == NoMeasurement::Why::interrupted ||
         (on_gpus && none.why == NoMeasurement::Why::failed);
}

RunOutcome in_words(const RunCase& run_case, const RunOptions& options, bool on_gpus,
                    RunOutcome (*run)(const RunCase&, const RunOptions&)) {
  try {
    return run(run_case, options);
  } catch (const NoMeasurement& none) {
    if (is_the_end(none, on_gpus)) mpi.broken = none.reason;
    return none;
  } catch (const ProcessesLost& lost) {
    mpi.broken = lost.what();
    return NoMeasurement{NoMeasurement::Why::failed, lost.what()};
  } catch (const Error& error) {
    return NoMeasurement{why_of(error.code()), error.what()};
  }
}

template <bool on_gpus, RunOutcome (*run)(const RunCase&, const RunOptions&)>
RunOutcome run_over_mpi(const RunCase& run_case, const RunOptions& options) {
  if (!mpi.broken.empty())
    return NoMeasurement{
        NoMeasurement::Why::failed,
        "the processes no longer work together since an earlier run: " + mpi.broken};
  if (run_case.workload() != nullptr)
    return unavailable("training steps run on threads only: use collsim validate --backend host");
  std::string reason = on_gpus ? why_no_gpus(run_case) : why_no_messages(run_case);
  if (!reason.empty()) return unavailable(std::move(reason));
  if (!options.trust_schedule)
    if (const CheckReport report = check(run_case.schedule()); !report.ok)
      return NoMeasurement{NoMeasurement::Why::bad_schedule,
                           "the schedule is wrong and was not run: " + report.fault->text};
  return in_words(run_case, options, on_gpus, run);
}

std::optional<std::string> always_there() {
  return std::nullopt;
}

Introduction introduce(const std::string& command_line) {
  Introduction me;
  me.program = command_line;
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  me.host = host;
  me.clock = host_clock_name();
  me.pid = ::getpid();
  me.cores = static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  return me;
}

}  // namespace

MpiJob::MpiJob(int argument_count, char** arguments, const std::string& command_line)
    : command_line_(command_line),
      processes_(std::make_unique<Processes>(argument_count, arguments)) {
  if (!is_first()) return;
  try {
    crew_ = std::make_unique<Crew>(*processes_, introduce(command_line));
    misfit_ = crew_->misfit();
  } catch (const ProcessesLost& lost) {
    std::fprintf(stderr, "collsim-mpi: %s\n", lost.what());
    processes_->abort(exit_of_lost_processes);
  }
}

MpiJob::~MpiJob() = default;

bool MpiJob::is_first() const {
  return processes_->me() == 0;
}

int MpiJob::serve() {
  Processes::outlive_the_first();
  try {
    return collsim::serve(*processes_, introduce(command_line_));
  } catch (const ProcessesLost& lost) {
    std::fprintf(stderr, "collsim-mpi: process %d: %s\n", processes_->me(), lost.what());
    processes_->abort(exit_of_lost_processes);
  }
}

Backend MpiJob::backend(const MpiSettings& settings) {
  using Waiting = MpiSettings::Waiting;
  const bool sleeps = settings.waiting == Waiting::automatic ? crew_->is_crowded()
                                                             : settings.waiting == Waiting::sleep;
  mpi.idle = sleeps ? Idle::sleep : Idle::spin;
  crew_->set_idle(mpi.idle);
  mpi.crew = crew_.get();
  mpi.settings = settings;
  processes_->heed(settings.interrupted);
  return {"mpi", "processes that exchange messages of MPI", always_there,
          run_over_mpi<false, run_messages>};
}

std::vector<Backend> MpiJob::backends(const MpiSettings& settings) {
  return {backend(settings),
          {"cuda", "thread blocks, one for each lane, on the GPU of each process", always_there,
           run_over_mpi<true, run_cuda>},
          {"nccl", "NVIDIA's own library, a rank on the GPU of each process", always_there,
           run_over_mpi<true, run_nccl>}};
}

std::string MpiJob::misfit_of_launcher() const {
  return collsim::misfit_of_launcher();
}

std::vector<int> MpiJob::host_of_process() const {
  return crew_->host_of_process();
}

bool MpiJob::may_change_threads() const {
  return processes_->may_change_threads();
}

void MpiJob::leave(int exit_code) {
  Processes::leave(exit_code);
}

int MpiJob::end(int exit_code) {
  processes_->heed(nullptr);
  if (!mpi.broken.empty()) processes_->abort(exit_code);
  if (crew_) crew_->end(exit_code);
  processes_->finish();
  return exit_code;
}

}  // namespace collsim
