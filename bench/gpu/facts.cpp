// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>
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

// What only the driver's tool tells, of the first GPU: "580.65.06".
std::string asked_of_driver(const std::string& what) {
  const std::string command =
      "nvidia-smi --query-gpu=" + what + " --format=csv,noheader 2>/dev/null";
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "not known";
  char text[200] = "";
  const bool got = std::fgets(text, sizeof text, pipe) != nullptr;
  pclose(pipe);
  std::string answer = got ? text : "not known";
  if (answer.ends_with('\n')) answer.pop_back();
  return answer;
}

// With one, copies between GPUs may go wrong or slowly, unless it lets them pass.
std::string iommu() {
  std::error_code problem;
  const std::filesystem::directory_iterator groups("/sys/kernel/iommu_groups", problem);
  if (problem) return "not known";
  return groups == std::filesystem::directory_iterator{} ? "off" : "on";
}

// Which links lie between GPUs, as the driver's tool draws it.
void add_links_between_gpus(Part& part) {
  std::FILE* const pipe = popen("nvidia-smi topo -m 2>/dev/null", "r");
  if (pipe == nullptr) return;
  std::string all;
  char text[400];
  while (std::fgets(text, sizeof text, pipe) != nullptr) all += text;
  pclose(pipe);
  if (!all.empty()) part.text("```\n" + all + "```");
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
  part.row({"driver", asked_of_driver("driver_version") + ", for CUDA up to " + facts.driver_cuda});
  part.row({"clocks", asked_of_driver("clocks.max.sm") + " at most, memory " +
                          asked_of_driver("clocks.max.mem") + "; power limit " +
                          asked_of_driver("power.limit")});
  part.row({"MIG", asked_of_driver("mig.mode.current")});
  part.row({"IOMMU", iommu()});
  part.row({"built with", "CUDA " + facts.runtime_cuda});
  part.row({"GPU's clock", concat("ticks every ", facts.clock_tick_ns, " ns")});
  part.row({"plain copy within the GPU's memory",
            number(facts.copy_bytes_per_s / 1e9, 0) +
                " GB/s, bytes read plus bytes written, copies of " +
                bytes_to_text(static_cast<Bytes>(copied_bytes)) + ", the fastest of 10"});
  part.end_of_table();
  if (facts.gpus > 1) add_links_between_gpus(part);
  return Verdict::passed;
}

}  // namespace collsim::bench
