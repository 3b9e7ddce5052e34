// SPDX-License-Identifier: Apache-2.0
#include "app/expression/expectation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "app/expression/expectation_internal.hpp"
#include "app/json/value.hpp"
#include "app/scenario/object_reader.hpp"

namespace collsim {

namespace {

constexpr std::array<std::pair<const char*, Expectation::Kind>, 4> limit_keys{
    {{"equals", Expectation::Kind::equals},
     {"at_least", Expectation::Kind::at_least},
     {"at_most", Expectation::Kind::at_most},
     {"between", Expectation::Kind::between}}};

bool is_slug(std::string_view id) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !id.empty() && is_plain(id[0]) &&
         std::all_of(id.begin(), id.end(), [&](char c) { return is_plain(c) || c == '-'; });
}

// A part of what is written in a string; the whole string where characters are escaped.
SourceRange part_of(const SourceRange& place, std::size_t size, std::size_t begin,
                    std::size_t end) {
  const std::size_t written = place.end - place.begin;
  const bool in_quotes = written == size + 2;
  if (place.source == SourceRange::nowhere || (!in_quotes && written != size)) return place;
  const std::size_t start = place.begin + (in_quotes ? 1 : 0);
  return {place.source, static_cast<std::uint32_t>(start + begin),
          static_cast<std::uint32_t>(start + end)};
}

// Reads one entry of "expect".
class ExpectationReader {
 public:
  ExpectationReader(const JsonValue& entry, std::string pointer, const ScenarioFacts& facts,
                    Diagnostics& diagnostics)
      : facts_(&facts),
        is_object_(entry.is_object()),
        reader_(entry, std::move(pointer), diagnostics) {}

  // Nothing when it is wrong.
  std::optional<Expectation> read(std::size_t number, std::set<std::string>& ids) {
    const std::size_t before = reader_.diagnostics().size();
    if (!is_object_) return std::nullopt;
    result_.grid = facts_->grid();
    read_id(number, ids);
    result_.why = reader_.text("why").value_or("");
    if (const JsonValue* when = reader_.raw("when"))
      result_.condition =
          read_condition(*when, reader_.pointer_of("when"), *facts_, reader_.diagnostics());
    read_metric();
    read_limits();
    read_within();
    check_collapsed_axes();
    static_cast<void>(reader_.finish());
    if (reader_.diagnostics().size() != before || !result_.metric) return std::nullopt;
    return std::move(result_);
  }

 private:
  void read_id(std::size_t number, std::set<std::string>& ids);
  void read_metric();
  void read_of();
  void read_limits();
  void read_between(const JsonValue& written);
  void read_limit(const JsonValue& written, const std::string& pointer);
  void read_word(const JsonValue& written, const char* key);
  void read_within();
  void check_collapsed_axes();
  void check_constancy(const Expression& expression, const char* key);
  std::optional<Expression> parse(const JsonValue& written, const std::string& pointer);
  bool fits(const Expression& limit, const JsonValue& written, const std::string& pointer);
  Refusal report(std::string code, std::string message, const SourceRange& place,
                 const std::string& pointer, std::string suggestion = {}, std::string hint = {});

