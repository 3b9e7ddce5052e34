// SPDX-License-Identifier: Apache-2.0
//
// What stands between a scenario file and its answer besides the simulation: reading, checking,
// building, writing.
#include <array>
#include <cstdio>
#include <sstream>
#include <string>

#include "app/json/parse_json.hpp"
#include "app/output/format.hpp"
#include "app/scenario/scenario.hpp"
#include "app/study/run_study.hpp"
#include "bench/cases.hpp"
#include "topo/error.hpp"

namespace collsim::bench {

namespace {

constexpr const char* ten_thousand_points = R"({
  "scenario": 1,
  "cluster": { "shape": "chain", "ranks": 8, "link": { "bandwidth": "25GB/s", "overhead": "5us" } },
  "collective": { "op": "broadcast", "size": "1MiB" },
  "sweep": {
    "collective.chunks": { "from": 1, "to": 20, "step": 1 },
    "cluster.link.overhead": { "from": "1us", "to": "20us", "step": "1us" },
    "collective.size": { "from": "1MiB", "to": "25MiB", "step": "1MiB" }
  }
})";

// From the file's text to the results file's text, on all cores.
std::int64_t answer(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const std::uint32_t source = sources.add(Sources::Kind::file, "sweep.json", text);
  std::optional<JsonValue> document = parse_json(source, sources, diagnostics);
  COLLSIM_CHECK(document, to_text(diagnostics, sources));
  const auto scenario = load_scenario(std::move(*document), "sweep.json", {}, sources, diagnostics);
  COLLSIM_CHECK(scenario, to_text(diagnostics, sources));
  const auto results = run_study(*scenario, {}, diagnostics);
  COLLSIM_CHECK(results, to_text(diagnostics, sources));
  std::ostringstream out;
  write(out, *results, Format::json);
  COLLSIM_CHECK(!out.str().empty(), "a results file has text");
  return static_cast<std::int64_t>(results->rows.size());
}

// The program itself, from its start to its end.
std::int64_t run_program(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  COLLSIM_CHECK(pipe != nullptr, command);
  std::array<char, 4096> buffer{};
  while (std::fread(buffer.data(), 1, buffer.size(), pipe) > 0) continue;
  COLLSIM_CHECK(pclose(pipe) == 0, command);
  return 1;
}

}  // namespace

std::vector<Case> scenario_cases() {
  return {{.name = "scenario/sweep_of_10000",
           .item = "points",
           .limit = {.loops = 20},
           .prepare =
               [] { return [text = std::string(ten_thousand_points)] { return answer(text); }; }},
          {.name = "scenario/start_up_and_lecture",
           .item = "runs",
           .limit = {.loops = 0.35},
           .prepare = [] {
             return [command = std::string("'" COLLSIM_PROGRAM "' run '" COLLSIM_SOURCE_DIR
                                           "/scenarios/lecture/ring-broadcast.json'")] {
               return run_program(command);
             };
           }}};
}

}  // namespace collsim::bench
