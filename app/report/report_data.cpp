// SPDX-License-Identifier: Apache-2.0
#include "app/report/report_data.hpp"

#include <cmath>
#include <cstdint>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "app/embedded_files.hpp"
#include "app/json/write_json.hpp"
#include "app/report/chosen_rows.hpp"
#include "app/report/drawn_case.hpp"
#include "app/report/formula_curve.hpp"
#include "app/report/link_rates.hpp"
#include "app/report/results_file.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

// Of keys that may be absent.
Value copy_of(const Value& object, std::string_view key) {
  const Value* const value = object.find(key);
  return value != nullptr ? *value : Value();
}

std::string text_of(const Value& value) {
  return value.is_string() ? value.string() : to_json(value, -1);
}

Value cells_of(const Value::Array& rows, std::string_view key) {
  return Value::array(rows, [&](const Value& row) { return copy_of(row, key); });
}

Value params_columns(const StoredResults& results) {
  return Value::array(at(results.document, "axes").items(), [&](const Value& axis) {
    Value cells = Value::array(rows_of(results), [&](const Value& row) {
      const Value* const value = at(row, "params").find(axis.string());
      return value != nullptr ? text_of(*value) : "";
    });
    return Value::object({{"path", axis}, {"values", std::move(cells)}});
  });
}

Value measured_column(const Value::Array& rows) {
  return Value::array(rows, [](const Value& row) {
    const Value& measured = at(row, "measured");
    Value one;
    if (!measured.is_null())
      for (const char* key : {"time_s", "min_s", "max_s", "noisy", "error", "data"})
        one.set(key, copy_of(measured, key));
    return one;
  });
}

// How the first row that was measured was measured.
Value how_measured(const Value::Array& rows) {
  for (const Value& row : rows) {
    const Value& measured = at(row, "measured");
    if (measured.is_null()) continue;
    Value how;
    for (const char* key : {"backend", "paced", "device"}) how.set(key, copy_of(measured, key));
    return how;
  }
  return {};
}

Value row_columns(const StoredResults& results) {
  const Value::Array& rows = rows_of(results);
  Value columns = Value::object();
  for (const char* key :
       {"op", "algorithm", "ranks", "size_bytes", "chunks", "time_s", "analytic_s", "bound_s",
        "algbw_bytes_per_s", "busbw_bytes_per_s", "best_chunks"})
    columns.set(key, cells_of(rows, key));
  columns.set("measured", measured_column(rows));
  return columns;
}

// Results come from others too, and none of their texts is a reason to open a file.
bool names_a_file(const Value& scenario) {
  const Value* const model = scenario.find("model");
  const Value* const calibration = model != nullptr ? model->find("calibration") : nullptr;
  return calibration != nullptr && calibration->is_string();
}

// Simulates rows again and records the outcome.
class Drawing {
 public:
  Drawing(const StoredResults& results, const Scenario& scenario, ClusterCache& clusters,
          Value& data)
      : rows_(rows_of(results)), scenario_(scenario), clusters_(clusters), data_(data) {}

  void draw_point(std::size_t point) {
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (is_about(rows_[row], scenario_, point)) return draw({row}, {}, most_drawn_steps);
    data_.set("why_no_picture", "the requested row is not on this page");
  }

  void draw_some() {
    const ChosenRows chosen = choose_rows(rows_);
    if (chosen.pictures.empty())
      data_.set("why_no_picture",
                rows_.size() == 1
                    ? "the run has too many steps"
                    : "its runs have many steps; use collsim report --at to draw one");
    else
      draw(chosen.pictures, chosen.breakdowns, most_drawn_steps);
  }

