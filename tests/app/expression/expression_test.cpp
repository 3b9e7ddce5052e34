// SPDX-License-Identifier: Apache-2.0
#include "app/expression/expression.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/app/expression/study_fixture.hpp"
#include "tests/golden.hpp"
#include "tests/sanitized.hpp"

namespace collsim::test {
namespace {

// Expressions in the chain scenario, whose six rows have S = 1, 4, 16, 64, 256, 4096.
class Expressions : public ::testing::Test {
 protected:
  Evaluated evaluate(std::string_view text, std::size_t row = 0) {
    const ParsedExpression parsed = Expression::parse(text, facts_);
    if (!parsed.value) return {std::nullopt, parsed.error.message};
    return Evaluator(*parsed.value, *facts_.grid(), study_.rows, all_)(row);
  }
  double value(std::string_view text, std::size_t row = 0) {
    const Evaluated result = evaluate(text, row);
    EXPECT_TRUE(result.value) << text << ": " << result.why_not;
    return result.value.value_or(std::nan(""));
  }
  FormulaError mistake(std::string_view text) {
    const ParsedExpression parsed = Expression::parse(text, facts_);
    EXPECT_FALSE(parsed.value) << text;
    return parsed.error;
  }
  // "message [the part it is about] suggestion"
  std::string said(std::string_view text) {
    const FormulaError error = mistake(text);
    std::string result =
        error.message + " [" + std::string(text.substr(error.begin, error.end - error.begin)) + "]";
    if (!error.suggestion.empty()) result += " " + error.suggestion;
    return result;
  }

