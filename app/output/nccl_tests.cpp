// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>

#include "app/json/screen_text.hpp"
#include "app/output/writers.hpp"

// The layout of nccl-tests (src/common.cu), column by column, because people parse it.

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

std::string row_text(const Row& row) {
  const std::int64_t count =
      row.size / size_of(row.type) / (counts_per_rank(row.operation) ? row.ranks : 1);
  const std::string half =
      fmt::format("  {:>7}  {:6.2f}  {:6.2f}  {:>5}", microseconds_text(row.time_s() * 1e6),
                  row.algbw() / 1e9, row.busbw() / 1e9, "N/A");
  return fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:>6}{}{}\n", row.size, count, name_of(row.type),
                     row.reduction ? to_string(*row.reduction) : "none",
                     has_root(row.operation) ? row.root : -1, half, half);
}

void write_heading(std::ostream& out, const Results& results) {
  out << "# " << printable(results.description) << "\n"
      << "# collsim " << COLLSIM_VERSION
      << " simulated this: nothing ran, no data were checked (#wrong is N/A), and in place is "
         "taken to be as fast as out of place\n"
      << "#\n";
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
std::string other_params(const Row& row) {
  std::string text;
  for (const auto& [path, value] : row.params)
    if (path != "collective.size")
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", path, cell_text(value));
  return text;
}

}  // namespace

void write_nccl_tests(std::ostream& out, const Results& results) {
  write_heading(out, results);
  double sum = 0;
  std::string params;
  for (const Row& row : results.rows) {
    if (std::string now = other_params(row); now != params) {
      params = std::move(now);
      out << "# " << printable(params) << "\n";
    }
    out << row_text(row);
    sum += row.busbw() / 1e9;
  }
  const double rows = results.rows.empty() ? 1 : static_cast<double>(results.rows.size());
  out << "# Out of bounds values : 0 N/A\n"
      << fmt::format("# Avg bus bandwidth    : {:g} \n", sum / rows) << "#\n";
}

}  // namespace collsim
