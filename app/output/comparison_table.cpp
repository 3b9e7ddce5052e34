// SPDX-License-Identifier: Apache-2.0
#include "app/output/comparison_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/output/text_table.hpp"
#include "app/output/writers.hpp"
#include "app/results/results.hpp"
#include "app/scenario/quantities.hpp"

namespace collsim {
namespace {

using Align = TextTable::Align;
using Kind = ComparisonLine::Kind;

double measured_busbw(const CaseResult& row) {
  return row.measured_algbw() * busbw_factor(row.operation, row.ranks);
}

double lost_busbw(const CaseResult& row) {
  return row.busbw() - measured_busbw(row);
}

// Large errors need no decimals.
std::string percent_text(double part) {
  const double percent = 100 * std::abs(part);
  const int decimals = percent < 9.95 ? 1 : 0;
  if (percent < 99'999.5) return fmt::format("{:.{}f}%", percent, decimals);
  return fmt::format("{:.1e}%", percent);
}

std::string limit_text(double part) {
  return fmt::format("{:g}%", 100 * part);
}

std::string error_text(const CaseResult& row) {
  const std::optional<double> error = row.error();
  if (!error || !row.why_no_verdict().empty()) return "-";
  std::string text = percent_text(*error);
  if (text == "0.0%") return text;
  return (*error < 0 ? "-" : "+") + text;
}

std::string data_text(const CaseResult& row) {
  if (!row.measured) return "-";
  switch (row.measured->data) {
    case DataVerdict::right: return "right";
    case DataVerdict::wrong: return "WRONG";
    case DataVerdict::unchecked: break;
  }
  return "unchecked";
}

// "[3.790 .. 3.852]", the unit being that of the column before when it is the same for all.
std::string range_text(const std::string& middle, const std::string& low, const std::string& high) {
  if (low == "-") return "-";
  const auto unit_of = [](const std::string& cell) { return cell.substr(cell.find(' ') + 1); };
  if (unit_of(low) != unit_of(middle) || unit_of(high) != unit_of(middle))
    return "[" + low + " .. " + high + "]";
  return "[" + low.substr(0, low.find(' ')) + " .. " + high.substr(0, high.find(' ')) + "]";
}

// So many columns of numbers, which become cells together.
class TimeCells {
 public:
  template <class Get>
  std::size_t add(const std::vector<CaseResult>& rows, const Get& get) {
    rows_ = rows.size();
    for (const CaseResult& row : rows) times_.push_back(get(row));
    return columns_++;
  }
  [[nodiscard]] std::vector<std::vector<std::string>> all() const {
    const std::vector<std::string> cells = column_cells(times_, time_units());
    std::vector<std::vector<std::string>> columns;
    for (std::size_t i = 0; i < columns_; ++i) {
      const auto begin = cells.begin() + static_cast<std::ptrdiff_t>(i * rows_);
      columns.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(rows_));
    }
    return columns;
  }

 private:
  std::size_t rows_ = 0, columns_ = 0;
  std::vector<std::optional<double>> times_;
};

// Texts with how many rows say each, in the order in which they come.
class Said {
 public:
  void add(const std::string& text) {
    if (text.empty()) return;
    for (auto& [known, count] : texts_)
      if (known == text) {
        ++count;
        return;
      }
    texts_.emplace_back(text, 1);
  }
  void tell(std::string_view label, std::size_t rows, Kind kind,
            std::vector<ComparisonLine>& lines) const {
    constexpr std::size_t most = 8;
    for (std::size_t i = 0; i < std::min(most, texts_.size()); ++i) {
      const auto& [text, count] = texts_[i];
      const std::string where = count < rows ? fmt::format(" ({} of {} rows)", count, rows) : "";
      lines.push_back({kind, fmt::format("{}{}: {}", label, where, printable(text))});
    }
    if (texts_.size() > most)
      lines.push_back({kind, fmt::format("{}: and {} more", label, texts_.size() - most)});
  }