  Study study_{chain_scenario("")};
  ScenarioFacts facts_{study_.scenario};
  std::vector<char> all_ = std::vector<char>(study_.rows.size(), 1);
};

TEST_F(Expressions, FollowMathematicsInPrecedence) {
  EXPECT_EQ(value("1 + 2*3"), 7);
  EXPECT_EQ(value("(1 + 2)*3"), 9);
  EXPECT_EQ(value("10 - 4 - 3"), 3);
  EXPECT_EQ(value("100 / 10 / 5"), 2);
  EXPECT_EQ(value("100 / 10 * 5"), 50);
  EXPECT_EQ(value("-2^2"), -4);
  EXPECT_EQ(value("(-2)^2"), 4);
  EXPECT_EQ(value("2^3^2"), 512);
  EXPECT_EQ(value("2^-1"), 0.5);
  EXPECT_EQ(value("2*-3"), -6);
  EXPECT_EQ(value("--3"), 3);
  EXPECT_EQ(value("+3 - -3"), 6);
  EXPECT_EQ(value("2*3^2"), 18);
  EXPECT_EQ(value("1-2^2"), -3);
  EXPECT_EQ(value(" \t1\n+\r2 "), 3);
}

TEST_F(Expressions, ReadNumbersPercentagesAndQuantities) {
  EXPECT_EQ(value("2.5"), 2.5);
  EXPECT_EQ(value("1e3"), 1000);
  EXPECT_EQ(value("1E-3"), 1e-3);
  EXPECT_EQ(value("5%"), 0.05);
  EXPECT_EQ(value("5 %"), 0.05);
  EXPECT_EQ(value("1 + 20%"), 1.2);
  EXPECT_EQ(value("2.5ms"), 0.0025);
  EXPECT_EQ(value("5 us"), 5e-6);
  EXPECT_EQ(value("5\u00b5s"), 5e-6);
  EXPECT_EQ(value("2ps"), 2e-12);
  EXPECT_EQ(value("64MiB"), 67108864);
  EXPECT_EQ(value("5B"), 5);
  EXPECT_EQ(value("25GB/s"), 25e9);
  EXPECT_EQ(value("400Gb/s"), 50e9);
  EXPECT_EQ(value("400Gbps"), 50e9);
  EXPECT_EQ(value("64MiB/25GB/s"), 67108864 / 25e9);
  EXPECT_EQ(value("64MiB/S", 1), 16777216);
  EXPECT_EQ(value("10s/5s"), 2);
  EXPECT_EQ(value("2 * B"), 50e9);
}

TEST_F(Expressions, KnowFunctions) {
  EXPECT_EQ(value("min(3, 1, 2)"), 1);
  EXPECT_EQ(value("max(3, 1, 2, 7)"), 7);
  EXPECT_EQ(value("ceil(1.2) + floor(1.8)"), 3);
  EXPECT_EQ(value("sqrt(16)"), 4);
  EXPECT_EQ(value("log2(K)"), 3);
  EXPECT_EQ(value("abs(-2s)"), 2);
  EXPECT_EQ(value("sqrt(N*N)"), 67108864);
  EXPECT_EQ(value("(N^2)^(1/2)"), 67108864);
  EXPECT_EQ(value("max(0, time - bound) / 1s"), value("(time - bound) / 1s"));
}

TEST_F(Expressions, LookUpSymbolsAndMetrics) {
  EXPECT_EQ(value("K"), 8);
  EXPECT_EQ(value("N"), 67108864);
  EXPECT_EQ(value("S", 2), 16);
  EXPECT_EQ(value("C"), 1);
  EXPECT_EQ(value("alpha"), 5e-6);
  EXPECT_EQ(value("B"), 25e9);
  EXPECT_EQ(value("L"), 0);
  EXPECT_EQ(value("ranks + chunks + channels", 1), 13);
  EXPECT_EQ(value("size"), 67108864);
  EXPECT_EQ(value("time", 2), study_.rows[2].time.seconds());
  EXPECT_EQ(value("algbw", 2), study_.rows[2].algbw());
  EXPECT_EQ(value("busbw", 2), study_.rows[2].busbw());
  EXPECT_EQ(value("messages", 2), 112);
  EXPECT_EQ(value("wire_bytes"), 67108864 * 7.0);
  EXPECT_EQ(value("bound"), value("bandwidth_bound"));
  EXPECT_EQ(value("latency_bound + compute_bound"), 0);
  EXPECT_EQ(value("bottleneck_bandwidth"), 25e9);
  EXPECT_NEAR(value("(S+K-2) * (alpha + N/(S*B)) / time", 3), 1, 1e-9);
}

TEST_F(Expressions, AreFormulasToo) {
  EXPECT_DOUBLE_EQ(value("(S+K-2)*t, t = tau(N/S)", 3), value("(S+K-2)*(alpha + N/(S*B))", 3));
  EXPECT_DOUBLE_EQ(value("q*hop(N) - 3*reduce_hop(N)"), 0) << "adding is free here";
  EXPECT_EQ(value("sum(i = 1..log2(K), N/2^i) / 1B"), 67108864 * 7 / 8.0);
  EXPECT_EQ(value("k + min(A, 3)"), 7) << "the defaults";
  EXPECT_EQ(value("N*gamma"), 0);
  study_.rows[0].gamma = 1e-9;
  EXPECT_DOUBLE_EQ(value("N*gamma"), 0.067108864);
  EXPECT_DOUBLE_EQ(value("(0-1) % 4"), 3);
  EXPECT_EQ(value("best + best, best = argmin(time, S)"), 128);
  EXPECT_EQ(value("sum(i = 1..2, argmin(abs(S - 16^i), S))"), 16 + 256);
  expect_text(evaluate("sum(i = 1..S/8, 1)").why_not,
              "a bound that is not whole in \"sum(i = 1..S/8, 1)\"");
  expect_text(evaluate("sum(i = 1..10^9*S, 1)").why_not,
              "more than 1000000 terms of sums and definitions");
}

TEST_F(Expressions, SayWhichWayRoundGammaIs) {
  expect_text(said("N/B + N/gamma"),
              "\"N/B + N/gamma\": cannot add seconds and bytes^2/s [N/B + N/gamma]");
  expect_text(mistake("N/B + N/gamma").hint,
              "gamma is the time to add one byte: write N*gamma, not N/gamma");
  EXPECT_EQ(mistake("max(time, (K-1)*N/(K*S*gamma))").hint, mistake("N/B + N/gamma").hint);
  EXPECT_EQ(mistake("N*gamma + N").hint, "");
}

TEST_F(Expressions, SelectAlongTheSweep) {
  EXPECT_EQ(value("argmin(time, S)"), 64);
  EXPECT_EQ(value("argmin(time, collective.chunks)", 5), 64);
  EXPECT_EQ(value("argmin(time, chunks)"), 64);
  EXPECT_EQ(value("argmax(time, S)"), 4096);
  EXPECT_EQ(value("argmin(messages, S)"), 1);
  EXPECT_EQ(value("argmin(0*S, S)"), 1) << "the first of equals";
  EXPECT_EQ(value("at(S, S, 16)"), 16);
  EXPECT_EQ(value("at(time, S, 64) / time", 3), 1);
  EXPECT_EQ(value("at(at(S, S, 16) + S, S, 4)"), 20);
  EXPECT_EQ(value("argmin(abs(S - at(S, S, 256)), S)"), 256);
}

TEST_F(Expressions, NameEverySyntaxMistake) {
  expect_text(said(""), "the expression is empty []");
  expect_text(said("  "), "the expression is empty [  ]");
  expect_text(said("1 +"), "a number, a name or \"(\" is missing at the end []");
  expect_text(said("1 + * 2"), "expected a number, a name or \"(\", not \"*\" [*]");
  expect_text(said("1 2"), "expected an operator, not \"2\" [2]");
  expect_text(said("K N"), "expected an operator, not \"N\" [N]");
  expect_text(said("(1 + 2"), "there is no \")\" for this \"(\" [(]");
  expect_text(said("1 + 2)"), "there is no \"(\" for this \")\" [)]");
  expect_text(said("(1 2)"), "expected an operator or \")\", not \"2\" [2]");
  expect_text(said("()"), "expected a number, a name or \"(\", not \")\" [)]");
  expect_text(said("1, 2"), "expected an operator, not \",\" [,]");
  expect_text(said("2**3"), "a power is written ^ [**] ^");
  expect_text(said("time = 5ms"), "expected an operator, not \"=\" [=]");
  EXPECT_EQ(mistake("time = 5ms").hint, mistake("time < 5ms").hint);
  expect_text(said("time < 5ms"), "\"<\" has no meaning in an expression [<]");
  expect_text(said("K & 2"), "\"&\" has no meaning in an expression [&]");
  expect_text(said(".5"), "a number begins with a digit [.]");
  expect_text(said("\u03b1 + N/B"), "\"\u03b1\" has no meaning in an expression [\u03b1] alpha");
  expect_text(said("K\u22121"), "\"\u2212\" has no meaning in an expression [\u2212] -");
  expect_text(said("1e999"), "\"1e999\" is too large or too small for a number [1e999]");
  expect_text(said("2K"), "an operator is missing between \"2\" and \"K\" [2K] 2*K");
  expect_text(said("2 alpha"),
              "an operator is missing between \"2\" and \"alpha\" [2 alpha] 2*alpha");
  expect_text(said("1e3us"), "\"1e3us\" has an exponent and a unit [1e3us]");
}

TEST_F(Expressions, HelpWithWhatWasPasted) {
  const auto help = [&](std::string_view text) { return said(text) + ": " + mistake(text).hint; };
  for (const char* sentence :
       {"sum over hops of (tau(N/S) + L) + (S-1)*max tau(N/S)", "(K-1)*S*max tau(N/(K*S))",
        "max over messages of hop(N), alpha the largest"})
    EXPECT_EQ(mistake(sentence).message + ": " + mistake(sentence).hint,
              "this formula is a sentence, not an expression: \"analytic\" is its value");
  expect_text(help("4,796ms"),
              "expected an operator, not \",\" [,]: numbers are written without commas");
  expect_text(help("2*t, 3"),
              "unknown name \"t\" [t]: known: K N S C k A alpha B L gamma time analytic bound "
              "bandwidth_bound latency_bound compute_bound algbw busbw messages wire_bytes "
              "bottleneck_bandwidth measured ranks size chunks channels");
  expect_text(help("2*N, 3"),
              "expected an operator, not \",\" [,]: a comma outside of functions defines a name, "
              "as in \"2*t, t = tau(N/S)\"");
  const std::string after_comma = "names are defined after a comma, as in \"2*t, t = tau(N/S)\"";
  EXPECT_EQ(mistake("2*t where t = tau(N/S)").hint, after_comma);
  EXPECT_EQ(mistake("2*t + L where t = tau(N/S)").hint, after_comma);
  expect_text(help("sum(i = 1...3, i)"),
              "two dots stand between the bounds of a sum [.]: as in sum(i = 1..3, N/2^i)");
}

TEST_F(Expressions, NameEveryMistakeWithNames) {
  expect_text(said("tiem / 2"), "unknown name \"tiem\" [tiem] time");
  expect_text(said("2*overhead"), "unknown name \"overhead\" [overhead] alpha");
  expect_text(said("N/reduce_bandwidth"),
              "unknown name \"reduce_bandwidth\" [reduce_bandwidth] 1/gamma");
  expect_text(said("N*beta"), "unknown name \"beta\" [beta] 1/B");
  expect_text(said("xyzzy"), "unknown name \"xyzzy\" [xyzzy]");
  expect_text(
      mistake("xyzzy").hint,
      "known: K N S C k A alpha B L gamma time analytic bound bandwidth_bound latency_bound "
      "compute_bound algbw busbw messages wire_bytes bottleneck_bandwidth measured ranks size "
      "chunks channels");
  expect_text(said("log(K)"), "\"log\" takes two arguments: log(x, base) [log(K)] log2");
  expect_text(said("pass(N)"), "unknown function \"pass\" [pass] hop");
  expect_text(mistake("foo(K)").hint,
              "known: min max ceil floor sqrt log2 log abs sum reduce_hop hop tau argmin argmax at "
              "relative_error idle");
  expect_text(said("K(2)"), "\"K\" is not a function [K] K*");
  expect_text(said("min + 1"),
              "\"min\" is a function and needs its arguments in parentheses [min]");
  expect_text(said("relative_error"),
              "\"relative_error\" is a function and needs its arguments in parentheses "
              "[relative_error]");
}

TEST_F(Expressions, NameEveryMistakeWithFunctions) {
  expect_text(said("min(1)"), "\"min\" takes at least two arguments [min(1)]");
  expect_text(said("min()"), "expected a number, a name or \"(\", not \")\" [)]");
  expect_text(said("min(1, 2"), "\")\" is missing at the end []");
  expect_text(said("sqrt(1, 2)"), "\"sqrt\" takes one argument [,]");
  expect_text(said("sqrt(1"), "\")\" is missing at the end []");
  expect_text(said("argmin(time)"),
              "expected \",\" and an axis, as in argmin(metric, axis), not \")\" [)]");
  expect_text(said("argmin(time, )"), "\"argmin\" needs the name of an axis [)]");
  expect_text(said("argmin(time, S"), "\")\" is missing at the end []");
  expect_text(said("argmin(time, S, 3)"),
              "\"argmin\" takes two arguments, a metric and an axis [,]");
  expect_text(said("argmin(time, colective.chunks)"),
              "\"colective.chunks\" is not swept [colective.chunks] collective.chunks");
  expect_text(said("argmin(time, N)"), "\"N\" is not swept [N]");
  EXPECT_EQ(mistake("argmin(time, N)").hint, "swept: collective.chunks");
  expect_text(said("at(time, S)"), "\"at\" needs a value: at(metric, axis, value) [)]");
  expect_text(said("at(time, S, )"), "\"at\" needs a value: at(metric, axis, value) []");
  expect_text(said("at(time, S, 2)"), "the sweep of collective.chunks has no \"2\" [2]");
  expect_text(mistake("at(time, S, 2)").hint, "its values: 1, 4, 16, 64, 256, 4096");
  expect_text(said("at(time, S, 64"), "\")\" is missing at the end []");
  expect_text(said("relative_error(messages)"),
              "nothing in \"messages\" is ever measured [messages]");
}

TEST_F(Expressions, PassOnMistakesInQuantities) {
  const FormulaError error = mistake("N / 64M");
  EXPECT_EQ(error.code, "ambiguous-unit");
  expect_text(error.message, "\"64M\" could mean two sizes");
  EXPECT_EQ(error.begin, 4U);
  EXPECT_EQ(error.end, 7U);
  EXPECT_FALSE(mistake("5parsec").message.empty());
  EXPECT_FALSE(mistake("0x10").message.empty());
}

TEST_F(Expressions, CheckUnits) {
  expect_text(said("N + alpha"), "\"N + alpha\": cannot add bytes and seconds [N + alpha]");
  expect_text(said("2*(N - time)"), "\"N - time\": cannot subtract seconds from bytes [N - time]");
  expect_text(said("K + N/B*B"), "\"K + N/B*B\": cannot add a plain number and bytes [K + N/B*B]");
  expect_text(said("max(N, alpha)"),
              "\"max(N, alpha)\": cannot compare bytes and seconds [N, alpha]");
  expect_text(said("ceil(N)"), "ceil takes a plain number, but \"N\" is a size (bytes) [N]");
  expect_text(mistake("ceil(N)").hint, "divide by a quantity first, as in ceil(N/1MiB)");
  expect_text(said("log2(time)"), "log2 takes a plain number, but \"time\" is a time (s) [time]");
  expect_text(said("2^N"), "the exponent \"N\" must be a plain number, but is a size (bytes) [N]");
  expect_text(said("N^K"),
              "the exponent of \"N\", which is a size (bytes), must be a constant [K]");
  expect_text(
      said("N^3.14159"),
      "the exponent of \"N\", which is a size (bytes), must be a simple number such as 2, -1 "
      "or 1/2 [3.14159]");
  expect_text(said("N^9999 * N^9999"),
              "the unit of \"N^9999 * N^9999\" has too high a power [N^9999 * N^9999]");
}

TEST_F(Expressions, HaveUnits) {
  const auto units = [&](std::string_view text) {
    return Expression::parse(text, facts_).value->units().description();
  };
  EXPECT_EQ(units("alpha + N/B"), "a time (s)");
  EXPECT_EQ(units("sqrt((K-2)*N / (alpha*B))"), "a plain number");
  EXPECT_EQ(units("N*B"), "in bytes^2/s");
  EXPECT_EQ(units("sqrt(time)"), "in s^(1/2)");
  EXPECT_EQ(units("0 + time"), "a time (s)");
  EXPECT_EQ(units("min(0, 0, N)"), "a size (bytes)");
  EXPECT_EQ(units("argmin(time, S)"), "a plain number");
  EXPECT_EQ(units("at(time, S, 1)"), "a time (s)");
  EXPECT_EQ(units("1/time"), "in 1/s");
}

TEST_F(Expressions, GiveAReasonWhereThereIsNoValue) {
  expect_text(evaluate("N/(S-1)").why_not, "division by zero in \"N/(S-1)\"");
  expect_text(evaluate("1/0").why_not, "division by zero in \"1/0\"");
  expect_text(evaluate("0^-1").why_not, "division by zero in \"0^-1\"");
  expect_text(evaluate("sqrt(S-2)").why_not, "square root of a negative number in \"sqrt(S-2)\"");
  expect_text(evaluate("log2(S-1)").why_not, "logarithm of zero in \"log2(S-1)\"");
  expect_text(evaluate("log2(S-2)").why_not, "logarithm of a negative number in \"log2(S-2)\"");
  expect_text(evaluate("(S-3)^0.5").why_not,
              "power of a negative number with an exponent that is not whole in \"(S-3)^0.5\"");
  expect_text(evaluate("10^308*K*10").why_not, "a number beyond 1.8e308 in \"10^308*K\"");
  expect_text(evaluate("10^400").why_not, "a number beyond 1.8e308 in \"10^400\"");
  expect_text(evaluate("argmin(1/(S-16), S)").why_not,
              "division by zero in \"1/(S-16)\" at collective.chunks = 16");
  EXPECT_EQ(evaluate("N/(S-1)", 1).why_not, "");
}

TEST_F(Expressions, GiveAReasonWhereNothingLimitsTheAggregation) {
  expect_text(evaluate("A").why_not, "\"A\" is infinite: \"aggregation\" is not set");
  expect_text(evaluate("1*A").why_not, "a number beyond 1.8e308 in \"1*A\"");
  EXPECT_EQ(value("min(A, K)"), 8);
}

TEST_F(Expressions, GiveAReasonForWhatARowDoesNotHave) {
  study_.rows[0].B.reset();
  study_.rows[0].alpha.reset();
  study_.rows[0].L.reset();
  study_.rows[0].analytic.reset();
  study_.rows[0].bottleneck_bandwidth.reset();
  expect_text(evaluate("N/B").why_not,
              "there is no B, because the cluster's links differ or have segments; use "
              "bottleneck_bandwidth, or a number with its unit");
  expect_text(evaluate("alpha").why_not,
              "there is no alpha, because the cluster's links differ or have segments; use a "
              "number with its unit");
  expect_text(evaluate("L").why_not,
              "there is no L, because the cluster's links differ or have segments; use a number "
              "with its unit");
  expect_text(evaluate("analytic").why_not,
              "no closed form applies to this case, so it has no analytic time");
  expect_text(evaluate("bottleneck_bandwidth").why_not,
              "there is no bottleneck_bandwidth, because no link carried data");
  study_.rows[0].alpha = std::nan("");
  expect_text(evaluate("alpha").why_not, "\"alpha\" is not a finite number");
}

TEST_F(Expressions, AreLimitedInDepthAndLength) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '(') + "1" +
           std::string(static_cast<std::size_t>(depth), ')');
  };
  EXPECT_EQ(value(nested(max_formula_depth - 1)), 1);
  expect_text(mistake(nested(max_formula_depth)).message, "more than 100 levels of nesting");
  expect_text(mistake(nested(2000)).message, "more than 100 levels of nesting");
  expect_text(mistake(std::string(2000, '-') + "1").message, "more than 100 levels of nesting");
  std::string powers = "1";
  for (int i = 0; i < 1000; ++i) powers += "^1";
  expect_text(mistake(powers).message, "more than 100 levels of nesting");
  std::string sum = "1";
  for (int i = 0; i < 2000; ++i) sum += "+1";
  EXPECT_EQ(value(sum), 2001);
  expect_text(mistake(sum + std::string(200, ' ')).message,
              "an expression has at most 4096 characters, this one has 4201");
}

