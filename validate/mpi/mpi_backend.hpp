// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "validate/backend.hpp"

namespace collsim {

class Crew;
class Processes;

// How schedules run as messages between processes.
struct MpiSettings {
  int ranks_per_process = 1;  // at most
  // What a process does that waits for messages; automatic: sleep where a host has more processes
  // than cores.
  enum class Waiting { automatic, spin, sleep } waiting = Waiting::automatic;
  const std::atomic<bool>* interrupted = nullptr;  // set: a run is given up, and nothing runs after
};

// This process among those that mpirun, hydra or srun started with the same command line.  Process
// 0 is the program; the others carry out what it orders, and end when it does.
//
//   MpiJob job(argument_count, arguments, command_line);
//   return job.end(job.is_first() ? program() : job.serve());
class MpiJob {
 public:
  MpiJob(int argument_count, char** arguments, const std::string& command_line);
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;
  ~MpiJob();

  [[nodiscard]] bool is_first() const;

  // What the others do until process 0 ends; the exit code, which is that of process 0.
  [[nodiscard]] int serve();

  // Process 0: "", or which process was started with another command line.
  [[nodiscard]] const std::string& misfit() const { return misfit_; }
  // Why the launcher's processes are fewer than it says: ": the launcher started ..."; "": they are
  // not.
  [[nodiscard]] std::string misfit_of_launcher() const;
  // Process 0: runs schedules as messages between all processes, and the collective of the MPI
  // library itself beside them.  Belongs to the only MpiJob of the process.
  [[nodiscard]] Backend backend(const MpiSettings& settings);
  // That one first, and those on GPUs, which need a process for each rank.
  [[nodiscard]] std::vector<Backend> backends(const MpiSettings& settings);

  // Process 0: the number of the host that each process is on.
  [[nodiscard]] std::vector<int> host_of_process() const;

  // Ends MPI; gives the exit code back.  When processes no longer work together, because one got
  // stuck or died, it ends all of them at once and does not return.
  int end(int exit_code);

  // Whether another thread of process 0 may run a Backend, when none else is inside MPI.
  [[nodiscard]] bool may_change_threads() const;
  // Process 0, while another of its threads still does: ends all without MPI.
  [[noreturn]] static void leave(int exit_code);

 private:
  std::string command_line_, misfit_;
  std::unique_ptr<Processes> processes_;
  std::unique_ptr<Crew> crew_;  // of process 0
};

}  // namespace collsim
