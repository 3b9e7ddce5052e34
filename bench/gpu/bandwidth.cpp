// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/phases.hpp"
#include "validate/cuda/cuda_backend.hpp"
#include "validate/plan.hpp"

namespace collsim::bench {
namespace {

constexpr double promised = 0.70;

// What the instructions of all lanes read and write: sources, messages and destinations.
double moved_bytes(const Plan& plan) {
  double bytes = 0;
  for (const LaneStep& step : plan.steps) {
    if (orders_lanes(step.op)) continue;
    const int reads_message = receives(step.op) ? 1 : 0;
    const int reads_source = reads(step.op) ? 1 : 0;
    const int reads_destination = step.op == Op::local_reduce ? 1 : 0;
    const int writes = (stores(step.op) ? 1 : 0) + (sends(step.op) ? 1 : 0);
    bytes += static_cast<double>(step.bytes) *
             (reads_message + reads_source + reads_destination + writes);
  }
  return bytes;
}

// The part of it that must come from or go to the GPU's memory: slots may stay in the cache.
double moved_outside_slots(const Plan& plan) {
  double bytes = 0;
  for (const LaneStep& step : plan.steps)
    if (!orders_lanes(step.op))
      bytes +=
          static_cast<double>(step.bytes) * ((reads(step.op) ? 1 : 0) + (stores(step.op) ? 1 : 0));
  return bytes;
}

struct Shape {
  int channels;
  Bytes chunk;
  int slots;
};
// A rank sends all pieces of a part, one of so many channels' of its share of 256 MiB, before it
// receives the first, which it passes on before it frees the slot: with no more slots than pieces
// all ranks would wait for each other.
constexpr Shape shapes[] = {
    {16, kibibytes(128), 17}, {16, kibibytes(512), 5}, {16, mebibytes(2), 2},
    {32, kibibytes(128), 9},  {32, kibibytes(512), 3}, {32, mebibytes(1), 2},
};

Schedule ring(const Shape& shape, Bytes bytes) {
  Collective collective = collective_of(Operation::all_reduce, virtual_ranks, bytes);
  collective.in_place = true;
  AlgorithmChoice choice;
  choice.name = "ring";
  choice.channels = shape.channels;
  choice.chunk_size = shape.chunk;
  choice.slots = shape.slots;
  return make_schedule(collective, choice);
}

// The best fraction of the plain copy's rate; nothing when a row could not be measured.
std::optional<double> measure_rows(Part& part, double copy_rate) {
  constexpr Bytes bytes = mebibytes(256);
  part.columns({"channels", "chunk", "slots", "time ms", "min .. max", "moved GB", "GB/s",
                "of the plain copy", "outside slots"});
  double best = 0;
  bool all_measured = true;
  for (const Shape& shape : shapes) {
    const Schedule schedule = ring(shape, bytes);
    RunOptions options;
    options.warmup = 3;
    options.iterations = 10;
    options.check = false;  // the host would take minutes; see below
    const Ran ran = run_case({schedule}, options);
    const std::string channels = std::to_string(shape.channels);
    const std::string slots = std::to_string(shape.slots);
    if (!ran.measured) {
      all_measured = false;
      part.row({channels, bytes_to_text(shape.chunk), slots, "FAILED: " + ran.problem, "", "", "",
                "", ""});
      continue;
    }
    PlanLimits no_limits;
    no_limits.bytes = std::uint64_t{1} << 40U;
    const Plan plan = make_plan(schedule, Protocol::simple, no_limits);
    const Summary summary = summary_of(ran.measured->times_s);
    const double rate = moved_bytes(plan) / summary.median_s;
    best = std::max(best, rate / copy_rate);
    part.row({channels, bytes_to_text(shape.chunk), slots, number(summary.median_s * 1e3, 2),
              number(summary.min_s * 1e3, 2) + " .. " + number(summary.max_s * 1e3, 2),
              number(moved_bytes(plan) / 1e9), number(rate / 1e9, 0), percent(rate / copy_rate),
              percent(moved_outside_slots(plan) / summary.median_s / copy_rate)});
  }
  part.end_of_table();
  return all_measured ? std::optional(best) : std::nullopt;
}

}  // namespace

Verdict report_bandwidth(Part& part) {
  part.heading("Bandwidth of the interpreter");
  const auto facts = gpu_facts(std::uint64_t{1} << 30U);
  if (const auto* reason = std::get_if<std::string>(&facts)) {
    part.text("not measured: " + *reason);
    return Verdict::impossible;
  }
  const double copy_rate = std::get<GpuFacts>(facts).copy_bytes_per_s;
  part.text(
      "Ring all-reduce of 8 virtual ranks on one GPU, 256 MiB, f32, sum, in place, protocol "
      "simple; "
      "medians of 10 runs. Bytes are those that the lanes' instructions read and write: a send "
      "reads and "
      "writes each byte once; a receive-reduce-send reads a message and a source and writes a "
      "message; "
      "a receive-send reads a message and writes it twice. A plain copy moves " +
      number(copy_rate / 1e9, 0) +
      " GB/s counted alike. Slots are small enough to stay in the GPU's "
      "cache; the last column leaves them out.");
  const std::optional<double> best = measure_rows(part, copy_rate);
  const Ran checked = run_case({ring(shapes[0], mebibytes(4))}, {.iterations = 2});
  part.text("The same with 4 MiB: " +
            (checked.measured ? "every byte was right" : "FAILED: " + checked.problem));
  if (!best) return Verdict::failed;
  const bool is_met = *best >= promised;
  part.text("Best: " + percent(*best) + " of what a plain copy moves; promised are " +
            percent(promised, 0) + ": " + (is_met ? "met" : "MISSED"));
  return is_met && checked.measured ? Verdict::passed : Verdict::failed;
}

}  // namespace collsim::bench
