// SPDX-License-Identifier: Apache-2.0
#include "collectives/cost/formula.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>

#include "topo/error.hpp"

namespace collsim {
namespace {

constexpr double mebibyte = 1048576;
// 8 ranks, 64 MiB, 5 us + n / 25 GB/s.
constexpr FormulaSymbols of_chain{
    .K = 8, .N = 64 * mebibyte, .S = 4, .alpha = 5e-6, .B = 25e9, .L = 1e-6};

double formula_value(std::string_view text, const FormulaSymbols& symbols = of_chain) {
  return Formula(text).value(symbols);
}

std::string formula_mistake(std::string_view text) {
  FormulaLanguage language;
  FormulaParser parser(text, language);
  EXPECT_FALSE(parser.parse()) << text;
  const FormulaError& error = parser.error();
  return error.message + " [" + std::string(text.substr(error.begin, error.end - error.begin)) +
         "]" + (error.hint.empty() ? "" : " " + error.hint);
}

TEST(Formulas, FollowMathematics) {
  EXPECT_EQ(formula_value("1 + 2*3 - 4/2"), 5);
  EXPECT_EQ(formula_value("-2^2"), -4);
  EXPECT_EQ(formula_value("2^3^2"), 512);
  EXPECT_EQ(formula_value("max(K, 3, 9) - min(K, 3)"), 6);
  EXPECT_EQ(formula_value("ceil(1.2) + floor(2.8) + abs(-2) + sqrt(16)"), 10);
}

TEST(Formulas, KnowTheSymbols) {
  const FormulaSymbols all{
      .K = 2, .N = 3, .S = 5, .C = 7, .k = 11, .A = 13, .alpha = 1, .B = 4, .L = 8, .gamma = 16};
  EXPECT_EQ(formula_value("K*S*C*k*A", all), 2 * 5 * 7 * 11 * 13);
  EXPECT_EQ(formula_value("alpha + N/B + L + N*gamma", all), 1 + 3.0 / 4 + 8 + 48);
  EXPECT_EQ(formula_value("ceil(S/A)", {.S = 5}), 0) << "A is infinite where there is no limit";
  EXPECT_EQ(formula_value("min(A, 3)", {}), 3);
}

TEST(Formulas, KnowTheCostOfAHop) {
  const double tau = 5e-6 + 16 * mebibyte / 25e9;
  EXPECT_DOUBLE_EQ(formula_value("tau(N/S)"), tau);
  EXPECT_DOUBLE_EQ(formula_value("hop(N)"), 4 * tau + 1e-6);
  EXPECT_DOUBLE_EQ(formula_value("reduce_hop(N)"), 4 * tau + 1e-6) << "adding is free";
  FormulaSymbols adding = of_chain;
  adding.gamma = 1e-9;
  const double add = 16 * mebibyte * 1e-9;
  EXPECT_DOUBLE_EQ(formula_value("reduce_hop(N)", adding), tau + 1e-6 + 3 * add + add);
  EXPECT_EQ(formula_value("q"), 3);
  EXPECT_EQ(formula_value("q", {.K = 9}), 4);
  EXPECT_EQ(formula_value("q", {.K = 1}), 0);
}

TEST(Formulas, HaveExactLogarithmsOfWholePowers) {
  for (int power = 0; power < 40; ++power) {
    EXPECT_EQ(formula_value("log2(K)", {.K = std::pow(2, power)}), power);
    for (const double base : {3, 5, 7, 10, 1000})
      if (std::pow(base, power) < 1e15) {
        EXPECT_EQ(formula_value("log(K, k)", {.K = std::pow(base, power), .k = base}), power)
            << base;
      }
  }
  EXPECT_NEAR(formula_value("log(K, k)", {.K = 10, .k = 4}), std::log(10) / std::log(4), 1e-15);
}

TEST(Formulas, SumOverAnIndex) {
  EXPECT_EQ(formula_value("sum(i = 1..4, i^2)"), 30);
  EXPECT_EQ(formula_value("sum(i = 1..0, i)"), 0) << "empty";
  EXPECT_EQ(formula_value("sum(i=0..log2(K)-1, 2^i)"), 7);
  EXPECT_EQ(formula_value("sum(i = 1..3, sum(j = i..3, j))"), 6 + 5 + 3);
  EXPECT_DOUBLE_EQ(formula_value("sum(i = 1..log2(K), hop(N/2^i))"),
                   formula_value("hop(N/2) + hop(N/4) + hop(N/8)"));
  EXPECT_TRUE(std::isnan(formula_value("sum(i = 1..2.5, i)")));
  EXPECT_TRUE(std::isnan(formula_value("sum(i = 1..10^9, i)"))) << "gives up after a million terms";
}

TEST(Formulas, HaveDefinitionsBehindThem) {
  EXPECT_DOUBLE_EQ(
      formula_value("(K-1)*max(S*t, t+L+g) + S*t + L, t = tau(N/(K*S)), g = N/(K*S)*gamma"),
      formula_value("(K-1)*max(S*tau(N/(K*S)), tau(N/(K*S))+L) + S*tau(N/(K*S)) + L"));
  EXPECT_EQ(formula_value("a + b, a = 2*b, b = 3"), 9) << "in any order";
  EXPECT_EQ(formula_value("a + b, b = 3, a = 2*b"), 9);
  EXPECT_EQ(formula_value("sum(i = 1..3, t), t = 10*i"), 60) << "evaluated where it is used";
  EXPECT_EQ(formula_value("sum(i = 1..2, t) + sum(i = 1..3, t), t = u + 1, u = i"), 5 + 9);
}

TEST(Formulas, AreVisitedOncePerDefinition) {
  std::string text = "a0";
  for (int i = 0; i < 24; ++i) text += concat(", a", i, " = a", i + 1, " + a", i + 1);
  text += ", a24 = K";
  FormulaLanguage language;
  const std::optional<FormulaTree> tree = FormulaParser(text, language).parse();
  ASSERT_TRUE(tree);
  int visited = 0;
  tree->visit(tree->root.node, [&](const FormulaNode& /*node*/) { return ++visited < 1000; });
  EXPECT_EQ(visited, 1 + 24 * 3 + 1) << "not once per use";
}

TEST(Formulas, AreRefusedForMistakesInDefinitions) {
  EXPECT_EQ(formula_mistake("t + t, t = t/2"), "\"t\" is defined by itself [t]");
  EXPECT_EQ(formula_mistake("a, a = b, b = a"), "\"a\" is defined by itself [a]");
  EXPECT_EQ(formula_mistake("1, t = 2"), "\"t\" is defined, but not used [t]");
  EXPECT_EQ(formula_mistake("t, t = 2, t = 3"), "\"t\" is defined twice [t]");
  EXPECT_EQ(formula_mistake("K, K = 2"), "\"K\" has a meaning already [K] choose another name");
  EXPECT_EQ(formula_mistake("q, q = 2"), "\"q\" has a meaning already [q] choose another name");
  EXPECT_EQ(formula_mistake("t, t ="), "a number, a name or \"(\" is missing at the end []");
  EXPECT_EQ(formula_mistake("t, t = 1 2"), "expected an operator, not \"2\" [2]");
  EXPECT_EQ(formula_mistake("sum(i = 1..2, t) + t, t = i"),
            "\"t\" needs the index \"i\" of a sum around it [t]");
  EXPECT_EQ(formula_mistake("t(2), t = 1"), "\"t\" is not a function [t]");
  EXPECT_EQ(formula_mistake("2 t, t = 1"), "an operator is missing between \"2\" and \"t\" [2 t]");
}

TEST(Formulas, AreRefusedForMistakesInSums) {
  EXPECT_EQ(formula_mistake("sum(1)"),
            "expected the name of an index, as in sum(i = 1..3, N/2^i), not \"1\" [1]");
  EXPECT_EQ(formula_mistake("sum(K = 1..2, K)"),
            "\"K\" has a meaning already [K] choose another name");
  EXPECT_EQ(formula_mistake("sum(i = 1, i)"), "expected \"..\" and the last i, not \",\" [,]");
  EXPECT_EQ(formula_mistake("sum(i = 1..2)"),
            "expected \",\" and a term, as in sum(i = 1..3, N/2^i), not \")\" [)]");
  EXPECT_EQ(formula_mistake("sum(i = 1..2, i) + i"), "unknown name \"i\" [i]");
  EXPECT_EQ(formula_mistake("sum(i = 1..N, i)").substr(0, 27), "sum takes a plain number, b");
  EXPECT_EQ(formula_mistake("sum(i = 1..2, sum(i = 1..2, i))"),
            "\"i\" has a meaning already [i] choose another name");
}

TEST(Formulas, CheckUnits) {
  EXPECT_EQ(Formula("tau(N) + N*gamma").units(), units_time);
  EXPECT_EQ(Formula("sqrt((K-2)*N/(alpha*B))").units(), units_none);
  EXPECT_EQ(Formula("2*K*S").units(), units_none);
  EXPECT_EQ(formula_mistake("N + alpha"),
            "\"N + alpha\": cannot add bytes and seconds [N + alpha]");
  EXPECT_EQ(formula_mistake("hop(K)"), "hop takes a size, but \"K\" is a plain number [K]");
  EXPECT_EQ(formula_mistake("log(N, 2)").substr(0, 27), "log takes a plain number, b");
  EXPECT_EQ(formula_mistake("tau(N) + N/gamma"),
            "\"tau(N) + N/gamma\": cannot add seconds and bytes^2/s [tau(N) + N/gamma] gamma is "
            "the time to add one byte: write N*gamma, not N/gamma");
}

TEST(Formulas, ShowTheirValues) {
  EXPECT_EQ(Formula("(K-1)*L + N/B").with_values(of_chain), "(8-1)*1 us + 64 MiB/(25 GB/s)");
  EXPECT_EQ(Formula("hop(N/K) + floor(log2(K))*(alpha + L)").with_values(of_chain),
            "356.5 us + 3*(5 us + 1 us)");
  EXPECT_EQ(Formula("max(max(K, 0), S, min(K, S))").with_values(of_chain),
            "max(8, 0, 4, min(8, 4))");
  const auto terms = Formula("(K-2+S)*tau(N/S) - (K-1)*L").terms(of_chain);
  ASSERT_EQ(terms.size(), 2U);
  EXPECT_EQ(terms[0].text, "(K-2+S)*tau(N/S)");
  EXPECT_EQ(terms[0].with_values, "(8-2+4)*676.1 us");
  EXPECT_EQ(terms[1].text, "(K-1)*L");
  EXPECT_EQ(terms[1].value, -7e-6);
  const auto lines = Formula("sum(i = 1..2, hop(N/2^i) + L)").terms(of_chain);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1].text, "i = 2");
  EXPECT_EQ(lines[1].with_values, "692.1 us + 1 us");
}

