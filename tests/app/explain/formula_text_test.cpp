// SPDX-License-Identifier: Apache-2.0
//
// An explanation shows a formula's terms only when they add up to the formula's value.  Nobody would
// notice a text that never does, but for this.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "app/explain/explanation_internal.hpp"
#include "collectives/closed_form_terms.hpp"
#include "tests/sim/testing.hpp"

namespace collsim::testing {
namespace {

using Kind = UniformNetwork::Kind;

// Sums over messages of different sizes: no sum of terms.
const std::set<std::string> not_evaluated{
    "sum of pass(m*N/K) over messages of m blocks; all at once: q*(S*alpha + L) + (K-1)/K*N/B",
    "sum of pass(m*N/K) + m*N/(K*gamma) over messages of m blocks",
    "sum over bits b of pass(m*N/K), m = numbers below K with bit b"};

std::vector<Collective> collectives_of(const FormulaRow& row, std::size_t ranks) {
  Collective collective = byte_collective(row.operation, ranks, mebibytes(15));
  if (row.operation != Operation::send_recv) return {collective};
  std::vector<Collective> all;
  for (const Pattern::Kind kind :
       {Pattern::Kind::shift, Pattern::Kind::exchange, Pattern::Kind::pairs}) {
    collective.pattern.kind = kind;
    collective.pattern.distance = 1;
    if (kind == Pattern::Kind::pairs) collective.pattern.pairs = {{0, 1}};
    all.push_back(collective);
  }
  return all;
}

// The text and the formula agree wherever the row holds; so often they were compared.
int compare(const FormulaRow& row, const Collective& collective, const AlgorithmChoice& choice) {
  int compared = 0;
  for (const Kind kind : {Kind::chain, Kind::ring, Kind::independent_links, Kind::ports})
    for (const double alpha : {2e-6, 0.0})
      for (const double latency : {3e-6, 1e-3, 0.0})
        for (const double gamma : {3e9, 70e9, HUGE_VAL}) {
          if ((row.networks >> static_cast<unsigned>(kind) & 1U) == 0) continue;
          const Terms terms{collective, choice, kind, true, alpha, 25e9, latency, 1 / gamma};
          if (row.holds != nullptr && !row.holds(terms)) continue;
          const FormulaValues values{.K = terms.K,
                                     .N = terms.N,
                                     .S = terms.S,
                                     .radix = static_cast<double>(choice.radix),
                                     .alpha = alpha,
                                     .B = 25e9,
                                     .L = latency,
                                     .gamma = gamma};
          const auto result = evaluate_formula(std::string(row.formula), values);
          if (!result) return -1;
          const double expected = row.seconds(terms);
          double sum = 0;
          for (const FormulaTerm& term : result->terms) sum += term.seconds;
          EXPECT_NEAR(sum, expected, 1e-9 * expected)
              << to_string(row.operation) << " " << row.algorithm << ": " << row.formula << "; K "
              << terms.K << " S " << terms.S << " alpha " << alpha << " L " << latency << " gamma "
              << gamma << " network " << static_cast<int>(kind);
          ++compared;
        }
  return compared;
}

int compare(const FormulaRow& row) {
  int compared = 0;
  for (const std::size_t ranks : {2U, 3U, 4U, 6U, 7U, 8U, 15U, 16U})
    for (const int chunks : {1, 4})
      for (const Collective& collective : collectives_of(row, ranks)) {
        AlgorithmChoice choice;
        choice.name = row.algorithm;
        choice.chunks = chunks;
        const int now = compare(row, collective, choice);
        if (now < 0) return now;
        compared += now;
      }
  return compared;
}

TEST(FormulaText, EveryRowsTermsAddUpToItsValue) {
  std::set<std::string> refused;
  for (const std::span<const FormulaRow> table : formula_tables())
    for (const FormulaRow& row : table) {
      const int compared = compare(row);
      if (compared < 0)
        refused.emplace(row.formula);
      else
        EXPECT_GT(compared, 0) << to_string(row.operation) << " " << row.algorithm << ": "
                               << row.formula;
    }
  EXPECT_EQ(refused, not_evaluated);
}

TEST(FormulaText, GammaIsTheRateOfAdditions) {
  const FormulaValues slow{.K = 4, .N = 8e9, .S = 1, .B = 1e9, .gamma = 2e9};
  const auto result = evaluate_formula("(K-1)/K*N/gamma", slow);
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->seconds, 3);
  EXPECT_EQ(result->terms.front().with_values, "(4-1)/4*7.451 GiB/(2 GB/s)");
  FormulaValues free = slow;
  free.gamma = HUGE_VAL;
  const auto nothing = evaluate_formula("(K-1)/K*N/gamma", free);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->seconds, 0);
}

}  // namespace
}  // namespace collsim::testing
