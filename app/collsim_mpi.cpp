// SPDX-License-Identifier: Apache-2.0
// The program collsim-mpi: commands of collsim that measure, on processes that mpirun, hydra or
// srun started.  Process 0 is the program; the others carry out what it orders.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
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
       true});
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
      command, {[] { return job->backend({}); }, [] { return job->host_of_process(); }});
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
  std::at_quick_exit([] { static_cast<void>(job->end(exit_interrupted)); });
  return job->end(job->is_first() ? run_first(typed, command_line) : job->serve());
}

}  // namespace
}  // namespace collsim

int main(int argument_count, char** arguments) {
  collsim::prepare_process();
  return collsim::run_all(argument_count, arguments);
}
