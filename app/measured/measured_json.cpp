// SPDX-License-Identifier: Apache-2.0
#include "app/measured/measured_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <set>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/measured/nccl_tests_log.hpp"
#include "app/measured/row_fields.hpp"
#include "app/scenario/foreign_file.hpp"

namespace collsim {
namespace {

constexpr std::int64_t known_version = 1;
using Names = std::initializer_list<std::string_view>;

const JsonValue* first_of(const JsonValue& object, Names names) {
  for (const std::string_view name : names)
    if (const JsonValue* const value = object.find(name); value != nullptr && !value->is_null())
      return value;
  return nullptr;
}

class TableReader {
 public:
  TableReader(const JsonValue& document, std::string pointer, const Sources& sources,
              Diagnostics& diagnostics)
      : document_(document),
        pointer_(std::move(pointer)),
        sources_(sources),
        diagnostics_(diagnostics) {}

  MeasuredTable read() {
    check_measured_version();
    const JsonValue* const machine = document_.find("machine");
    static const JsonValue no_machine;
    take_head();
    take_machine(machine != nullptr ? *machine : no_machine);
    take_rows();
    take_in_place();
    take_suspects();
    return std::move(table_);
  }

 private:
  void refuse(const JsonValue& value, std::string_view key, const std::string& message,
              const std::string& hint = {}) {
    diagnostics_.add({.code = "measured-table",
                      .message = message,
                      .place = value.place,
                      .pointer = key.empty() ? pointer_ : pointer_to(pointer_, key),
                      .hint = hint});
  }

  void check_measured_version() {
    const JsonValue* const version = document_.find("measured");
    if (version != nullptr && version->integer() != known_version)
      refuse(*version, "measured",
             fmt::format("this collsim reads measured tables of version {} only", known_version));
  }

  std::string text(const JsonValue& object, Names names) {
    const JsonValue* const value = first_of(object, names);
    if (value == nullptr) return {};
    if (value->is_string()) return value->string();
    refuse(*value, *names.begin(),
           fmt::format("\"{}\" must be a string, not {}", *names.begin(), value->kind_name()));
    return {};
  }

  std::optional<std::int64_t> count(const JsonValue& object, Names names, std::int64_t least) {
    const JsonValue* const value = first_of(object, names);
    if (value == nullptr) return std::nullopt;
    const std::optional<std::int64_t> number = value->integer();
    if (number && *number >= least && *number <= std::numeric_limits<int>::max()) return number;
    refuse(*value, *names.begin(),
           fmt::format("\"{}\" must be a whole number of at least {}", *names.begin(), least));
    return std::nullopt;
  }

  void take_head() {
    table_.source = text(document_, {"source", "id"});
    if (table_.source.empty()) table_.source = sources_.describe(document_.place);
    const std::string operation = text(document_, {"op", "collective"});
    table_.operation = known_operation(operation);
    if (!operation.empty() && table_.operation.empty())
      refuse(*first_of(document_, {"op", "collective"}), "op",
             fmt::format("\"{}\" is no collective that collsim knows", printable(operation)));
    table_.dtype = known_element_type(text(document_, {"dtype"}));
    table_.reduction = text(document_, {"reduction", "redop"});
    if (table_.reduction == "none") table_.reduction.clear();
    if (const auto root = count(document_, {"root"}, 0)) table_.root = static_cast<int>(*root);
    table_.ranks = count(document_, {"ranks", "n_ranks"}, 1);
    table_.nodes = count(document_, {"nodes"}, 1);
    if (const auto number = count(document_, {"iters"}, 0))
      table_.iterations = static_cast<int>(*number);
    if (const auto number = count(document_, {"warmup"}, 0))
      table_.warmup = static_cast<int>(*number);
    const JsonValue* const complete = document_.find("complete");
    table_.complete = complete == nullptr || !complete->is_boolean() || complete->boolean();
    table_.id = text(document_, {"id"});
    table_.owner = text(document_, {"owner"});
    table_.kind = text(document_, {"class"});
    table_.date = text(document_, {"date"});
    table_.preset = text(document_, {"preset"});
    take_table_notes();
  }

