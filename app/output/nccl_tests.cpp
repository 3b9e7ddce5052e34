// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>

#include "app/json/screen_text.hpp"
#include "app/output/comparison_table.hpp"
#include "app/output/writers.hpp"

// The layout of nccl-tests (src/common.cu), column by column, because scripts parse it.

namespace collsim {
namespace {

// Those whose count is one rank's share.
bool counts_per_rank(Operation operation) {
  switch (operation) {
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::gather:
    case Operation::scatter:
    case Operation::all_to_all: return true;
    default: return false;
  }
}

const char* name_of(ElementType type) {
  switch (type) {
    case ElementType::i8: return "int8";
    case ElementType::u8: return "uint8";
    case ElementType::i32: return "int32";
    case ElementType::u32: return "uint32";
    case ElementType::i64: return "int64";
    case ElementType::u64: return "uint64";
    case ElementType::f16: return "half";
    case ElementType::bf16: return "bfloat16";
    case ElementType::f32: return "float";
    case ElementType::f64: return "double";
  }
  return "unknown";
}

// Fewer decimals for longer times, so that seven characters are enough.
std::string microseconds_text(double us) {
  const int decimals = us >= 10000 ? 0 : us >= 100 ? 1 : 2;
  return fmt::format("{:7.{}f}", us, decimals);
}

// A run says whether all data was right and shows the first difference; it does not count them.
std::string wrong_text(const CaseResult& row) {
  if (!row.measured || row.measured->data == DataVerdict::unchecked) return "N/A";
  return row.measured->data == DataVerdict::right ? "0" : ">=1";
}

std::string row_text(const CaseResult& row) {
  const double seconds = row.measured ? row.measured->times.median_s : row.time_s();
  const double algbw = row.measured ? row.measured_algbw() : row.algbw();
  const std::int64_t count =
      row.size / size_of(row.type) / (counts_per_rank(row.operation) ? row.ranks : 1);
  const std::string half =
      fmt::format("  {:>7}  {:6.2f}  {:6.2f}  {:>5}", microseconds_text(seconds * 1e6), algbw / 1e9,
                  algbw * busbw_factor(row.operation, row.ranks) / 1e9, wrong_text(row));
  return fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:>6}{}{}\n", row.size, count, name_of(row.type),
                     row.reduction ? to_string(*row.reduction) : "none",
                     has_root(row.operation) ? row.root : -1, half, half);
}

void write_heading(std::ostream& out, const Results& results) {
  out << "# " << printable(results.description) << "\n# collsim " << COLLSIM_VERSION;
  if (results.comparison)
    out << ": " << how_it_was_measured(results) << "; both halves show the same run\n#\n";
  else
    out << " simulated this: nothing ran, no data was checked (#wrong is N/A), and in place is "
           "assumed to be as fast as out of place\n#\n";
  out << fmt::format(
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}           out-of-place                 "
      "      in-place          \n",
      "", "", "", "", "");
  const std::string names =
      fmt::format("  {:>7}  {:>6}  {:>6} {:>6}", "time", "algbw", "busbw", "#wrong");
  const std::string units =
      fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", "(us)", "(GB/s)", "(GB/s)", "");
  out << fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "size", "count", "type",
                     "redop", "root", names, names);
  out << fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "(B)", "(elements)", "", "", "",
                     units, units);
}

// What is swept besides the size, which has a column.
std::string other_params(const CaseResult& row) {
  std::string text;
  for (const auto& [path, value] : row.params)
    if (path != "collective.size")
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", path, plain_text(value));
  return text;
}

std::string wrong_rows(const Results& results) {
  std::size_t checked = 0, wrong = 0;
  for (const CaseResult& row : results.rows) {
    if (!row.measured || row.measured->data == DataVerdict::unchecked) continue;
    ++checked;
    wrong += row.measured->data == DataVerdict::wrong ? 1 : 0;
  }
  return checked == 0 ? "0 N/A" : fmt::format("{} {}", wrong, wrong == 0 ? "OK" : "FAILED");
}

}  // namespace

void write_nccl_tests(std::ostream& out, const Results& results) {
  write_heading(out, results);
  double sum = 0;
  std::size_t shown = 0;
  std::string params;
  for (const CaseResult& row : results.rows) {
    if (std::string now = other_params(row); now != params) {
      params = std::move(now);
      out << "# " << printable(params) << "\n";
    }
    if (row.not_measured) {
      out << "# " << row.size << " bytes not measured: " << printable(row.not_measured->reason)
          << "\n";
      continue;
    }
    out << row_text(row);
    const double algbw = row.measured ? row.measured_algbw() : row.algbw();
    sum += algbw * busbw_factor(row.operation, row.ranks) / 1e9;
    ++shown;
  }
  const double rows = shown == 0 ? 1 : static_cast<double>(shown);
  out << "# Out of bounds values : " << wrong_rows(results) << "\n"
      << fmt::format("# Avg bus bandwidth    : {:g} \n", sum / rows) << "#\n";
  if (const std::string search = search_line(results); !search.empty())
    out << "# " << search << "\n";
  for (const std::string& line : sureness_lines(results)) out << "# " << line << "\n";
}

}  // namespace collsim