TEST(Formulas, ShowHowTheirValuesCameAbout) {
  const auto lines = [](std::string_view text, const FormulaSymbols& symbols) {
    std::string all;
    for (const FormulaTerm& call : Formula(text).calls(symbols))
      all += call.text + ": " + call.with_values + "\n";
    return all;
  };
  EXPECT_EQ(lines("hop(N) + tau(N/4)", of_chain),
            "tau(16 MiB): 5 us + 671.1 us\nhop(64 MiB): 4*676.1 us + 1 us\n");
  FormulaSymbols whole = of_chain;
  whole.S = 1;
  EXPECT_EQ(lines("hop(N)", whole), "tau(64 MiB): 5 us + 2.684 ms\nhop(64 MiB): 2.689 ms + 1 us\n");
  FormulaSymbols adding = of_chain;
  adding.gamma = 1e-11;
  EXPECT_EQ(lines("reduce_hop(N) + g, g = N*gamma", adding),
            "tau(16 MiB): 5 us + 671.1 us\n"
            "reduce_hop(64 MiB): 676.1 us + 1 us + (4-1)*max(676.1 us, 167.8 us) + 167.8 us\n"
            "g: N*gamma = 64 MiB*(10 ps/B)\n");
}

TEST(Formulas, SayWhatTheirFunctionsMean) {
  const auto text = [](std::string_view formula, const FormulaSymbols& symbols) {
    std::string all;
    for (const std::string& line : legend_of(formula, symbols).functions)
      all += line.substr(0, line.find(':')) + "\n";
    return all;
  };
  EXPECT_EQ(text("hop(N)", of_chain), "hop(n) = S*tau(n/S) + L\ntau(n) = alpha + n/B\n");
  EXPECT_EQ(text("hop(N)", {}), "hop(n) = tau(n) + L\ntau(n) = alpha + n/B\n");
  EXPECT_EQ(text("reduce_hop(N)", {}), "reduce_hop(n) = tau(n) + L\ntau(n) = alpha + n/B\n");
  EXPECT_EQ(text("reduce_hop(N)", of_chain),
            "reduce_hop(n) = S*tau(n/S) + L\ntau(n) = alpha + n/B\n");
  EXPECT_EQ(text("reduce_hop(N)", {.gamma = 1e-9}),
            "reduce_hop(n) = tau(n) + L + n*gamma\ntau(n) = alpha + n/B\n");
  EXPECT_EQ(text("reduce_hop(N)", {.S = 2, .gamma = 1e-9}),
            "reduce_hop(n) = tau(n/S) + L + (S-1)*max(tau(n/S), n/S*gamma) + n/S*gamma\n"
            "tau(n) = alpha + n/B\n");
  EXPECT_EQ(text("max over messages of hop(N)", {}), "hop(n) = tau(n) + L\ntau(n) = alpha + n/B\n")
      << "in words too";
  const FormulaLegend legend = legend_of("q*hop(N)", {});
  for (const char* name : {"q", "N", "L", "alpha", "B"}) EXPECT_TRUE(legend.has(name)) << name;
  for (const char* name : {"S", "gamma", "reduce_hop"}) EXPECT_FALSE(legend.has(name)) << name;
}

TEST(Formulas, AreRefusedWhereMalformed) {
  try {
    (void)Formula("K +");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(std::string(error.what()).find("the formula K +: a number, a name"), 0U)
        << error.what();
  }
}

}  // namespace
}  // namespace collsim
