// SPDX-License-Identifier: Apache-2.0
//
// The cost that stands in an algorithm's file is what explain prints, what the closed form is
// worth, and what a user may paste into an expectation: one text.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/cost/closed_forms.hpp"
#include "tests/app/study/scenarios.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

struct Trial {
  const char* shape = "";
  UniformNetwork::Kind kind{};
  int ranks = 0;
  int chunks = 1;
  std::int64_t gigabytes_added = 0;  // per second; 0: adding is free
  int latency_us = 0, startup_us = 0;
  int aggregation = 0;  // 0: none

  [[nodiscard]] Collective collective(const Algorithm& algorithm) const {
    const Operation operation = algorithm.operation;
    const Bytes size = operation == Operation::barrier ? 0 : mebibytes(15);
    Collective collective = byte_collective(operation, static_cast<std::size_t>(ranks), size);
    if (operation == Operation::send_recv) collective.pattern.kind = Pattern::Kind::exchange;
    return collective;
  }
  [[nodiscard]] std::optional<ClosedForm> form(const Algorithm& algorithm) const {
    AlgorithmChoice choice;
    choice.name = algorithm.name;
    choice.chunks = chunks;
    if (aggregation > 0) choice.aggregation = aggregation;
    std::optional<Bandwidth> adding;
    if (gigabytes_added > 0) adding = gigabytes_per_second(gigabytes_added);
    const Hop hop{startup_us * 1e-6, 25e9, latency_us * 1e-6};
    return closed_form(collective(algorithm), choice,
                       UniformNetwork{kind, hop, static_cast<std::size_t>(ranks)}, adding);
  }
  [[nodiscard]] std::string scenario(const Algorithm& algorithm, std::string_view formula) const {
    const Operation operation = algorithm.operation;
    std::string text =
        R"({"scenario": 1, "cluster": {"shape": ")" + std::string(shape) + R"(", "ranks": )" +
        std::to_string(ranks) + R"(, "link": {"bandwidth": "25GB/s", "overhead": ")" +
        std::to_string(startup_us) + R"(us", "latency": ")" + std::to_string(latency_us) +
        R"(us"}}, "collective": {"op": ")" + std::string(to_string(operation)) +
        R"(", "algorithm": ")" + std::string(algorithm.name) + '"';
    if (operation != Operation::barrier) text += R"(, "dtype": "u8", "size": "15MiB")";
    if (operation == Operation::send_recv) text += R"(, "pattern": "exchange")";
    if (chunks > 1) text += R"(, "chunks": )" + std::to_string(chunks);
    if (aggregation > 0) text += R"(, "aggregation": )" + std::to_string(aggregation);
    text += "}";
    if (gigabytes_added > 0)
      text +=
          R"(, "model": {"reduce_bandwidth": ")" + std::to_string(gigabytes_added) + R"(GB/s"})";
    return text + R"(, "expect": [{"metric": "time", "of": "analytic", "equals": ")" +
           std::string(formula) + R"("}]})";
  }
};

std::vector<Trial> trials(const Algorithm& algorithm) {
  std::vector<Trial> all;
  for (const auto& [shape, kind] :
       {std::pair{"chain", UniformNetwork::Kind::chain},
        std::pair{"ring", UniformNetwork::Kind::ring},
        std::pair{"fully-connected", UniformNetwork::Kind::independent_links},
        std::pair{"switch", UniformNetwork::Kind::ports}})
    for (const int ranks : {4, 6, 7, 8})
      for (const int chunks : {1, 4})
        for (const int gigabytes_added : {100, 0})
          for (const int latency_us : {2, 0})
            for (const int startup_us : {5, 0})
              for (const int aggregation :
                   algorithm.knobs.aggregation ? std::vector{0, 2} : std::vector{0})
                if (algorithm.works_with(ranks))
                  all.push_back({shape, kind, ranks, chunks, gigabytes_added, latency_us,
                                 startup_us, aggregation});
  return all;
}

// The first case for which this cost is the answer.
std::optional<Trial> trial_of(const Algorithm& algorithm, const Cost& cost) {
  for (const Trial& trial : trials(algorithm)) {
    const std::optional<ClosedForm> form = trial.form(algorithm);
    const unsigned network = 1U << static_cast<unsigned>(trial.kind);
    if (form && form->formula == cost.time && (cost.networks & network) != 0) return trial;
  }
  return std::nullopt;
}

TEST(PastedFormulas, HoldForTheClosedFormThatTheyAre) {
  int pasted = 0;
  for (const Algorithm& algorithm : algorithms())
    for (const Cost& cost : algorithm.costs) {
      if (cost.networks == 0) continue;
      const std::optional<Trial> trial = trial_of(algorithm, cost);
      ASSERT_TRUE(trial) << to_string(algorithm.operation) << " " << algorithm.name << ": "
                         << cost.time;
      const Studied studied = study(trial->scenario(algorithm, cost.time));
      ASSERT_TRUE(studied.results) << to_text(studied.diagnostics, studied.sources);
      ASSERT_EQ(studied.results->expect.size(), 1U);
      const ExpectationOutcome& outcome = studied.results->expect.front();
      EXPECT_TRUE(outcome.ok) << algorithm.name << " on " << trial->shape << ": "
                              << outcome.failure;
      EXPECT_LE(outcome.worst, 1e-9);
      ++pasted;
    }
  EXPECT_GE(pasted, 70);
}

}  // namespace
}  // namespace collsim::testing
