// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "app/json/parse_json.hpp"
#include "app/study/run_study.hpp"

namespace collsim::testing {

// A scenario from its text, and what goes with running it.
struct Studied {
  Sources sources;
  Diagnostics diagnostics;
  std::optional<Scenario> scenario;
  std::optional<Results> results;

  [[nodiscard]] std::vector<std::string> messages() const {
    std::vector<std::string> all;
    for (const Diagnostic& diagnostic : diagnostics.sorted()) all.push_back(diagnostic.message);
    return all;
  }
  // The message of a warning; empty when there is none of this code.
  [[nodiscard]] std::string warning(const std::string& code) const {
    for (const Warning& one : results->warnings)
      if (one.code == code) return one.message;
    return "";
  }
  [[nodiscard]] std::string all_warnings() const {
    std::string all;
    for (const Warning& one : results->warnings) all += one.code + ": " + one.message + "\n";
    return all;
  }
};

inline void load(Studied& studied, const std::string& text) {
  const auto source = studied.sources.add(Sources::Kind::file, "test.json", text);
  std::optional<JsonValue> document = parse_json(source, studied.sources, studied.diagnostics);
  ASSERT_TRUE(document) << to_text(studied.diagnostics, studied.sources);
  studied.scenario = load_scenario(std::move(*document), "test.json", {.workloads = true},
                                   studied.sources, studied.diagnostics);
  ASSERT_TRUE(studied.scenario) << to_text(studied.diagnostics, studied.sources);
}

inline Studied study(const std::string& text, const StudyOptions& options = {}) {
  Studied studied;
  load(studied, text);
  if (studied.scenario)
    studied.results = run_study(*studied.scenario, options, studied.diagnostics);
  return studied;
}

// The same where it must succeed.
inline Studied results_of(const std::string& text, const StudyOptions& options = {}) {
  Studied studied = study(text, options);
  EXPECT_TRUE(studied.results) << to_text(studied.diagnostics, studied.sources);
  if (!studied.results) studied.results.emplace();
  return studied;
}

// A scenario with these members besides the lecture's chain and broadcast.
inline std::string lecture(const std::string& more = "", const std::string& collective = "",
                           const std::string& link = R"("bandwidth": "25GB/s", "overhead": "5us")",
                           const std::string& size = "64MiB") {
  return R"({"scenario": 1, "cluster": {"shape": "chain", "ranks": 8, "link": {)" + link +
         R"(}}, "collective": {"op": "broadcast", "algorithm": "chain", "size": ")" + size + "\"" +
         collective + "}" + more + "}";
}

}  // namespace collsim::testing
