// SPDX-License-Identifier: Apache-2.0
#include "bench/this_process.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace collsim::bench {

namespace {

volatile std::uint64_t benchmark_result;  // so that the loop is not optimised away

// What stands behind "key ... :" in a file of /proc.
std::string value_in(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (line.compare(0, key.size(), key) != 0 || colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return "unknown";
}

}  // namespace

std::string describe_machine() {
#ifdef __clang__
  const std::string compiler = __VERSION__;
#else
  const std::string compiler = std::string("GCC ") + __VERSION__;
#endif
  return value_in("/proc/cpuinfo", "model name") + ", " +
         std::to_string(std::thread::hardware_concurrency()) + " cores; " + compiler + "; " +
         COLLSIM_BUILD_TYPE + " build";
}

// A walk through 1 MiB whose every step depends on the one before, as an engine's steps do.
double calibration_loop() {
  static std::vector<std::uint32_t> table(std::size_t{1} << 18U);
  if (table[1] == 0)
    for (std::size_t i = 0; i < table.size(); ++i)
      table[i] = static_cast<std::uint32_t>((i * 0x9e3779b97f4a7c15U) >> 40U);
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  std::uint64_t hash = 1;
  for (int step = 0; step < 2'000'000; ++step) {
    std::uint32_t& place = table[hash % table.size()];
    hash = (hash ^ place) * 0xff51afd7ed558ccdU + static_cast<std::uint64_t>(step);
    hash ^= hash >> 29U;
    place += static_cast<std::uint32_t>(hash);
  }
  benchmark_result = hash;
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double peak_resident_bytes() {
  constexpr double kibibyte = 1024.0;
  return kibibyte * std::stod(value_in("/proc/self/status", "VmHWM"));
}

std::string output_of_this_program(const std::string& argument, const std::string& under) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::FILE* const pipe = popen((under + " '" + program + "' '" + argument + "'").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start " + program);
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), got);
  if (pclose(pipe) != 0) throw std::runtime_error(program + " " + argument + " failed");
  return output;
}

}  // namespace collsim::bench
