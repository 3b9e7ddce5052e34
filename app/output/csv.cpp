// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include "app/json/write_json.hpp"
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

std::string field(const Value& value) {
  return value.is_null() ? "" : quoted_field(cell_text(value));
}

// The parameters are columns of their own.
template <class Write>
void for_each_field(const Value& row, const Write& write) {
  for (const Value::Member& member : row.members())
    if (member.key == "params")
      for (const Value::Member& param : member.value.members()) write(param);
    else
      write(member);
}

}  // namespace

std::string cell_text(const Value& value) {
  return value.is_string() ? value.string() : to_json(value, -1);
}

void write_csv(std::ostream& out, const Results& results) {
  if (results.rows.empty()) return;
  std::string separator;
  for_each_field(row_to_value(results.rows.front()), [&](const Value::Member& member) {
    out << separator << quoted_field(member.key);
    separator = ",";
  });
  out << '\n';
  for (const Row& row : results.rows) {
    separator.clear();
    for_each_field(row_to_value(row), [&](const Value::Member& member) {
      out << separator << field(member.value);
      separator = ",";
    });
    out << '\n';
  }
}

}  // namespace collsim
