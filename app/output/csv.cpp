// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>
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
// training step is by rank and by communicator has no place in a column, nor have errors of a
// class, which are an object.
template <class Write>
void for_each_field(const JsonValue& row, bool compared, const Write& write) {
  for (const JsonValue::Member& member : row.members())
    if (member.key == "params")
      for (const JsonValue::Member& param : member.value.members()) write(param);
    else if (member.key == "measured" && compared)
      for_each_measured(row, write);
    else if (member.key != "not_measured" && member.key != "error_class" &&
             !member.key.starts_with("by_"))
      write(member);
}

// Keys that only some rows have, in their order, and the key before the first of them.
struct OptionalKeys {
  std::string_view after;
  std::vector<std::string_view> keys;
};

bool is_under(std::string_view path, std::string_view place) {
  return path == place || (path.starts_with(place) && path[place.size()] == '.');
}

// Rows may differ in more than their first one shows: what binds, and, if that is swept, the
// algorithm and the machine.
std::vector<OptionalKeys> keys_of_later_rows(const CaseResult& row, const SweptValues& swept) {
  if (row.step && swept.count("workload") > 0)
    return {{"least_timeout_s", {"mfu", "hfu", "tokens_per_s", "memory_bytes", "out_of_memory"}}};
  if (row.step) return {};
  std::vector<OptionalKeys> later{{"bound_compute_s", {"bound_cut"}}};
  bool nccl = false;
  bool searched = false;
  for (const auto& [path, values] : swept) {
    const bool any = path == "collective.op" || path == "collective" || path == "cluster.preset" ||
                     path == "cluster";
    const bool automatic = path == "collective.algorithm" && values.count("auto") > 0;
    nccl = nccl || any || automatic || (path == "collective.algorithm" && values.count("nccl") > 0);
    searched = searched || any || automatic;
  }
  if (nccl)
    later.push_back(
        {"algorithm",
         {"protocol", "nccl_algorithm", "nccl_protocol", "kernel_s", "host_s", "calibrated"}});
  if (searched) later.push_back({"root", {"search"}});
  return later;
}

// Keys of which no row has a value if the first has none, unless this place is swept.
struct KeyOfAll {
  std::string_view key;
  std::string_view place;  // empty: none fills it
};
constexpr std::array<KeyOfAll, 9> keys_of_all_rows{{{"measured", ""},
                                                    {"reduction", "collective.op"},
                                                    {"bottleneck_bandwidth_bytes_per_s", ""},
                                                    {"timeout_s", "workload.timeout"},
                                                    {"useful", "workload.failures"},
                                                    {"job_s", "workload.failures"},
                                                    {"checkpoint_interval_s", "workload.failures"},
                                                    {"best_interval_s", "workload.failures"},
                                                    {"steps_done_twice", "workload.failures"}}};

// Whether no row of the sweep can have what the first one lacks; without a sweep it is the only
// one.
bool is_empty_in_all(std::string_view key, const CaseResult& row, const SweptValues& swept) {
  if (swept.empty()) return true;
  // Nothing was sent, so that no link was used.
  if (key == "bottleneck_bandwidth_bytes_per_s" && row.messages == 0) return false;
  const auto* const found = std::find_if(keys_of_all_rows.begin(), keys_of_all_rows.end(),
                                         [&](const KeyOfAll& one) { return one.key == key; });
  return found != keys_of_all_rows.end() &&
         std::none_of(swept.begin(), swept.end(), [&](const auto& one) {
           return is_under(one.first, found->place) || is_under(found->place, one.first);
         });
}

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields fields_of(const CaseResult& row, bool compared) {
  Fields fields;
  for_each_field(row_to_value(row), compared, [&](const JsonValue::Member& member) {
    fields.emplace_back(member.key, field(member.value));
  });
  return fields;
}

std::vector<std::string> columns_of(const CaseResult& row, const Fields& fields,
                                    const SweptValues& swept) {
  const std::vector<OptionalKeys> later = keys_of_later_rows(row, swept);
  const auto is_there = [&](std::string_view key) {
    return std::any_of(fields.begin(), fields.end(),
                       [&](const auto& one) { return one.first == key; });
  };
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& [field, value] = fields[i];
    const bool named = i < row.params.size();  // by who wrote the sweep
    if (named || !value.empty() || !is_empty_in_all(field, row, swept)) columns.push_back(field);
    for (const OptionalKeys& some : later)
      for (const std::string_view key : some.keys)
        if (some.after == field && !is_there(key)) columns.emplace_back(key);
  }
  return columns;
}

void write_line(std::ostream& out, const std::vector<std::string>& columns) {
  std::string separator;
  for (const std::string& column : columns)
    out << std::exchange(separator, ",") << quoted_field(column);
  out << '\n';
}

void write_fields(std::ostream& out, const Fields& fields,
                  const std::vector<std::string>& columns) {
  std::string separator;
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

}  // namespace

SweptValues swept_values(const std::vector<Axis>& axes) {
  SweptValues swept;
  for (const Axis& axis : axes)
    for (const std::vector<JsonValue>& point : axis.points)
      for (std::size_t i = 0; i < axis.paths.size(); ++i)
        swept[axis.paths[i]].insert(plain_text(point[i]));
  return swept;
}

SweptValues swept_values(const std::vector<CaseResult>& rows) {
  SweptValues swept;
  for (const CaseResult& row : rows)
    for (const auto& [path, value] : row.params) swept[path].insert(plain_text(value));
  return swept;
}

void write_csv_row(std::ostream& out, const CaseResult& row, const SweptValues& swept,
                   std::vector<std::string>& columns) {
  const Fields fields = fields_of(row, false);
  if (columns.empty()) {
    columns = columns_of(row, fields, swept);
    write_line(out, columns);
  }
  write_fields(out, fields, columns);
}

void write_compared_csv(std::ostream& out, const std::vector<CaseResult>& rows) {
  if (rows.empty()) return;
  std::vector<Fields> all;
  std::set<std::string> filled;
  for (const CaseResult& row : rows) {
    all.push_back(fields_of(row, true));
    for (const auto& [field, value] : all.back())
      if (!value.empty()) filled.insert(field);
  }
  for (const auto& [path, value] : rows.front().params) filled.insert(path);
  std::vector<std::string> columns = columns_of(rows.front(), all.front(), swept_values(rows));
  // Those that only some rows have are known here.
  columns.erase(std::remove_if(columns.begin(), columns.end(),
                               [&](const std::string& column) { return !filled.count(column); }),
                columns.end());
  write_line(out, columns);
  for (const Fields& fields : all) write_fields(out, fields, columns);
}

}  // namespace collsim
