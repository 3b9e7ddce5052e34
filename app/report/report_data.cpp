// SPDX-License-Identifier: Apache-2.0
#include "app/report/report_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/embedded_files.hpp"
#include "app/json/value.hpp"
#include "app/report/drawn_rows.hpp"
#include "app/report/formula_curve.hpp"
#include "app/report/results_file.hpp"
#include "app/report/step_pictures.hpp"
#include "app/report/step_work.hpp"
#include "app/results/results.hpp"
#include "app/scenario/document_path.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

// Of keys that may be absent.
JsonValue copy_of(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.find(key);
  return value != nullptr ? *value : JsonValue();
}

JsonValue cells_of(const JsonValue::Array& rows, std::string_view key) {
  return JsonValue::array(rows, [&](const JsonValue& row) { return copy_of(row, key); });
}

JsonValue params_columns(const StoredResults& results) {
  return JsonValue::array(at(results.document, "axes").items(), [&](const JsonValue& axis) {
    JsonValue cells = JsonValue::array(rows_of(results), [&](const JsonValue& row) {
      const JsonValue* const value = at(row, "params").find(axis.string());
      return value != nullptr ? param_text(axis.string(), *value) : "";
    });
    return JsonValue::object({{"path", axis}, {"values", std::move(cells)}});
  });
}

JsonValue measured_column(const JsonValue::Array& rows) {
  return JsonValue::array(rows, [](const JsonValue& row) {
    const JsonValue& measured = at(row, "measured");
    JsonValue one;
    if (!measured.is_null())
      for (const char* key : {"time_s", "min_s", "max_s", "noisy", "error", "data"})
        one.set(key, copy_of(measured, key));
    return one;
  });
}

// How the first row that was measured was measured.
JsonValue how_measured(const JsonValue::Array& rows) {
  for (const JsonValue& row : rows) {
    const JsonValue& measured = at(row, "measured");
    if (measured.is_null()) continue;
    JsonValue how;
    for (const char* key : {"backend", "paced", "device"}) how.set(key, copy_of(measured, key));
    return how;
  }
  return {};
}

// As NCCL calls it, when that chose: "Ring LL".
JsonValue algorithm_cell(const JsonValue& row) {
  const JsonValue* const algorithm = row.find("nccl_algorithm");
  const JsonValue* const protocol = row.find("nccl_protocol");
  if (algorithm == nullptr || protocol == nullptr) return copy_of(row, "algorithm");
  return algorithm->string() + " " + protocol->string();
}

JsonValue row_columns(const StoredResults& results) {
  const JsonValue::Array& rows = rows_of(results);
  JsonValue columns = JsonValue::object();
  for (const char* key :
       {"op", "algorithm", "ranks", "size_bytes", "chunks", "time_s", "analytic_s", "bound_s",
        "bound_cut", "algbw_bytes_per_s", "busbw_bytes_per_s", "best_chunks", "error_class"})
    columns.set(key, cells_of(rows, key));
  columns.set("algorithm", JsonValue::array(rows, algorithm_cell));
  columns.set("measured", measured_column(rows));
  return columns;
}

// Results come from others too, and none of their texts is a reason to open a file.
bool names_a_file(const JsonValue& scenario) {
  const JsonValue* const model = scenario.find("model");
  const JsonValue* const calibration = model != nullptr ? model->find("calibration") : nullptr;
  return calibration != nullptr && calibration->is_string();
}

