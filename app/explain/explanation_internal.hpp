// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/explain/explanation.hpp"
#include "app/study/cuts_cache.hpp"
#include "sim/critical_path.hpp"

namespace collsim {

// Internal to explain(): its chapters.

// The row with the host's part in its time.
[[nodiscard]] CaseResult row_as_run(const Explanation& explanation);

// The closed form of a case that was simulated, taken apart.
[[nodiscard]] FormulaExplanation explain_formula(const Case& one_case, const CaseResult& row);

// Simulates the case of the row once more, with everything recorded that the limits allow.  Where
// they allow nothing, it does not: then there are the row's time and an estimate of instructions.
[[nodiscard]] Simulation recorded_run(const Case& one_case, const Schedule& schedule,
                                      const CaseResult& row);
[[nodiscard]] Breakdown explain_breakdown(const Case& one_case, const Schedule& schedule,
                                          const Simulation& simulation);
[[nodiscard]] std::vector<PathLine> path_lines(const Case& one_case, const Programs& programs,
                                               const Timeline& timeline, const CriticalPath& path);
// What one segment of the path was spent on.
[[nodiscard]] TimeShares shares_of(const CriticalPath::Segment& segment, const Timeline& timeline,
                                   const CostModel& costs);

// How much simulating may still be done, in instructions.
class WorkBudget {
 public:
  explicit WorkBudget(double instructions) : left_(instructions) {}
  [[nodiscard]] bool take(double instructions) {
    if (instructions > left_ - kept_) return false;
    left_ -= instructions;
    return true;
  }
  // So much is for later.
  void keep(double instructions) { kept_ = instructions; }

 private:
  double left_;
  double kept_ = 0;
};
// What simulating a case takes, roughly, in instructions.
[[nodiscard]] double work_of(const Case& one_case);
// The case that is made, simulated if the budget allows and it works.
struct Attempt {
  std::optional<Time> time;
  std::string why_not;
  bool too_long = false;  // for the budget
};
[[nodiscard]] Attempt attempt(const std::function<Case()>& make, WorkBudget& budget);

// What knobs are turned on.  `chosen`: what "auto" chose, which stays meanwhile.
struct KnobContext {
  const Case& one_case;
  const CaseResult& row;
  Variations* variations;  // null: the case is of no scenario
  Params chosen;

  // The values with those that were chosen, unless they say otherwise.
  [[nodiscard]] Params with(const Params& set) const;
};
[[nodiscard]] Knobs explain_knobs(const KnobContext& context, const Simulation& simulation,
                                  const Breakdown& breakdown,
                                  const std::vector<Contender>& algorithms, WorkBudget& budget);
// Of how links are wired and which of them messages take; of scenarios only.
[[nodiscard]] std::vector<Knob> wiring_knobs(const KnobContext& context, WorkBudget& budget);
[[nodiscard]] BoundExplanation explain_bound(const Case& one_case, const CaseResult& row,
                                             const Breakdown& breakdown, CutsCache& cache);

[[nodiscard]] std::optional<ChangedOrder> changed_order(const Topology& topology,
                                                        const Timeline& with,
                                                        const Timeline& without);

// The same machine with other links.
[[nodiscard]] Case with_links(const Case& one_case,
                              const std::function<void(LinkParameters&)>& change,
                              const std::optional<LinkParameters>& only = std::nullopt);

// Readable real numbers, as to_text() writes whole ones; zero is "0", and no value is an error.
[[nodiscard]] std::string seconds_text(double seconds);
[[nodiscard]] std::string rate_text(double bytes_per_second);

// Internal to explanations: the sentences that text and JSON share.

[[nodiscard]] std::string percent_more(Time part, Time whole);  // may be beyond 100%
[[nodiscard]] std::string percent(Time part, Time whole);       // "32%"
[[nodiscard]] std::string count_in_words(std::int64_t count, std::string_view one);  // "2 ranks"

// The key of a preset that says what a hop over this link costs under the case's protocol of NCCL:
// "cluster.override.nic.protocols.LL.hop".  Empty where there is none.
[[nodiscard]] std::string key_of_hop(const Case& one_case, LinkId link);

// "A broadcast of 64 MiB from rank 0 to 8 ranks along a chain, cut into 16 messages."
[[nodiscard]] std::string question_of(const Explanation& explanation);
[[nodiscard]] std::string path_line_in_words(const PathLine& line);
[[nodiscard]] std::string bound_in_words(const Explanation& explanation);
// What simulation and formula differ by, and why.
[[nodiscard]] std::string comparison_in_words(const Explanation& explanation);
// "Twice the bandwidth of all links would save 1.2 ms (32%)."
[[nodiscard]] std::string knob_in_words(const Knob& knob, Time now);
// What one share of the path means; empty when it is zero.
struct ShareWords {
  std::string_view name;
  Time time;
  std::string meaning;
};
[[nodiscard]] std::vector<ShareWords> shares_in_words(const Explanation& explanation);

}  // namespace collsim
