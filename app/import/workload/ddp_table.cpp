// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "app/import/workload/workload_parts.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

// Cells between commas; quotes around a cell, doubled within it.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted_cell = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted_cell && i + 1 < line.size() && line[i + 1] == '"')
        cells.back() += line[++i];
      else
        quoted_cell = !quoted_cell;
    } else if (line[i] == ',' && !quoted_cell) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

constexpr std::string_view bucket_column = "bucket_bytes_in_launch_order";
const std::vector<std::string> kernel_columns = {"collective", "nelems",   "dtype",
                                                 "group_size", "start_us", "dur_us"};

std::optional<std::size_t> column_of(const std::vector<std::string>& head, std::string_view name) {
  const auto found = std::find(head.begin(), head.end(), name);
  if (found == head.end()) return std::nullopt;
  return static_cast<std::size_t>(found - head.begin());
}

bool has_kernels(const std::vector<std::string>& head) {
  return std::all_of(kernel_columns.begin(), kernel_columns.end(),
                     [&](const std::string& name) { return column_of(head, name).has_value(); });
}

std::string no_cell(const char* column, const std::string& cell) {
  return fmt::format("{} is no {}", quoted(cell), column);
}

class DdpTable {
 public:
  explicit DdpTable(const WorkloadSource& file)
      : file_(file), lines_(lines_of(file.text())), head_(cells_of(lines_.at(0))) {
    workload_.ranks = file.answers->ranks;
  }

  std::optional<ImportedWorkload> read() {
    const bool read = has_kernels(head_) ? read_kernels() : read_buckets();
    if (!read) return std::nullopt;
    if (workload_.ranks > max_workload_ranks)
      return file_.refuse("too-large",
                          fmt::format("{} ranks; at most {}", workload_.ranks, max_workload_ranks));
    if (workload_.ranks == 0)
      workload_.questions.emplace_back("the file does not say how many ranks there are: --ranks N");
    return std::move(workload_);
  }

 private:
  Refusal wrong_line(std::size_t number, std::string message) {
    const auto begin = static_cast<std::uint32_t>(lines_[number].data() - file_.text().data());
    const auto size = static_cast<std::uint32_t>(lines_[number].size());
    return file_.wrong({file_.source, begin, begin + size}, "wrong-row", std::move(message));
  }

  // The first row of sizes: "2052000 28852224 15853824".
  bool read_buckets() {
    workload_.format = "DDP bucket list";
    const std::size_t column = *column_of(head_, bucket_column);
    std::size_t others = 0;
    for (std::size_t i = 1; i < lines_.size(); ++i) {
      const std::vector<std::string> cells = cells_of(lines_[i]);
      if (cells.size() <= column) continue;
      if (!workload_.items.empty()) {
        ++others;
        continue;
      }
      Bytes sum = 0;
      for (const std::string_view word : words_of(cells[column])) {
        const auto bytes = decimal(word);
        if (!bytes || *bytes < 1 || *bytes > 1e15 || std::floor(*bytes) != *bytes) {
          workload_.items.clear();
          break;
        }
        ImportedWorkload::Item item;
        item.operation = Operation::all_reduce;
        item.bytes = static_cast<Bytes>(*bytes);
        item.type =
            item.bytes % size_of(ElementType::f32) == 0 ? ElementType::f32 : ElementType::u8;
        sum += item.bytes;
        workload_.items.push_back(item);
      }
      if (workload_.items.empty())
        return wrong_line(i, "this row has no list of bytes, with blanks between");
      workload_.notes.push_back(fmt::format("{} of {} bytes together",
                                            count_text(workload_.items.size(), "bucket"),
                                            with_commas(sum)));
    }
    if (others > 0)
      workload_.notes.push_back(
          fmt::format("left out: {} below the first", count_text(others, "row")));
    workload_.assumed.emplace_back(
        "the buckets come one after the other, with no computing between: the list has no times");
    if (workload_.items.empty())
      return file_.refuse("no-collective", "the table has no row of buckets");
    return true;
  }

  // kernel,collective,nelems,dtype,group_size,start_us,dur_us,stream
  bool read_kernels() {
    workload_.format = "table of NCCL kernels";
    std::vector<TracedCollective> collectives;
    for (std::size_t i = 1; i < lines_.size(); ++i) {
      if (words_of(lines_[i]).empty()) continue;
      auto read = kernel(i, cells_of(lines_[i]));
      if (!read) return false;
      collectives.push_back(std::move(*read));
    }
    if (collectives.empty()) return file_.refuse("no-collective", "the table has no kernel");
    workload_.ranks = answered_ranks(file_, group_size_, 0, workload_);
    workload_.assumed.emplace_back(
        "the time between collectives is computing that needs their results; the table has no "
        "other kernels");
    replay({}, std::move(collectives), workload_);
    return true;
  }

  std::optional<TracedCollective> kernel(std::size_t line, const std::vector<std::string>& cells) {
    if (cells.size() != head_.size())
      return wrong_line(line, fmt::format("this row has {} and the first line {}",
                                          count_text(cells.size(), "cell"), head_.size()));
    const auto cell = [&](std::string_view name) -> const std::string& {
      return cells[*column_of(head_, name)];
    };
    const auto begin = decimal(cell("start_us")), length = decimal(cell("dur_us"));
    const auto elements = decimal(cell("nelems"));
    const auto operation = operation_of_pytorch(cell("collective"));
    const auto type = type_of_pytorch(cell("dtype"));
    const auto size = small_number(cell("group_size"));
    constexpr double most = 1e15;
    if (!begin || !length || !elements || *begin > most || *length > most || *elements > most)
      return wrong_line(line, "start_us, dur_us and nelems are numbers");
    if (!operation) return wrong_line(line, no_cell("collective", cell("collective")));
    if (!type) return wrong_line(line, no_cell("dtype", cell("dtype")));
    if (!size || *size < 1) return wrong_line(line, no_cell("group_size", cell("group_size")));
    if (group_size_ != 0 && group_size_ != *size)
      return wrong_line(line,
                        "the groups have different sizes, and the table does not say which "
                        "ranks they have");
    group_size_ = *size;
    TracedCollective found{*begin, *begin + *length, *begin, 0, {}};
    found.item.stream = workload_.stream_named("communication");
    found.item.operation = operation;
    found.item.type = *type;
    found.item.bytes =
        collective_bytes(*operation, std::llround(*elements), 0, *type, *size).value_or(0);
    return found;
  }

  const WorkloadSource& file_;
  std::vector<std::string_view> lines_;
  std::vector<std::string> head_;
  ImportedWorkload workload_;
  int group_size_ = 0;
};

}  // namespace

bool looks_like_ddp_table(std::string_view text) {
  constexpr std::size_t longest = 4096;
  const std::string_view head = text.substr(0, longest);
  const auto cells = cells_of(head.substr(0, head.find_first_of("\r\n")));
  return column_of(cells, bucket_column).has_value() || has_kernels(cells);
}

std::optional<ImportedWorkload> read_ddp_table(const WorkloadSource& file) {
  return DdpTable(file).read();
}

}  // namespace collsim
