// SPDX-License-Identifier: Apache-2.0
#include "app/report/results_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "app/json/parse_json.hpp"
#include "app/scenario/foreign_file.hpp"

namespace collsim {
namespace {

constexpr std::int64_t known_format = 1;

enum class Kind : std::uint8_t { text, flag, count, number, object, array };

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::text: return "a string";
    case Kind::flag: return "true or false";
    case Kind::count: return "a whole number that is not negative";
    case Kind::number: return "a number that is not negative";
    case Kind::object: return "an object";
    case Kind::array: return "an array";
  }
  return "";
}

bool is(const JsonValue& value, Kind kind) {
  switch (kind) {
    case Kind::text: return value.is_string();
    case Kind::flag: return value.is_boolean();
    case Kind::count: return value.integer().value_or(-1) >= 0;
    case Kind::number: return value.is_number() && value.number() >= 0;
    case Kind::object: return value.is_object();
    case Kind::array: return value.is_array();
  }
  return false;
}

// Of a value that is refused.
std::string_view what_is(const JsonValue& value) {
  if (!value.is_number()) return value.kind_name();
  if (value.number() < 0) return "below zero";
  return value.number() == std::trunc(value.number()) ? "larger than 9223372036854775807"
                                                      : "with a fraction";
}

struct Key {
  std::string_view name;
  Kind kind;
  enum class Need : std::uint8_t { always, or_null, optional } need = Need::always;
};
using Need = Key::Need;

constexpr Key document_keys[] = {{"name", Kind::text},
                                 {"title", Kind::text, Need::optional},
                                 {"description", Kind::text},
                                 {"complete", Kind::flag},
                                 {"points", Kind::count},
                                 {"axes", Kind::array},
                                 {"scenario", Kind::object},
                                 {"rows", Kind::array},
                                 {"how_sure", Kind::array, Need::optional},
                                 {"comparison", Kind::object, Need::optional},
                                 {"expect", Kind::array},
                                 {"warnings", Kind::array}};
constexpr Key row_keys[] = {{"params", Kind::object},
                            {"op", Kind::text},
                            {"algorithm", Kind::text},
                            {"nccl_algorithm", Kind::text, Need::optional},
                            {"nccl_protocol", Kind::text, Need::optional},
                            {"error_class", Kind::object, Need::optional},
                            {"calibrated", Kind::flag, Need::optional},
                            {"ranks", Kind::count},
                            {"size_bytes", Kind::count},
                            {"chunks", Kind::count},
                            {"channels", Kind::count},
                            {"time_s", Kind::number},
                            {"analytic_s", Kind::number, Need::or_null},
                            {"bound_s", Kind::number},
                            {"bound_cut", Kind::text, Need::optional},
                            {"algbw_bytes_per_s", Kind::number},
                            {"busbw_bytes_per_s", Kind::number},
                            {"messages", Kind::count},
                            {"wire_bytes", Kind::count},
                            {"best_chunks", Kind::number, Need::or_null},
                            {"formula", Kind::text, Need::or_null},
                            {"measured", Kind::object, Need::or_null},
                            {"not_measured", Kind::object, Need::optional}};
constexpr Key step_keys[] = {{"params", Kind::object},    {"workload", Kind::text},
                             {"ranks", Kind::count},      {"step_s", Kind::number},
                             {"compute_s", Kind::number}, {"hidden_s", Kind::number},
                             {"exposed_s", Kind::number}, {"bubble", Kind::number}};
constexpr Key error_class_keys[] = {{"machines", Kind::text},
                                    {"tables", Kind::count},
                                    {"outside", Kind::text, Need::optional},
                                    {"forced", Kind::flag, Need::optional},
                                    {"own_logs", Kind::flag, Need::optional},
                                    {"half_within", Kind::number, Need::optional},
                                    {"most_within", Kind::number, Need::optional}};
constexpr Key comparison_keys[] = {{"below_class", Kind::array, Need::optional},
                                   {"above_class", Kind::array, Need::optional}};
