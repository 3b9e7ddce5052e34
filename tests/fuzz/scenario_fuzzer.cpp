// SPDX-License-Identifier: Apache-2.0
//
// Throws bytes at everything that reads a scenario: the JSON parser, the loader, presets,
// expressions and the messages about what is wrong with it all.  Whatever comes in, there must be a
// scenario or a diagnostic, never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "app/expression/expectation.hpp"
#include "app/json/parse_json.hpp"
#include "app/json/value.hpp"
#include "app/scenario/make_case.hpp"

using namespace collsim;

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

void read_points(const Scenario& scenario) {
  ClusterCache clusters;
  for (std::size_t point = 0; point < scenario.points() && point < 3; ++point) {
    Diagnostics diagnostics;
    const auto made = make_case(scenario, point, clusters, diagnostics);
    must(made.has_value() == diagnostics.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Sources sources;
  Diagnostics diagnostics;
  const std::uint32_t source =
      sources.add(Sources::Kind::file, "fuzz.json", std::string(data, data + size));
  std::optional<JsonValue> document = parse_json(source, sources, diagnostics);
  must(document.has_value() || !diagnostics.empty());
  if (document && diagnostics.empty()) {
    document->erase("include");  // what a file system holds is not under test
    const auto scenario = load_scenario(
        *document, "fuzz.json", {.workloads = true, .max_points = 1000}, sources, diagnostics);
    must(scenario.has_value() == diagnostics.empty());
    if (scenario) {
      (void)Expectations::read(*scenario, diagnostics);
      (void)to_pretty_json(scenario->resolved);
      read_points(*scenario);
    }
  }
  (void)to_text(diagnostics, sources);
  (void)to_json(to_value(diagnostics, sources));
  return 0;
}
