// SPDX-License-Identifier: Apache-2.0
#include "app/measured/measured_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "app/measured/log_run.hpp"
#include "app/measured/nccl_tests_log.hpp"
#include "app/measured/row_fields.hpp"

namespace collsim {
namespace {

constexpr std::size_t most_fields = 256;
constexpr std::size_t most_csv_rows = 100'000;

using Fields = std::vector<std::string>;

Fields split_fields(std::string_view line, char separator) {
  Fields fields(1);
  bool quoted_now = false;
  for (std::size_t i = 0; i < line.size() && fields.size() <= most_fields; ++i) {
    const char c = line[i];
    if (c == '"' && quoted_now && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted_now = !quoted_now;
    } else if (c == separator && !quoted_now) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  for (std::string& field : fields)
    if (const std::string_view bare = trimmed(field); bare.size() < field.size())
      field = std::string(bare);
  return fields;
}

// The separator with which the line names a size and a time or an algbw; 0: there is none.
char separator_of(std::string_view line) {
  for (const char separator : {',', ';', '\t'}) {
    if (line.find(separator) == std::string_view::npos) continue;
    bool size = false, time = false;
    for (const std::string& name : split_fields(line, separator)) {
      const std::string_view field = field_of(name);
      size = size || field == "size";
      time = time || field.starts_with("time_") || field == "algbw" || field == "algbw_bytes" ||
             field == "measured_s";
    }
    if (size && time) return separator;
  }
  return 0;
}

// Visits lines that are neither empty nor comments, until `visit` is false.
template <class Visit>
void for_each_csv_line(std::string_view text, const Visit& visit) {
  std::uint32_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    begin = end + 1;
    if (trimmed(line).empty() || trimmed(line).front() == '#') continue;
    if (!visit(line, number)) return;
  }
}

class CsvReader {
 public:
  std::vector<LogRun> read(std::string_view text) {
    for_each_csv_line(text, [&](std::string_view line, std::uint32_t number) {
      if (fields_.empty()) {
        separator_ = separator_of(line);
        for (const std::string& name : split_fields(line, separator_))
          fields_.push_back(field_of(name));
      } else {
        take(line, number);
      }
      return rows_ < most_csv_rows;
    });
    return std::move(runs_).runs();
  }

 private:
  void take(std::string_view line, std::uint32_t number) {
    Fields values = split_fields(line, separator_);
    RowFields fields;
    for (std::size_t i = 0; i < std::min(values.size(), fields_.size()); ++i)
      fields.put(fields_[i], std::move(values[i]));
    runs_.take(fields, number, [&] { return shortened(printable(line), 80); });
    ++rows_;
  }

  std::vector<std::string_view> fields_;  // of the columns
  char separator_ = ',';
  NamedRuns runs_;
  std::size_t rows_ = 0;
};

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + '"';
}

template <class Number>
std::string known_number(const std::optional<Number>& number) {
  return number ? to_json(JsonValue(*number), -1) : std::string();
}

}  // namespace

bool looks_like_csv(std::string_view text) {
  bool is_csv = false;
  for_each_csv_line(text, [&](std::string_view line, std::uint32_t) {
    is_csv = separator_of(line) != 0;
    return false;
  });
  return is_csv;
}

std::vector<MeasuredTable> read_measured_csv(std::uint32_t source, const Sources& sources,
                                             Diagnostics& diagnostics) {
  const std::string& file = sources.name(source);
  std::vector<MeasuredTable> tables;
  std::string hint;
  for (const LogRun& run : CsvReader().read(sources.text(source))) {
    if (hint.empty() && !run.damaged.empty()) hint = run.damaged.front();
    for (MeasuredTable& table : tables_of(run, file, operation_in_name(file)))
      tables.push_back(std::move(table));
  }
  if (tables.empty())
    diagnostics.add({.code = "no-rows",
                     .message = "there is no row below the names of the columns",
                     .place = {source, 0, 0},
                     .hint = hint});
  return tables;
}

void write_measured_csv(std::ostream& out, const std::vector<MeasuredTable>& tables) {
  out << "op,dtype,reduction,root,ranks,nodes,gpu,library,launch,iters,size_bytes,time_s,"
         "busbw_bytes_per_s,wrong,in_place_time_s,in_place_wrong,algorithm,protocol\n";
  for (const MeasuredTable& table : tables) {
    const std::string head =
        fmt::format("{},{},{},{},{},{},{},{},{},{}", table.operation, csv_field(table.dtype),
                    csv_field(table.reduction), known_number(table.root), known_number(table.ranks),
                    known_number(table.nodes), csv_field(table.gpu), csv_field(table.library),
                    to_string(table.launch), known_number(table.iterations));
    for (const MeasuredTableRow& row : table.rows) {
      const double rate = bus_bandwidth(table, row.size, row.time_s);
      out << fmt::format(
          "{},{},{},{},{},{},{},{},{}\n", head, row.size, to_json(JsonValue(row.time_s), -1),
          rate > 0 ? to_json(JsonValue(std::round(rate)), -1) : "", known_number(row.wrong),
          known_number(row.in_place_s), known_number(row.in_place_wrong), csv_field(row.algorithm),
          csv_field(row.protocol));
    }
  }
}

}  // namespace collsim
