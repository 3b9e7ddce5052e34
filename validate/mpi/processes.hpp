// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "validate/note.hpp"

namespace collsim {

// What a process does that has nothing to do.  MPI makes progress only inside its calls, so even
// one that sleeps wakes up every few microseconds.
enum class Idle : std::uint32_t { spin, sleep };

// Between two looks at what a process waits for.
class Pause {
 public:
  explicit Pause(Idle idle) : idle_(idle) {}
  void take();

 private:
  Idle idle_;
  std::uint32_t turns_ = 0;
};

// Nanoseconds on the clock of this host, and what all processes that share it have in common.
[[nodiscard]] std::uint64_t host_time_ns();
[[nodiscard]] std::string host_clock_name();

// What a program ends with whose processes cannot work together, as docs/validating.md has it.
inline constexpr int exit_of_lost_processes = 3;

// Another process cannot be reached, or no longer answers, in words for people.  The processes
// cannot work together any more.
class ProcessesLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The processes that mpirun, hydra or srun started, and notes between them.  One thread of each
// calls MPI at a time, and no wait is without a limit.
class Processes {
 public:
  // MPI_Init, for which the others have ten minutes, or COLLSIM_MPI_START_S seconds.
  Processes(int argument_count, char** arguments);
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes() = default;

  [[nodiscard]] int me() const { return me_; }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Comm for_messages() const { return messages_; }
  // Those that run a collective of MPI's own together: the first `count`; MPI_COMM_NULL elsewhere.
  // All processes ask for it at once.
  [[nodiscard]] MPI_Comm first(int count);

  // `what` belongs to the kind of note, and the receiver says the same.  Throws ProcessesLost when
  // the other does nothing for `limit_s`; 0: never.
  void send(int to, int what, const void* data, std::size_t bytes, double limit_s) const;
  void receive(int from, int what, void* data, std::size_t bytes, double limit_s) const;
  void send_note(int to, int what, const Note& note, double limit_s) const;
  [[nodiscard]] Note receive_note(int from, int what, std::size_t bytes, double limit_s) const;

  // How processes wait for notes; lanes are told with each run.
  void set_idle(Idle idle) { idle_ = idle; }
  [[nodiscard]] Idle idle() const { return idle_; }

  // Whether another thread may go on with MPI.
  [[nodiscard]] bool may_change_threads() const;
  // Launchers end all processes at once.  From now on SIGINT and SIGTERM end this one two seconds
  // later: process 0 still shows what was measured, and another's end would be another failure.
  static void outlive_the_first();

  // Once it is set, whoever waits throws a NoMeasurement that is `interrupted`, and this process
  // must end without another note.
  void heed(const std::atomic<bool>* interrupted) { interrupted_ = interrupted; }

  // All processes end: nothing is under way any more.
  void finish() const;
  // This one gives up, and the others with it.  The launcher gets to read what it said before.
  [[noreturn]] void abort(int exit_code) const;
  // The same where another thread may be inside MPI: the launcher ends the others.
  [[noreturn]] static void leave(int exit_code);

 private:
  void wait(MPI_Request& request, int other, const char* what, double limit_s) const;

  int me_ = 0, count_ = 1;
  int thread_level_ = 0;
  Idle idle_ = Idle::spin;
  const std::atomic<bool>* interrupted_ = nullptr;
  MPI_Comm notes_ = MPI_COMM_NULL, messages_ = MPI_COMM_NULL;
  MPI_Comm first_ = MPI_COMM_NULL;
  int first_count_ = 0;
};

// "Open MPI 4.1.4", that this program was built with.
[[nodiscard]] std::string mpi_library_name();
// Whether it says that messages may begin and end in memory of a GPU.
[[nodiscard]] bool mpi_reaches_gpu_memory();
// How many processes the launcher says that it started, which may be one of another MPI; 0: it is
// not known.
[[nodiscard]] int processes_by_launcher();

// Ends the process with a message when what it guards takes too long: for calls of MPI that only
// return when other processes do their part.
class Watchdog {
 public:
  Watchdog(const char* what, double limit_s);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();
};

}  // namespace collsim
