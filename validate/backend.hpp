// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "collectives/schedule.hpp"
#include "collectives/timeline.hpp"
#include "validate/emulated_machine.hpp"
#include "validate/lane_job.hpp"

namespace collsim {

class Workload;

// One case to run for real.
struct RunCase {
  std::variant<Schedule, std::shared_ptr<const Workload>> what;  // a collective or a step
  Protocol protocol = Protocol::simple;
  // Emulate this machine's links; null: unpaced.
  std::optional<EmulatedMachine> paced = {};

  // Null: a collective.
  [[nodiscard]] const Workload* workload() const {
    const auto* const step = std::get_if<std::shared_ptr<const Workload>>(&what);
    return step == nullptr ? nullptr : step->get();
  }
  [[nodiscard]] const Schedule& schedule() const { return std::get<Schedule>(what); }
};

struct RunOptions {
  int warmup = 1;       // runs before those that count
  int iterations = 20;  // runs that count
  // Short runs are repeated until their total reaches this time, so that a brief disturbance of the
  // machine does not decide; at most 20,000 more (host, unpaced).
  double at_least_s = 0;
  bool check = true;         // compare every byte of every output, in a run of its own
  bool timeline = false;     // record every step of one more run, which does not count
  bool launches = true;      // a note on what launching kernels costs (cuda)
  int threads_per_lane = 0;  // 0: the backend chooses
  int gpus = 0;              // the most to be used; 0: all there are
  // The longest that one instruction may wait.  A correct run never comes near.
  double patience_s = 1;
  std::uint64_t seed = 1;       // of the inputs
  bool trust_schedule = false;  // run it unproved, for tests of what happens then
  // Called about twice a second by a process that waits for a run in another; null: nothing.
  const std::function<void()>* meanwhile = nullptr;
};

enum class DataVerdict : std::uint8_t { unchecked, right, wrong };

struct Measurement {
  std::vector<double>
      times_s;  // of each run that counted: from all lanes' start to the last one's end
  // Paced: how much later real threads ended than the emulated machine; the median of the runs.
  std::optional<double> lag_s = {};
  // Why the times cannot be compared with a prediction: "the GPUs' clocks drifted by 3 us
  // meanwhile"; empty: they can.
  std::string doubt = {};
  DataVerdict data = DataVerdict::unchecked;
  std::string wrong_data;  // the first difference, for people
  std::optional<Timeline> timeline;
  std::string device;              // "2 x AMD EPYC 7B13", "NVIDIA H200"
  std::vector<std::string> notes;  // what affects the numbers: ranks were virtual, ...
  // The collective of the library whose messages these were, on the same sizes.
  struct Own {
    std::string name;  // "MPI_Allreduce"
    std::vector<double> times_s;
  };
  std::optional<Own> own = {};
};

// Why there is none.
struct NoMeasurement {
  enum class Why : std::uint8_t {
    unavailable,   // this machine cannot do it: no GPU, no NCCL, fewer GPUs than ranks
    too_large,     // memory, lanes
    bad_schedule,  // refused before anything ran
    stuck,         // given up; the reason names rank, lane, step and what was waited for
    failed,        // the run ended in an error of the machine or was killed
    interrupted    // given up because the program is to end
  };
  Why why = Why::unavailable;
  std::string reason;  // one or two sentences for people
};

// The NoMeasurement for an Error that kept a run from starting.
[[nodiscard]] NoMeasurement::Why why_of(ErrorCode code);

using RunOutcome = std::variant<Measurement, NoMeasurement>;

// Runs schedules for real.  Each backend is a folder or file of validate/ (validate/host/,
// validate/cuda/) and a row in backends().
struct Backend {
  const char* name;     // "host"
  const char* summary;  // one line
  // Empty if it can be used here; else why not, and what would help.
  std::optional<std::string> (*unavailable)();
  // Runs in a process of its own: neither a crash nor a hang of the run reaches the caller.  Must
  // not be called while the process has other threads.
  RunOutcome (*run)(const RunCase& run_case, const RunOptions& options);
  // The same of several, one after the other, in as few processes as possible, where starting one
  // takes long; null: run() each.  `take` gets each outcome as it comes; false from it ends all.
  using Take = std::function<bool(std::size_t, RunOutcome)>;
  void (*run_each)(std::span<const RunCase> cases, const RunOptions& options,
                   const Take& take) = nullptr;
};

void run_each(const Backend& backend, std::span<const RunCase> cases, const RunOptions& options,
              const Backend::Take& take);

// That the backend cuda can use; 0 where it cannot be used.
[[nodiscard]] int count_gpus();

[[nodiscard]] std::span<const Backend> backends();
[[nodiscard]] const Backend* find_backend(std::string_view name);

// The median, and the distance of the quartiles relative to it: (q3 - q1) / median.
struct Summary {
  double median_s = 0, min_s = 0, max_s = 0, spread = 0;
};
[[nodiscard]] Summary summary_of(std::vector<double> times_s);

// With more spread than this the median is not trusted, and the row is not judged.
inline constexpr double noisy_spread = 0.05;
// Nor with a longer lag, as a part of the median.
inline constexpr double noisy_lag = 0.01;

}  // namespace collsim
