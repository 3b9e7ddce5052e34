// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/measured/log_run.hpp"

namespace collsim {
namespace {

using Candidates = std::vector<std::string>;

// Those whose busbw is algbw * (n - 1) / n, and whose count is one rank's share of the size.
bool is_shared(std::string_view operation) {
  constexpr std::array<std::string_view, 5> shared = {"all-gather", "reduce-scatter", "all-to-all",
                                                      "gather", "scatter"};
  return std::find(shared.begin(), shared.end(), operation) != shared.end();
}

// How many ranks share the size, as all rows with data say: 1 where the count is of the whole size.
// Nothing when they disagree or say nothing.
std::optional<std::int64_t> ranks_by_count(const std::vector<LogRow>& rows) {
  std::optional<std::int64_t> ranks;
  for (const LogRow& row : rows) {
    const std::optional<Bytes> element = element_bytes(row.type);
    Bytes of_count = 0;
    if (row.size == 0) continue;
    if (!element || row.count == 0 || __builtin_mul_overflow(row.count, *element, &of_count))
      return std::nullopt;
    if (row.size % of_count != 0) return std::nullopt;
    const std::int64_t here = row.size / of_count;
    if (ranks && *ranks != here) return std::nullopt;
    ranks = here;
  }
  return ranks;
}

// busbw / algbw where each rank's count is the whole size: 1 or more, unless there is one rank
// only, of which the busbw is 0.
constexpr double least_whole_ratio = 0.995, most_ratio_of_one = 0.4;

// What busbw / algbw can be, given how both are rounded; all halves together.
struct Ratio {
  double low = 0, high = std::numeric_limits<double>::infinity();
  bool known = false;
};

Ratio bus_ratio(const std::vector<LogRow>& rows) {
  constexpr double rounding = 0.0051, least = 0.1;
  Ratio ratio;
  const auto take = [&](const LogHalf& half) {
    if (half.algbw < least || half.algbw > 99'999) return;  // then it is printed otherwise
    if (half.busbw < 0) return;
    const double low = (half.busbw - rounding) / (half.algbw + rounding);
    const double high = (half.busbw + rounding) / (half.algbw - rounding);
    if (low > ratio.high || high < ratio.low) return;
    ratio = {std::max(low, ratio.low), std::min(high, ratio.high), true};
  };
  // The largest are the most exact; what then does not fit is a misprint.
  std::vector<const LogHalf*> halves;
  for (const LogRow& row : rows) {
    halves.push_back(&row.out);
    if (row.in_place) halves.push_back(&*row.in_place);
  }
  std::stable_sort(halves.begin(), halves.end(), [](const LogHalf* one, const LogHalf* other) {
    return one->algbw > other->algbw;
  });
  for (const LogHalf* half : halves) take(*half);
  return ratio;
}

// The numbers of ranks for which nccl-tests' factor lies in the ratio.
struct RankRange {
  std::int64_t least = 0, most = 0;
};
std::optional<RankRange> ranks_by_ratio(const Ratio& ratio, std::string_view operation) {
  constexpr double most_ranks = 1e7;
  const bool all_reduce = operation == "all-reduce";
  if (!ratio.known || (!all_reduce && !is_shared(operation))) return std::nullopt;
  const double whole = all_reduce ? 2 : 1;  // the factor of endless ranks
  const auto ranks_of = [&](double factor) {
    return factor < whole ? std::min(most_ranks, whole / (whole - factor)) : most_ranks;
  };
  const auto least =
      static_cast<std::int64_t>(std::ceil(ranks_of(std::max(0.0, ratio.low)) - 1e-9));
  const auto most = static_cast<std::int64_t>(std::floor(ranks_of(ratio.high) + 1e-9));
  if (most < least || most >= static_cast<std::int64_t>(most_ranks)) return std::nullopt;
  return RankRange{std::max<std::int64_t>(1, least), most};
}

class Conclusion {
 public:
  Conclusion(const LogRun& run, const std::vector<LogRow>& rows, const std::string& file)
      : run_(run), rows_(rows) {
    table_.source = fmt::format("{}:{}", file, rows.front().line);
    by_count_ = ranks_by_count(rows);
    ratio_ = bus_ratio(rows);
  }

  MeasuredTable table(const std::string& file_operation) && {
    const LogRow& first = rows_.front();
    table_.dtype = known_element_type(first.type);
    if (first.reduction != "none") table_.reduction = first.reduction;
    if (!known_reduction(table_.reduction).empty())
      table_.reduction = known_reduction(table_.reduction);
    choose_operation(file_operation);
    choose_ranks();
    take_machine();
    if (first.has_root && first.root >= 0) table_.root = first.root;
    take_rows();
    take_notes();
    return std::move(table_);
  }

 private:
  // --- the operation ---------------------------------------------------------------------------

  // What a program of nccl-tests can be that prints these columns.
  [[nodiscard]] Candidates allowed_operations() const {
    const LogRow& row = rows_.front();
    const bool reduces = !table_.reduction.empty();
    const bool rooted = row.has_root && row.root >= 0;
    const bool several = by_count_ && *by_count_ > 1;
    const bool several_listed = listed_ranks().value_or(1) > 1;
    const bool whole =
        by_count_ == 1 && (several_listed || (ratio_.known && ratio_.high > least_whole_ratio));
    if (reduces && rooted) return {"reduce"};
    if (reduces) {
      if (several) return {"reduce-scatter"};
      if (whole) return {"all-reduce"};
      return {"all-reduce", "reduce-scatter"};
    }
    if (rooted) {
      if (several) return {"gather", "scatter"};
      if (whole) return {"broadcast"};
      return {"broadcast", "gather", "scatter"};
    }
    // Until 2022 the program for all-to-all named a column that it left empty.
    const bool empty_column = run_.header.seen && run_.header.reduction && row.reduction.empty();
    if (several && (empty_column || in_place_is_unchecked())) return {"all-to-all"};
    if (several) return {"all-gather", "all-to-all"};
    if (whole) return {"send-recv"};
    return {"send-recv", "all-gather", "all-to-all"};
  }

  // Only all-to-all checks one half and not the other.
  [[nodiscard]] bool in_place_is_unchecked() const {
    return std::all_of(rows_.begin(), rows_.end(), [](const LogRow& row) {
      return row.out.checked && row.in_place && !row.in_place->checked;
    });
  }

  void choose_operation(const std::string& file_operation) {
    const Candidates allowed = allowed_operations();
    const auto fits = [&](const std::string& one) {
      return std::find(allowed.begin(), allowed.end(), one) != allowed.end();
    };
    if (!run_.unknown_operation.empty()) {
      table_.notes.push_back(fmt::format("{} is no collective that collsim knows",
                                         printable(run_.unknown_operation + "_perf")));
      return;
    }
    if (!run_.operation.empty()) return settle(run_.operation, "it is named");
    if (!run_.command_operation.empty())
      return settle(run_.command_operation, "the command line is there");
    if (allowed.size() == 1) return settle(allowed.front(), "no other has these columns");
    if (fits(file_operation)) return settle(file_operation, "by the name of the file");
    table_.candidates = allowed;
  }

  void settle(const std::string& operation, std::string_view why) {
    table_.operation = operation;
    table_.found.push_back(fmt::format("{}: {}", operation, why));
  }

  // --- the ranks -------------------------------------------------------------------------------

  void choose_ranks() {
    if (run_.ranks_said && *run_.ranks_said > 0) {
      table_.ranks = run_.ranks_said;
    } else if (const std::optional<std::int64_t> listed = listed_ranks()) {
      settle_ranks(*listed, "the list of ranks");
    } else if (by_count_ && *by_count_ > 1) {
      settle_ranks(*by_count_, "size is so many times count");
    } else if (ratio_.known && ratio_.high < most_ratio_of_one) {
      settle_ranks(1, "busbw is 0");
    } else if (const auto range = ranks_by_ratio(ratio_, table_.operation);
               range && range->least == range->most) {
      settle_ranks(range->least, fmt::format("busbw / algbw is {:.4g}", middle_ratio()));
    } else if (run_.debug.ranks()) {
      settle_ranks(*run_.debug.ranks(), "NCCL's lines");
    } else if (range) {
      table_.notes.push_back(
          fmt::format("busbw / algbw allows {} to {} ranks", range->least, range->most));
    }
    check_ranks();
  }

  void settle_ranks(std::int64_t ranks, const std::string& why) {
    table_.ranks = ranks;
    table_.found.push_back(count_text(ranks, "rank") + ": " + why);
  }

  // Of the group of rank 0 (NCCL_TESTS_SPLIT makes several).
  [[nodiscard]] std::optional<std::int64_t> listed_ranks() const {
    if (run_.ranks.empty()) return std::nullopt;
    std::int64_t largest = 0, in_group = 0;
    const std::int64_t group = run_.ranks.front().group;
    for (const LogRun::RankLine& one : run_.ranks) {
      largest = std::max(largest, one.rank);
      in_group += one.group == group ? 1 : 0;
    }
    const bool split = std::any_of(run_.ranks.begin(), run_.ranks.end(),
                                   [&](const auto& one) { return one.group != group; });
    return split ? in_group : largest + 1;
  }

  // What is printed twice must agree.
  void check_ranks() {
    if (!table_.ranks) return;
    const std::int64_t ranks = *table_.ranks;
    if (by_count_ && *by_count_ > 1 && is_shared(table_.operation) && *by_count_ != ranks)
      table_.notes.push_back(fmt::format("size is {} times count, but there {} {}", *by_count_,
                                         ranks == 1 ? "is" : "are", count_text(ranks, "rank")));
    const auto range = ranks_by_ratio(ratio_, table_.operation);
    if (range && (ranks < range->least || ranks > range->most))
      table_.notes.push_back(fmt::format("busbw / algbw is {:.4g}, which does not fit {}",
                                         middle_ratio(), count_text(ranks, "rank")));
  }

  [[nodiscard]] double middle_ratio() const { return (ratio_.low + ratio_.high) / 2; }

  // --- the machine -----------------------------------------------------------------------------

  void take_machine() {
    table_.library = run_.version.empty() ? run_.debug.library() : run_.version;
    table_.interconnect = run_.debug.network();
    table_.iterations = as_int(run_.iterations);
    table_.warmup = as_int(run_.warmup);
    take_nodes();
    take_launch();
    if (run_.launch_said != MeasuredLaunch::unknown) table_.launch = run_.launch_said;
    table_.gpu = run_.gpu_said;
    for (const LogRun::RankLine& one : run_.ranks) {
      if (table_.gpu.empty()) table_.gpu = one.gpu;
      if (one.gpu == table_.gpu) continue;
      table_.notes.push_back("not all GPUs are alike: " + printable(one.gpu));
      break;
    }
  }

  static std::optional<int> as_int(std::optional<std::int64_t> number) {
    if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) return std::nullopt;
    return static_cast<int>(*number);
  }

  [[nodiscard]] bool all_ranks_are_listed() const {
    return table_.ranks && !run_.ranks.empty() &&
           static_cast<std::int64_t>(run_.ranks.size()) >= *table_.ranks;
  }

  void take_nodes() {
    if (all_ranks_are_listed()) {
      std::map<std::string, std::int64_t> hosts;
      std::map<std::pair<std::string, std::int64_t>, std::int64_t> devices;
      std::int64_t most = 1;  // containers on several nodes may have one name
      for (const LogRun::RankLine& one : run_.ranks) {
        if (!one.host.empty()) ++hosts[one.host];
        if (one.device >= 0) most = std::max(most, ++devices[{one.host, one.device}]);
      }
      const auto count = static_cast<std::int64_t>(hosts.size());
      if (count > 0 && most == 1) table_.nodes = count;
      if (count > 0 && most == 1) doubt_uneven(hosts);
      if (count == 0 && most == 1 && run_.gpus == table_.ranks) table_.nodes = 1;
      if (most > 1) table_.notes.emplace_back("several ranks name the same device of one host");
    }
    if (!table_.nodes && run_.debug.nodes() && run_.debug.ranks() == table_.ranks)
      table_.nodes = run_.debug.nodes();
    if (!table_.nodes && run_.nodes_asked && *run_.nodes_asked > 0) table_.nodes = run_.nodes_asked;
  }

  // Predictions have as many ranks on every node.
  void doubt_uneven(const std::map<std::string, std::int64_t>& ranks_of_hosts) {
    const auto fewer = [](const auto& one, const auto& other) { return one.second < other.second; };
    const auto [least, most] =
        std::minmax_element(ranks_of_hosts.begin(), ranks_of_hosts.end(), fewer);
    if (least->second == most->second) return;
    table_.notes.push_back(
        fmt::format("the nodes do not have as many ranks each: {} has {}, {} has {}; a prediction "
                    "spreads them evenly",
                    most->first, most->second, least->first, least->second));
  }

  void take_launch() {
    const std::int64_t gpus = run_.gpus.value_or(1), threads = run_.threads.value_or(1);
    if (gpus > 1) {
      table_.launch = MeasuredLaunch::one_thread;
    } else if (threads > 1) {
      table_.launch = MeasuredLaunch::thread_per_gpu;
    } else if (run_.gpus || all_ranks_have_processes()) {
      table_.launch = MeasuredLaunch::process_per_gpu;
    }
    const bool alone = table_.ranks && gpus > 0 && threads > 0 && *table_.ranks / gpus == threads;
    if (!table_.nodes && run_.gpus && run_.threads && alone && gpus * threads > 1)
      table_.nodes = 1;  // one process
  }

  [[nodiscard]] bool all_ranks_have_processes() const {
    if (!all_ranks_are_listed()) return false;
    std::set<std::pair<std::string, std::string>> processes;
    for (const LogRun::RankLine& one : run_.ranks) processes.insert({one.host, one.pid});
    return processes.size() == run_.ranks.size();
  }

  // --- rows ------------------------------------------------------------------------------------

  [[nodiscard]] bool times_are_in_ms() const {
    const auto only = [&](bool LogRow::*one, bool LogRow::*other) {
      return std::count_if(rows_.begin(), rows_.end(),
                           [&](const LogRow& row) { return row.*one && !(row.*other); });
    };
    const auto ms = only(&LogRow::fits_ms, &LogRow::fits_us);
    const auto us = only(&LogRow::fits_us, &LogRow::fits_ms);
    return ms == us ? run_.header.of_2017 : ms > us;
  }

  void take_rows() {
    const double units = times_are_in_ms() ? 1e3 : 1e6;  // in a second
    const bool all_right = run_.out_of_bounds == 0;
    const auto wrong_of = [&](const LogHalf& half) {
      if (half.wrong || !half.checked) return half.wrong;
      return all_right ? std::optional<std::int64_t>(0) : std::nullopt;
    };
    std::vector<std::string> misfits;
    for (const LogRow& row : rows_) {
      MeasuredTableRow taken;
      taken.size = row.size;
      taken.time_s = in_seconds(row.out.time, units);
      taken.wrong = wrong_of(row.out);
      if (row.in_place) {
        taken.in_place_s = in_seconds(row.in_place->time, units);
        taken.in_place_wrong = wrong_of(*row.in_place);
      }
      taken.algorithm = row.algorithm;
      taken.protocol = row.protocol;
      if (const auto choice = run_.debug.choice(table_.operation, row.size)) {
        taken.algorithm = choice->algorithm;
        taken.protocol = choice->protocol;
      }
      if (!row.fits_us && !row.fits_ms) misfits.push_back(std::to_string(row.line));
      table_.rows.push_back(std::move(taken));
    }
    if (misfits.empty()) return;
    constexpr std::size_t most_named = 3;
    std::string note =
        "algbw is not size / time in " + part_text(misfits.size(), rows_.size(), "row") + ": line ";
    for (std::size_t i = 0; i < std::min(misfits.size(), most_named); ++i)
      note += (i > 0 ? ", " : "") + misfits[i];
    table_.notes.push_back(note + (misfits.size() > most_named ? " and more" : ""));
  }

  void take_notes() {
    table_.complete = (run_.has_average || run_.has_names) && !run_.elided && run_.damaged.empty();
    if (!run_.failure.empty())
      table_.notes.push_back("the run failed: " + run_.failure);
    else if (!run_.has_average && !run_.has_names)
      table_.notes.emplace_back("the end of the run is not there");
    if (run_.elided) table_.notes.emplace_back("rows were left out (\"...\")");
    for (const std::string& one : run_.damaged) table_.notes.push_back(one);
    table_.wrong_values = run_.out_of_bounds.value_or(0);
    if (table_.wrong_values != 0)
      table_.notes.push_back("the run found " + count_text(table_.wrong_values, "wrong value"));
  }

  const LogRun& run_;
  const std::vector<LogRow>& rows_;
  MeasuredTable table_;
  std::optional<std::int64_t> by_count_;
  Ratio ratio_;
};

}  // namespace

std::vector<MeasuredTable> tables_of(const LogRun& run, const std::string& file,
                                     const std::string& file_operation) {
  const auto is_like_the_first = [&](const LogRow& row) {
    const LogRow& first = run.rows.front();
    return row.root == first.root && row.type == first.type && row.reduction == first.reduction;
  };
  if (!run.rows.empty() && std::all_of(run.rows.begin(), run.rows.end(), is_like_the_first))
    return {Conclusion(run, run.rows, file).table(file_operation)};
  using Key = std::tuple<std::string, std::string, int>;
  std::vector<std::pair<Key, std::vector<LogRow>>> parts;  // -d all, -o all, -r all
  std::map<Key, std::size_t> numbers;
  for (const LogRow& row : run.rows) {
    const Key key{row.type, row.reduction, row.root};
    const auto [found, is_new] = numbers.try_emplace(key, parts.size());
    if (is_new) parts.push_back({key, {}});
    parts[found->second].second.push_back(row);
  }
  std::vector<MeasuredTable> tables;
  tables.reserve(parts.size());
  for (const auto& [key, rows] : parts)
    tables.push_back(Conclusion(run, rows, file).table(file_operation));
  return tables;
}

}  // namespace collsim