  const ScenarioFacts* facts_;
  bool is_object_;
  ObjectReader reader_;
  Expectation result_;
};

Refusal ExpectationReader::report(std::string code, std::string message, const SourceRange& place,
                                  const std::string& pointer, std::string suggestion,
                                  std::string hint) {
  return reader_.diagnostics().add({std::move(code), std::move(message), place, pointer,
                                    std::move(suggestion), std::move(hint)});
}

void ExpectationReader::read_id(std::size_t number, std::set<std::string>& ids) {
  const std::optional<std::string> id = reader_.text("id");
  result_.id = id.value_or(fmt::format("expect-{}", number));
  if (id && !is_slug(*id)) {
    reader_.wrong("id", "bad-id", in_quotes(*id) + " is not a valid id", "",
                  "an id has lower-case letters, digits and hyphens, as in "
                  "\"never-beats-the-wire\"");
    return;
  }
  if (!ids.insert(result_.id).second)
    reader_.wrong("id", "duplicate-id", in_quotes(result_.id) + " is the id of two expectations");
}

std::optional<Expression> ExpectationReader::parse(const JsonValue& written,
                                                   const std::string& pointer) {
  if (written.is_number()) return Expression::constant(written.number(), to_json(written, -1));
  if (!written.is_string())
    return report("wrong-type",
                  fmt::format("expected a number, a quantity or an expression, but this is {}",
                              written.kind_name()),
                  written.place, pointer);
  ParsedExpression parsed = Expression::parse(written.string(), *facts_);
  if (parsed.value) return std::move(parsed.value);
  const FormulaError& error = parsed.error;
  return report(error.code, error.message,
                part_of(written.place, written.string().size(), error.begin, error.end), pointer,
                error.suggestion, error.hint);
}

void ExpectationReader::read_metric() {
  reader_.need({"metric"});
  const JsonValue* written = reader_.raw("metric");
  if (written == nullptr) {
    static_cast<void>(reader_.raw("of"));
    return;
  }
  if (!written->is_string()) {
    reader_.wrong("metric", "wrong-type",
                  fmt::format("expected a string, but this is {}", written->kind_name()), "",
                  "a metric is an expression, such as \"time\"");
  } else {
    result_.metric = parse(*written, reader_.pointer_of("metric"));
  }
  read_of();
}

void ExpectationReader::read_of() {
  static const Vocabulary meanings{.what = "meaning of time",
                                   .allowed = {"simulated", "analytic", "measured"},
                                   .aliases = {{"predicted", "simulated"},
                                               {"simulation", "simulated"},
                                               {"formula", "analytic"},
                                               {"closed-form", "analytic"},
                                               {"measurement", "measured"}}};
  const std::optional<std::string> of = reader_.word("of", meanings);
  if (!result_.metric) return;
  if (of == "analytic") result_.meaning = Evaluator::TimeMeans::analytic;
  if (of == "measured") result_.meaning = Evaluator::TimeMeans::measured;
  const bool changes_something =
      result_.metric->follows_of() || result_.metric->needs_measurement();
  if (of && !changes_something)
    reader_.wrong("of", "no-effect",
                  in_quotes(*of) +
                      " changes nothing, because the metric does not mention time, "
                      "algbw or busbw",
                  "", "omit \"of\"");
}

void ExpectationReader::read_limits() {
  reader_.at_most_one_of({"equals", "at_least", "at_most", "between"});
  const JsonValue* written = nullptr;
  const char* key = nullptr;
  for (const auto& [candidate, kind] : limit_keys) {
    const JsonValue* value = reader_.raw(candidate);
    if (value == nullptr || written != nullptr) continue;
    written = value;
    key = candidate;
    result_.kind = kind;
  }
  if (written == nullptr) {
    report("missing-key", "a limit is missing", reader_.place(), reader_.pointer(), "",
           "write one of equals, at_least, at_most, between");
    return;
  }
  if (result_.metric && result_.metric->word() != nullptr) return read_word(*written, key);
  if (result_.kind == Expectation::Kind::between) return read_between(*written);
  read_limit(*written, reader_.pointer_of(key));
}

void ExpectationReader::read_between(const JsonValue& written) {
  const std::string pointer = reader_.pointer_of("between");
  if (!written.is_array() || written.items().size() != 2) {
    report("wrong-type", "\"between\" needs two limits", written.place, pointer, "",
           "write a list of the lower and the upper one, as in [1, 2]");
    return;
  }
  for (std::size_t i = 0; i < 2; ++i) read_limit(written.items()[i], pointer_to(pointer, i));
  if (result_.limits.size() != 2) return;
  const auto& low = result_.limits[0].value();
  const auto& high = result_.limits[1].value();
  if (low && high && *low > *high)
    report("out-of-range",
           fmt::format("the lower limit {} is above the upper limit {}", result_.limits[0].text(),
                       result_.limits[1].text()),
           written.place, pointer);
}

void ExpectationReader::read_limit(const JsonValue& written, const std::string& pointer) {
  std::optional<Expression> limit = parse(written, pointer);
  if (!limit || !fits(*limit, written, pointer)) return;
  result_.limits.push_back(*std::move(limit));
}

// Whether something of this unit can be compared with the metric.
bool ExpectationReader::fits(const Expression& limit, const JsonValue& written,
                             const std::string& pointer) {
  if (limit.word() != nullptr)
    return report("dimension", in_quotes(limit.text()) + " is a word, not a number", written.place,
                  pointer, "", "write it as the metric, and the word as \"equals\"");
  const auto& metric = result_.metric;
  if (!metric || metric->is_zero() || limit.is_zero() || metric->units() == limit.units())
    return true;
  const std::string shown = written.is_string() ? in_quotes(limit.text()) : limit.text();
  const std::string& number = limit.text();
  std::string hint =
      hint_about_gamma(metric->text() + " " + number, metric->units(), limit.units());
  if (limit.is_literal() && limit.units().none() && !limit.is_percentage()) {
    if (metric->units() == units_time) hint = "write a unit, as in \"" + number + "us\"";
    if (metric->units() == units_size) hint = "write a unit, as in \"" + number + "MiB\"";
    if (metric->units() == units_bandwidth) hint = "write a unit, as in \"" + number + "GB/s\"";
  }
  return report("dimension",
                fmt::format("{} is {} but {} is {}", in_quotes(metric->text()),
                            metric->units().description(), shown, limit.units().description()),
                written.place, pointer, "", hint);
}

void ExpectationReader::read_word(const JsonValue& written, const char* key) {
  const auto& words = result_.metric->word()->words;
  std::vector<std::string> allowed;
  for (const Comparable& word : words)
    if (std::find(allowed.begin(), allowed.end(), word.written) == allowed.end())
      allowed.push_back(word.written);
  const std::string hint = fmt::format("the values are {}", fmt::join(allowed, ", "));
  if (result_.kind != Expectation::Kind::equals) {
    report("dimension", in_quotes(result_.metric->text()) + " is a word, and words have no order",
           written.place, reader_.pointer_of(key), "", "use \"equals\" with a word; " + hint);
    return;
  }
  const Comparable wanted = comparable(written, result_.metric->word()->path, facts_->operation());
  for (const Comparable& word : words) result_.word_fits.push_back(word == wanted ? 1 : 0);
  const auto& fits = result_.word_fits;
  if (std::find(fits.begin(), fits.end(), 1) == fits.end())
    reader_.wrong("equals", "unknown-word",
                  fmt::format("{} is not one of the values of {}", in_quotes(wanted.written),
                              in_quotes(result_.metric->text())),
                  Vocabulary{.what = "value", .allowed = allowed}.nearest(wanted.written), hint);
  result_.word = wanted.written;
}

void ExpectationReader::read_within() {
  const JsonValue* written = reader_.raw("within");
  if (written == nullptr) return;
  const std::string pointer = reader_.pointer_of("within");
  if (result_.word) {
    reader_.wrong("within", "no-effect", "words are equal or not, so \"within\" has no meaning");
    return;
  }
  std::optional<Expression> within = parse(*written, pointer);
  if (!within) return;
  if (within->value() && *within->value() < 0) {
    reader_.wrong("within", "out-of-range", "a tolerance cannot be negative");
    return;
  }
  result_.within_text = within->text();
  if (within->is_percentage()) {
    result_.tolerance = *within->value();
    return;
  }
  const auto& metric = result_.metric;
  if (metric && within->is_literal() && within->units().none() && !within->is_zero() &&
      !metric->units().none()) {
    reader_.wrong("within", "no-unit", within->text() + " has no unit", "",
                  fmt::format("write a percentage, as in \"0.1%\", or a quantity, because {} is {}",
                              in_quotes(metric->text()), metric->units().description()));
    return;
  }
  if (!fits(*within, *written, pointer)) return;
  result_.within = std::move(within);
}

void ExpectationReader::check_collapsed_axes() {
  if (!result_.metric) return;
  const auto collect = [&](const Expression& expression) {
    for (const std::size_t axis : expression.collapsed_axes()) result_.collapsed.push_back(axis);
  };
  collect(*result_.metric);
  for (const Expression& limit : result_.limits) collect(limit);
  if (result_.within) collect(*result_.within);
  auto& axes = result_.collapsed;
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  check_constancy(*result_.metric, "metric");
  for (const auto& [key, kind] : limit_keys)
    if (kind == result_.kind)
      for (const Expression& limit : result_.limits) check_constancy(limit, key);
  if (result_.within) check_constancy(*result_.within, "within");
}

void ExpectationReader::check_constancy(const Expression& expression, const char* key) {
  for (const std::size_t axis : result_.collapsed) {
    const auto part = expression.part_varying_along(axis, facts_->scenario());
    if (!part) continue;
    const std::string& path = facts_->scenario().axes[axis].paths.front();
    const JsonValue* written = reader_.raw(key);
    const std::size_t begin = static_cast<std::size_t>(part->data() - expression.text().data());
    const bool is_string = written != nullptr && written->is_string();
    report(
        "ambiguous",
        fmt::format("{} has a different value for each {}, over which argmin or argmax is taken",
                    in_quotes(*part), path),
        is_string ? part_of(written->place, written->string().size(), begin, begin + part->size())
                  : reader_.place(),
        reader_.pointer_of(key), "", fmt::format("say which one: at({}, {}, value)", *part, path));
    return;
  }
}

}  // namespace