 private:
  std::vector<std::pair<std::string, std::size_t>> texts_;
};

std::string errors_text(const ComparisonCounts& counts, bool of_averages) {
  if (!counts.median_error) return "no error can be given";
  if (counts.judged() == 1) return "error " + percent_text(*counts.worst_error);
  if (of_averages && counts.judged() >= least_rows_for_percentiles)
    return fmt::format("median error {}, 95% of the rows within {}, worst {}",
                       percent_text(*counts.median_error), percent_text(*counts.p95_error),
                       percent_text(*counts.worst_error));
  return fmt::format("median error {}, worst {}", percent_text(*counts.median_error),
                     percent_text(*counts.worst_error));
}

std::string sentence(const ComparisonCounts& counts, const Comparison& how) {
  const std::optional<double> max_error = how.max_error;
  if (counts.unmeasured == counts.rows)
    return counts.rows == 1 ? "the row could not be measured"
                            : fmt::format("none of {} rows could be measured", counts.rows);
  if (counts.too_few_runs == counts.rows)
    return fmt::format("{}: fewer than {} runs give no error; raise --iters",
                       rows_text(counts.rows), least_runs_for_a_verdict);
  if (counts.elsewhere == counts.rows)
    return fmt::format(
        "{}, not judged: what was measured is not the machine that is predicted; --paced emulates "
        "its links, and collsim calibrate makes a cluster of this one",
        rows_text(counts.rows));
  if (counts.noisy == counts.rows)
    return fmt::format("{}, {}too noisy to judge: stop other programs or raise --iters",
                       rows_text(counts.rows), counts.rows == 1 ? "" : "all ");
  std::vector<std::string> parts{errors_text(counts, how.of_averages)};
  if (max_error && counts.judged() > 0)
    parts.push_back(
        fmt::format("{} of {} within {}", counts.good, counts.judged(), limit_text(*max_error)));
  if (counts.too_few_runs > 0)
    parts.push_back(
        fmt::format("{} of fewer than {} runs", counts.too_few_runs, least_runs_for_a_verdict));
  if (counts.noisy > 0) parts.push_back(fmt::format("{} too noisy to judge", counts.noisy));
  if (counts.unmeasured > 0) parts.push_back(fmt::format("{} not measured", counts.unmeasured));
  if (counts.wrong_data > 0) parts.push_back(fmt::format("{} with WRONG DATA", counts.wrong_data));
  return fmt::format("{}: {}", rows_text(counts.rows), fmt::join(parts, "; "));
}

// What a log gives: a time per size, and what its readers look at, the busbw.
void add_columns_of_averages(std::vector<TableColumn>& columns,
                             const std::vector<CaseResult>& rows) {
  std::vector<std::optional<double>> times, rates;
  TableColumn error{"error", Align::right, {}}, data{"data", Align::left, {}},
      ran{"NCCL ran", Align::left, {}};
  bool checked = false, chosen = false;
  for (const CaseResult& row : rows) {
    times.emplace_back(row.time_s());
    rates.emplace_back(row.busbw());
    error.cells.push_back(error_text(row));
    data.cells.push_back(data_text(row));
    ran.cells.push_back(row.measured ? printable(row.measured->ran) : "");
    checked = checked || (row.measured && row.measured->data == DataVerdict::wrong);
    chosen = chosen || !ran.cells.back().empty();
  }
  for (const CaseResult& row : rows)
    times.push_back(row.measured ? std::optional(row.measured->times.median_s) : std::nullopt);
  for (const CaseResult& row : rows)
    rates.push_back(row.measured ? std::optional(measured_busbw(row)) : std::nullopt);
  for (const CaseResult& row : rows)
    rates.push_back(row.measured ? std::optional(lost_busbw(row)) : std::nullopt);
  static constexpr std::array<ColumnUnit, 1> microseconds{{{1e-6, "us"}}};  // as in the log
  const std::vector<std::string> time =
      column_cells(times, {ColumnUnits::Common::of_middle, microseconds});
  std::vector<std::string> rate = column_cells(rates, rate_units());
  const auto part = [&](const std::vector<std::string>& cells, std::size_t number) {
    const auto begin = cells.begin() + static_cast<std::ptrdiff_t>(number * rows.size());
    return std::vector<std::string>(begin, begin + static_cast<std::ptrdiff_t>(rows.size()));
  };
  TableColumn lost{"lost", Align::right, part(rate, 2)};
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!rows[i].measured || lost_busbw(rows[i]) <= 0) lost.cells[i] = "-";
  columns.push_back({"predicted", Align::right, part(time, 0)});
  columns.push_back({"measured", Align::right, part(time, 1)});
  columns.push_back(std::move(error));
  columns.push_back({"busbw: predicted", Align::right, part(rate, 0)});
  columns.push_back({"measured", Align::right, part(rate, 1)});
  columns.push_back(std::move(lost));
  if (chosen) columns.push_back(std::move(ran));
  if (checked) columns.push_back(std::move(data));
}

// "8B -94% (0.8 us predicted, 13.67 us measured)": those that are furthest off.
std::string furthest_off(const Results& results) {
  constexpr std::size_t most_named = 3;
  std::vector<const CaseResult*> rows;
  for (const CaseResult& row : results.rows)
    if (row.error() && row.why_no_verdict().empty()) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const CaseResult* one, const CaseResult* other) {
    return std::abs(*one->error()) > std::abs(*other->error());
  });
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(most_named, rows.size()); ++i)
    parts.push_back(fmt::format("{} {}", exact_size(rows[i]->size), error_text(*rows[i])));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Where the machine falls furthest behind its prediction; empty: nowhere.
