// SPDX-License-Identifier: Apache-2.0
#include "app/study/study_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/value.hpp"
#include "app/results/results.hpp"
#include "app/scenario/document_path.hpp"
#include "app/scenario/presets.hpp"
#include "app/study/nccl.hpp"
#include "app/study/warnings_internal.hpp"
#include "collectives/algorithms.hpp"
#include "collectives/listed_schedule.hpp"
#include "collectives/result_warnings.hpp"
#include "sim/idle_links.hpp"

namespace collsim {
namespace {

constexpr double noticeable = 1e-4;

std::string rows_text(std::size_t rows, const Results& results) {
  if (results.rows.size() == 1) return "";
  if (rows == results.rows.size()) return "in all rows: ";
  return fmt::format("in {} of {} rows: ", rows, results.rows.size());
}

RunFacts run_facts(const CaseResult& row) {
  return {.algorithm = &find_algorithm(row.operation, row.algorithm),
          .ranks = row.ranks,
          .chunks = row.chunks,
          .channels = row.channels,
          .elements = row.size / size_of(row.type),  // the size is Collective::bytes()
          .messages = row.messages,
          .wire_bytes = row.wire_bytes,
          .time = row.time,
          .links_are_free = row.alpha && *row.alpha == 0 && *row.L == 0};
}

class Collector {
 public:
  Collector(const Scenario& scenario, const Results& results, const StudySummary& summary)
      : scenario_(scenario), results_(results), summary_(summary) {}

  std::vector<Warning> all() {
    warnings_ = axes_without_effect(scenario_, results_);
    std::ranges::move(overrides_without_effect(scenario_, results_, summary_),
                      std::back_inserter(warnings_));
    chunks_above_elements();
    channels_above_elements();
    small_chunks();
    free_start_up();
    nothing_computes();
    free_messages();
    approximate_formula();
    evened_parts();
    uncalibrated_presets();
    not_in_nccl();
    one_piece();
    assumed_machine();
    slow_links();
    idle_links();
    late_outsiders();
    out_of_memory();
    wrong_programs();
    sizes_of_programs();
    measure();
    skipped_expectations();
    return std::move(warnings_);
  }

 private:
  void warn(std::string code, std::string message, SourceRange place = {}) {
    warnings_.push_back({std::move(code), std::move(message), place});
  }
  void warn_at(std::string_view path, std::string code, std::string message) {
    const JsonValue* const value = value_at(scenario_.document, path);
    warn(std::move(code), std::move(message), value == nullptr ? SourceRange{} : value->place);
  }
  template <class Predicate>
  [[nodiscard]] std::vector<const CaseResult*> rows_that(const Predicate& predicate) const {
    std::vector<const CaseResult*> found;
    for (const CaseResult& row : results_.rows)
      if (row.ranks > 1 && !row.step && predicate(row)) found.push_back(&row);
    return found;
  }
  template <class Predicate>
  [[nodiscard]] bool all_of_rows(const Predicate& predicate) const {
    return std::all_of(results_.rows.begin(), results_.rows.end(), predicate);
  }
  [[nodiscard]] bool sweeps(std::string_view path) const {
    return std::find(results_.axes.begin(), results_.axes.end(), path) != results_.axes.end();
  }
  [[nodiscard]] bool sweeps_chunks() const {
    return sweeps("collective.chunks") || sweeps("collective.chunk_size");
  }

  [[nodiscard]] std::vector<const CaseResult*> rows_with(ResultWarning warning) const {
    return rows_that([warning](const CaseResult& row) {
      return !row.protocol && applies(warning, run_facts(row));  // NCCL chooses its own chunks
    });
  }

  void chunks_above_elements() {
    constexpr ResultWarning warning = ResultWarning::chunks_above_elements;
    const auto rows = rows_with(warning);
    if (rows.empty()) return;
    warn_at("collective.chunks", "chunks-above-elements",
            rows_text(rows.size(), results_) + to_text(warning, run_facts(*rows.front())));
  }

  void channels_above_elements() {
    constexpr ResultWarning warning = ResultWarning::channels_above_elements;
    const auto rows = rows_with(warning);
    if (rows.empty()) return;
    warn_at("collective.channels", "channels-above-elements",
            rows_text(rows.size(), results_) + to_text(warning, run_facts(*rows.front())));
  }

  void small_chunks() {
    const auto rows = rows_with(ResultWarning::small_chunks);
    if (rows.empty()) return;
    const auto smallest =
        *std::min_element(rows.begin(), rows.end(), [](const CaseResult* a, const CaseResult* b) {
          return average_message(run_facts(*a)) < average_message(run_facts(*b));
        });
    warn_at("collective.chunks", "small-chunks",
            rows_text(rows.size(), results_) +
                to_text(ResultWarning::small_chunks, run_facts(*smallest)));
  }

