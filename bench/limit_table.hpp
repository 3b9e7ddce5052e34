// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cases.hpp"

namespace collsim::bench {

// Google Benchmark's usual output, and what it measured once more as a Markdown table beside what
// is allowed: `| case | today | limit | ok |`, as in docs/performance.md.  With repetitions the
// table has their medians.
class LimitTable : public benchmark::ConsoleReporter {
 public:
  explicit LimitTable(const std::vector<Case>& cases);

  void ReportRuns(const std::vector<Run>& runs) override;

  [[nodiscard]] std::string markdown() const;
  [[nodiscard]] bool all_ok() const;  // of those that ran

 private:
  struct Measured {
    double seconds = 0;
    double items_per_second = 0;
    double loops = 0;
    double instructions = 0;  // 0: not counted
    double peak_bytes = 0;
  };
  struct Row {
    std::string measured, limit;
    bool asked = false;
    bool ok = true;
  };
  [[nodiscard]] bool ran(const Case& one) const { return runs_.contains(one.name); }
  [[nodiscard]] Measured measured(std::string_view name) const;
  [[nodiscard]] Row row(const Case& one) const;

  const std::vector<Case>& cases_;
  std::map<std::string, std::vector<Measured>, std::less<>> runs_;
};

}  // namespace collsim::bench