  void take_table_notes() {
    table_.remarks = text(document_, {"remarks"});
    const JsonValue* const notes = document_.find("notes");
    if (notes == nullptr) return;
    if (notes->is_string()) table_.remarks = notes->string();
    if (!notes->is_array()) return;
    for (const JsonValue& note : notes->items())
      if (note.is_string()) table_.notes.push_back(note.string());
  }

  void take_machine(const JsonValue& machine) {
    table_.gpu = text(machine, {"gpu"});
    table_.interconnect = text(machine, {"interconnect"});
    table_.library = text(machine, {"library"});
    const std::string version = text(machine, {"nccl_version"});
    if (table_.library.empty() && !version.empty()) table_.library = "NCCL " + version;
    table_.launch = parse_launch_mode(text(machine, {"launch"}));
    if (!table_.nodes) table_.nodes = count(machine, {"nodes"}, 1);
  }

  std::optional<double> seconds(const JsonValue& row, std::string_view key_of_s,
                                std::string_view key_of_us) {
    constexpr double us_in_s = 1e6;
    const JsonValue* const s = first_of(row, {key_of_s});
    const JsonValue* const us = s != nullptr ? nullptr : first_of(row, {key_of_us});
    const JsonValue* const value = s != nullptr ? s : us;
    if (value == nullptr) return std::nullopt;
    if (!value->is_number() || value->number() < 0) {
      refuse(*value, "rows", "a time must be a number that is not negative");
      return std::nullopt;
    }
    return us != nullptr ? in_seconds(value->number(), us_in_s) : value->number();
  }

  std::optional<std::int64_t> row_count(const JsonValue& row, Names names) {
    const JsonValue* const value = first_of(row, names);
    if (value == nullptr) return std::nullopt;
    const std::optional<std::int64_t> number = value->integer();
    if (number && *number >= 0) return number;
    refuse(*value, "rows",
           fmt::format("\"{}\" must be a whole number that is not negative", *names.begin()));
    return std::nullopt;
  }

  void take_rows() {
    for (const JsonValue& written : document_.find("rows")->items()) {
      MeasuredTableRow row;
      const auto size = row_count(written, {"size_bytes", "bytes"});
      const auto time = seconds(written, "time_s", "time_us");
      if (!size || !time) {
        refuse(written, "rows", "a row needs \"size_bytes\" and \"time_s\"");
        continue;
      }
      row.size = *size;
      row.time_s = *time;
      row.in_place_s = seconds(written, "in_place_time_s", "in_place_time_us");
      row.wrong = row_count(written, {"wrong"});
      row.in_place_wrong = row_count(written, {"in_place_wrong"});
      row.algorithm = text(written, {"algorithm"});
      row.protocol = text(written, {"protocol"});
      const JsonValue* const suspect = written.find("suspect");
      row.suspect = suspect != nullptr && suspect->is_boolean() && suspect->boolean();
      table_.rows.push_back(std::move(row));
    }
    if (document_.find("rows")->items().empty()) refuse(document_, "rows", "there are no rows");
  }

  // A list like rows, of the same sizes.
  void take_in_place() {
    const JsonValue* const rows = document_.find("rows_inplace");
    if (rows == nullptr || !rows->is_array()) return;
    std::size_t number = 0;
    for (const JsonValue& written : rows->items()) {
      const auto size = row_count(written, {"size_bytes", "bytes"});
      const auto time = seconds(written, "time_s", "time_us");
      while (number < table_.rows.size() && size && table_.rows[number].size != *size) ++number;
      if (number < table_.rows.size()) table_.rows[number++].in_place_s = time;
    }
  }

  void take_suspects() {
    const JsonValue* const sizes = document_.find("suspect_rows_bytes");
    if (sizes == nullptr || !sizes->is_array()) return;
    std::set<std::int64_t> suspects;
    for (const JsonValue& size : sizes->items()) suspects.insert(size.integer().value_or(-1));
    for (MeasuredTableRow& row : table_.rows)
      row.suspect = row.suspect || suspects.count(row.size) > 0;
  }