Expectations Expectations::read(const Scenario& scenario, Diagnostics& diagnostics) {
  Expectations result;
  std::vector<Expectation> all;
  if (scenario.expect.is_array()) {
    const ScenarioFacts facts(scenario);
    std::set<std::string> ids;
    const std::string pointer = pointer_to("", "expect");
    const JsonValue::Array& entries = scenario.expect.items();
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (auto one = ExpectationReader(entries[i], pointer_to(pointer, i), facts, diagnostics)
                         .read(i + 1, ids))
        all.push_back(*std::move(one));
  } else if (!scenario.expect.is_null()) {
    diagnostics.add({"wrong-type",
                     fmt::format("expected a list, but this is {}", scenario.expect.kind_name()),
                     scenario.expect.place, "/expect", "",
                     "write [ { \"metric\": \"time\", \"at_most\": \"5ms\" } ]"});
  }
  result.all_ = std::make_shared<const std::vector<Expectation>>(std::move(all));
  return result;
}

bool Expectations::needs_bottleneck_bandwidth() const {
  return all_ && std::any_of(all_->begin(), all_->end(), [](const Expectation& one) {
           const auto mentions = [](const Expression& expression) {
             return expression.mentions(Name::bottleneck_bandwidth);
           };
           return mentions(*one.metric) ||
                  std::any_of(one.limits.begin(), one.limits.end(), mentions) ||
                  (one.within && mentions(*one.within));
         });
}

}  // namespace collsim
