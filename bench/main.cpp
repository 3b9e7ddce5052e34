// SPDX-License-Identifier: Apache-2.0
//
//   collsim_bench [--check] [ARGUMENTS OF GOOGLE BENCHMARK]
//
// --check: counts instructions as well, with valgrind; exit code 1 when a case is beyond its limit.
// --once=CASE is for the program itself.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "bench/cases.hpp"
#include "bench/limit_table.hpp"
#include "bench/this_process.hpp"
#include "topo/error.hpp"

// By this name callgrind finds what is counted.
extern "C" [[gnu::noinline]] void collsim_bench_counted(const collsim::bench::Case::Work& work) {
  (void)work();
}

namespace collsim::bench {

Schedule whole_machine(Operation operation, std::size_t ranks, std::int64_t count,
                       const AlgorithmChoice& choice) {
  Collective collective;
  collective.operation = operation;
  collective.count = count;
  collective.group = first_ranks(ranks);
  return make_schedule(collective, choice);
}

namespace {

constexpr std::string_view once_argument = "--once=";

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& group :
       {ring_cases(), chain_cases(), all_to_all_cases(), contention_cases(), binomial_cases(),
        event_queue_cases(), program_cases(), scenario_cases()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

// Runs a case once in a process of its own and gives the number behind this word of its output.
// Remembers it, because Google Benchmark begins a case several times.
double number_of_one_run(const Case& one, const std::string& word, const std::string& under = {}) {
  static std::map<std::string, double> known;
  const std::string key = std::string(one.name) + word;
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const std::string output =
      output_of_this_program(std::string(once_argument) + std::string(one.name), under);
  const std::size_t found = output.find(word);
  COLLSIM_CHECK(found != std::string::npos, "no \"" + word + "\" in: " + output);
  return known[key] = std::stod(output.substr(found + word.size()));
}

double instructions_per_item(const Case& one, double items) {
  const std::string callgrind =
      "valgrind --tool=callgrind --toggle-collect=collsim_bench_counted "
      "--callgrind-out-file=/dev/null --log-fd=1";
  return number_of_one_run(one, "Collected :", callgrind) / items;
}

double seconds_of(const Case::Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  (void)work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// A case's time over that of the loop.  Whatever else runs on the machine only adds to either, and
// not equally: neighbours on a core slow an engine down more than a loop that waits for memory.  So
// where the first ratio is above the limit, both are timed again for a while, the shortest of each
// counts.
double loops_of(const Case& one, const Case::Work& work, double seconds, double loop_seconds) {
  constexpr double patience = 3;  // seconds
  double spent = 0;
  while (seconds > *one.limit.loops * loop_seconds && spent < patience) {
    const double again = seconds_of(work);
    const double loop = calibration_loop();
    seconds = std::min(seconds, again);
    loop_seconds = std::min(loop_seconds, loop);
    spent += again + loop;
  }
  return seconds / loop_seconds;
}

void run(benchmark::State& state, const Case& one, bool check_limits) {
  std::int64_t items = 0;
  double loops = 0;
  {
    const Case::Work work = one.prepare();
    const double before = calibration_loop();
    const auto begin = std::chrono::steady_clock::now();
    for (auto _ : state) items += work();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    if (one.limit.loops)
      loops = loops_of(one, work, elapsed.count() / static_cast<double>(state.iterations()),
                       std::min(before, calibration_loop()));
  }
  state.SetItemsProcessed(items);
  using benchmark::Counter;
  if (one.item == "instructions")
    state.counters["s_per_item"] =
        Counter(static_cast<double>(items), Counter::kIsRate | Counter::kInvert);
  if (one.limit.loops) state.counters["loops"] = loops;
  if (one.limit.peak_bytes)
    state.counters["peak_MiB"] = number_of_one_run(one, "peak bytes:") / mebibyte;
  if (one.limit.instructions && check_limits)
    state.counters["instructions"] = instructions_per_item(
        one, static_cast<double>(items) / static_cast<double>(state.iterations()));
}

void register_case(const Case& one, bool check_limits) {
  benchmark::internal::Benchmark* const registered = benchmark::RegisterBenchmark(
      std::string(one.name).c_str(),
      [&one, check_limits](benchmark::State& state) { run(state, one, check_limits); });
  registered->UseRealTime()->Unit(benchmark::kMillisecond);
  if (one.only_once) registered->Iterations(1);
}

int run_once(const std::vector<Case>& cases, std::string_view name) {
  const auto found = std::find_if(cases.begin(), cases.end(),
                                  [name](const Case& one) { return one.name == name; });
  if (found == cases.end()) return 1;
  const Case::Work work = found->prepare();
  collsim_bench_counted(work);
  std::printf("peak bytes: %.0f\n", peak_resident_bytes());
  return 0;
}

// Removes the argument from the list if present.
bool took(int& argc, char** argv, std::string_view argument) {
  char** const end = argv + argc;
  char** const kept =
      std::remove_if(argv + 1, end, [argument](const char* a) { return a == argument; });
  argc = static_cast<int>(kept - argv);
  return kept != end;
}

int bench_main(int argc, char** argv) {
  const std::vector<Case> cases = all_cases();
  if (argc == 2 && std::string_view(argv[1]).starts_with(once_argument))
    return run_once(cases, std::string_view(argv[1]).substr(once_argument.size()));
  const bool check_limits = took(argc, argv, "--check");

  benchmark::AddCustomContext("machine", describe_machine());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (const Case& one : cases) register_case(one, check_limits);
  LimitTable table(cases);
  benchmark::RunSpecifiedBenchmarks(&table);
  std::printf("\n%s\n\n%s", describe_machine().c_str(), table.markdown().c_str());
  return check_limits && !table.all_ok() ? 1 : 0;
}

}  // namespace

}  // namespace collsim::bench

int main(int argc, char** argv) {
  return collsim::bench::bench_main(argc, argv);
}
