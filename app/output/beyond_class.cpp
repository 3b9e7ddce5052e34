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

using Side = ClassSide;

// How much less, or more, busbw a row has than predicted.
double difference(const CaseResult& row, Side side) {
  return side == Side::below ? -*row.error() : *row.error();
}

bool is_beyond(const CaseResult& row, Side side) {
  return row.why_no_verdict().empty() && row.error() &&
         difference(row, side) > row.error_class->most;
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
struct Stretch {
  SizedRows rows;
  std::string where;
  bool small = false, large = false;  // the smallest sizes there are, and the largest
};

Stretch stretch_of(const SizedRows& all, std::size_t first, std::size_t end) {
  Stretch found;
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
bool is_everywhere(const SizedRows& all, const SizedRows& beyond) {
  return beyond.size() >= least_sizes && 4 * beyond.size() >= 3 * all.size() &&
         beyond.front()->size <= small_size && beyond.back()->size > large_size;
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
std::string what_slows(const Stretch& found, bool between_nodes) {
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

// And what makes it fast.
std::string what_helps(const Stretch& found, bool between_nodes) {
  if (found.large && between_nodes)
    return "whether switches of the network add (SHARP: predict --sharp), and how many NICs a node "
           "has, at which rate";
  if (found.small)
    return "whether launches were timed, too (-G leaves them out), and whether this is the machine "
           "(--preset)";
  return "whether this is the machine (--preset, --nodes): newer GPUs have faster links";
}

std::string what_to_check(const Stretch& found, Side side) {
  if (found.small && found.large)
    return std::string("whether this is the machine (--preset, --nodes)") +
           (side == Side::below ? ", and what else ran on it" : "");
  if (std::string other = other_choice(found.rows); !other.empty()) return other;
  const bool between_nodes = found.rows.back()->error_class->between_nodes;
  return side == Side::below ? what_slows(found, between_nodes) : what_helps(found, between_nodes);
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
std::string doubt_text(const SizedRows& rows, Side side) {
  double unseen = 0;
  std::size_t ordinary = 0;
  for (const CaseResult* row : rows) {
    const double limit = row->error_class->unseen_most.value_or(0);
    if (difference(*row, side) > limit) continue;
    unseen = std::max(unseen, limit);
    ++ordinary;
  }
  return 2 * ordinary < rows.size()
             ? ""
             : fmt::format(", of owners left out of the fit only within {}", whole_percent(unseen));
}

std::string sentence(const Stretch& found, Side side) {
  const SizedRows& rows = found.rows;
  const auto [least, most] = std::ranges::minmax(
      rows, {}, [side](const CaseResult* row) { return difference(*row, side); });
  const std::string low = whole_percent(difference(*least, side)),
                    high = whole_percent(difference(*most, side));
  const bool below = side == Side::below;
  return fmt::format(
      "{} its class: {} busbw is {} {} than predicted; 95% of the published rows of {} are "
      "within {}{}. Check {}",
      below ? "below" : "above", found.where, low == high ? low : low + " to " + high,
      below ? "less" : "more", rows.front()->error_class->machines, limits_text(rows),
      doubt_text(rows, side), what_to_check(found, side));
}

}  // namespace

std::vector<std::string> beyond_class(const Results& results, Side side) {
  const SizedRows rows = rows_by_size(results);
  SizedRows beyond;
  std::ranges::copy_if(rows, std::back_inserter(beyond),
                       [side](const CaseResult* row) { return is_beyond(*row, side); });
  if (beyond.size() < rows.size() && is_everywhere(rows, beyond))
    return {sentence(
        {beyond, fmt::format("at {} of {} sizes", beyond.size(), rows.size()), true, true}, side)};
  std::vector<std::string> found;
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first;
    while (end < rows.size() && is_beyond(*rows[end], side)) ++end;
    if (end - first >= least_sizes) found.push_back(sentence(stretch_of(rows, first, end), side));
    first = end + 1;
  }
  return found;
}

}  // namespace collsim
