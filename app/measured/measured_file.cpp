// SPDX-License-Identifier: Apache-2.0
#include "app/measured/measured_file.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <limits>
#include <set>
#include <utility>

#include "app/json/parse_json.hpp"
#include "app/json/value.hpp"
#include "app/measured/measured_csv.hpp"
#include "app/measured/measured_json.hpp"
#include "app/measured/nccl_tests_log.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/vocabulary.hpp"

namespace collsim {
namespace {

const JsonValue nothing;

std::string key_of(const JsonValue& params, std::string_view op, std::string_view algorithm,
                   std::int64_t ranks, std::int64_t size, std::int64_t chunks,
                   std::int64_t channels) {
  return fmt::format("{} {} {} {} {} {} {}", to_json(params, -1), op, algorithm, ranks, size,
                     chunks, channels);
}

std::string key_of(const CaseResult& row) {
  JsonValue params = JsonValue::object();
  for (const auto& [path, value] : row.params) params.set(path, value);
  return key_of(params, to_string(row.operation), row.algorithm, row.ranks, row.size, row.chunks,
                row.channels);
}

std::string text_of(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.find(key);
  return value != nullptr && value->is_string() ? value->string() : std::string();
}

std::int64_t integer_of(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.find(key);
  return value != nullptr ? value->integer().value_or(-1) : -1;
}

double number_of(const JsonValue& object, std::string_view key, double otherwise) {
  const JsonValue* const value = object.find(key);
  return value != nullptr && value->is_number() ? value->number() : otherwise;
}

std::string key_of(const JsonValue& row) {
  const JsonValue* const params = row.find("params");
  return key_of(params != nullptr ? *params : JsonValue::object(), text_of(row, "op"),
                text_of(row, "algorithm"), integer_of(row, "ranks"), integer_of(row, "size_bytes"),
                integer_of(row, "chunks"), integer_of(row, "channels"));
}

// Whether the file does not say, or says the same.
bool agrees(const JsonValue* written, const JsonValue& ours) {
  return written == nullptr || to_json(*written, -1) == to_json(ours, -1);
}

// Of what a row says beside its key; empty: nothing is different.
std::string_view first_difference(const JsonValue& written, const CaseResult& row) {
  if (!agrees(written.find("dtype"), JsonValue(element_type_word(row.type)))) return "dtype";
  if (!agrees(written.find("reduction"),
              row.reduction ? JsonValue(to_string(*row.reduction)) : JsonValue()))
    return "reduction";
  if (!agrees(written.find("root"), JsonValue(row.root))) return "root";
  return {};
}

// The first of these parts of two scenarios that is different.
std::string_view first_difference(const JsonValue& written, const JsonValue& ours,
                                  std::initializer_list<std::string_view> paths) {
  for (const std::string_view path : paths) {
    const JsonValue* const one = value_at(written, path);
    const JsonValue* const other = value_at(ours, path);
    if (!agrees(one != nullptr ? one : &nothing, other != nullptr ? *other : nothing)) return path;
  }
  return {};
}

DataVerdict verdict_of(std::string_view word) {
  if (word == "right") return DataVerdict::right;
  return word == "wrong" ? DataVerdict::wrong : DataVerdict::unchecked;
}

// Nothing without a time.  A spread that is not there is as good as a large one.
std::optional<Measured> read_measured(const JsonValue& written, const std::string& file) {
  Measured measured;
  measured.times.median_s = number_of(written, "time_s", 0);
  if (!(measured.times.median_s > 0)) return std::nullopt;
  measured.times.min_s = number_of(written, "min_s", measured.times.median_s);
  measured.times.max_s = number_of(written, "max_s", measured.times.median_s);
  measured.times.spread = number_of(written, "spread", 1);
  if (written.find("lag_s") != nullptr) measured.lag_s = number_of(written, "lag_s", 0);
  measured.doubt = text_of(written, "doubt");
  measured.backend = text_of(written, "backend");
  measured.protocol = text_of(written, "protocol") == "ll" ? Protocol::ll : Protocol::simple;
  const JsonValue* const paced = written.find("paced");
  measured.paced = paced != nullptr && paced->is_boolean() && paced->boolean();
  const std::int64_t iterations = integer_of(written, "iters");
  if (iterations > 0 && iterations <= std::numeric_limits<int>::max())
    measured.iterations = static_cast<int>(iterations);
  measured.data = verdict_of(text_of(written, "data"));
  measured.wrong_data = text_of(written, "wrong_data");
  measured.device = text_of(written, "device");
  if (const JsonValue* const notes = written.find("notes"); notes != nullptr && notes->is_array())
    for (const JsonValue& note : notes->items())
      if (note.is_string()) measured.notes.push_back(note.string());
  measured.file = file;
  return measured;
}

// A results file of one scenario, which `collsim validate` wrote.
bool is_results(const JsonValue& document) {
  const JsonValue* const rows = document.find("rows");
  return document.find("collsim") != nullptr && rows != nullptr && rows->is_array() &&
         !is_measured_table(document);
}

bool is_json(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return false;
  if (text[first] == '{') return true;
  const std::size_t next = text.find_first_not_of(blanks, first + 1);
  return text[first] == '[' && next != std::string_view::npos &&
         (text[next] == '{' || text[next] == ']');  // "[1,0]<stdout>:" is a line of a log
}

// The tables of a text of any kind; `document`: its JSON, when that is what it is.
std::vector<MeasuredTable> tables_in(std::uint32_t source, const Sources& sources,
                                     Diagnostics& diagnostics, std::optional<JsonValue>& document) {
  const std::string& text = sources.text(source);
  if (text.size() > max_log_bytes) {
    diagnostics.add({.code = "too-large",
                     .message = fmt::format("the file is larger than {} MiB", max_log_bytes >> 20U),
                     .place = {source, 0, 0},
                     .hint = "keep the rows and the lines above them"});
    return {};
  }
  if (!is_json(text))
    return looks_like_csv(text) ? read_measured_csv(source, sources, diagnostics)
                                : read_nccl_tests_log(source, sources, diagnostics);
  document = parse_json(source, sources, diagnostics);
  if (!document) return {};
  if (is_measured_table(*document)) {
    std::vector<MeasuredTable> tables = read_measured_tables(*document, sources, diagnostics);
    if (!diagnostics.empty()) tables.clear();
    return tables;
  }
  if (is_results(*document)) return {};
  return read_named_rows(*document, sources, diagnostics);
}

// Of a row of a table: what must be the same in any case.
std::string key_of(std::string_view op, std::int64_t ranks, Bytes size) {
  return fmt::format("{} {} {}", op, ranks, size);
}

// The first of what a table says that is not as in the row; empty: nothing.
std::string_view table_difference(const MeasuredTable& table, const CaseResult& row) {
  const bool known_type = element_type_words().canonical(table.dtype).has_value();
  const auto bytes = element_bytes(table.dtype);
  if (known_type ? table.dtype != element_type_word(row.type)
                 : bytes && *bytes != size_of(row.type))
    return "dtype";
  if (row.reduction && !known_reduction(table.reduction).empty() &&
      table.reduction != to_string(*row.reduction))
    return "reduction";
  if (table.root && has_root(row.operation) && *table.root != row.root) return "root";
  return {};
}

std::string choice_text(const MeasuredTableRow& row) {
  if (row.algorithm.empty() || row.protocol.empty()) return row.algorithm + row.protocol;
  return row.algorithm + "/" + row.protocol;
}

}  // namespace

std::vector<MeasuredTable> read_measurements(const std::string& file, Sources& sources,
                                             Diagnostics& diagnostics) {
  const auto source = read_source(file, sources, diagnostics, {}, max_log_bytes);
  if (!source) return {};
  return read_measurements(*source, sources, diagnostics);
}

std::vector<MeasuredTable> read_measurements(std::uint32_t source, const Sources& sources,
                                             Diagnostics& diagnostics) {
  std::optional<JsonValue> document;
  return tables_in(source, sources, diagnostics, document);
}

MeasuredFile::MeasuredFile(std::string name, MeasuredTable table) : file_(std::move(name)) {
  tables_.push_back(std::move(table));
  index_tables();
}

std::optional<MeasuredFile> MeasuredFile::read(const std::string& file, Sources& sources,
                                               Diagnostics& diagnostics) {
  const auto source = read_source(file, sources, diagnostics, {}, max_log_bytes);
  if (!source) return std::nullopt;
  std::optional<MeasuredFile> result(std::in_place);
  result->file_ = file;
  std::optional<JsonValue> document;
  result->tables_ = tables_in(*source, sources, diagnostics, document);
  if (document && is_results(*document)) {
    result->document_ = std::move(*document);
    for (const JsonValue& row : result->document_.find("rows")->items())
      result->rows_.emplace(key_of(row), &row);
    return result;
  }
  if (result->tables_.empty()) return std::nullopt;
  result->index_tables();
  return result;
}

MeasuredFile::OtherScenario MeasuredFile::compare_scenarios(const Results& results) const {
  const JsonValue* const written = document_.find("scenario");
  if (written == nullptr) return {};
  JsonValue theirs = *written, ours = results.scenario;
  for (const std::string& axis : results.axes) {  // these are in the keys
    static_cast<void>(take_away(theirs, axis));
    static_cast<void>(take_away(ours, axis));
  }
  return {first_difference(theirs, ours, {"collective.in_place", "collective.slots"}),
          first_difference(theirs, ours, {"cluster", "model"})};
}

void MeasuredFile::fill(Results& results, std::optional<double> max_error) const {
  Comparison how = how_it_was(max_error);
  const OtherScenario other = compare_scenarios(results);
  const JsonValue* const placed = value_at(results.scenario, "collective.in_place");
  const bool in_place = placed != nullptr && placed->is_boolean() && placed->boolean();
  for (CaseResult& row : results.rows) {
    const std::string why_not =
        tables_.empty() ? fill(row, other) : fill_from_tables(row, in_place);
    if (!row.measured) {
      row.not_measured = NoMeasurement{NoMeasurement::Why::unavailable, file_ + " has " + why_not};
      continue;
    }
    how.paced = row.measured->paced;
    how.protocol = row.measured->protocol;
    how.iterations = row.measured->iterations;
    how.backend = row.measured->backend;
    how.of_averages = row.measured->is_average;
  }
  results.comparison = std::move(how);
}

Comparison MeasuredFile::how_it_was(std::optional<double> max_error) const {
  Comparison how;
  how.file = file_;
  how.max_error = max_error;
  return how;
}

void MeasuredFile::index_tables() {
  for (const MeasuredTable& table : tables_)
    for (const MeasuredTableRow& row : table.rows)
      if (!table.operation.empty() && table.ranks)
        entries_[key_of(table.operation, *table.ranks, row.size)].push_back({&table, &row});
}

std::string MeasuredFile::no_such_row(const CaseResult& row) const {
  constexpr std::size_t most_named = 8;
  std::set<Bytes> sizes;
  for (const MeasuredTable& table : tables_)
    if (table.operation == to_string(row.operation) && table.ranks == row.ranks)
      for (const MeasuredTableRow& measured : table.rows) sizes.insert(measured.size);
  if (sizes.empty())
    return fmt::format("no row with these values, nor any of {} among {} ranks",
                       to_string(row.operation), row.ranks);
  if (sizes.size() > most_named)
    return fmt::format("no row with these values, but {} other sizes, {} to {}", sizes.size(),
                       exact_size(*sizes.begin()), exact_size(*sizes.rbegin()));
  std::string names;
  for (const Bytes size : sizes) names += (names.empty() ? "" : ", ") + exact_size(size);
  return fmt::format("no row with these values; its sizes are {}", names);
}

std::string MeasuredFile::fill_from_tables(CaseResult& row, bool in_place) const {
  const auto found = entries_.find(key_of(to_string(row.operation), row.ranks, row.size));
  if (found == entries_.end()) return no_such_row(row);
  Measured measured;
  std::vector<double> times;
  std::string why_not;
  bool unchecked = false;
  for (const auto& [table, entry] : found->second) {
    const std::string_view different = table_difference(*table, row);
    const std::optional<double> time = in_place ? entry->in_place_s : entry->time_s;
    if (!different.empty()) why_not = fmt::format("such a row, but its {} differs", different);
    if (entry->suspect) why_not = "such a row, marked as disturbed";
    if (!time || !(*time > 0)) why_not = "such a row, but without a time";
    if (!different.empty() || entry->suspect || !time || !(*time > 0)) continue;
    times.push_back(*time);
    const auto wrong = in_place ? entry->in_place_wrong : entry->wrong;
    const auto other = in_place ? entry->wrong : entry->in_place_wrong;
    if (wrong && *wrong > 0)
      measured.wrong_data = fmt::format("{} elements were wrong", *wrong);
    else if (other && *other > 0)
      measured.wrong_data =
          fmt::format("{} elements were wrong {}", *other, in_place ? "out of place" : "in place");
    unchecked = unchecked || !wrong;
    measured.ran = choice_text(*entry);
    measured.device = table->gpu;
    measured.iterations = table->iterations.value_or(0);
  }
  if (times.empty()) return why_not;
  if (!measured.wrong_data.empty())
    measured.data = DataVerdict::wrong;
  else if (!unchecked)
    measured.data = DataVerdict::right;
  if (times.size() > 1)
    measured.notes.push_back(fmt::format("median of {} rows of one size", times.size()));
  measured.times = summary_of(std::move(times));
  measured.is_average = true;
  measured.backend = "log";
  measured.file = file_;
  row.measured = std::move(measured);
  return {};
}

std::string MeasuredFile::fill(CaseResult& row, const OtherScenario& other) const {
  const auto found = rows_.find(key_of(row));
  if (found == rows_.end()) return "no row with these values";
  const auto different = [](std::string_view what) {
    return fmt::format("such a row, but its {} differs", what);
  };
  const std::string_view of_row = first_difference(*found->second, row);
  if (!of_row.empty()) return different(of_row);
  if (!other.collective.empty()) return different(other.collective);
  const JsonValue* const written = found->second->find("measured");
  std::optional<Measured> measured;
  if (written != nullptr) measured = read_measured(*written, file_);
  if (!measured) return "such a row, but it was not measured there";
  if (measured->paced && !other.machine.empty())
    return fmt::format("such a row, but it was paced, and its {} differs", other.machine);
  row.measured = std::move(measured);
  return {};
}

}  // namespace collsim
