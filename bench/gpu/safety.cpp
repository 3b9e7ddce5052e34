// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/phases.hpp"

namespace collsim::bench {
namespace {

constexpr double longest_s = 2;

Schedule ring() {
  return make_schedule(collective_of(Operation::all_reduce, 4, 4096), {.name = "ring", .slots = 2});
}

Program without(Schedule schedule, int position, Lane lane, int step) {
  LaneProgram program = schedule.program(position, lane);
  for (int i = 0; const Instruction* instruction = program.next(); ++i)
    if (i != step) co_yield *instruction;
}

// One send is missing.
Schedule unanswered() {
  const Schedule whole = ring();
  return whole.with_programs([=](int position, Lane lane) {
    return position == 1 ? without(whole, position, lane, 0) : whole.program(position, lane);
  });
}

Program only_sends(Schedule schedule, int position) {
  const Lane lane(0);
  const Endpoint next{schedule.rank((position + 1) % schedule.size()), lane};
  const Endpoint previous{schedule.rank((position + schedule.size() - 1) % schedule.size()), lane};
  const Span one{Buffer::input, 0, 1};
  co_yield send(next, one);
  co_yield send(next, one);
  co_yield receive(previous, {Buffer::output, 0, 1});
  co_yield receive(previous, {Buffer::output, 0, 1});
}

// Every rank sends twice before any receives: one slot is too few.
Schedule too_few_slots() {
  const Schedule whole = ring().with_slots(1);
  return whole.with_programs([=](int position, Lane) { return only_sends(whole, position); });
}

struct Broken {
  const char* what;
  Schedule schedule;
  const char* diagnosis;  // what it must contain
};

}  // namespace

Verdict report_safety(Part& part) {
  part.heading("Safety");
  part.text(
      "Schedules broken on purpose, run without being proved first. Each must end within 2 s with "
      "a diagnosis that names the lane that waits forever, and leave a working GPU.");
  part.columns({"broken how", "protocol", "ended after", "diagnosis", ""});
  Verdict verdict = Verdict::passed;
  RunOptions options;
  options.iterations = 1;
  static_cast<void>(run_case({ring()}, options));  // starts up CUDA
  const Broken broken[] = {{"a message is missing", unanswered(), "for message"},
                           {"one slot is too few", too_few_slots(), "for one of 1 slots"}};
  for (const Broken& one : broken)
    for (const Protocol protocol : {Protocol::simple, Protocol::ll}) {
      const auto begin = std::chrono::steady_clock::now();
      const Ran ran = run_case({one.schedule, protocol}, options);
      const double took_s =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      const bool works_again = run_case({ring(), protocol}, options).problem.empty();
      const bool is_good =
          took_s < longest_s && works_again && ran.problem.find(one.diagnosis) != std::string::npos;
      part.row({one.what, protocol == Protocol::ll ? "ll" : "simple", number(took_s, 2) + " s",
                ran.measured ? "none: it was measured" : ran.problem, is_good ? "good" : "FAILED"});
      if (!is_good) verdict = Verdict::failed;
    }
  part.end_of_table();
  return verdict;
}

}  // namespace collsim::bench