constexpr Key measured_keys[] = {{"time_s", Kind::number}, {"min_s", Kind::number},
                                 {"max_s", Kind::number},  {"spread", Kind::number, Need::or_null},
                                 {"noisy", Kind::flag},    {"data", Kind::text},
                                 {"backend", Kind::text},  {"paced", Kind::flag},
                                 {"device", Kind::text}};
constexpr Key not_measured_keys[] = {{"reason", Kind::text}};
constexpr Key expectation_keys[] = {{"id", Kind::text}, {"ok", Kind::flag}};
constexpr Key warning_keys[] = {{"message", Kind::text}};

class ResultsCheck {
 public:
  explicit ResultsCheck(Diagnostics& diagnostics) : diagnostics_(&diagnostics) {}

  void document(const JsonValue& document, const std::string& pointer) {
    if (!document.is_object() || document.find("collsim") == nullptr) {
      const auto foreign = foreign_json(document);
      return refuse(document, pointer, "no-results",
                    foreign ? fmt::format("this is {}, not results of collsim", foreign->what)
                            : "these are not results of collsim",
                    foreign && !foreign->is_scenario
                        ? std::string(foreign->hint)
                        : "collsim run FILE -o results.json writes them");
    }
    const JsonValue* const format = document.find("format");
    if (format == nullptr || format->integer() != known_format)
      return refuse(format == nullptr ? document : *format,
                    format == nullptr ? pointer : pointer_to(pointer, "format"), "format",
                    format == nullptr
                        ? "these results have no format version"
                        : fmt::format("this collsim reads results in format {} only", known_format),
                    "run again: collsim run FILE -o results.json");
    keys(document, pointer, document_keys);
    texts(document, pointer, "axes");
    texts(document, pointer, "how_sure");
    part(document, pointer, "comparison", comparison_keys);
    if (const JsonValue* const comparison = document.find("comparison"))
      for (const Key& key : comparison_keys)
        texts(*comparison, pointer_to(pointer, "comparison"), key.name);
    each(document, pointer, "rows", [&](const JsonValue& one, const std::string& at) {
      if (are_steps(document))
        keys(one, at, step_keys);
      else
        row(one, at);
    });
    each(document, pointer, "expect",
         [&](const JsonValue& one, const std::string& at) { keys(one, at, expectation_keys); });
    each(document, pointer, "warnings",
         [&](const JsonValue& one, const std::string& at) { keys(one, at, warning_keys); });
  }

 private:
  void row(const JsonValue& row, const std::string& pointer) {
    keys(row, pointer, row_keys);
    part(row, pointer, "error_class", error_class_keys);
    part(row, pointer, "measured", measured_keys);
    part(row, pointer, "not_measured", not_measured_keys);
    const JsonValue* const measured = row.find("measured");
    const JsonValue* const error = measured != nullptr ? measured->find("error") : nullptr;
    if (error != nullptr && !error->is_null() && !error->is_number())
      refuse(*error, pointer_to(pointer_to(pointer, "measured"), "error"), "wrong-type",
             fmt::format("\"error\" must be a number or null, not {}", error->kind_name()));
  }

  template <std::size_t n>
  void part(const JsonValue& row, const std::string& pointer, std::string_view key,
            const Key (&known)[n]) {
    const JsonValue* const value = row.find(key);
    if (value != nullptr && value->is_object()) keys(*value, pointer_to(pointer, key), known);
  }

  template <std::size_t n>
  void keys(const JsonValue& object, const std::string& pointer, const Key (&known)[n]) {
    if (!object.is_object()) return wrong_kind(object, pointer, Kind::object);
    for (const Key& key : known) {
      const JsonValue* const value = object.find(key.name);
      if (value == nullptr) {
        if (key.need != Need::optional)
          refuse(object, pointer, "missing-key", fmt::format("\"{}\" is missing", key.name));
      } else if (!is(*value, key.kind) && !(key.need != Need::always && value->is_null())) {
        wrong_kind(*value, pointer_to(pointer, key.name), key.kind);
      }
    }
  }

