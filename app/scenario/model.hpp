// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"
#include "app/scenario/nccl_graph.hpp"
#include "collectives/cost/cost_model.hpp"

namespace collsim {

// What a machine was measured to do: rates depend on whether the data fit into its caches, so there
// is a row per size, and on how many lanes share the memory.
//
//   "calibration": {
//     "backend": "host", "device": "2 cores of ...", "date": "2026-11-22",
//     "rates": [
//       {"working_set": "64KiB", "instruction_overhead": "90ns", "copy_bandwidth": "11GB/s",
//        "reduce_bandwidth": "7GB/s", "second_write_bandwidth": "20GB/s",
//        "lanes_at_full_speed": 1.4},
//       {"working_set": "64MiB", ...}]}
//
// `working_set` is what working_set() of collectives/schedule.hpp says.  The rates are those of a
// lane while at most `lanes_at_full_speed` (F) lanes work; while L > F do, each has F/L of them.
// Absent: lanes never slow each other down.  Between two rows F and 1/rate are interpolated over
// the logarithm of the size; outside the nearest row holds.  `collsim calibrate` writes such an
// object; anything else in it ("fit", "raw") is for readers and programs that trace the numbers to
// their source.
struct Calibration {
  struct Row {
    Bytes working_set = 0;
    CostModel costs;
    std::optional<double> lanes_at_full_speed = {};
  };
  std::vector<Row> rows;  // by size, at least one

  [[nodiscard]] CostModel costs_at(Bytes working_set, double lanes_at_work) const;
};

// Nothing when something is wrong with it.  `resolved` gets what matters for a prediction.
[[nodiscard]] std::optional<Calibration> read_calibration(const JsonValue& calibration,
                                                          const std::string& pointer,
                                                          Diagnostics& diagnostics,
                                                          JsonValue& resolved);

// "calibration": "machine.json" in the model becomes the calibration that the file holds, at
// /model/calibration.  Its name is relative to the scenario's folder, or to the working directory
// when it comes from --set.
void load_calibration_file(JsonValue& document, const std::string& scenario_file, Sources& sources,
                           Diagnostics& diagnostics);

// Which threads launch the kernels of a node: one for all its GPUs (nccl-tests -g N), one for each
// (-t N), or a process for each (mpirun).
enum class LaunchMode : std::uint8_t { one_thread, thread_per_gpu, process_per_gpu };

// What a launch of NCCL's kernels costs besides the links; used by "algorithm": "nccl".
//
//   "model": {"launch": {"base": "5us", "host": "4.9us", "pair": "0.8us",
//                        "mode": "one-thread", "gpus_per_thread": 4},
//             "local_bandwidth": "556GB/s", "per_peer": "240ns"}
struct LaunchCosts {
  Time base{};  // the kernel's: from its start to the first message, and to its end after the last
  Time host{};  // the launching thread's, for each of its GPUs
  Time pair{};  // and for each send/recv pair
  LaunchMode mode = LaunchMode::process_per_gpu;
  std::optional<int> gpus_per_thread;        // of one_thread; nothing: all of a node
  std::optional<Bandwidth> local_bandwidth;  // of the last pass over a rank's own block
  Time per_peer{};                           // of send/recv, for every message of a rank
};

// "model" (scenario format, section 4): what instructions cost beyond the links.  All absent: the
// ideal machine.  With a calibration the costs depend on the schedule (app/study/run_case.hpp).
struct ModelReading {
  CostModel costs;
  std::shared_ptr<const Calibration> calibration;  // nothing: the costs above
  LaunchCosts launch;
  NcclGraph nccl_graph;  // for the tuner of NCCL
};

// `resolved` gets it with every default.
[[nodiscard]] ModelReading read_model(const JsonValue& model, const std::string& pointer,
                                      Diagnostics& diagnostics, JsonValue& resolved);

// "measure" (scenario format, section 4): how the cases are run for real.
struct Measure {
  std::string backend;   // host, cuda, nccl; empty: nothing is to be measured
  std::string protocol;  // simple, ll; empty: simple
  int warmup = 1;
  int iterations = 20;
  bool check = true;
  bool paced = false;
  bool required = false;
  std::string file;
};
[[nodiscard]] Measure read_measure(const JsonValue& measure, Diagnostics& diagnostics,
                                   JsonValue& resolved);

}  // namespace collsim
