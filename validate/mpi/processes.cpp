// SPDX-License-Identifier: Apache-2.0
#include "validate/mpi/processes.hpp"

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>

#include "validate/backend.hpp"

namespace collsim {
namespace {

constexpr std::size_t most_bytes_at_once = std::size_t{1} << 30U;
constexpr double to_end_s = 20;
constexpr double to_start_s = 600;

std::string first_line_of(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

void nap(long time_ns) {
  const timespec time{0, time_ns};
  ::nanosleep(&time, nullptr);
}

// Hydra drops what it has not read yet from the pipe of a process that aborts.  Only calls that a
// handler of a signal may make.
void let_launcher_read() {
  constexpr int most_naps = 1000;
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat kind {};
    if (::fstat(output, &kind) != 0 || !S_ISFIFO(kind.st_mode)) continue;
    int unread = 0;
    for (int naps = 0; naps < most_naps; ++naps) {
      if (::ioctl(output, FIONREAD, &unread) != 0 || unread == 0) break;
      nap(1'000'000);
    }
  }
}

// How long the others may take to start: there may be thousands, of a file system that is slow.
double start_limit_s() {
  const char* const text = std::getenv("COLLSIM_MPI_START_S");
  const double limit = text == nullptr ? 0 : std::atof(text);
  return limit >= 1 ? limit : to_start_s;
}

// Of a process that is to outlive process 0.  SIGALRM is the Watchdog's.
timer_t time_left;
extern "C" void end_a_little_later(int) {
  itimerspec soon{};
  soon.it_value.tv_sec = 2;
  ::timer_settime(time_left, 0, &soon, nullptr);
}
extern "C" void end_now(int) {
  ::_exit(128 + SIGTERM);
}

// For the handler of a signal, which may not make texts.
char watchdog_message[256];

extern "C" void watchdog_barks(int) {
  std::size_t length = 0;
  while (watchdog_message[length] != '\0') ++length;
  const ssize_t ignored = ::write(STDERR_FILENO, watchdog_message, length);
  static_cast<void>(ignored);
  let_launcher_read();
  ::_exit(exit_of_lost_processes);
}

}  // namespace

void Pause::take() {
  ++turns_;
  if (idle_ == Idle::spin) {
    // Lets another process on this core run, of which there should be none.  sched_yield() would
    // cost less, but Linux (6.18) lets one that yields a million times wait for a minute.
    constexpr std::uint32_t turns_between_naps = 512;
    if (turns_ % turns_between_naps == 0) nap(1);
    return;
  }
  constexpr std::uint32_t turns_awake = 16, short_naps = 4096;
  if (turns_ < turns_awake) return;
  nap(turns_ < short_naps ? 15'000 : 500'000);
}

std::uint64_t host_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  constexpr std::uint64_t second = 1'000'000'000;
  return static_cast<std::uint64_t>(time.tv_sec) * second +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::string host_clock_name() {
  std::string name = first_line_of("/proc/sys/kernel/random/boot_id");
  char space[64];
  const ssize_t length = ::readlink("/proc/self/ns/time", space, sizeof space);
  if (length > 0) name.append(space, static_cast<std::size_t>(length));
  return name;
}

Processes::Processes(int argument_count, char** arguments) {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // naps end when they should
  const Watchdog watchdog("waiting for all processes in MPI_Init", start_limit_s());
  MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_SERIALIZED, &thread_level_);
  MPI_Comm_rank(MPI_COMM_WORLD, &me_);
  MPI_Comm_size(MPI_COMM_WORLD, &count_);
  MPI_Comm_dup(MPI_COMM_WORLD, &notes_);
  MPI_Comm_dup(MPI_COMM_WORLD, &messages_);
}

bool Processes::may_change_threads() const {
  return thread_level_ >= MPI_THREAD_SERIALIZED;
}

void Processes::outlive_the_first() {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN;
  if (::timer_create(CLOCK_MONOTONIC, &event, &time_left) != 0) return;
  std::signal(SIGRTMIN, end_now);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, end_a_little_later);
}

MPI_Comm Processes::first(int count) {
  if (first_count_ == count) return first_;
  if (first_ != MPI_COMM_NULL) MPI_Comm_free(&first_);
  MPI_Comm_split(MPI_COMM_WORLD, me_ < count ? 0 : MPI_UNDEFINED, me_, &first_);
  first_count_ = count;
  return first_;
}

void Processes::wait(MPI_Request& request, int other, const char* what, double limit_s) const {
  const std::uint64_t begin = host_time_ns();
  Pause pause(idle_);
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    if (interrupted_ != nullptr && *interrupted_)
      throw NoMeasurement{NoMeasurement::Why::interrupted, "interrupted"};
    pause.take();
    if (limit_s > 0 && static_cast<double>(host_time_ns() - begin) * 1e-9 > limit_s)
      throw ProcessesLost("process " + std::to_string(other) + " " + what + " for " +
                          std::to_string(std::lround(limit_s)) +
                          " s: it hangs, or waits inside MPI for one that does");
  }
}

void Processes::send(int to, int what, const void* data, std::size_t bytes, double limit_s) const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, what, notes_, &request);
  wait(request, to, "has taken nothing", limit_s);
}

void Processes::receive(int from, int what, void* data, std::size_t bytes, double limit_s) const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, what, notes_, &request);
  wait(request, from, "has not answered", limit_s);
}

void Processes::send_note(int to, int what, const Note& note, double limit_s) const {
  for (std::size_t at = 0; at < note.size(); at += most_bytes_at_once)
    send(to, what, note.data() + at, std::min(most_bytes_at_once, note.size() - at), limit_s);
}

Note Processes::receive_note(int from, int what, std::size_t bytes, double limit_s) const {
  Note note(bytes);
  for (std::size_t at = 0; at < bytes; at += most_bytes_at_once)
    receive(from, what, note.data() + at, std::min(most_bytes_at_once, bytes - at), limit_s);
  return note;
}

void Processes::finish() const {
  const Watchdog watchdog("ending MPI", to_end_s);
  MPI_Finalize();
}

void Processes::leave(int exit_code) {
  let_launcher_read();
  std::_Exit(exit_code);
}

void Processes::abort(int exit_code) const {
  const Watchdog watchdog("giving up", to_end_s);
  let_launcher_read();
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

std::string mpi_library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string name(text, static_cast<std::size_t>(length));
  // "Open MPI v4.1.4, package: ...", "MPICH Version:\t4.0.2\nMPICH Release date: ..."
  name = name.substr(0, name.find_first_of(",\n"));
  for (const char* extra : {" Version:\t", " Version:      ", " v"})
    if (const auto at = name.find(extra); at != std::string::npos)
      name.replace(at, std::char_traits<char>::length(extra), " ");
  return name;
}

// Each library has a word of its own for it, which old ones do not know.
bool mpi_reaches_gpu_memory() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() != 0;
#elif defined(MPIX_GPU_SUPPORT_CUDA)
  int is_supported = 0;
  return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &is_supported) == MPI_SUCCESS &&
         is_supported != 0;
#else
  return false;
#endif
}

int processes_by_launcher() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* const text = std::getenv(variable)) return std::atoi(text);
  return 0;
}

Watchdog::Watchdog(const char* what, double limit_s) {
  std::snprintf(watchdog_message, sizeof watchdog_message,
                "collsim-mpi: %s took longer than %.0f s, so a process has died or hangs\n", what,
                limit_s);
  std::signal(SIGALRM, watchdog_barks);
  ::alarm(static_cast<unsigned>(limit_s) + 1);
}

Watchdog::~Watchdog() {
  ::alarm(0);
}

}  // namespace collsim