  const JsonValue& document_;
  std::string pointer_;
  const Sources& sources_;
  Diagnostics& diagnostics_;
  MeasuredTable table_;
};

bool is_one_table(const JsonValue& document) {
  const JsonValue* const rows = document.find("rows");
  if (rows == nullptr || !rows->is_array() || document.find("params") != nullptr) return false;
  return document.find("measured") != nullptr || document.find("n_ranks") != nullptr ||
         document.find("ranks") != nullptr;
}

void set_known(JsonValue& object, std::string_view key, const std::string& text) {
  object.set(key, text.empty() ? JsonValue() : JsonValue(text));
}
template <class Number>
void set_known(JsonValue& object, std::string_view key, const std::optional<Number>& number) {
  object.set(key, number ? JsonValue(*number) : JsonValue());
}
// Only where it is there: most tables have none of it.
void set_if_known(JsonValue& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object.set(key, text);
}

JsonValue value_of(const MeasuredTable& table, const MeasuredTableRow& row) {
  JsonValue object = JsonValue::object();
  object.set("size_bytes", row.size);
  object.set("time_s", row.time_s);
  if (const double rate = bus_bandwidth(table, row.size, row.time_s); rate > 0)
    object.set("busbw_bytes_per_s", std::round(rate));
  if (row.wrong) object.set("wrong", *row.wrong);
  if (row.in_place_s) object.set("in_place_time_s", *row.in_place_s);
  if (row.in_place_wrong) object.set("in_place_wrong", *row.in_place_wrong);
  set_if_known(object, "algorithm", row.algorithm);
  set_if_known(object, "protocol", row.protocol);
  if (row.suspect) object.set("suspect", true);
  return object;
}

JsonValue value_of(const MeasuredTable& table) {
  JsonValue object = JsonValue::object();
  object.set("measured", known_version);
  object.set("source", table.source);
  set_if_known(object, "id", table.id);
  set_if_known(object, "owner", table.owner);
  set_if_known(object, "class", table.kind);
  set_if_known(object, "date", table.date);
  set_if_known(object, "preset", table.preset);
  set_if_known(object, "remarks", table.remarks);
  set_known(object, "op", table.operation);
  set_known(object, "dtype", table.dtype);
  set_known(object, "reduction", table.reduction);
  set_known(object, "root", table.root);
  set_known(object, "ranks", table.ranks);
  set_known(object, "nodes", table.nodes);
  JsonValue machine = JsonValue::object();
  set_if_known(machine, "gpu", table.gpu);
  set_if_known(machine, "library", table.library);
  set_if_known(machine, "launch", std::string(to_string(table.launch)));
  set_if_known(machine, "interconnect", table.interconnect);
  object.set("machine", std::move(machine));
  set_known(object, "iters", table.iterations);
  set_known(object, "warmup", table.warmup);
  object.set("complete", table.complete);
  JsonValue notes = JsonValue::array();
  for (const std::string& note : table.notes) notes.items().emplace_back(note);
  object.set("notes", std::move(notes));
  JsonValue rows = JsonValue::array();
  rows.items().reserve(table.rows.size());
  for (const MeasuredTableRow& row : table.rows) rows.items().push_back(value_of(table, row));
  object.set("rows", std::move(rows));
  return object;
}

std::string scalar_text(const JsonValue& value) {
  if (value.is_string()) return value.string();
  if (const auto whole = value.integer()) return std::to_string(*whole);
  return value.is_number() ? fmt::format("{}", value.number()) : std::string();
}

void add_named_fields(RowFields& fields, const JsonValue& object, const std::string& before = {}) {
  for (const JsonValue::Member& member : object.members()) {
    if (member.value.is_object() && before.empty())
      add_named_fields(fields, member.value, member.key + ".");
    else
      fields.add(before + member.key, scalar_text(member.value));
  }
}

bool is_named_row(const JsonValue& item) {
  if (!item.is_object()) return false;
  RowFields fields;
  add_named_fields(fields, item);
  return fields.row().has_value();
}

const JsonValue* list_of_rows(const JsonValue& document) {
  const auto is_list = [](const JsonValue& value) {
    return value.is_array() && !value.items().empty() && is_named_row(value.items().front());
  };
  if (is_list(document)) return &document;
  if (!document.is_object()) return nullptr;
  for (const JsonValue::Member& member : document.members()) {
    if (is_list(member.value)) return &member.value;
    if (!member.value.is_object()) continue;
    for (const JsonValue::Member& inner : member.value.members())
      if (is_list(inner.value)) return &inner.value;
  }
  return nullptr;
}

// What the document says beside its rows.
void describe_run(const JsonValue& document, LogRun& run) {
  if (!document.is_object()) return;
  RowFields fields;
  for (const JsonValue::Member& member : document.members()) {
    fields.add(member.key, scalar_text(member.value));
    if (member.value.is_object())
      for (const JsonValue::Member& inner : member.value.members())
        fields.add(inner.key, scalar_text(inner.value));
  }
  fields.describe(run);
  const JsonValue* const devices = first_of(document, {"devices", "ranks"});
  if (devices == nullptr || !devices->is_array()) return;
  for (const JsonValue& device : devices->items()) {
    LogRun::RankLine line;
    const JsonValue* const rank = device.find("rank");
    line.rank = rank != nullptr ? rank->integer().value_or(-1) : -1;
    if (const JsonValue* const host = first_of(device, {"hostname", "host"}))
      line.host = scalar_text(*host);
    if (const JsonValue* const pid = device.find("pid")) line.pid = scalar_text(*pid);
    if (const JsonValue* const number = device.find("device"))
      line.device = number->integer().value_or(-1);
    if (const JsonValue* const gpu =
            first_of(device, {"device_info", "device_name", "name", "gpu"}))
      line.gpu = scalar_text(*gpu);
    if (line.rank >= 0) run.ranks.push_back(std::move(line));
  }
}

}  // namespace

bool is_measured_table(const JsonValue& document) {
  if (!document.is_array()) return is_one_table(document);
  const JsonValue::Array& items = document.items();
  return !items.empty() && std::all_of(items.begin(), items.end(), is_one_table);
}

std::vector<MeasuredTable> read_measured_tables(const JsonValue& document, const Sources& sources,
                                                Diagnostics& diagnostics) {
  std::vector<MeasuredTable> tables;
  if (!document.is_array()) {
    tables.push_back(TableReader(document, "", sources, diagnostics).read());
    return tables;
  }
  for (std::size_t i = 0; i < document.items().size(); ++i)
    tables.push_back(
        TableReader(document.items()[i], pointer_to("", i), sources, diagnostics).read());
  return tables;
}

JsonValue to_value(const std::vector<MeasuredTable>& tables) {
  if (tables.size() == 1) return value_of(tables.front());
  JsonValue list = JsonValue::array();
  for (const MeasuredTable& table : tables) list.items().push_back(value_of(table));
  return list;
}

std::vector<MeasuredTable> read_named_rows(const JsonValue& document, const Sources& sources,
                                           Diagnostics& diagnostics) {
  const JsonValue* const rows = list_of_rows(document);
  if (rows == nullptr) {
    const auto foreign = foreign_json(document);
    diagnostics.add({.code = "no-rows",
                     .message = foreign
                                    ? fmt::format("this is {}, not a measured table", foreign->what)
                                    : "no list of rows with a size and a time is in this file",
                     .place = document.place,
                     .hint = foreign ? std::string(foreign->hint)
                                     : "measured tables, results of collsim validate and what "
                                       "nccl-tests writes with -J have one"});
    return {};
  }
  LogRun all;
  describe_run(document, all);
  NamedRuns runs(std::move(all));
  const std::string& text = sources.text(document.place.source);
  std::uint32_t at = 0, line = 1;
  for (const JsonValue& item : rows->items()) {
    RowFields fields;
    if (item.is_object()) add_named_fields(fields, item);
    for (; at < item.place.begin; ++at) line += text[at] == '\n' ? 1 : 0;
    runs.take(fields, line, [&] { return shortened(to_json(item, -1), 80); });
  }
  const std::string& file = sources.name(document.place.source);
  std::vector<MeasuredTable> tables;
  for (const LogRun& run : std::move(runs).runs())
    for (MeasuredTable& table : tables_of(run, file, operation_in_name(file)))
      tables.push_back(std::move(table));
  return tables;
}

}  // namespace collsim