std::string largest_loss(const Results& results) {
  const CaseResult* most = nullptr;
  for (const CaseResult& row : results.rows)
    if (row.measured && row.why_no_verdict().empty() && lost_busbw(row) > 0 &&
        (most == nullptr || lost_busbw(row) > lost_busbw(*most)))
      most = &row;
  if (most == nullptr) return {};
  return fmt::format("{:.4g} GB/s at {}, {} of the predicted {:.4g} GB/s", lost_busbw(*most) / 1e9,
                     exact_size(most->size), percent_text(lost_busbw(*most) / most->busbw()),
                     most->busbw() / 1e9);
}

// Of paced runs how far they were behind at most; empty of others.
std::string largest_lag(const Results& results) {
  const CaseResult* most = nullptr;
  const auto part = [](const CaseResult& row) {
    return *row.measured->lag_s / row.measured->times.median_s;
  };
  for (const CaseResult& row : results.rows)
    if (row.measured && row.measured->lag_s && (most == nullptr || part(row) > part(*most)))
      most = &row;
  if (most == nullptr) return {};
  return fmt::format("threads were up to {} behind the emulated machine, {} of the row's time",
                     to_text(from_seconds(*most->measured->lag_s)), percent_text(part(*most)));
}

std::string where_text(const CaseResult& row) {
  std::string text;
  for (const auto& [path, value] : row.params)
    text += fmt::format("{}{} = {}", text.empty() ? " at " : ", ", path, plain_text(value));
  return printable(text);
}

}  // namespace

std::string rows_text(std::size_t rows) {
  return fmt::format("{} row{}", rows, rows == 1 ? "" : "s");
}

