// SPDX-License-Identifier: Apache-2.0
//
// What explain() says in sentences is what the data say: of random scenarios.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/explain/explanation.hpp"
#include "app/explain/explanation_internal.hpp"
#include "tests/app/explain/random_scenario.hpp"
#include "tests/app/scenario/loading.hpp"
#include "tests/sanitized.hpp"
#include "topo/units.hpp"

namespace collsim::testing {
namespace {

// Lines joined, and what is aligned with spaces.
std::string in_one_line(const std::string& text) {
  std::string joined;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n';
    if (!is_space || (!joined.empty() && joined.back() != ' ')) joined += is_space ? ' ' : c;
  }
  return joined;
}

// What explain() tells of a case, and what there is to tell.
class Told {
 public:
  explicit Told(Explanation told) : e_(std::move(told)), text_(in_one_line(to_text(e_))) {}

  // How many claims were found.
  int check() {
    question();
    shares();
    busiest_link();
    knob();
    chunks();
    bound();
    formula();
    return found_;
  }

 private:
  void expect(const std::string& claim) {
    EXPECT_NE(text_.find(claim), std::string::npos) << "not said: " << claim << "\n" << text_;
    ++found_;
  }
  void expect_not(const std::string& claim) const {
    EXPECT_EQ(text_.find(claim), std::string::npos) << "said: " << claim << "\n" << text_;
  }
  // As percent() has it, but from the numbers: nothing but all is 100%, nothing but none is 0%.
  static std::string part(Time some, Time whole) {
    const double value = 100 * some.seconds() / whole.seconds();
    if (value < 0.1 && value > 0) return "<0.1%";
    if (value > 99.9 && value < 100) return ">99.9%";
    const bool near_an_end = value < 9.95 || (value >= 99.5 && value < 100);
    return fmt::format("{:.{}f}%", value, near_an_end ? 1 : 0);
  }

  void question() {
    const std::string asked = question_of(e_);
    expect(asked);
    EXPECT_NE(asked.find(" by " + e_.row.algorithm_text()), std::string::npos) << asked;
    EXPECT_NE(asked.find(fmt::format("{} rank", e_.row.ranks)), std::string::npos) << asked;
    EXPECT_NE(asked.find(bytes_to_text(e_.row.size)), std::string::npos) << asked;
    const bool cut = asked.find("cut into") != std::string::npos;
    EXPECT_EQ(cut, e_.row.chunks > 1) << asked;
    EXPECT_EQ(asked.find(" channels") != std::string::npos, e_.row.channels > 1) << asked;
  }

  void shares() {
    const TimeShares& p = e_.breakdown.path;
    const std::pair<const char*, Time> all[] = {
        {"startup", p.startup}, {"wire", p.wire},      {"serial hops", p.hops},
        {"sharing", p.sharing}, {"latency", p.flight}, {"adding", p.reduction},
        {"copying", p.copy},    {"queue", p.queue},    {"instructions", p.instructions}};
    for (const auto& [name, time] : all)
      if (time > Time{})
        expect(fmt::format(" {} {} {} ", name, to_text(time), part(time, e_.row.time)));
    if (e_.breakdown.waiting_for_others > Time{})
      expect(fmt::format("During {} of this", to_text(e_.breakdown.waiting_for_others)));
    else
      expect_not("contention");
  }

  void busiest_link() {
    const Topology& topology = e_.one_case.cluster->topology;
    const Simulation run = recorded_run(e_.one_case, *e_.one_case.schedule, e_.row);
    Time most;
    for (const LinkUsage& link : run.links)
      if (link.messages > 0) most = std::max(most, link.busy);
    std::vector<std::size_t> alike;
    for (std::size_t i = 0; i < run.links.size(); ++i)
      if (run.links[i].messages > 0 && run.links[i].busy == most) alike.push_back(i);
    if (alike.empty()) return expect_not("The busiest link");
    const std::string others = alike.size() == 1
                                   ? ","
                                   : fmt::format(" ({} more {} as busy),", alike.size() - 1,
                                                 alike.size() == 2 ? "is" : "are");
    expect(fmt::format("The busiest link, {}{} is busy {} of {}",
                       topology.name(LinkId(alike.front())), others, to_text(most),
                       to_text(run.time)));
  }

