// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <ctime>
#include <string>
#include <variant>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/phases.hpp"
#include "validate/cuda/cuda_backend.hpp"

namespace collsim::bench {
namespace {

constexpr std::uint64_t copied_bytes = std::uint64_t{1} << 30U;

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
  return text;
}

// The driver's own version, which only its tool tells.
std::string driver_version() {
  std::FILE* const pipe =
      popen("nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null", "r");
  if (pipe == nullptr) return "unknown";
  char text[80] = "";
  const bool got = std::fgets(text, sizeof text, pipe) != nullptr;
  pclose(pipe);
  std::string version = got ? text : "unknown";
  if (version.ends_with('\n')) version.pop_back();
  return version;
}

}  // namespace

Verdict report_facts(Part& part) {
  const auto found = gpu_facts(copied_bytes);
  if (const auto* reason = std::get_if<std::string>(&found)) {
    std::fprintf(stderr, "gpu_report: %s\n", reason->c_str());
    return Verdict::impossible;
  }
  const auto& facts = std::get<GpuFacts>(found);
  part.columns({"", ""});
  part.row({"date", today()});
  part.row(
      {"GPU", concat(facts.names, ", ", facts.multiprocessors, " multiprocessors, ",
                     number(static_cast<double>(facts.free_bytes) / (1U << 30U)), " GiB free")});
  part.row({"driver", driver_version() + ", for CUDA up to " + facts.driver_cuda});
  part.row({"built with", "CUDA " + facts.runtime_cuda});
  part.row({"GPU's clock", concat("ticks every ", facts.clock_tick_ns, " ns")});
  part.row({"plain copy within the GPU's memory",
            number(facts.copy_bytes_per_s / 1e9, 0) +
                " GB/s, bytes read plus bytes written, copies of " +
                bytes_to_text(static_cast<Bytes>(copied_bytes)) + ", the fastest of 10"});
  part.end_of_table();
  return Verdict::passed;
}

}  // namespace collsim::bench
