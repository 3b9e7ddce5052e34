// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/command.hpp"
#include "app/commands/validate.hpp"
#include "app/json/screen_text.hpp"
#include "app/output/text_table.hpp"
#include "app/report/results_file.hpp"
#include "app/results/results.hpp"

namespace collsim {
namespace {

struct DiffOptions {
  std::string before, after, max_slower, format = "table";
  double allowed = 0;  // of max_slower
};

// A point of a sweep in both files.
struct DiffRow {
  std::string scenario;
  JsonValue params;
  std::optional<double> before_s, after_s;

  // Above 1: slower.  Nothing where one is missing.
  [[nodiscard]] std::optional<double> ratio() const {
    if (!before_s || !after_s) return std::nullopt;
    if (*before_s == *after_s) return 1;
    return *before_s > 0 ? *after_s / *before_s : HUGE_VAL;
  }
};

double seconds_of_row(const JsonValue& row) {
  const JsonValue* const time = row.find("time_s");
  return (time != nullptr ? time : row.find("step_s"))->number();
}

// Rows of the same scenario with the same swept values; what is alone in its file, with each other.
std::vector<DiffRow> matched_rows(const std::vector<StoredResults>& before,
                                  const std::vector<StoredResults>& after) {
  std::vector<DiffRow> rows;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  const bool alone = before.size() == 1 && after.size() == 1;
  const auto add = [&](const std::vector<StoredResults>& all,
                       std::optional<double> DiffRow::*time) {
    for (const StoredResults& results : all) {
      const std::string name = alone ? "" : at(results.document, "name").string();
      for (const JsonValue& row : rows_of(results)) {
        const JsonValue& params = at(row, "params");
        const auto [place, is_new] =
            places.emplace(std::pair(name, to_json(params, -1)), rows.size());
        if (is_new) rows.push_back({name, params, {}, {}});
        rows[place->second].*time = seconds_of_row(row);
      }
    }
  };
  add(before, &DiffRow::before_s);
  add(after, &DiffRow::after_s);
  return rows;
}

struct DiffSummary {
  std::size_t slower = 0, faster = 0, same = 0, missing = 0, too_slow = 0;

  DiffSummary(const std::vector<DiffRow>& rows, double allowed) {
    for (const DiffRow& row : rows) {
      const std::optional<double> ratio = row.ratio();
      if (!ratio)
        ++missing;
      else if (*ratio == 1)
        ++same;
      else
        ++(*ratio > 1 ? slower : faster);
      if (ratio && *ratio > 1 + allowed) ++too_slow;
    }
  }
  [[nodiscard]] std::string text() const {
    std::string text = fmt::format("{} faster, {} slower, {} the same", faster, slower, same);
    if (missing > 0) text += fmt::format(", {} in one file only", missing);
    return text;
  }
  [[nodiscard]] bool is_fine() const { return too_slow == 0 && missing == 0; }
};

std::string ratio_of_row(const DiffRow& row) {
  const std::optional<double> ratio = row.ratio();
  if (!ratio) return row.before_s ? "only before" : "only after";
  if (std::isinf(*ratio)) return "infinite";
  return fmt::format("{:.3f}", *ratio);
}

void write_diff_table(std::ostream& out, const std::vector<DiffRow>& rows) {
  TextTable table;
  const bool named = !rows.empty() && !rows.front().scenario.empty();
  if (named) table.add_column("scenario", TextTable::Align::left);
  std::vector<std::string> paths;
  for (const DiffRow& row : rows)
    for (const JsonValue::Member& param : row.params.members())
      if (std::find(paths.begin(), paths.end(), param.key) == paths.end())
        paths.push_back(param.key);
  for (const std::string& path : paths) table.add_column(path.substr(path.rfind('.') + 1));
  for (const char* heading : {"before", "after", "after/before"}) table.add_column(heading);
  std::vector<std::optional<double>> times;
  for (const DiffRow& row : rows) times.insert(times.end(), {row.before_s, row.after_s});
  const std::vector<std::string> cells = column_cells(times, time_units());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> line;
    if (named) line.push_back(printable(rows[i].scenario));
    for (const std::string& path : paths) {
      const JsonValue* const value = rows[i].params.find(path);
      line.push_back(value != nullptr ? printable(param_text(path, *value)) : "");
    }
    line.insert(line.end(), {cells[2 * i], cells[2 * i + 1], ratio_of_row(rows[i])});
    table.add_row(std::move(line));
  }
  out << table.text();
}

void write_diff_json(std::ostream& out, const std::vector<DiffRow>& rows,
                     const DiffSummary& summary) {
  const auto of_row = [](const DiffRow& row) {
    const std::optional<double> ratio = row.ratio();
    return JsonValue::object(
        {{"scenario", row.scenario.empty() ? JsonValue() : JsonValue(row.scenario)},
         {"params", row.params},
         {"before_s", row.before_s},
         {"after_s", row.after_s},
         {"ratio", ratio && std::isfinite(*ratio) ? JsonValue(*ratio) : JsonValue()}});
  };
  out << to_json(JsonValue::object({{"rows", JsonValue::array(rows, of_row)},
                                    {"faster", summary.faster},
                                    {"slower", summary.slower},
                                    {"same", summary.same},
                                    {"missing", summary.missing},
                                    {"ok", summary.is_fine()}}))
      << '\n';
}

int diff(DiffOptions options, Terminal& terminal) {
  if (!options.max_slower.empty())
    options.allowed = part_of_option("--max-slower", options.max_slower);
  Sources sources;
  Diagnostics diagnostics;
  const auto before = read_results(options.before, sources, diagnostics);
  const auto after = read_results(options.after, sources, diagnostics);
  if (!diagnostics.empty()) return show_mistakes(diagnostics, sources, terminal);
  const std::vector<DiffRow> rows = matched_rows(before, after);
  const DiffSummary summary(rows, options.allowed);
  if (options.format == "json") {
    write_diff_json(terminal.out, rows, summary);
  } else {
    write_diff_table(terminal.out, rows);
    if (!terminal.quiet) terminal.out << '\n' << summary.text() << '\n';
  }
  return summary.is_fine() ? exit_fine : exit_failed;
}

}  // namespace

Action declare_diff(Options& command) {
  const auto options = std::make_shared<DiffOptions>();
  command.value("BEFORE", options->before, "FILE", "results, from run -o before.json").required =
      true;
  command.value("AFTER", options->after, "FILE", "results to compare with them").required = true;
  command.value("--max-slower", options->max_slower, "PART",
                "exit code 1 only for what is slower by more than this, such as 5% (default: 0%)");
  command.choice("--format", options->format, {"table", "json"}, "output format").shown_default =
      "table";
  return [options](Terminal& terminal) { return diff(*options, terminal); };
}

}  // namespace collsim