  void knob() {
    const Knob* best = nullptr;
    for (const Knob& one : e_.knobs.all) {
      const bool cut = one.name == "algorithm" && one.then.find(" in ") != std::string::npos;
      if (one.time && !cut && (best == nullptr || *one.time < *best->time)) best = &one;
    }
    if (best == nullptr) return;
    const std::string saved = " would save ";
    const std::size_t at = text_.find(saved);
    if (at == std::string::npos) {
      EXPECT_GE(*best->time, e_.row.time) << best->name << " " << best->then << "\n" << text_;
      return expect("No change that was tried makes it faster.");
    }
    // Of two knobs that save as much either is named.
    const Time least =
        std::min_element(e_.knobs.all.begin(), e_.knobs.all.end(), sooner)->time.value();
    const Time told = least <= *best->time && is_told(least) ? least : *best->time;
    expect(fmt::format("{}{} ({})", saved, to_text(e_.row.time - told),
                       part(e_.row.time - told, e_.row.time)));
  }
  static bool sooner(const Knob& a, const Knob& b) {
    return a.time.value_or(Time::never()) < b.time.value_or(Time::never());
  }
  [[nodiscard]] bool is_told(Time time) const {
    return text_.find(" would save " + to_text(e_.row.time - time)) != std::string::npos;
  }

  void chunks() {
    if (!e_.knobs.chunks) return;
    const std::size_t at = text_.find("Best number of chunks tried: ");
    Time least = Time::never();
    Time most;
    for (const BestChunks::Tried& one : e_.knobs.chunks->tried) {
      least = std::min(least, one.time);
      most = std::max(most, one.time);
    }
    if (at == std::string::npos) {
      EXPECT_LE((most - least).seconds(), 1.001e-3 * e_.row.time_s()) << text_;
      return;
    }
    const int named =
        std::stoi(text_.substr(at + std::string("Best number of chunks tried: ").size()));
    const auto tried = std::find_if(e_.knobs.chunks->tried.begin(), e_.knobs.chunks->tried.end(),
                                    [&](const auto& one) { return one.chunks == named; });
    ASSERT_NE(tried, e_.knobs.chunks->tried.end()) << text_;
    EXPECT_EQ(tried->time, least) << text_;
    EXPECT_EQ(text_.find(", as now", at) != std::string::npos, named == e_.row.chunks) << text_;
    ++found_;
  }

  void bound() {
    if (e_.row.bound == Time{} || e_.bound.binding == BoundExplanation::Kind::none) return;
    EXPECT_LE(e_.row.bound, e_.row.time) << text_;
    const auto& protocol = e_.row.protocol;
    const std::string under = protocol ? fmt::format(" under {}", to_string(*protocol)) : "";
    expect("No schedule" + under + " can be faster than " + to_text(e_.row.bound));
    const double ratio = e_.row.time_s() / e_.row.bound.seconds();
    if (ratio < 1.005) return expect("within 0.5% of that");
    expect(ratio < 9.95 ? fmt::format("This run takes {:.2f} times that", ratio)
                        : fmt::format("This run takes {:.0f} times that", ratio));
    const LowerBounds& b = e_.row.bounds;
    if (b.compute > std::max(b.latency, b.bandwidth) || b.latency == b.bandwidth) return;
    const bool latency = text_.find("messages cost a startup and a latency") != std::string::npos;
    EXPECT_EQ(latency, b.latency > b.bandwidth) << text_;
  }

  void formula() {
    if (!e_.formula.form) return expect("No formula: ");
    const double apart = e_.row.time_s() - e_.formula.form->seconds;
    if (text_.find(": the same.") != std::string::npos)
      EXPECT_LT(std::abs(apart), 1e-8 * e_.row.time_s() + 1e-8) << text_;
    else if (e_.formula.applies)
      expect(fmt::format("{} {} (", seconds_text(std::abs(apart)), apart > 0 ? "more" : "less"));
    else
      expect(fmt::format("{} more.", seconds_text(std::max(0.0, apart))));
  }

  Explanation e_;
  std::string text_;
  int found_ = 0;
};

TEST(ExplanationSentences, SayWhatTheDataSay) {
  constexpr int each = random_cases(150);
  int scenarios = 0;
  int claims = 0;
  for (unsigned i = 0; scenarios < each && !HasFailure(); ++i) {
    ASSERT_LT(i, 20U * each) << "too many make no sense";
    const std::string written = RandomScenario(7'000'000 + i).text();
    const Loaded loaded = load_text(written);
    if (!loaded.scenario) continue;  // no such algorithm for so many ranks
    try {
      ClusterCache clusters;
      Diagnostics diagnostics;
      const std::optional<Case> made = make_case(*loaded.scenario, 0, clusters, diagnostics);
      if (!made) continue;
      Variations variations(*loaded.scenario, 0);
      Explanation e = explain(*made, &variations);
      if (e.row.time == Time{}) continue;
      SCOPED_TRACE(written);
      claims += Told(std::move(e)).check();
      ++scenarios;
    } catch (const Error&) {
      continue;  // does not fit these ranks, or these links
    }
  }
  EXPECT_GT(claims, 6 * scenarios);
}

}  // namespace
}  // namespace collsim::testing
