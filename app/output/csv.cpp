// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <string_view>

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
constexpr std::array<std::string_view, 18> measured_keys{"time_s",
                                                         "min_s",
                                                         "max_s",
                                                         "spread",
                                                         "noisy",
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

}  // namespace

void write_csv_row(std::ostream& out, const CaseResult& row, bool compared, bool with_header) {
  const JsonValue value = row_to_value(row);
  std::string separator;
  const auto line = [&](const auto& text_of) {
    separator.clear();
    for_each_field(value, compared, [&](const JsonValue::Member& member) {
      out << separator << text_of(member);
      separator = ",";
    });
    out << '\n';
  };
  if (with_header) line([](const JsonValue::Member& member) { return quoted_field(member.key); });
  line([](const JsonValue::Member& member) { return field(member.value); });
}

}  // namespace collsim
