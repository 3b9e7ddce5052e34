// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/json/value.hpp"
#include "app/output/writers.hpp"

namespace collsim {
namespace {

std::string quoted_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string field(const JsonValue& value) {
  return value.is_null() ? "" : quoted_field(plain_text(value));
}

// Every row has all of these, measured or not.
constexpr std::array<std::string_view, 20> measured_keys{"time_s",
                                                         "min_s",
                                                         "max_s",
                                                         "spread",
                                                         "noisy",
                                                         "lag_s",
                                                         "doubt",
                                                         "error",
                                                         "data",
                                                         "wrong_data",
                                                         "algbw_bytes_per_s",
                                                         "busbw_bytes_per_s",
                                                         "backend",
                                                         "protocol",
                                                         "paced",
                                                         "iters",
                                                         "ran",
                                                         "device",
                                                         "notes",
                                                         "file"};

template <class Write>
void for_each_measured(const JsonValue& row, const Write& write) {
  const JsonValue& measured = *row.find("measured");
  for (const std::string_view key : measured_keys) {
    const JsonValue* const value = measured.find(key);
    write({"measured_" + std::string(key), {}, value != nullptr ? *value : JsonValue()});
  }
  const JsonValue* const none = row.find("not_measured");
  write({"not_measured", {}, none != nullptr ? *none->find("reason") : JsonValue()});
}

// The parameters are columns of their own, and so is what was measured, if that was tried.  What a
// training step is by rank and by communicator has no place in a column.
template <class Write>
void for_each_field(const JsonValue& row, bool compared, const Write& write) {
  for (const JsonValue::Member& member : row.members())
    if (member.key == "params")
      for (const JsonValue::Member& param : member.value.members()) write(param);
    else if (member.key == "measured" && compared)
      for_each_measured(row, write);
    else if (member.key != "not_measured" && !member.key.starts_with("by_"))
      write(member);
}

// Keys that only some rows have, in their order, and the key before the first of them.
struct OptionalKeys {
  std::string_view after;
  std::vector<std::string_view> keys;
};

// Rows may differ in more than their first one shows: what binds, and, if that is swept, the
// algorithm and the machine.
std::vector<OptionalKeys> keys_of_later_rows(const CaseResult& row) {
  if (row.step) return {};
  std::vector<OptionalKeys> later{{"bound_compute_s", {"bound_cut"}}};
  const auto decides = [](const auto& param) {
    const std::string_view path = param.first;
    return path == "collective.algorithm" || path == "collective.op" || path == "collective" ||
           path == "cluster.preset" || path == "cluster";
  };
  if (std::none_of(row.params.begin(), row.params.end(), decides)) return later;
  later.push_back({"algorithm",
                   {"protocol", "nccl_algorithm", "nccl_protocol", "kernel_s", "host_s",
                    "error_class", "calibrated"}});
  later.push_back({"root", {"search"}});
  return later;
}

using Fields = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> columns_of(const CaseResult& row, const Fields& fields) {
  const std::vector<OptionalKeys> later = keys_of_later_rows(row);
  const auto is_there = [&](std::string_view key) {
    return std::any_of(fields.begin(), fields.end(),
                       [&](const auto& one) { return one.first == key; });
  };
  std::vector<std::string> columns;
  for (const auto& [field, value] : fields) {
    columns.push_back(field);
    for (const OptionalKeys& some : later)
      for (const std::string_view key : some.keys)
        if (some.after == field && !is_there(key)) columns.emplace_back(key);
  }
  return columns;
}

}  // namespace

void write_csv_row(std::ostream& out, const CaseResult& row, bool compared,
                   std::vector<std::string>& columns) {
  Fields fields;
  for_each_field(row_to_value(row), compared, [&](const JsonValue::Member& member) {
    fields.emplace_back(member.key, field(member.value));
  });
  std::string separator;
  if (columns.empty()) {
    columns = columns_of(row, fields);
    for (const std::string& column : columns)
      out << std::exchange(separator, ",") << quoted_field(column);
    out << '\n';
    separator.clear();
  }
  // Fields are in the order of the columns; a parameter may be called as a key.
  auto next = fields.begin();
  for (const std::string& column : columns) {
    out << std::exchange(separator, ",");
    const auto found =
        std::find_if(next, fields.end(), [&](const auto& one) { return one.first == column; });
    if (found == fields.end()) continue;
    out << found->second;
    next = found + 1;
  }
  out << '\n';
}

}  // namespace collsim
