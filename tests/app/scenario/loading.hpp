// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/json/parse_json.hpp"
#include "app/scenario/make_case.hpp"

// Scenarios from text, for tests.
namespace collsim::testing {

inline constexpr const char* broadcast = R"("op": "broadcast", "size": "1MiB")";

struct Loaded {
  Sources sources;
  Diagnostics diagnostics;
  std::optional<Scenario> scenario;

  // What is wrong, one line each: "1:30 message at /pointer; did you mean x?; hint".
  [[nodiscard]] std::vector<std::string> mistakes() const {
    std::vector<std::string> lines;
    for (const Diagnostic& d : diagnostics.sorted()) {
      std::string line;
      if (d.place.source != SourceRange::nowhere) {
        const auto at = sources.locate(d.place.source, d.place.begin);
        line = std::to_string(at.line) + ":" + std::to_string(at.column) + " ";
      }
      line += d.message;
      if (!d.pointer.empty()) line += " at " + d.pointer;
      if (!d.suggestion.empty()) line += "; did you mean " + d.suggestion + "?";
      if (!d.hint.empty()) line += "; " + d.hint;
      lines.push_back(line);
    }
    return lines;
  }
  // The only mistake.
  [[nodiscard]] std::string mistake() const {
    const std::vector<std::string> lines = mistakes();
    return lines.size() == 1 ? lines[0] : std::to_string(lines.size()) + " mistakes";
  }
};

inline Loaded load_text(const std::string& text, const LoadOptions& options = {},
                        const std::string& file = "scenario.json") {
  Loaded loaded;
  const auto source = loaded.sources.add(Sources::Kind::file, file, text);
  std::optional<JsonValue> document = parse_json(source, loaded.sources, loaded.diagnostics);
  if (document)
    loaded.scenario =
        load_scenario(std::move(*document), file, options, loaded.sources, loaded.diagnostics);
  return loaded;
}

inline constexpr const char* four_in_a_chain =
    R"("cluster": {"shape": "chain", "ranks": 4, "link": {"bandwidth": "25GB/s"}})";

// A scenario of 4 ranks; `collective` and `more` are JSON members.
inline std::string scenario_text(const std::string& collective, const std::string& more = "") {
  return std::string("{\"scenario\": 1,\n") + four_in_a_chain + ",\n\"collective\": {" +
         collective + "}" + (more.empty() ? "" : ",\n" + more) + "}";
}

inline Loaded load_collective(const std::string& collective, const std::string& more = "",
                              const LoadOptions& options = {}) {
  return load_text(scenario_text(collective, more), options);
}

inline std::optional<Case> case_of(const Loaded& loaded, std::size_t point = 0) {
  if (!loaded.scenario) return std::nullopt;
  ClusterCache clusters;
  Diagnostics diagnostics;
  return make_case(*loaded.scenario, point, clusters, diagnostics);
}

}  // namespace collsim::testing