  // A model by name has no times of its own.
  void nothing_computes() {
    const auto rows = rows_that([](const CaseResult& row) {
      return row.step && row.step->compute_s == 0 && row.step->scheme != "program";
    });
    if (rows.empty()) return;
    warn_at("workload.model", "nothing-computes",
            rows_text(rows.size(), results_) +
                "no layer takes any time, so no computing hides communication; \"forward\" and "
                "\"backward\" of the model say how long its passes take");
  }

  void free_start_up() {
    if (!sweeps_chunks()) return;
    const auto rows = rows_that([](const CaseResult& row) { return row.alpha && *row.alpha == 0; });
    if (rows.empty()) return;
    warn_at("cluster.link", "free-startup",
            rows_text(rows.size(), results_) +
                "starting a message costs nothing; set cluster.link.overhead (such as \"5us\") to "
                "see what too many chunks cost on a network");
  }

  void free_messages() {
    if (sweeps_chunks()) return;
    const auto rows = rows_with(ResultWarning::free_messages);
    if (rows.empty()) return;
    warn_at("cluster.link", "free-messages",
            rows_text(rows.size(), results_) +
                to_text(ResultWarning::free_messages, run_facts(*rows.front())));
  }

  void evened_parts() {
    const auto is_evened = [](const CaseResult& row) { return row.evened; };
    const auto evened_rows = std::count_if(results_.rows.begin(), results_.rows.end(), is_evened);
    if (evened_rows == 0) return;
    warn_at(results_.rows.front().step ? "workload" : "collective.size", "evened-parts",
            fmt::format("{}the parts of the ranks differ by an element, and all were simulated as "
                        "long as the longest, so that one rank could stand for others: no part is "
                        "longer by more than an element",
                        rows_text(static_cast<std::size_t>(evened_rows), results_)));
  }

  void approximate_formula() {
    double worst = 0;
    const auto rows = rows_that([&worst](const CaseResult& row) {
      if (!row.analytic || row.analytic->exact || row.evened || row.time == Time{}) return false;
      const double off = std::abs(row.analytic->seconds / row.time_s() - 1);
      worst = std::max(worst, off);
      return off > noticeable;
    });
    if (rows.empty()) return;
    warn("approximate-formula",
         fmt::format("{}the data does not divide evenly into ranks and chunks, so the formula is "
                     "an approximation, off by up to {:.2g}%; the simulation sends the exact sizes",
                     rows_text(rows.size(), results_), 100 * worst));
  }

  // Rows that are NCCL's stand on what was fitted, others on latencies and overheads.
  void uncalibrated_presets() {
    const bool all_nccl =
        all_of_rows([](const CaseResult& row) { return row.protocol.has_value(); });
    std::string names;
    for (const std::string& name : summary_.presets())
      if (const Preset* const preset = find_preset(name);
          preset != nullptr && !(preset->calibrated && all_nccl))
        names += (names.empty() ? "" : ", ") + name;
    if (names.empty()) return;
    warn_at("cluster.preset", "uncalibrated-preset",
            all_nccl
                ? fmt::format("no published measurement of {} was used: what NCCL's protocols cost "
                              "is taken from similar machines; compare with measurements before "
                              "relying on it",
                              names)
                : fmt::format("latency and overhead of preset {} are taken from NCCL's source, not "
                              "measured, and {} stand on them; compare with measurements before "
                              "relying on them",
                              names,
                              results_.rows.front().step ? "the collectives of workloads"
                                                         : "algorithms other than nccl"));
  }

  // On a preset, whose numbers are those of NCCL, one may take an answer for NCCL's.
  void not_in_nccl() {
    if (summary_.presets().empty()) return;
    const JsonValue* const written = value_at(scenario_.document, "collective.algorithm");
    const bool chosen = written == nullptr || !written->is_string() || written->string() == "auto";
    if (!chosen || sweeps("collective.algorithm")) return;
    std::set<std::string> names;
    const auto rows = rows_that([&](const CaseResult& row) {
      const bool lacks = !row.protocol && !nccl_has(row.operation, row.algorithm);
      if (lacks) names.insert(fmt::format("{} {}", row.algorithm, to_string(row.operation)));
      return lacks;
    });
    if (rows.empty()) return;
    if (all_of_rows([](const CaseResult& row) { return row.operation == Operation::barrier; }))
      return warn_at("collective.op", "not-in-nccl",
                     "NCCL has no barrier; this is the first algorithm of the table");
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    warn_at("collective.algorithm", "not-in-nccl",
            fmt::format("{}NCCL has no {}; the algorithm nccl is what it would run",
                        rows_text(rows.size(), results_), list));
  }