void add_comparison_columns(std::vector<TableColumn>& columns,
                            const std::vector<CaseResult>& rows) {
  const bool averages = std::any_of(rows.begin(), rows.end(), [](const CaseResult& row) {
    return row.measured && row.measured->is_average;
  });
  if (averages) return add_columns_of_averages(columns, rows);
  using Seconds = std::optional<double>;
  const auto measured = [](double Summary::*which) {
    return [which](const CaseResult& row) {
      return row.measured ? Seconds(row.measured->times.*which) : std::nullopt;
    };
  };
  TimeCells times;
  times.add(rows, [](const CaseResult& row) { return Seconds(row.time_s()); });
  times.add(rows, measured(&Summary::median_s));
  times.add(rows, measured(&Summary::min_s));
  times.add(rows, measured(&Summary::max_s));
  const bool own = std::any_of(rows.begin(), rows.end(), [](const CaseResult& row) {
    return row.measured && !row.measured->own_name.empty();
  });
  if (own)
    times.add(rows, [](const CaseResult& row) {
      const bool known = row.measured && !row.measured->own_name.empty();
      return known ? Seconds(row.measured->own_times.median_s) : std::nullopt;
    });
  const bool formula =
      std::any_of(rows.begin(), rows.end(), [](const CaseResult& row) { return row.analytic; });
  if (formula)
    times.add(rows, [](const CaseResult& row) {
      return row.analytic ? Seconds(row.analytic->seconds) : std::nullopt;
    });
  std::vector<std::vector<std::string>> cells = times.all();
  TableColumn range{"[min .. max]", Align::left, {}}, error{"error", Align::right, {}},
      data{"data", Align::left, {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    range.cells.push_back(range_text(cells[1][i], cells[2][i], cells[3][i]));
    error.cells.push_back(error_text(rows[i]));
    data.cells.push_back(data_text(rows[i]));
  }
  if (formula) columns.push_back({"formula", Align::right, std::move(cells.back())});
  columns.push_back({"predicted", Align::right, std::move(cells[0])});
  columns.push_back({"measured", Align::right, std::move(cells[1])});
  for (TableColumn* column : {&range, &error, &data}) columns.push_back(std::move(*column));
  if (own) columns.push_back({"MPI's own", Align::right, std::move(cells[4])});
}

std::vector<std::string> comparison_remarks(const Results& results) {
  std::vector<std::string> remarks;
  const std::optional<double> max_error = results.comparison->max_error;
  for (const CaseResult& row : results.rows) {
    switch (verdict_of(row, max_error)) {
      case RowVerdict::unmeasured: remarks.emplace_back("not measured"); break;
      case RowVerdict::wrong_data: remarks.emplace_back("no verdict"); break;
      case RowVerdict::too_few_runs:
      case RowVerdict::noisy: remarks.push_back(row.why_no_verdict()); break;
      case RowVerdict::beyond: remarks.push_back("beyond " + limit_text(*max_error)); break;
      case RowVerdict::good: remarks.emplace_back(); break;
    }
  }
  return remarks;
}

std::string how_it_was_measured(const Comparison& how) {
  if (how.of_averages)
    return fmt::format("measured elsewhere, as {} says{}", printable(how.file),
                       how.iterations == 0 ? std::string()
                                           : fmt::format(": mean of {} iteration{}", how.iterations,
                                                         how.iterations == 1 ? "" : "s"));
  const std::string on = how.backend.empty() ? "" : " on " + how.backend;
  std::string text = "measured" + on;
  if (!how.file.empty()) text += " elsewhere, as " + printable(how.file) + " says";
  if (how.paced) text += ", paced (links emulated)";
  text += fmt::format(", protocol {}", to_string(how.protocol));
  if (how.iterations > 0)
    text += fmt::format(": median of {} run{}{}", how.iterations, how.iterations == 1 ? "" : "s",
                        how.paced ? "" : ", more of short ones");
  return text;
}

std::string how_it_was_measured(const Results& results) {
  const ComparisonCounts counts = count_verdicts(results);
  return counts.measured() > 0 ? how_it_was_measured(*results.comparison) : "nothing was measured";
}

std::vector<ComparisonLine> comparison_lines(const Results& results) {
  std::vector<ComparisonLine> lines;
  if (results.rows.empty()) return lines;
  lines.push_back({Kind::sentence, sentence(count_verdicts(results), *results.comparison)});
  if (results.comparison->of_averages) {
    if (const std::string rows = furthest_off(results); !rows.empty())
      lines.push_back({Kind::detail, "furthest off: " + rows});
    if (const std::string loss = largest_loss(results); !loss.empty())
      lines.push_back({Kind::detail, "busbw lost: " + loss});
  }
  for (std::string& shortfall : beyond_class(results, ClassSide::below))
    lines.push_back({Kind::bad, printable(shortfall)});
  for (std::string& excess : beyond_class(results, ClassSide::above))
    lines.push_back({Kind::detail, printable(excess)});
  Said devices, functions, notes, reasons;
  for (const CaseResult& row : results.rows) {
    if (row.not_measured) reasons.add(row.not_measured->reason);
    if (!row.measured) continue;
    devices.add(row.measured->device);
    functions.add(row.measured->own_name);
    for (const std::string& note : row.measured->notes) notes.add(note);
    if (row.measured->data == DataVerdict::wrong)
      lines.push_back(
          {Kind::bad, "WRONG DATA" + where_text(row) + ": " + printable(row.measured->wrong_data)});
  }
  if (const std::string lag = largest_lag(results); !lag.empty())
    lines.push_back({Kind::detail, "lag: " + lag});
  const std::size_t rows = results.rows.size();
  reasons.tell("not measured", rows, Kind::bad, lines);
  devices.tell("device", rows, Kind::detail, lines);
  functions.tell("MPI's own", rows, Kind::detail, lines);
  notes.tell("note", rows, Kind::detail, lines);
  return lines;
}

}  // namespace collsim
