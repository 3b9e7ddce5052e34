// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/units.hpp"

namespace collsim {

// A size of a measured table.  SI units.
struct MeasuredTableRow {
  Bytes size = 0;     // what nccl-tests calls size
  double time_s = 0;  // out of place, the mean of the iterations
  std::optional<double> in_place_s;
  // Elements that were not as they should be; nothing: not checked, or not said for this row.
  std::optional<std::int64_t> wrong, in_place_wrong;
  std::string algorithm, protocol;  // what NCCL chose: "Ring", "LL128"; empty: not known
  bool suspect = false;             // who published it says that something disturbed it
};

// How the GPUs of a node are driven: nccl-tests -g N, -t N, or a process for each.
enum class MeasuredLaunch : std::uint8_t { unknown, one_thread, thread_per_gpu, process_per_gpu };
[[nodiscard]] std::string_view to_string(MeasuredLaunch mode);  // "process-per-gpu"; unknown: ""
// Of what people write: "1 process per GPU (MPI)", "process-per-gpu".
[[nodiscard]] MeasuredLaunch parse_launch_mode(std::string_view text);

// One run of a benchmark of one collective, as a log or a file tells it.  What it does not tell is
// empty or nothing; nothing here is a guess.
struct MeasuredTable {
  std::string source;     // "run.log:14", or where a file says that it comes from
  std::string operation;  // "all-reduce"; empty: `candidates` are what it can be
  std::vector<std::string> candidates;
  std::string dtype;        // "float32"; what collsim has no word for as it was written
  std::string reduction;    // "sum"; empty: none
  std::optional<int> root;  // of operations that have one
  std::optional<std::int64_t> ranks, nodes;
  std::string gpu, library, interconnect;  // "NVIDIA H100 80GB HBM3", "NCCL 2.20.5"
  MeasuredLaunch launch = MeasuredLaunch::unknown;
  std::optional<int> iterations, warmup;
  bool complete = true;                                // the end of the run is there
  std::int64_t wrong_values = 0;                       // that the end of the run counts
  std::string preset, owner, kind, id, date, remarks;  // of published tables
  std::vector<MeasuredTableRow> rows;
  std::vector<std::string> found;  // where the facts come from: "8 ranks: busbw / algbw is 1.75"
  std::vector<std::string> notes;  // what a reader of the numbers must know
};

// What a comparison, a fit and a file need and the table does not say, each as a sentence that asks
// for it with the option that answers: "which collective ran? --op all-gather or --op all-to-all".
[[nodiscard]] std::vector<std::string> questions_about(const MeasuredTable& table);

// What is of use, but not needed, and not there: {"nodes", "GPU"}.
[[nodiscard]] std::vector<std::string> unknown_facts(const MeasuredTable& table);

// Answers to them, and to what a log says wrongly: what is given takes the place of what is there,
// and where that was something else a note names both.
struct MeasuredAnswers {
  std::string operation, dtype, gpu;
  std::optional<std::int64_t> ranks, nodes;
};
void answer(MeasuredTable& table, const MeasuredAnswers& answers);

// "all-reduce of float32 (sum), 16 ranks on 2 nodes, NVIDIA H100 80GB HBM3, NCCL 2.20.5, a process
// per GPU, 20 iterations".
[[nodiscard]] std::string description_of(const MeasuredTable& table);

// The name of a preset for machines with such GPUs, of those that collsim has or may have; empty:
// the name does not say enough.  "Tesla V100-SXM3-32GB" -> "dgx-2".
[[nodiscard]] std::string preset_for_gpu(std::string_view gpu);

// A time in units of which a second has so many, without digits that only the conversion makes.
[[nodiscard]] double in_seconds(double time, double units_per_second);

// size / time, times nccl-tests' factor; 0 where something is not known.
[[nodiscard]] double bus_bandwidth(const MeasuredTable& table, Bytes size, double time_s);

// The words of nccl-tests in collsim's spelling: "half" -> "float16", "alltoall" -> "all-to-all";
// of operations and reductions nothing for what is not known.
[[nodiscard]] std::string known_element_type(std::string_view word);
[[nodiscard]] std::string known_operation(std::string_view word);
[[nodiscard]] std::string known_reduction(std::string_view word);
// Bytes of an element; nothing for an unknown type.  Also of nccl-tests' fp8 types.
[[nodiscard]] std::optional<Bytes> element_bytes(std::string_view type);

}  // namespace collsim
