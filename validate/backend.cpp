// SPDX-License-Identifier: Apache-2.0
#include "validate/backend.hpp"

#include <array>
#include <utility>

#include "collectives/checker.hpp"
#include "collectives/workload_checker.hpp"
#include "validate/cuda/cuda_backend.hpp"
#include "validate/cuda/nccl_backend.hpp"
#include "validate/host/host_backend.hpp"
#include "validate/in_child.hpp"

namespace collsim {
namespace {

std::optional<std::string> always_available() {
  return std::nullopt;
}

// The run itself gives up after its patience; this is for a run that cannot even do that.
// The host makes and compares the data of all ranks twice, which takes it longer than a GPU.
double time_limit(const RunCase& run_case, const RunOptions& options) {
  constexpr double to_set_up_s = 60, bytes_per_s = 50e6;
  constexpr int runs_beside = 10;    // checks, timeline, launches alone
  constexpr int times_launched = 3;  // each that counts, once by itself and twice in a graph
  const double runs = options.warmup + (1.0 + times_launched) * options.iterations + runs_beside;
  double checking_s = 0;
  if (options.check && run_case.workload() == nullptr) {
    const Collective& collective = run_case.schedule().collective();
    checking_s = 2.0 * static_cast<double>(collective.bytes()) * collective.size() / bytes_per_s;
  }
  return to_set_up_s + 2 * options.patience_s * runs + options.at_least_s + checking_s;
}

// Why it must not run; empty: it may.
std::string fault_of(const RunCase& run_case) {
  if (run_case.workload() != nullptr) {
    const WorkloadReport report = check(*run_case.workload());
    if (!report.fault || concerns_data_only(*report.fault)) return "";
    return "the step is wrong and was not run: " + to_text(*report.fault);
  }
  const CheckReport report = check(run_case.schedule());
  return report.ok ? "" : "the schedule is wrong and was not run: " + report.fault->text;
}

using Run = RunOutcome (*)(const RunCase&, const RunOptions&);

// No wrong schedule gets to run: it might wait for ever, or write where it should not.
template <Run run, bool takes_steps = false>
RunOutcome prove_and_run(const RunCase& run_case, const RunOptions& options) {
  if (run_case.workload() != nullptr && !takes_steps)
    return NoMeasurement{NoMeasurement::Why::unavailable,
                         "training steps run on threads only: use --backend host"};
  if (std::string fault = options.trust_schedule ? "" : fault_of(run_case); !fault.empty())
    return NoMeasurement{NoMeasurement::Why::bad_schedule, std::move(fault)};
  return run(run_case, options);
}

template <Run prove_and_run>
RunOutcome in_a_child(const RunCase& run_case, const RunOptions& options) {
  return run_in_child([&] { return prove_and_run(run_case, options); },
                      time_limit(run_case, options), options.meanwhile);
}

template <Run prove_and_run>
void in_few_children(std::span<const RunCase> cases, const RunOptions& options,
                     const Backend::Take& take) {
  run_in_children(
      cases.size(), [&](std::size_t i) { return prove_and_run(cases[i], options); },
      [&](std::size_t i) { return time_limit(cases[i], options); }, take, options.meanwhile);
}

// A process must not fork after initialising CUDA, so this also asks in a child.
std::optional<std::string> cuda_unavailable_in_child() {
  constexpr double limit_s = 60;
  const RunOutcome outcome = run_in_child(
      []() -> RunOutcome {
        if (auto why = cuda_unavailable())
          return NoMeasurement{NoMeasurement::Why::unavailable, std::move(*why)};
        return Measurement{};
      },
      limit_s);
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) return none->reason;
  return std::nullopt;
}

constexpr std::array<Backend, 3> every_backend = {{
    {"host", "CPU threads, one for each lane", always_available,
     in_a_child<prove_and_run<run_on_host, true>>},
    {"cuda", "thread blocks of the GPUs of this machine, one for each lane",
     cuda_unavailable_in_child, in_a_child<prove_and_run<run_on_cuda>>,
     in_few_children<prove_and_run<run_on_cuda>>},
    {"nccl", "NVIDIA's own library, one rank on each GPU", nccl_unavailable,
     in_a_child<prove_and_run<run_on_nccl>>},
}};

}  // namespace

int count_gpus() {
  constexpr double limit_s = 60;
  const RunOutcome outcome = run_in_child(
      []() -> RunOutcome {
        Measurement count;
        const auto facts = gpu_facts(0);
        if (const auto* found = std::get_if<GpuFacts>(&facts))
          count.times_s.assign(static_cast<std::size_t>(found->gpus), 0);
        return count;
      },
      limit_s);
  const auto* count = std::get_if<Measurement>(&outcome);
  return count ? static_cast<int>(count->times_s.size()) : 0;
}

std::span<const Backend> backends() {
  return every_backend;
}

void run_each(const Backend& backend, std::span<const RunCase> cases, const RunOptions& options,
              const Backend::Take& take) {
  if (backend.run_each != nullptr) return backend.run_each(cases, options, take);
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (!take(i, backend.run(cases[i], options))) return;
}

const Backend* find_backend(std::string_view name) {
  for (const Backend& backend : every_backend)
    if (name == backend.name) return &backend;
  return nullptr;
}

}  // namespace collsim
