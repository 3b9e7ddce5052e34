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

// No wrong schedule gets to run: it might wait for ever, or write where it should not.
template <RunOutcome (*run)(const RunCase&, const RunOptions&), bool takes_steps = false>
RunOutcome prove_and_run(const RunCase& run_case, const RunOptions& options) {
  if (run_case.workload() != nullptr && !takes_steps)
    return NoMeasurement{NoMeasurement::Why::unavailable,
                         "training steps run on threads only: use --backend host"};
  return run_in_child(
      [&]() -> RunOutcome {
        if (std::string fault = options.trust_schedule ? "" : fault_of(run_case); !fault.empty())
          return NoMeasurement{NoMeasurement::Why::bad_schedule, std::move(fault)};
        return run(run_case, options);
      },
      time_limit(run_case, options));
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
    {"host", "CPU threads, one for each lane", always_available, prove_and_run<run_on_host, true>},
    {"cuda", "thread blocks of the GPUs of this machine, one for each lane",
     cuda_unavailable_in_child, prove_and_run<run_on_cuda>},
    {"nccl", "NVIDIA's own library, one rank on each GPU", nccl_unavailable,
     prove_and_run<run_on_nccl>},
}};

}  // namespace

std::span<const Backend> backends() {
  return every_backend;
}

const Backend* find_backend(std::string_view name) {
  for (const Backend& backend : every_backend)
    if (name == backend.name) return &backend;
  return nullptr;
}

}  // namespace collsim
