// SPDX-License-Identifier: Apache-2.0
// The program collsim-mpi: commands of collsim that measure, on processes that mpirun, hydra or
// srun started.  Process 0 is the program; the others carry out what it orders.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/commands/calibrate_network.hpp"
#include "app/commands/command_line.hpp"
#include "app/commands/process.hpp"
#include "app/commands/validate.hpp"
#include "validate/mpi/mpi_backend.hpp"

namespace collsim {
namespace {

constexpr int most_ranks_per_process = 1024;

MpiJob* job = nullptr;  // of this process

// The thread of process 0 that measures: what runs inside MPI, or makes and checks data, cannot be
// interrupted, but left behind.
class MeasuringThread {
 public:
  MeasuringThread() : thread_([this] { serve(); }) {}
  MeasuringThread(const MeasuringThread&) = delete;
  MeasuringThread& operator=(const MeasuringThread&) = delete;
  ~MeasuringThread() {
    if (is_left_) return;
    give({});
    thread_.join();
  }

  // It still works at what nobody waits for; the program must end by MpiJob::leave().
  [[nodiscard]] bool is_left() const { return is_left_; }

  RunOutcome outcome_of(std::function<RunOutcome()> run, const std::atomic<bool>& stop) {
    constexpr std::chrono::milliseconds between_looks{20}, patience{200};
    Work work(std::move(run));
    std::future<RunOutcome> outcome = work.get_future();
    give(std::move(work));
    while (outcome.wait_for(between_looks) != std::future_status::ready) {
      if (!stop || outcome.wait_for(patience) == std::future_status::ready) continue;
      is_left_ = true;
      thread_.detach();
      return NoMeasurement{NoMeasurement::Why::interrupted, "interrupted"};
    }
    return outcome.get();
  }

 private:
  using Work = std::packaged_task<RunOutcome()>;

  void give(Work work) {
    const std::lock_guard lock(mutex_);
    next_ = std::move(work);
    has_next_ = true;
    changed_.notify_one();
  }
  void serve() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return has_next_; });
      has_next_ = false;
      Work work = std::move(next_);
      lock.unlock();
      if (!work.valid()) return;
      work();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Work next_;
  bool has_next_ = false;
  bool is_left_ = false;
  std::thread thread_;  // the last: it uses the others
};

// Never destroyed when its thread was left.
std::unique_ptr<MeasuringThread> measuring;

RunForReal interruptible(RunForReal run, const std::atomic<bool>& stop) {
  if (!job->may_change_threads()) return run;
  if (!measuring) measuring = std::make_unique<MeasuringThread>();
  return [run = std::move(run), &stop](const RunCase& run_case, const RunOptions& options) {
    return measuring->outcome_of([=] { return run(run_case, options); }, stop);
  };
}

// Whatever happened, process 0 ends, and the others with it.
int end_job(int exit_code) {
  if (measuring && measuring->is_left()) MpiJob::leave(exit_code);
  measuring.reset();
  return job->end(exit_code);
}

MpiSettings::Waiting waiting_of(const std::string& word) {
  using Waiting = MpiSettings::Waiting;
  if (word.empty() || word == "auto") return Waiting::automatic;
  return word == "sleep" ? Waiting::sleep : Waiting::spin;
}

Action declare_validate_over_mpi(Options& command) {
  struct State {
    MpiSettings settings;
    std::string waiting;
    std::vector<Backend> backends = job->backends({});
  };
  const auto state = std::make_shared<State>();
  const Action validate = declare_validate(
      command,
      {state->backends, state->backends.front().name,
       "what runs it: messages of MPI; or on a GPU for each process, its thread blocks or NCCL "
       "(default: mpi)",
       true, interruptible});
  command.integer("--ranks-per-process", state->settings.ranks_per_process,
                  "how many ranks a process may play where there are fewer processes than ranks "
                  "(default: 1)",
                  1, most_ranks_per_process);
  command.choice("--waiting", state->waiting, {"auto", "spin", "sleep"},
                 "what a process does that waits for messages (default: auto, which is to sleep "
                 "where a host has more processes than cores)");
  return [validate, state](Terminal& terminal) {
    state->settings.waiting = waiting_of(state->waiting);
    state->settings.interrupted = &terminal.interrupted;
    std::ranges::copy(job->backends(state->settings), state->backends.begin());
    return validate(terminal);
  };
}

Action declare_calibrate_over_mpi(Options& command) {
  return declare_calibrate_network(
      command, {[] { return job->backend({}); }, [] { return job->host_of_process(); },
                [] { return job->misfit_of_launcher(); }});
}

constexpr Command mpi_commands[] = {
    {"validate", "Runs scenarios between processes of MPI and compares with the prediction.",
     "mpirun -np 4 collsim-mpi validate scenarios/native/over-mpi.json\n"
     "mpirun -np 2 collsim-mpi validate scenarios/native/over-mpi.json --ranks-per-process 2 "
     "--iters 50\n"
     "mpirun -np 4 collsim-mpi validate scenarios/native/over-mpi.json --backend nccl",
     declare_validate_over_mpi},
    {"calibrate", "Measures the links between processes and writes a cluster and a model.",
     "mpirun -np 4 collsim-mpi calibrate -o machine.json", declare_calibrate_over_mpi},
};

constexpr Executable collsim_mpi{"collsim-mpi", "do predictions hold between processes of MPI?",
                                 "mpirun -np 4 collsim-mpi validate scenarios/native/over-mpi.json",
                                 mpi_commands};

int run_first(const std::vector<std::string>& typed, const std::string& command_line) {
  if (!job->misfit().empty()) {
    std::cerr << "collsim-mpi: " << job->misfit() << '\n';
    return exit_usage;
  }
  return run_process(command_line, [&typed](Terminal& terminal) {
    // Launchers pass the output on, and nobody knows where to: some make it look like a terminal.
    terminal.out_is_terminal = terminal.err_is_terminal = false;
    return run_program_line(collsim_mpi, typed, terminal);
  });
}

int run_all(int argument_count, char** arguments) {
  const std::vector<std::string> typed(arguments + 1, arguments + argument_count);
  std::string command_line = "collsim-mpi";
  for (const std::string& argument : typed) command_line += " " + argument;
  MpiJob of_this_process(argument_count, arguments, command_line);
  job = &of_this_process;
  // Of process 0, after an interrupt.
  std::at_quick_exit([] { static_cast<void>(end_job(exit_interrupted)); });
  return end_job(job->is_first() ? run_first(typed, command_line) : job->serve());
}

}  // namespace
}  // namespace collsim

int main(int argument_count, char** arguments) {
  collsim::prepare_process();
  return collsim::run_all(argument_count, arguments);
}
