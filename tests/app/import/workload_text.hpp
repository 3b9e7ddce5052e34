// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "app/import/workload/imported_workload.hpp"

namespace collsim {

// What came of reading a workload.
struct WorkloadRead {
  std::optional<ImportedWorkload> workload;
  std::string mistakes;  // "3:5: no time | hint", one a line; without a place "file: ..."
};

inline WorkloadRead read_workload_text(const std::string& text,
                                       const WorkloadAnswers& answers = {}) {
  Sources sources;
  Diagnostics diagnostics;
  const auto source = sources.add(Sources::Kind::file, "workload", text);
  EXPECT_TRUE(looks_like_workload(text)) << text;
  WorkloadRead read{read_workload(source, sources, answers, diagnostics), {}};
  EXPECT_EQ(read.workload.has_value(), diagnostics.empty());
  for (const Diagnostic& mistake : diagnostics.sorted()) {
    const auto at = sources.locate(source, mistake.place.begin);
    const bool whole = mistake.place.begin == 0 && mistake.place.end == 0;
    read.mistakes += (whole ? "file" : fmt::format("{}:{}", at.line, at.column)) + ": " +
                     mistake.message + " | " + mistake.hint + "\n";
  }
  return read;
}

inline std::string mistakes_in(const std::string& text) {
  return read_workload_text(text).mistakes;
}

// The ranks, the groups but for that of all, and the items, one a line.
inline std::string items_in(const std::string& text, const WorkloadAnswers& answers = {}) {
  const WorkloadRead read = read_workload_text(text, answers);
  if (!read.workload) return read.mistakes;
  const ImportedWorkload& workload = *read.workload;
  std::string lines = fmt::format("{}, {} ranks\n", workload.format, workload.ranks);
  for (const ImportedWorkload::Group& group : workload.groups) {
    std::vector<std::string> parts;
    for (const auto& ranks : group.ranks) parts.push_back(fmt::format("{}", fmt::join(ranks, " ")));
    if (!parts.empty()) lines += fmt::format("{}: {}\n", group.name, fmt::join(parts, " | "));
  }
  for (std::size_t i = 0; i < workload.items.size(); ++i) {
    const ImportedWorkload::Item& item = workload.items[i];
    lines += fmt::format("{} {} ", i, workload.streams[item.stream]);
    lines += item.operation
                 ? fmt::format("{} {} {} {}", to_string(*item.operation), to_string(item.type),
                               item.bytes, workload.groups[item.group].name)
                 : fmt::format("{:.6g}us", item.us);
    if (!item.after.empty()) lines += fmt::format(" after {}", fmt::join(item.after, " "));
    lines += '\n';
  }
  for (const std::string& question : workload.questions) lines += "asks: " + question + "\n";
  return lines;
}

// The program that it becomes, on one line.
inline std::string program_in(const std::string& text, const WorkloadAnswers& answers = {}) {
  const WorkloadRead read = read_workload_text(text, answers);
  EXPECT_EQ(read.mistakes, "");
  if (!read.workload) return "";
  const JsonValue scenario = scenario_value(*read.workload, "file");
  return to_json(*scenario.find("workload")->find("program"), -1);
}

}  // namespace collsim