  void texts(const JsonValue& object, const std::string& pointer, std::string_view key) {
    each(object, pointer, key, [&](const JsonValue& text, const std::string& at) {
      if (!is(text, Kind::text)) wrong_kind(text, at, Kind::text);
    });
  }

  template <class Visit>
  void each(const JsonValue& document, const std::string& pointer, std::string_view key,
            const Visit& visit) {
    const JsonValue* const list = document.find(key);
    if (list == nullptr || !list->is_array()) return;
    const std::string at = pointer_to(pointer, key);
    for (std::size_t i = 0; i < list->items().size(); ++i)
      visit(list->items()[i], pointer_to(at, i));
  }

  void wrong_kind(const JsonValue& value, const std::string& pointer, Kind kind) {
    refuse(value, pointer, "wrong-type",
           fmt::format("this must be {}, not {}", name_of(kind), what_is(value)));
  }

  void refuse(const JsonValue& value, const std::string& pointer, std::string code,
              std::string message, std::string hint = {}) {
    diagnostics_->add(
        {std::move(code), std::move(message), value.place, pointer, {}, std::move(hint)});
  }

  Diagnostics* diagnostics_;
};

}  // namespace

bool are_steps(const JsonValue& document) {
  const JsonValue* const scenario = document.find("scenario");
  return scenario != nullptr && scenario->find("workload") != nullptr;
}

std::vector<StoredResults> read_results(const std::string& file, Sources& sources,
                                        Diagnostics& diagnostics) {
  const std::optional<std::uint32_t> source =
      read_source(file, sources, diagnostics, {}, max_results_bytes);
  return source ? read_results(*source, sources, diagnostics) : std::vector<StoredResults>();
}

std::vector<StoredResults> read_results(std::uint32_t source, Sources& sources,
                                        Diagnostics& diagnostics) {
  if (const auto foreign = foreign_file(sources.text(source))) {
    diagnostics.add({.code = "no-results",
                     .message = fmt::format("this is {}, not results of collsim", foreign->what),
                     .place = {source, 0, 0},
                     .hint = std::string(foreign->hint)});
    return {};
  }
  const JsonLimits limits{max_results_bytes, "rows", most_stored_rows};
  ForgottenItems forgotten;
  std::optional<JsonValue> root = parse_json(source, sources, diagnostics, limits, forgotten);
  if (!root || !diagnostics.empty()) return {};

  const std::string& file = sources.name(source);
  const bool several = root->is_array() && !root->items().empty();
  std::vector<StoredResults> all;
  if (several)
    for (JsonValue& document : root->items()) all.push_back({file, std::move(document)});
  else
    all.push_back({file, std::move(*root)});
  ResultsCheck check(diagnostics);
  for (std::size_t i = 0; i < all.size(); ++i) {
    check.document(all[i].document, several ? pointer_to("", i) : "");
    const JsonValue* const rows = all[i].document.find("rows");
    if (rows == nullptr) continue;
    const auto found = forgotten.find(rows->place.begin);
    if (found != forgotten.end()) all[i].left_out = found->second;
  }
  if (!diagnostics.empty()) all.clear();
  return all;
}

const JsonValue::Array& rows_of(const StoredResults& results) {
  return results.document.find("rows")->items();
}

const JsonValue& at(const JsonValue& object, std::string_view key) {
  return *object.find(key);
}

bool is_about(const JsonValue& row, const Scenario& scenario, std::size_t point) {
  JsonValue params = JsonValue::object();
  for (const auto& [path, value] : scenario.params(point)) params.set(path, value);
  return params == at(row, "params");
}

std::optional<std::size_t> point_of(const Scenario& scenario, const JsonValue& row,
                                    std::size_t number) {
  constexpr std::size_t most_missing = 100'000;
  const std::size_t end = std::min(scenario.points(), number + most_missing);
  for (std::size_t point = number; point < end; ++point)
    if (is_about(row, scenario, point)) return point;
  return std::nullopt;
}

}  // namespace collsim
