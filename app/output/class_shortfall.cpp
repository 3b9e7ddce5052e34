// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/output/comparison_table.hpp"
#include "app/results/results.hpp"
#include "app/scenario/quantities.hpp"

namespace collsim {
namespace {

using SizedRows = std::vector<const CaseResult*>;

// Two rows may be noise, which a log of averages does not show.
constexpr std::size_t least_sizes = 3;
// Below, a time is launches and hops; above, bytes on links.
constexpr Bytes small_size = kibibytes(64), large_size = mebibytes(16);

bool falls_behind(const CaseResult& row) {
  return row.why_no_verdict().empty() && row.error() && -*row.error() > row.error_class->most;
}

// By size, or none when a size says not enough about a row: then others of it are there.
SizedRows rows_by_size(const Results& results) {
  SizedRows rows;
  for (const CaseResult& row : results.rows)
    if (row.error_class && row.error_class->is_yardstick() && row.error()) rows.push_back(&row);
  const auto size = [](const CaseResult* row) { return row->size; };
  std::ranges::stable_sort(rows, {}, size);
  if (std::ranges::adjacent_find(rows, {}, size) != rows.end()) rows.clear();
  return rows;
}

// Sizes at which a machine is beyond its class.
struct Shortfall {
  SizedRows rows;
  std::string where;
  bool small = false, large = false;  // the smallest sizes there are, and the largest
};

Shortfall shortfall_of(const SizedRows& all, std::size_t first, std::size_t end) {
  Shortfall found;
  found.rows.assign(all.begin() + static_cast<std::ptrdiff_t>(first),
                    all.begin() + static_cast<std::ptrdiff_t>(end));
  const std::string smallest = exact_size(all[first]->size),
                    largest = exact_size(all[end - 1]->size);
  found.small = first == 0 && all[first]->size <= small_size;
  found.large = end == all.size() && all[end - 1]->size > large_size;
  if (first == 0 && end == all.size())
    found.where = "at all sizes";
  else if (end == all.size())
    found.where = fmt::format("from {} on", smallest);
  else
    found.where = first == 0 ? fmt::format("up to {}", largest)
                             : fmt::format("from {} to {}", smallest, largest);
  return found;
}

// Most sizes, small and large: that has one cause.
bool is_everywhere(const SizedRows& all, const SizedRows& behind) {
  return behind.size() >= least_sizes && 4 * behind.size() >= 3 * all.size() &&
         behind.front()->size <= small_size && behind.back()->size > large_size;
}

// What NCCL's own log says that it ran, where that is something else than predicted.
std::string other_choice(const SizedRows& rows) {
  for (const CaseResult* row : rows) {
    std::string predicted = row->algorithm_text();
    std::ranges::replace(predicted, ' ', '/');
    if (!row->measured->ran.empty() && row->measured->ran != predicted)
      return fmt::format("NCCL ran {} at {}, not {}: NCCL_ALGO, NCCL_PROTO and its version",
                         row->measured->ran, exact_size(row->size), predicted);
  }
  return {};
}

// What usually makes a machine slow at such sizes.
std::string what_to_check(const Shortfall& found) {
  if (found.small && found.large)
    return "whether this is the machine (--preset, --nodes), and what else ran on it";
  if (std::string other = other_choice(found.rows); !other.empty()) return other;
  const bool between_nodes = found.rows.back()->error_class->between_nodes;
  if (found.large) {
    if (between_nodes)
      return "that each GPU uses a NIC near to it, and that NICs access GPU memory directly (GDR)";
    if (found.rows.back()->nccl == NcclAlgorithm::nvls)
      return "that NVLS is in use (NCCL_NVLS_ENABLE), and all NVLinks (nvidia-smi nvlink -s)";
    return "that GPUs reach each other directly (NCCL_P2P_DISABLE, IOMMU, ACS) over all their "
           "links";
  }
  if (!found.small) return "which algorithm and protocol NCCL chose (NCCL_DEBUG_SUBSYS=TUNING)";
  if (between_nodes)
    return "the latency of the network and of the way to the NICs, and clocks and load of the "
           "cores";
  return "clocks and load of the host's cores, and whether one thread launches for all GPUs (-g)";
}

// "12% up to 64 KiB, 44% up to 16 MiB": what 95% of their class are within.
std::string limits_text(const SizedRows& rows) {
  std::string text;
  const ErrorClass* last = nullptr;
  for (const CaseResult* row : rows) {
    const ErrorClass& of = *row->error_class;
    if (last != nullptr && *last == of) continue;
    text += fmt::format("{}{}{}", last == nullptr ? "" : ", ", whole_percent(of.most),
                        of.up_to != 0     ? " up to " + bytes_to_text(of.up_to)
                        : last != nullptr ? " above"
                                          : "");
    last = &of;
  }
  return text;
}

// Where half of them are no further off than tables of owners that the fit had not seen.
std::string doubt_text(const SizedRows& rows) {
  double unseen = 0;
  std::size_t ordinary = 0;
  for (const CaseResult* row : rows) {
    const double limit = row->error_class->unseen_most.value_or(0);
    if (-*row->error() > limit) continue;
    unseen = std::max(unseen, limit);
    ++ordinary;
  }
  return 2 * ordinary < rows.size()
             ? ""
             : fmt::format(", of owners left out of the fit only within {}", whole_percent(unseen));
}

std::string sentence(const Shortfall& found) {
  const SizedRows& rows = found.rows;
  const auto [most, least] =
      std::ranges::minmax(rows, {}, [](const CaseResult* row) { return *row->error(); });
  const std::string low = whole_percent(-*least->error()), high = whole_percent(-*most->error());
  return fmt::format(
      "below its class: {} busbw is {} less than predicted; 95% of the published rows of {} are "
      "within {}{}. Check {}",
      found.where, low == high ? low : low + " to " + high, rows.front()->error_class->machines,
      limits_text(rows), doubt_text(rows), what_to_check(found));
}

}  // namespace

std::vector<std::string> class_shortfalls(const Results& results) {
  const SizedRows rows = rows_by_size(results);
  SizedRows behind;
  std::ranges::copy_if(rows, std::back_inserter(behind),
                       [](const CaseResult* row) { return falls_behind(*row); });
  if (behind.size() < rows.size() && is_everywhere(rows, behind))
    return {sentence(
        {behind, fmt::format("at {} of {} sizes", behind.size(), rows.size()), true, true})};
  std::vector<std::string> found;
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first;
    while (end < rows.size() && falls_behind(*rows[end])) ++end;
    if (end - first >= least_sizes) found.push_back(sentence(shortfall_of(rows, first, end)));
    first = end + 1;
  }
  return found;
}

}  // namespace collsim
