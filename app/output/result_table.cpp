// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/output/comparison_table.hpp"
#include "app/output/row_remarks.hpp"
#include "app/output/text_table.hpp"
#include "app/output/writers.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/vocabulary.hpp"
#include "collectives/cost/units.hpp"

namespace collsim {
namespace {

using Align = TextTable::Align;

// The last `steps` steps of a dotted path.
std::string tail_of(std::string_view path, int steps) {
  std::size_t at = path.size();
  for (; steps > 0 && at != std::string_view::npos; --steps)
    at = at == 0 ? std::string_view::npos : path.rfind('.', at - 1);
  return std::string(at == std::string_view::npos ? path : path.substr(at + 1));
}

// As short as they can be without two being the same.
std::vector<std::string> headings_of(const std::vector<std::string>& paths) {
  std::vector<std::string> headings;
  for (const std::string& path : paths) {
    int steps = 1;
    const auto same = [&](const std::string& other) {
      return other != path && tail_of(other, steps) == tail_of(path, steps);
    };
    const auto says_nothing = [&] { return tail_of(path, steps).front() <= '9'; };  // "late.3"
    while (tail_of(path, steps) != path &&
           (says_nothing() || std::any_of(paths.begin(), paths.end(), same)))
      ++steps;
    headings.push_back(tail_of(path, steps));
  }
  return headings;
}

const JsonValue* param(const CaseResult& row, const std::string& path) {
  for (const auto& [name, value] : row.params)
    if (name == path) return &value;
  return nullptr;
}

bool varies(const std::vector<CaseResult>& rows, const std::string& path) {
  const auto differs = [&](const CaseResult& row) {
    const JsonValue* const first = param(rows.front(), path);
    const JsonValue* const here = param(row, path);
    return first != nullptr && here != nullptr && !(*first == *here);
  };
  return std::any_of(rows.begin(), rows.end(), differs);
}

// Words to the left, numbers and quantities (which begin with a digit) to the right.
Align align_of(const std::vector<std::string>& cells) {
  const bool numbers = std::all_of(cells.begin(), cells.end(), [](const std::string& cell) {
    return cell.empty() || (cell.front() >= '0' && cell.front() <= '9') || cell.front() == '-';
  });
  return numbers ? Align::right : Align::left;
}

void add_params(std::vector<TableColumn>& columns, const Results& results) {
  std::vector<std::string> paths;
  for (const std::string& path : results.axes)
    if (varies(results.rows, path)) paths.push_back(path);
  const std::vector<std::string> headings = headings_of(paths);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    TableColumn column{headings[i], Align::right, {}};
    for (const CaseResult& row : results.rows) {
      const JsonValue* const value = param(row, paths[i]);
      column.cells.push_back(value == nullptr ? "" : param_text(paths[i], *value));
    }
    column.align = align_of(column.cells);
    columns.push_back(std::move(column));
  }
}

bool is_swept(const Results& results, std::string_view path) {
  return std::find(results.axes.begin(), results.axes.end(), path) != results.axes.end();
}

// Where it is not what the scenario says: "auto" chose, or it follows from something else.
bool algorithm_is_news(const Results& results) {
  const std::vector<CaseResult>& rows = results.rows;
  const std::string path = "collective.algorithm";
  const JsonValue* const resolved = value_at(results.scenario, path);
  const bool chosen = resolved != nullptr && resolved->is_string() && is_policy(resolved->string());
  if (!is_swept(results, path))
    return chosen || std::any_of(rows.begin(), rows.end(), [&](const CaseResult& row) {
             return row.algorithm != rows.front().algorithm;
           });
  return std::any_of(rows.begin(), rows.end(), [&](const CaseResult& row) {
    const JsonValue* const asked = param(row, path);
    return asked == nullptr || plain_text(*asked) != row.algorithm;
  });
}

// Where rows differ in it though no sweep says so.
void add_count(std::vector<TableColumn>& columns, const Results& results, const char* name,
               int CaseResult::*count) {
  const std::vector<CaseResult>& rows = results.rows;
  const bool varies = std::any_of(rows.begin(), rows.end(), [&](const CaseResult& row) {
    return row.*count != rows.front().*count;
  });
  if (!varies || is_swept(results, std::string("collective.") + name)) return;
  TableColumn column{name, Align::right, {}};
  for (const CaseResult& row : rows) column.cells.push_back(std::to_string(row.*count));
  columns.push_back(std::move(column));
}

void add_what_follows(std::vector<TableColumn>& columns, const Results& results) {
  const std::vector<CaseResult>& rows = results.rows;
  if (algorithm_is_news(results)) {
    TableColumn column{
        is_swept(results, "collective.algorithm") ? "chosen" : "algorithm", Align::left, {}};
    for (const CaseResult& row : rows) column.cells.push_back(row.algorithm_text());
    columns.push_back(std::move(column));
  }
  add_count(columns, results, "chunks", &CaseResult::chunks);
  // NCCL's follow from its algorithm.
  if (std::any_of(rows.begin(), rows.end(), [](const CaseResult& row) { return row.search; }))
    add_count(columns, results, "channels", &CaseResult::channels);
}

// Simulated and by the formula, in one unit.
void add_times(std::vector<TableColumn>& columns, const std::vector<CaseResult>& rows) {
  std::vector<std::optional<double>> times;
  times.reserve(rows.size());
  for (const CaseResult& row : rows) times.emplace_back(row.time_s());
  const bool formula =
      std::any_of(rows.begin(), rows.end(), [](const CaseResult& row) { return row.analytic; });
  if (formula)
    for (const CaseResult& row : rows)
      times.push_back(row.analytic ? std::optional(row.analytic->seconds) : std::nullopt);
  std::vector<std::string> cells = column_cells(times, time_units());
  const auto middle = cells.begin() + static_cast<std::ptrdiff_t>(rows.size());
  std::vector<std::string> formula_cells(middle, cells.end());
  cells.resize(rows.size());
  columns.push_back({"time", Align::right, std::move(cells)});
  if (formula) columns.push_back({"formula", Align::right, std::move(formula_cells)});
}

// A column of counts, unless no row has one or the sweep says it.
void add_step_count(std::vector<TableColumn>& columns, const Results& results, const char* name,
                    std::optional<int> StepResult::*count) {
  const std::vector<CaseResult>& rows = results.rows;
  const bool is_swept =
      std::any_of(results.axes.begin(), results.axes.end(),
                  [&](const std::string& path) { return path.ends_with(std::string(".") + name); });
  if (is_swept || std::none_of(rows.begin(), rows.end(), [&](const CaseResult& row) {
        return (*row.step.*count).has_value();
      }))
    return;
  TableColumn column{name, Align::right, {}};
  for (const CaseResult& row : rows) {
    const std::optional<int> value = *row.step.*count;
    column.cells.push_back(value ? std::to_string(*value) : "-");
  }
  columns.push_back(std::move(column));
}

// Of how many microbatches each stage of a pipeline holds activations: "4 3 2 1"; of many stages
// the most and the least.
std::string activations_text(const std::vector<int>& of_stages) {
  constexpr std::size_t most_listed = 8;
  if (of_stages.empty()) return "-";
  if (of_stages.size() > most_listed) {
    const auto [least, most] = std::minmax_element(of_stages.begin(), of_stages.end());
    return *least == *most ? std::to_string(*most) : fmt::format("{} to {}", *most, *least);
  }
  return fmt::format("{}", fmt::join(of_stages, " "));
}

void add_activations(std::vector<TableColumn>& columns, const std::vector<CaseResult>& rows) {
  if (std::none_of(rows.begin(), rows.end(),
                   [](const CaseResult& row) { return row.step->activations.size() > 1; }))
    return;
  TableColumn column{"activations", Align::left, {}};
  for (const CaseResult& row : rows)
    column.cells.push_back(activations_text(row.step->activations));
  columns.push_back(std::move(column));
}

// Who gives up first at the time-out of the workload, and the least one that passes.
void add_timeout(std::vector<TableColumn>& columns, const std::vector<CaseResult>& rows) {
  if (std::none_of(rows.begin(), rows.end(),
                   [](const CaseResult& row) { return row.step->timeout_s.has_value(); }))
    return;
  TableColumn who{"gives up", Align::left, {}};
  std::vector<std::optional<double>> least;
  least.reserve(rows.size());
  for (const CaseResult& row : rows) {
    const std::optional<std::size_t> first = row.step->first_to_give_up();
    who.cells.push_back(
        first ? fmt::format("rank {} at {}", *first,
                            value_text(*row.step->ranks[*first].gives_up_s, units_time))
              : "nobody");
    least.emplace_back(row.step->least_timeout_s());
  }
  columns.push_back(std::move(who));
  columns.push_back({"least time-out", Align::right, column_cells(least, time_units())});
}

// Of the rank that needs most.
void add_memory(std::vector<TableColumn>& columns, const std::vector<CaseResult>& rows) {
  std::vector<std::optional<double>> most;
  for (const CaseResult& row : rows) {
    const auto& memory = row.step->memory;
    most.push_back(memory ? std::optional(memory->most()) : std::nullopt);
  }
  if (std::any_of(most.begin(), most.end(), [](const auto& bytes) { return bytes; }))
    columns.push_back({"memory", Align::right, column_cells(most, size_units())});
}

// Of models whose FLOP are known.
void add_work(std::vector<TableColumn>& columns, const std::vector<CaseResult>& rows) {
  if (std::none_of(rows.begin(), rows.end(), [](const CaseResult& row) { return row.step->work; }))
    return;
  TableColumn mfu{"MFU", Align::right, {}};
  TableColumn hfu{"HFU", Align::right, {}};
  TableColumn tokens{"tokens/s", Align::right, {}};
  for (const CaseResult& row : rows) {
    const auto& work = row.step->work;
    mfu.cells.push_back(work ? fmt::format("{:.1f}%", 100 * work->mfu) : "-");
    hfu.cells.push_back(work ? fmt::format("{:.1f}%", 100 * work->hfu) : "-");
    tokens.cells.push_back(work ? fmt::format("{:.0f}", work->tokens_per_s) : "-");
  }
  for (TableColumn* const column : {&mfu, &hfu, &tokens}) columns.push_back(std::move(*column));
}

// A job that fails again before it comes to a checkpoint takes longer than anyone waits.
std::vector<std::string> job_cells(std::vector<std::optional<double>> times) {
  constexpr double century = 100 * 365.25 * 24 * 3600;
  std::vector<bool> endless;
  for (std::optional<double>& time : times) {
    endless.push_back(time && *time > century);
    if (endless.back()) time.reset();
  }
  std::vector<std::string> cells = column_cells(times, time_units());
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (endless[i]) cells[i] = "> 100 years";
  return cells;
}

// What failures leave of a long job.
void add_job(std::vector<TableColumn>& columns, const Results& results) {
  const std::vector<CaseResult>& rows = results.rows;
  std::vector<std::optional<double>> times, intervals, best;
  TableColumn useful{"useful", Align::right, {}};
  TableColumn twice{"steps twice", Align::right, {}};
  const auto any = [](const auto& values) {
    return std::any_of(values.begin(), values.end(), [](const auto& one) { return bool(one); });
  };
  for (const CaseResult& row : rows) {
    const std::optional<StepResult::Job>& job = row.step->job;
    const StepResult::Job one = job.value_or(StepResult::Job{});
    times.push_back(one.time_s);
    intervals.push_back(one.interval_s);
    best.push_back(one.best_interval_s);
    useful.cells.push_back(job ? fmt::format("{:.1f}%", 100 * one.useful) : "-");
    twice.cells.push_back(one.steps_done_twice ? std::to_string(*one.steps_done_twice) : "-");
  }
  const bool is_swept = std::find(results.axes.begin(), results.axes.end(),
                                  "workload.failures.interval") != results.axes.end();
  if (any(intervals) && !is_swept)
    columns.push_back({"checkpoint every", Align::right, column_cells(intervals, time_units())});
  if (any(best) && best != intervals)
    columns.push_back({"best", Align::right, column_cells(best, time_units())});
  if (any(times)) columns.push_back({"job", Align::right, job_cells(times)});
  columns.push_back(std::move(useful));
  if (!any(intervals)) columns.push_back(std::move(twice));
}

std::string ratio_text(double ratio) {
  constexpr double huge = 1e6;
  return ratio < huge ? fmt::format("{:.2f}", ratio) : fmt::format("{:.2e}", ratio);
}

std::string times_bound(const CaseResult& row) {
  return row.bound > Time{} ? ratio_text(row.time_s() / row.bound.seconds()) : "-";
}

// Those with the most exposed time, of steps with several.
std::vector<std::string> exposed_communicators(const std::vector<CaseResult>& rows) {
  constexpr std::size_t most_shown = 4;
  std::vector<std::pair<std::string, double>> all;
  for (const CaseResult& row : rows)
    for (const StepResult::Communicator& one : row.step->communicators) {
      if (row.step->communicators.size() < 2) break;
      auto found = std::find_if(all.begin(), all.end(),
                                [&](const auto& known) { return known.first == one.name; });
      if (found == all.end()) found = all.insert(all.end(), {one.name, 0});
      found->second = std::max(found->second, one.exposed_s);
    }
  std::vector<std::string> names;
  std::erase_if(all, [](const auto& one) { return one.second == 0; });
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (std::size_t i = 0; i < std::min(all.size(), most_shown); ++i) names.push_back(all[i].first);
  return names;
}

std::optional<double> exposed_on(const StepResult& step, const std::string& communicator) {
  for (const StepResult::Communicator& one : step.communicators)
    if (one.name == communicator) return one.exposed_s;
  return std::nullopt;
}

// The times of a training step, in one unit; what no row has is left out.
void add_step_times(std::vector<TableColumn>& columns, const std::vector<CaseResult>& rows) {
  using Value = std::optional<double>;
  std::vector<std::pair<std::string, std::function<Value(const CaseResult&)>>> times{
      {"step", [](const CaseResult& row) { return Value(row.time_s()); }},
      {"formula",
       [](const CaseResult& row) { return row.analytic ? Value(row.analytic->seconds) : Value(); }},
      {"compute", [](const CaseResult& row) { return Value(row.step->compute_s); }},
      {"hidden", [](const CaseResult& row) { return Value(row.step->hidden_s); }},
      {"exposed", [](const CaseResult& row) { return Value(row.step->exposed_s); }}};
  for (const std::string& name : exposed_communicators(rows))
    times.emplace_back("on " + printable(name),
                       [name](const CaseResult& row) { return exposed_on(*row.step, name); });
  std::vector<std::string> headings;
  std::vector<Value> all;
  for (const auto& [heading, of] : times) {
    std::vector<Value> values;
    values.reserve(rows.size());
    for (const CaseResult& row : rows) values.push_back(of(row));
    if (std::none_of(values.begin(), values.end(),
                     [](const Value& value) { return value.value_or(0) > 0; }))
      continue;
    headings.push_back(heading);
    all.insert(all.end(), values.begin(), values.end());
  }
  const std::vector<std::string> cells = column_cells(all, time_units());
  auto first = cells.begin();
  for (const std::string& heading : headings) {
    const auto end = first + static_cast<std::ptrdiff_t>(rows.size());
    columns.push_back({heading, Align::right, {first, end}});
    first = end;
  }
}

// What the heading cannot say for all.
void add_protocol(std::vector<TableColumn>& columns, const std::vector<CaseResult>& rows) {
  const auto differs = [&](const CaseResult& row) { return row.protocol != rows[0].protocol; };
  if (std::none_of(rows.begin(), rows.end(), differs)) return;
  TableColumn protocol{"protocol", Align::left, {}};
  for (const CaseResult& row : rows)
    protocol.cells.emplace_back(row.protocol ? to_string(*row.protocol) : "-");
  columns.push_back(std::move(protocol));
}

// Where a training step's time goes.
void add_step(std::vector<TableColumn>& columns, const Results& results) {
  const std::vector<CaseResult>& rows = results.rows;
  add_step_times(columns, rows);
  constexpr double worth_showing = 0.0005;  // what one decimal shows
  TableColumn bubble{"bubble", Align::right, {}};
  bool any = false;
  for (const CaseResult& row : rows) {
    bubble.cells.push_back(fmt::format("{:.1f}%", 100 * row.step->bubble));
    any = any || row.step->bubble >= worth_showing;
  }
  if (any) columns.push_back(std::move(bubble));
  if (std::any_of(rows.begin(), rows.end(),
                  [](const CaseResult& row) { return row.bound > Time{}; })) {
    TableColumn bound{"x bound", Align::right, {}};
    for (const CaseResult& row : rows) bound.cells.push_back(times_bound(row));
    columns.push_back(std::move(bound));
  }
  add_protocol(columns, rows);
  add_step_count(columns, results, "buckets", &StepResult::buckets);
  add_step_count(columns, results, "microbatches", &StepResult::microbatches);
  add_activations(columns, rows);
  add_work(columns, rows);
  add_memory(columns, rows);
  TableColumn messages{"messages", Align::right, {}};
  for (const CaseResult& row : rows) messages.cells.push_back(std::to_string(row.messages));
  columns.push_back(std::move(messages));
  add_timeout(columns, rows);
  if (std::any_of(rows.begin(), rows.end(),
                  [](const CaseResult& row) { return row.step->job.has_value(); }))
    add_job(columns, results);
}

void add_ratios(std::vector<TableColumn>& columns, const std::vector<CaseResult>& rows) {
  TableColumn bound{"x bound", Align::right, {}};
  std::vector<std::optional<double>> algorithm, bus;
  bool bounded = false;
  bool factor = false;
  bool data = false;
  for (const CaseResult& row : rows) {
    bound.cells.push_back(times_bound(row));
    bounded = bounded || row.bound > Time{};
    algorithm.emplace_back(row.algbw());
    bus.emplace_back(row.busbw());
    constexpr int several = 3;  // two ranks have the factor 1 in an all-reduce, too
    factor = factor || busbw_factor(row.operation, several) != 1;
    data = data || row.operation != Operation::barrier;  // no data has no rate, not none to show
  }
  if (bounded) columns.push_back(std::move(bound));
  if (data) columns.push_back({"algbw", Align::right, column_cells(algorithm, rate_units())});
  if (data && factor) columns.push_back({"busbw", Align::right, column_cells(bus, rate_units())});
}

void add_collective(std::vector<TableColumn>& columns, const Results& results) {
  add_what_follows(columns, results);
  if (results.comparison) {
    add_comparison_columns(columns, results.rows);
  } else {
    add_times(columns, results.rows);
    add_ratios(columns, results.rows);
  }
}

}  // namespace

std::string search_line(const Results& results) {
  Search all;
  std::size_t rows = 0;
  for (const CaseResult& row : results.rows) {
    if (!row.search) continue;
    all.add(*row.search);
    ++rows;
  }
  if (rows == 0) return {};
  return (rows == 1 ? "auto: " : fmt::format("auto, {} rows together: ", rows)) + to_text(all);
}

TextTable result_table(const Results& results) {
  std::vector<TableColumn> columns;
  if (!results.rows.empty()) {
    add_params(columns, results);
    if (results.rows.front().step && results.comparison)
      add_comparison_columns(columns, results.rows);
    else if (results.rows.front().step)
      add_step(columns, results);
    else
      add_collective(columns, results);
  }
  TextTable table;
  for (TableColumn& column : columns) table.add_column(column.heading, column.align);
  const std::vector<std::string> remarks =
      results.comparison ? comparison_remarks(results) : row_remarks(results);
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (TableColumn& column : columns) cells.push_back(std::move(column.cells[i]));
    table.add_row(std::move(cells));
    if (!remarks[i].empty()) table.add_remark(remarks[i]);
  }
  return table;
}

}  // namespace collsim