  // Of what NCCL has, which cuts all that it sends; blocks of a ring are pieces already.
  void one_piece() {
    constexpr double worth_cutting = 65536;
    const bool chosen = value_at(scenario_.document, "collective.chunks") != nullptr ||
                        value_at(scenario_.document, "collective.chunk_size") != nullptr;
    if (summary_.presets().empty() || chosen || sweeps_chunks() || sweeps("collective.algorithm"))
      return;
    const auto rows = rows_that([&](const CaseResult& row) {
      return !row.protocol && !row.search && row.ranks > 2 && row.chunks == 1 &&
             nccl_has(row.operation, row.algorithm) &&
             find_algorithm(row.operation, row.algorithm).messages_exceed_a_block &&
             row.messages > 0 && average_message(run_facts(row)) >= worth_cutting;
    });
    if (rows.empty()) return;
    warn_at("collective.algorithm", "one-piece",
            fmt::format("{}{} sends its messages in one piece, NCCL in many, which is faster: "
                        "\"chunks\" cuts them, and the algorithm nccl is what NCCL would run",
                        rows_text(rows.size(), results_), rows.front()->algorithm));
  }

  void assumed_machine() {
    for (const std::string& assumption : summary_.assumed())
      warn("assumed-machine", "not in the file of the machine, so assumed: " + assumption);
  }

  void slow_links() {
    for (const std::string& link : summary_.slow_links())
      warn_at("cluster", "far-slower-link", link);
    for (const std::string& link : summary_.narrow_links()) warn_at("cluster", "unused-link", link);
  }

  void idle_links() {
    const auto rows = rows_that([](const CaseResult& row) { return row.idle_links.has_value(); });
    if (rows.empty()) return;
    const bool alike = std::all_of(rows.begin(), rows.end(), [&](const CaseResult* row) {
      return *row->idle_links == *rows.front()->idle_links;
    });
    warn_at("cluster.routing", "idle-links",
            rows_text(rows.size(), results_) + (alike ? "" : "for instance ") +
                to_text(*rows.front()->idle_links));
  }

  void late_outsiders() {
    const auto& ranks = summary_.late_outsiders();
    if (ranks.empty()) return;
    constexpr std::size_t most_named = 8;
    std::string names;
    std::size_t named = 0;
    for (const std::size_t rank : ranks) {
      if (named++ == most_named) break;
      names += (names.empty() ? "" : ", ") + std::to_string(rank);
    }
    if (ranks.size() > most_named) names += ", ...";
    warn_at(
        "cluster.late", "late-outsider",
        fmt::format("rank{} {} {} late but take{} no part (collective.ranks), which has no effect",
                    ranks.size() == 1 ? "" : "s", names, ranks.size() == 1 ? "is" : "are",
                    ranks.size() == 1 ? "s" : ""));
  }

  void wrong_programs() {
    for (const auto& [key, use] : summary_.listed()) {
      const CheckReport report = check_in_blocks(*use.list, use.collective);
      if (report.ok) continue;
      warn_at("collective.algorithm", "wrong-program",
              fmt::format("{} does not do what it says; collsim check shows more: {}",
                          use.list->file, fault_in_file(*use.list, use.collective, *report.fault)));
    }
  }

  void sizes_of_programs() {
    std::set<std::string> told;
    for (const auto& [key, use] : summary_.listed()) {
      const ListedSchedule& list = *use.list;
      const auto rows = rows_that([&](const CaseResult& row) {
        return row.algorithm == std::string(listed_prefix) + list.file &&
               (row.size < list.least || row.size > list.most);
      });
      if (rows.empty() || !told.insert(list.file).second) continue;
      warn_at("collective.algorithm", "outside-of-file",
              fmt::format("{}MSCCL takes {} from {} to {} only", rows_text(rows.size(), results_),
                          list.file, bytes_to_text(list.least), bytes_to_text(list.most)));
    }
  }

  // Of the row that needs most.
  void out_of_memory() {
    const CaseResult* worst = nullptr;
    double most = 1;
    std::size_t rows = 0;
    for (const CaseResult& row : results_.rows) {
      if (!row.step || !row.step->memory || row.step->memory->device == 0) continue;
      const double share = row.step->memory->most() / static_cast<double>(row.step->memory->device);
      rows += share > 1 ? 1 : 0;
      if (share > most) worst = &row, most = share;
    }
    if (worst == nullptr) return;
    const bool program = worst->step->scheme == "program";
    warn_at(
        program ? "workload.program" : "workload.model", "out-of-memory",
        rows_text(rows, results_) + (rows > 1 ? "at worst " : "") + shortage_text(*worst->step));
  }

  void measure() {
    const Measure& wanted = scenario_.measure;
    if (results_.comparison || (wanted.backend.empty() && wanted.file.empty())) return;
    warn("not-measured",
         "the scenario asks for a measurement, but this only simulates; use collsim validate");
  }

  void skipped_expectations() {
    std::string names;
    for (const ExpectationOutcome& outcome : results_.expect)
      if (!outcome.skipped.empty())
        names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", outcome.id, outcome.skipped);
    if (!names.empty()) warn("expectations-skipped", "not checked: " + names);
  }

  const Scenario& scenario_;
  const Results& results_;
  const StudySummary& summary_;
  std::vector<Warning> warnings_;
};

}  // namespace

std::vector<Warning> warnings_about(const Scenario& scenario, const Results& results,
                                    const StudySummary& summary) {
  return Collector(scenario, results, summary).all();
}

}  // namespace collsim
