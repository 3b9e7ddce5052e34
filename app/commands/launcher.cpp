// SPDX-License-Identifier: Apache-2.0
#include "app/commands/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <thread>

#include "app/commands/options.hpp"

namespace collsim {
namespace {

struct LauncherVariables {
  const char *rank, *size, *size_here;
};
constexpr LauncherVariables launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"},
};

// "4(x2),3", how Slurm says it for several nodes, counts as 4.
std::optional<int> number(const Environment& environment, const char* variable) {
  const std::optional<std::string> text = environment(variable);
  if (!text) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  const bool is_number = error == std::errc{} && end != text->data();
  return is_number ? std::optional(value) : std::nullopt;
}

const LauncherVariables* launcher_of(const Environment& environment) {
  for (const LauncherVariables& one : launchers) {
    const std::optional<int> rank = number(environment, one.rank);
    const std::optional<int> size = number(environment, one.size);
    if (rank && size && *rank >= 0 && *rank < *size) return &one;
  }
  return nullptr;
}

// Of 1-16 or 0-30:2 the position; lists with gaps come about when some tasks are submitted again.
std::optional<SweepPart> part_of_array(const Environment& environment) {
  const std::optional<int> id = number(environment, "SLURM_ARRAY_TASK_ID");
  const std::optional<int> count = number(environment, "SLURM_ARRAY_TASK_COUNT");
  const std::optional<int> first = number(environment, "SLURM_ARRAY_TASK_MIN");
  const std::optional<int> last = number(environment, "SLURM_ARRAY_TASK_MAX");
  if (!id || !count || !first || !last) return std::nullopt;
  const int step = std::max(1, number(environment, "SLURM_ARRAY_TASK_STEP").value_or(1));
  const SweepPart part{(*id - *first) / step + 1, *count};
  const bool is_even = (*last - *first) / step + 1 == *count && (*id - *first) % step == 0;
  if (!is_even || part.number < 1 || part.number > part.count)
    throw UsageError(
        fmt::format("the {} tasks of this job array, {} to {}, have gaps, so that it is unknown "
                    "which part is meant; use --part $SLURM_ARRAY_TASK_ID/N",
                    *count, *first, *last));
  return part;
}

int cores_of_job(const Environment& environment) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return std::clamp(number(environment, "SLURM_CPUS_ON_NODE").value_or(cores), 1, cores);
}

// Bound to some cores by its launcher, a process has these for itself.
bool is_bound() {
  return static_cast<long>(std::thread::hardware_concurrency()) < ::sysconf(_SC_NPROCESSORS_ONLN);
}

}  // namespace

Environment process_environment() {
  return [](const char* variable) -> std::optional<std::string> {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

Launch launch_of(const Environment& environment) {
  Launch launch;
  launch.threads = cores_of_job(environment);
  launch.part = part_of_array(environment);
  const LauncherVariables* const launcher = launcher_of(environment);
  if (launcher == nullptr) return launch;
  const int rank = *number(environment, launcher->rank);
  const int size = *number(environment, launcher->size);
  const int here = number(environment, launcher->size_here)
                       .value_or(number(environment, "SLURM_STEP_TASKS_PER_NODE").value_or(1));
  if (!is_bound()) launch.threads = std::max(1, launch.threads / std::max(1, here));
  if (size == 1) return launch;
  const SweepPart array = launch.part.value_or(SweepPart{});
  if (size > max_sweep_parts / array.count)
    throw UsageError(fmt::format("a sweep has at most {} parts", max_sweep_parts));
  launch.part = SweepPart{(array.number - 1) * size + rank + 1, array.count * size};
  return launch;
}

}  // namespace collsim
