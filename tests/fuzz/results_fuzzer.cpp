// SPDX-License-Identifier: Apache-2.0
//
// Throws bytes at everything that reads results of collsim itself, which people edit, cut and
// merge, and at what a report draws of them.  Whatever comes in, there must be data for a page or a
// diagnostic, never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "app/json/parse_json.hpp"
#include "app/report/report_data.hpp"

using namespace collsim;

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Sources sources;
  Diagnostics diagnostics;
  const std::uint32_t source =
      sources.add(Sources::Kind::file, "fuzz.json", std::string(data, data + size));
  const std::vector<StoredResults> all = read_results(source, sources, diagnostics);
  must(all.empty() == !diagnostics.empty());
  (void)to_text(diagnostics, sources);
  for (const StoredResults& results : all) {
    (void)to_json(report_data(results, {}), -1);
    (void)to_json(report_data(results, 0), -1);
  }
  return 0;
}
