// SPDX-License-Identifier: Apache-2.0
//
// Throws bytes at everything that reads measurements: logs of nccl-tests, measured tables, JSON and
// CSV with named rows.  Whatever comes in, there must be tables or a diagnostic, never a crash; and
// what was understood must read back as it was written.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "app/json/parse_json.hpp"
#include "app/measured/measured_csv.hpp"
#include "app/measured/measured_file.hpp"
#include "app/measured/measured_json.hpp"

using namespace collsim;

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

bool is_results_file(const std::string& text) {
  return text.find("\"collsim\"") != std::string::npos;
}

std::vector<MeasuredTable> read(const std::string& text, bool& mistaken) {
  Sources sources;
  Diagnostics diagnostics;
  const std::uint32_t source = sources.add(Sources::Kind::file, "fuzz.log", text);
  std::vector<MeasuredTable> tables = read_measurements(source, sources, diagnostics);
  mistaken = !diagnostics.empty();
  (void)to_text(diagnostics, sources);
  return tables;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  bool mistaken = false;
  const std::vector<MeasuredTable> tables = read(text, mistaken);
  must(!tables.empty() || mistaken || is_results_file(text));
  std::ostringstream csv;
  write_measured_csv(csv, tables);
  if (tables.empty()) return 0;
  for (const MeasuredTable& table : tables) {
    (void)description_of(table);
    (void)questions_about(table);
    (void)unknown_facts(table);
    must(!table.rows.empty());
    for (const MeasuredTableRow& row : table.rows)
      must(row.size >= 0 && row.time_s >= 0 && std::isfinite(row.time_s));
  }
  const std::string written = to_json(to_value(tables));
  const std::vector<MeasuredTable> again = read(written, mistaken);
  must(!mistaken && to_json(to_value(again)) == written);
  return 0;
}