 private:
  void draw(const std::set<std::size_t>& pictures, std::set<std::size_t> breakdowns,
            std::uint64_t most_steps) {
    breakdowns.insert(pictures.begin(), pictures.end());
    Value cases = Value::array();
    for (const std::size_t row : breakdowns) {
      const std::optional<std::size_t> point = point_of(scenario_, rows_[row], row);
      if (!point) {
        data_.set("why_no_picture", "its rows are not those of its scenario");
        return;
      }
      DrawnCase drawn =
          draw_case(scenario_, *point, clusters_, at(rows_[row], "algorithm").string(), most_steps,
                    pictures.contains(row));
      if (drawn.value.is_null()) {
        if (pictures.contains(row)) data_.set("why_no_picture", drawn.why_not);
        continue;
      }
      if (!(at(drawn.value, "fingerprint") == copy_of(rows_[row], "fingerprint"))) {
        data_.set("why_no_picture",
                  "simulated again, a row gives a different timeline: the file is from another "
                  "version of collsim, or was edited");
        return;
      }
      compare(row, drawn.facts);
      drawn.value.set("row", row);
      cases.items().push_back(std::move(drawn.value));
    }
    data_.set("cases", std::move(cases));
    data_.set("contradictions", std::move(contradictions_));
  }

  // Notes where a row says something else than its simulation.
  void compare(std::size_t row, const Value& facts) {
    for (const Value::Member& fact : facts.members()) {
      const Value& stored = at(rows_[row], fact.key);
      const double simulated = fact.value.number();
      if (std::abs(stored.number() - simulated) <= 1e-9 * simulated) continue;
      contradictions_.items().push_back(Value::object(
          {{"row", row}, {"key", fact.key}, {"stored", stored}, {"simulated", fact.value}}));
    }
  }

  const Value::Array& rows_;
  const Scenario& scenario_;
  ClusterCache& clusters_;
  Value& data_;
  Value contradictions_ = Value::array();
};

constexpr std::string_view mark = "@DATA@";

// "<" could end the element that contains the data.
std::string without_tags(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json)
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  return text;
}

}  // namespace

std::optional<Scenario> stored_scenario(const StoredResults& results, std::string& why_not) {
  if (names_a_file(at(results.document, "scenario"))) {
    why_not =
        "the calibration in its scenario is a file name, which a report does not open; results "
        "written by collsim contain the calibration itself";
    return std::nullopt;
  }
  Sources sources;
  Diagnostics diagnostics;
  LoadOptions options;
  options.max_points = max_sweep_points;
  Value document = at(results.document, "scenario");
  forget_places(document);
  std::optional<Scenario> scenario =
      load_scenario(std::move(document), results.file, options, sources, diagnostics);
  if (!scenario)
    why_not = "this version of collsim does not understand its scenario: " +
              diagnostics.sorted().front().message;
  return scenario;
}

Value report_data(const StoredResults& results, const std::optional<std::size_t>& asked_point) {
  const Value& document = results.document;
  Value data = Value::object();
  for (const char* key :
       {"name", "title", "description", "complete", "points", "expect", "warnings"})
    data.set(key, copy_of(document, key));
  data.set("left_out", results.left_out);
  data.set("params", params_columns(results));
  data.set("rows", row_columns(results));
  data.set("how_measured", how_measured(rows_of(results)));

  std::string why_not;
  const std::optional<Scenario> scenario = stored_scenario(results, why_not);
  if (!scenario) {
    data.set("why_no_picture", why_not);
  } else if (!rows_of(results).empty()) {
    ClusterCache clusters;
    data.set("formula_curves", formula_curves(rows_of(results), *scenario, clusters));
    data.set("link_rates", link_rates(rows_of(results), *scenario, clusters));
    Drawing drawing(results, *scenario, clusters, data);
    if (asked_point)
      drawing.draw_point(*asked_point);
    else
      drawing.draw_some();
  }
  return data;
}

void write_report(std::ostream& out, std::vector<Value> results) {
  const std::string_view page = embedded_report().front().text;
  const std::size_t place = page.find(mark);
  COLLSIM_CHECK(place != std::string_view::npos, "the page has no placeholder for data");
  const Value data = Value::object({{"collsim", COLLSIM_VERSION}, {"results", std::move(results)}});
  out << page.substr(0, place) << without_tags(to_json(data, -1))
      << page.substr(place + mark.size());
}

}  // namespace collsim
