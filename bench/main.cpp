// SPDX-License-Identifier: Apache-2.0
//
//   collsim_bench [--check] [ARGUMENTS OF GOOGLE BENCHMARK]
//
// --check: exit code 1 when a case misses its floor.  --peak-of=CASE is for the program itself.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "bench/cases.hpp"
#include "bench/floor_table.hpp"
#include "bench/this_process.hpp"

namespace collsim::bench {

namespace {

constexpr std::string_view peak_argument = "--peak-of=";

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& group :
       {ring_cases(), chain_cases(), all_to_all_cases(), binomial_cases(), event_queue_cases(),
        program_cases(), checker_cases(), scenario_cases()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

void run(benchmark::State& state, const Case& one) {
  std::int64_t items = 0;
  {
    const Case::Work work = one.prepare();
    for (auto _ : state) items += work();
  }
  state.SetItemsProcessed(items);
  using benchmark::Counter;
  if (one.item == "instructions")
    state.counters["s_per_item"] =
        Counter(static_cast<double>(items), Counter::kIsRate | Counter::kInvert);
  if (one.floor.peak_bytes)
    state.counters["peak_MiB"] =
        std::stod(output_of_this_program(std::string(peak_argument) + std::string(one.name))) /
        mebibyte;
}

void register_case(const Case& one) {
  benchmark::internal::Benchmark* const registered = benchmark::RegisterBenchmark(
      std::string(one.name).c_str(), [&one](benchmark::State& state) { run(state, one); });
  registered->UseRealTime()->Unit(benchmark::kMillisecond);
  if (one.only_once) registered->Iterations(1);
}

int print_peak_of(const std::vector<Case>& cases, std::string_view name) {
  const auto found = std::find_if(cases.begin(), cases.end(),
                                  [name](const Case& one) { return one.name == name; });
  if (found == cases.end()) return 1;
  (void)found->prepare()();
  std::printf("%.0f\n", peak_resident_bytes());
  return 0;
}

// Takes the argument out of the list when it is there.
bool took(int& argc, char** argv, std::string_view argument) {
  char** const end = argv + argc;
  char** const kept =
      std::remove_if(argv + 1, end, [argument](const char* a) { return a == argument; });
  argc = static_cast<int>(kept - argv);
  return kept != end;
}

int bench_main(int argc, char** argv) {
  const std::vector<Case> cases = all_cases();
  if (argc == 2 && std::string_view(argv[1]).starts_with(peak_argument))
    return print_peak_of(cases, std::string_view(argv[1]).substr(peak_argument.size()));
  const bool check_floors = took(argc, argv, "--check");

  benchmark::AddCustomContext("machine", describe_machine());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (const Case& one : cases) register_case(one);
  FloorTable table(cases);
  benchmark::RunSpecifiedBenchmarks(&table);
  std::printf("\n%s\n\n%s", describe_machine().c_str(), table.markdown().c_str());
  return check_floors && !table.all_ok() ? 1 : 0;
}

}  // namespace

}  // namespace collsim::bench

int main(int argc, char** argv) {
  return collsim::bench::bench_main(argc, argv);
}