TEST_F(Expressions, LookThroughADefinitionOnceHoweverOftenItIsUsed) {
  std::string doubled = "a0";
  for (int i = 0; i < 45; ++i) {
    const std::string next = "a" + std::to_string(i + 1);
    doubled += ", a" + std::to_string(i) + " = " + next + "+" + next;
  }
  const auto varying = [&](const std::string& text) -> std::optional<std::string> {
    const ParsedExpression parsed = Expression::parse(text, facts_);
    const auto part = parsed.value->part_varying_along(0, study_.scenario);
    if (!part) return std::nullopt;
    return std::string(*part);
  };
  EXPECT_EQ(varying(doubled + ", a45 = N"), std::nullopt);
  EXPECT_EQ(varying(doubled + ", a45 = N*S"), "S");
}

TEST_F(Expressions, WithoutASweepHaveNoAxes) {
  Sources sources;
  const Scenario scenario = make_scenario(R"({"collective": {"op": "reduce"}})", sources);
  const ScenarioFacts facts(scenario);
  expect_text(Expression::parse("argmin(time, S)", facts).error.message,
              "\"argmin\" needs a sweep, and this scenario has none");
}

TEST_F(Expressions, SurviveAnyBytes) {
  const std::vector<std::string> pieces{
      "K",         "N",    "(",           ")",     "+",    "-",
      "*",         "/",    "^",           ",",     "1",    "0",
      "argmin(",   "at(",  "S",           "2ms",   "%",    "sqrt(",
      "\xff",      "\xc2", "1e9",         "64MiB", "min(", "log2(",
      " ",         "\0x",  "B",           "/s",    "time", "relative_error(",
      "sum(i=1..", "..",   "=",           ", t=",  "t",    "i",
      "q",         "tau(", "reduce_hop(", "gamma"};
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < testing::random_cases(20'000); ++i) {
    std::string text;
    for (std::size_t n = random() % 12; n > 0; --n) text += pieces[random() % pieces.size()];
    const ParsedExpression parsed = Expression::parse(text, facts_);
    if (!parsed.value) {
      EXPECT_FALSE(parsed.error.message.empty());
      EXPECT_LE(parsed.error.begin, parsed.error.end);
      EXPECT_LE(parsed.error.end, text.size());
      continue;
    }
    ++accepted;
    Evaluator evaluator(*parsed.value, *facts_.grid(), study_.rows, all_);
    for (std::size_t row = 0; row < study_.rows.size(); ++row) {
      const Evaluated result = evaluator(row);
      EXPECT_NE(result.value.has_value(), !result.why_not.empty()) << text;
      EXPECT_TRUE(std::isfinite(result.value.value_or(0))) << text;
    }
  }
  EXPECT_GT(accepted, testing::random_cases(200));
}

}  // namespace
}  // namespace collsim::test
