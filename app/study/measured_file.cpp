// SPDX-License-Identifier: Apache-2.0
#include "app/study/measured_file.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <limits>
#include <utility>

#include "app/json/parse_json.hpp"
#include "app/json/value.hpp"
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

}  // namespace

std::optional<MeasuredFile> MeasuredFile::read(const std::string& file, Sources& sources,
                                               Diagnostics& diagnostics) {
  const std::optional<std::uint32_t> source = read_source(file, sources, diagnostics);
  if (!source) return std::nullopt;
  std::optional<JsonValue> document = parse_json(*source, sources, diagnostics);
  if (!document) return std::nullopt;
  const JsonValue* const rows = document->find("rows");
  if (document->find("collsim") == nullptr || rows == nullptr || !rows->is_array())
    return diagnostics.add({.code = "no-results-file",
                            .message = "this is not a results file of one scenario",
                            .place = document->place,
                            .hint = "write one with: collsim validate FILE -o measured.json"});
  std::optional<MeasuredFile> result(std::in_place);
  result->file_ = file;
  result->document_ = std::move(*document);
  for (const JsonValue& row : result->document_.find("rows")->items())
    result->rows_.emplace(key_of(row), &row);
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
  Comparison how;
  how.file = file_;
  how.max_error = max_error;
  const OtherScenario other = compare_scenarios(results);
  for (CaseResult& row : results.rows) {
    const std::string why_not = fill(row, other);
    if (!row.measured) {
      row.not_measured = NoMeasurement{NoMeasurement::Why::unavailable, file_ + " has " + why_not};
      continue;
    }
    how.paced = row.measured->paced;
    how.protocol = row.measured->protocol;
    how.iterations = row.measured->iterations;
    how.backend = row.measured->backend;
  }
  results.comparison = std::move(how);
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