// Simulates rows again and records the outcome.
class Drawing {
 public:
  Drawing(const StoredResults& results, const Scenario& scenario, ClusterCache& clusters,
          JsonValue& data)
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
    JsonValue cases = JsonValue::array();
    for (const std::size_t row : breakdowns) {
      const std::optional<std::size_t> point = point_of(scenario_, rows_[row], row);
      if (!point) {
        data_.set("why_no_picture", "its rows are not those of its scenario");
        return;
      }
      DrawnCase drawn =
          draw_case(scenario_, *point, clusters_, rows_[row], most_steps, pictures.contains(row));
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
  void compare(std::size_t row, const JsonValue& facts) {
    for (const JsonValue::Member& fact : facts.members()) {
      const JsonValue& stored = at(rows_[row], fact.key);
      const double simulated = fact.value.number();
      if (std::abs(stored.number() - simulated) <= 1e-9 * simulated) continue;
      contradictions_.items().push_back(JsonValue::object(
          {{"row", row}, {"key", fact.key}, {"stored", stored}, {"simulated", fact.value}}));
    }
  }

  const JsonValue::Array& rows_;
  const Scenario& scenario_;
  ClusterCache& clusters_;
  JsonValue& data_;
  JsonValue contradictions_ = JsonValue::array();
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

constexpr std::size_t most_kinds = 3;
// Machines are built again for this: that takes no longer than the rest of a report.
constexpr std::size_t most_machines = 64;
constexpr std::size_t most_ranks = 1024;
constexpr std::size_t most_links = 100'000;

// "nic" of "node1.nic12": the device without its number.
std::string stem(const std::string& name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  const std::string text = end == std::string::npos ? name : name.substr(0, end + 1);
  return text.substr(text.rfind('.') + 1);  // npos + 1 is the beginning
}

// Rates by what the link joins, either way round.
using Rates = std::map<std::pair<std::string, std::string>, std::int64_t>;

// Devices that lead nowhere, such as NICs of a single node: no route between ranks has their links.
std::vector<bool> dead_ends(const Topology& topology) {
  std::vector<std::optional<NodeId>> neighbour(topology.node_count());
  std::vector<bool> dead(topology.node_count(), true);
  for (const Link& link : topology.links()) {
    for (const auto& [here, there] : {std::pair(link.from, link.to), std::pair(link.to, link.from)})
      if (neighbour[here.index()].value_or(there) != there || topology.rank_at(here))
        dead[here.index()] = false;
      else
        neighbour[here.index()] = there;
  }
  return dead;
}

// False when links that join the same have several rates.
bool add_links(const Topology& topology, Rates& rates) {
  if (topology.rank_count() > most_ranks || topology.links().size() > most_links) return false;
  const std::vector<bool> dead = dead_ends(topology);
  for (const Link& link : topology.links()) {
    if (dead[link.from.index()] || dead[link.to.index()]) continue;
    std::pair ends{stem(topology.name(link.from)), stem(topology.name(link.to))};
    if (ends.second < ends.first) std::swap(ends.first, ends.second);
    const std::int64_t rate = link.bandwidth.bytes_per_second();
    const auto [found, added] = rates.emplace(std::move(ends), rate);
    if (found->second != rate || rates.size() > most_kinds) return false;
  }
  return true;
}

JsonValue machine_of(const JsonValue& row) {
  JsonValue machine = JsonValue::object();
  for (const JsonValue::Member& param : at(row, "params").members())
    if (param.key.starts_with("cluster")) machine.set(param.key, param.value);
  return machine;
}

// As far as it is known before the machine is built, which may take long; a row has the ranks that
// take part, of which the machine may have more.
bool is_too_large(const JsonValue& row, const Scenario& scenario, std::size_t point) {
  const auto beyond = [](const JsonValue* ranks) {
    const std::optional<std::int64_t> number =
        ranks != nullptr ? ranks->integer() : std::optional<std::int64_t>();
    return number && *number > static_cast<std::int64_t>(most_ranks);
  };
  if (beyond(&at(row, "ranks"))) return true;
  const std::string ranks = "cluster.ranks";
  bool swept = false;
  for (const auto& [path, value] : scenario.params(point)) {
    if (!lies_in(ranks, path)) continue;
    swept = true;
    if (beyond(path == ranks ? &value : value_at(value, "ranks"))) return true;
  }
  return !swept && beyond(value_at(scenario.document, ranks));
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
  options.workloads = true;
  JsonValue document = at(results.document, "scenario");
  forget_places(document);
  std::optional<Scenario> scenario =
      load_scenario(std::move(document), results.file, options, sources, diagnostics);
  if (!scenario)
    why_not = "this version of collsim does not understand its scenario: " +
              diagnostics.sorted().front().message;
  return scenario;
}

JsonValue report_data(const StoredResults& results, const std::optional<std::size_t>& asked_point) {
  const JsonValue& document = results.document;
  JsonValue data = JsonValue::object();
  for (const char* key :
       {"name", "title", "description", "complete", "points", "how_sure", "expect", "warnings"})
    data.set(key, copy_of(document, key));
  if (const JsonValue* const comparison = document.find("comparison"))
    for (const char* key : {"below_class", "above_class"}) data.set(key, copy_of(*comparison, key));
  data.set("left_out", results.left_out);
  data.set("params", params_columns(results));
  const bool steps = are_steps(document);
  data.set(steps ? "steps" : "rows", steps ? step_columns(results) : row_columns(results));
  data.set("how_measured", steps ? JsonValue() : how_measured(rows_of(results)));

  std::string why_not;
  const std::optional<Scenario> scenario = stored_scenario(results, why_not);
  if (!scenario) {
    data.set("why_no_picture", why_not);
  } else if (steps) {
    data.set("step_work", step_work(results, *scenario));
    add_step_pictures(results, *scenario, asked_point, data);
  } else if (!rows_of(results).empty()) {
    ClusterCache clusters(*scenario);
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

void write_report(std::ostream& out, std::vector<JsonValue> results) {
  const std::string_view page = embedded_report().front().text;
  const std::size_t place = page.find(mark);
  COLLSIM_CHECK(place != std::string_view::npos, "the page has no placeholder for data");
  const JsonValue data =
      JsonValue::object({{"collsim", COLLSIM_VERSION}, {"results", std::move(results)}});
  out << page.substr(0, place) << without_tags(to_json(data, -1))
      << page.substr(place + mark.size());
}

JsonValue link_rates(const JsonValue::Array& rows, const Scenario& scenario,
                     ClusterCache& clusters) {
  JsonValue none = JsonValue::array();
  Rates rates;
  std::vector<JsonValue> machines;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    JsonValue machine = machine_of(rows[row]);
    if (std::find(machines.begin(), machines.end(), machine) != machines.end()) continue;
    if (machines.size() == most_machines) return none;
    machines.push_back(std::move(machine));
    const std::optional<std::size_t> point = point_of(scenario, rows[row], row);
    if (!point || is_too_large(rows[row], scenario, *point)) return none;
    Diagnostics diagnostics;
    const std::optional<Case> found = make_case(scenario, *point, clusters, diagnostics);
    if (!found || !add_links(found->cluster->topology, rates)) return none;
  }
  return JsonValue::array(rates, [](const auto& rate) {
    const auto& [ends, bytes_per_s] = rate;
    return JsonValue::object(
        {{"name", ends.first + " to " + ends.second}, {"bytes_per_s", bytes_per_s}});
  });
}

}  // namespace collsim
