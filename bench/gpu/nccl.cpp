// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <variant>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/phases.hpp"
#include "validate/cuda/cuda_backend.hpp"
#include "validate/cuda/nccl_backend.hpp"
#include "validate/in_child.hpp"

namespace collsim::bench {
namespace {

constexpr int most_ranks = 8;
constexpr double limit_s = 40;  // starting CUDA and NCCL on eight GPUs takes some seconds

std::string cell(const RunOutcome& outcome) {
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) return "none: " + none->reason;
  const auto& measured = std::get<Measurement>(outcome);
  if (measured.data == DataVerdict::wrong) return "WRONG DATA: " + measured.wrong_data;
  return number(summary_of(measured.times_s).median_s * 1e6);
}

bool is_wrong(const RunOutcome& outcome) {
  const auto* measured = std::get_if<Measurement>(&outcome);
  return measured && measured->data == DataVerdict::wrong;
}

}  // namespace

Verdict report_nccl(Part& part) {
  part.heading("NCCL");
  if (const auto reason = nccl_unavailable()) {
    part.text("Not compared: " + *reason);
    return Verdict::impossible;
  }
  // One GPU is one rank: then there is only a copy to be seen, and NCCL's version.
  const int ranks = std::clamp(count_gpus(), 1, most_ranks);
  if (ranks == 1)
    part.text(
        "NCCL has one rank per GPU and there is one GPU: it cannot be compared with several "
        "virtual "
        "ranks. It was run with one rank, where it only copies, to show that it works.");
  part.columns({"operation", "size", "ranks", "ours us", "NCCL as ours us", "NCCL free us"});
  Verdict verdict = Verdict::passed;
  std::vector<std::string> notes;
  for (const Operation operation :
       {Operation::all_reduce, Operation::all_gather, Operation::broadcast})
    for (const Bytes bytes : {kibibytes(64), mebibytes(64)}) {
      const bool is_ring = operation != Operation::broadcast;
      const RunCase one{
          make_schedule(collective_of(operation, ranks, bytes), {.name = is_ring ? "ring" : "chain",
                                                                 .chunks = 4,
                                                                 .channels = channels_of_nccl,
                                                                 .slots = slots_of_nccl})};
      RunOptions options;
      options.check = bytes <= mebibytes(1);
      const auto in_child = [&](RunOutcome (*run)(const RunCase&, const RunOptions&)) {
        return run_in_child([&] { return run(one, options); }, limit_s);
      };
      const RunOutcome ours = in_child(run_on_cuda);
      const RunOutcome forced = in_child(run_on_nccl);
      const RunOutcome free = in_child(run_on_free_nccl);
      if (is_wrong(ours) || is_wrong(forced) || is_wrong(free)) verdict = Verdict::failed;
      part.row({std::string(to_string(operation)), bytes_to_text(bytes), std::to_string(ranks),
                cell(ours), cell(forced), cell(free)});
      if (const auto* measured = std::get_if<Measurement>(&free); measured && notes.empty())
        notes = measured->notes;
    }
  part.end_of_table();
  for (const std::string& note : notes) part.text("- " + note);
  return verdict;
}

}  // namespace collsim::bench
