// SPDX-License-Identifier: Apache-2.0
#include "app/explain/json.hpp"

#include <cmath>

#include "app/explain/sentences.hpp"

namespace collsim {
namespace {

Value seconds(Time time) {
  return time.seconds();
}
Value seconds(const std::optional<Time>& time) {
  return time ? Value(time->seconds()) : Value();
}
Value number(std::uint64_t count) {
  return static_cast<std::int64_t>(count);
}
Value text_or_null(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}
Value optional_number(const std::optional<double>& value) {
  return value ? Value(*value) : Value();
}

Value of_terms(const std::vector<FormulaTerm>& terms) {
  Value all = Value::array();
  for (const FormulaTerm& term : terms) {
    Value one = Value::object();
    one.set("text", term.text);
    one.set("with_values", term.with_values);
    one.set("seconds", term.value);
    all.items().push_back(std::move(one));
  }
  return all;
}

std::string_view unit_of(const ExplainedSymbol& symbol) {
  if (symbol.units == units_size) return "B";
  if (symbol.units == units_time) return "s";
  if (symbol.units == units_bandwidth) return "B/s";
  return symbol.units == units_cost_per_byte ? "s/B" : "1";
}

Value of_symbols(const std::vector<ExplainedSymbol>& symbols) {
  Value all = Value::array();
  for (const ExplainedSymbol& symbol : symbols) {
    Value one = Value::object();
    one.set("symbol", symbol.symbol);
    one.set("value", std::isfinite(symbol.value) ? Value(symbol.value) : Value());
    one.set("unit", unit_of(symbol));
    one.set("meaning", symbol.meaning);
    all.items().push_back(std::move(one));
  }
  return all;
}

Value of_formula(const Explanation& e) {
  const FormulaExplanation& f = e.formula;
  Value value = Value::object();
  value.set("applies", f.applies);
  value.set("why_not", text_or_null(f.why_not));
  value.set("formula", f.form ? Value(f.form->formula) : Value());
  value.set("reference", f.form ? Value(f.form->reference) : Value());
  value.set("exact", f.form ? Value(f.form->exact) : Value());
  value.set("seconds", f.form ? Value(f.form->seconds) : Value());
  value.set("difference_s", f.form ? Value(e.row.time_s() - f.form->seconds) : Value());
  value.set("best_chunks", f.form ? optional_number(f.form->best_chunks) : Value());
  value.set("comparison", comparison_in_words(e));
  value.set("symbols", of_symbols(f.symbols));
  Value definitions = Value::array();
  for (const std::string& one : f.definitions) definitions.items().emplace_back(one);
  value.set("definitions", std::move(definitions));
  value.set("terms", of_terms(f.terms));
  value.set("calls", of_terms(f.calls));
  Value parts = Value::array();
  for (const VanishingPart& part : f.parts) {
    Value one = Value::object();
    one.set("name", part.name);
    one.set("seconds", part.seconds);
    parts.items().push_back(std::move(one));
  }
  value.set("parts", std::move(parts));
  value.set("parts_add_up", f.parts_add_up);
  return value;
}

Value of_link(const BusiestLink& link) {
  Value value = Value::object();
  value.set("name", link.name);
  value.set("messages", number(link.messages));
  value.set("bytes", std::int64_t{link.bytes});
  value.set("busy_s", seconds(link.busy));
  value.set("fill_s", seconds(link.fill));
  value.set("gaps_s", seconds(link.gaps));
  value.set("drain_s", seconds(link.drain));
  value.set("equally_busy", number(link.equally_busy));
  return value;
}

Value of_breakdown(const Breakdown& b) {
  Value value = Value::object();
  value.set("every_step_recorded", b.every_step_recorded);
  value.set("instructions", number(b.instructions));
  value.set("messages", number(b.messages));
  const bool known = b.every_step_recorded;
  const auto set = [&](const char* name, Time time) {
    value.set(name, known ? seconds(time) : Value());
  };
  set("start_s", b.path.start);
  set("startup_s", b.path.startup);
  set("wire_s", b.path.wire);
  set("sharing_s", b.path.sharing);
  set("flight_s", b.path.flight);
  set("queue_s", b.path.queue);
  set("reduction_s", b.path.reduction);
  set("copy_s", b.path.copy);
  set("instructions_s", b.path.instructions);
  set("launch_s", b.launch);
  set("waiting_for_others_s", b.waiting_for_others);
  value.set("busiest_link", b.busiest ? of_link(*b.busiest) : Value());
  return value;
}

std::string_view to_string(PathLine::Shape shape) {
  using Shape = PathLine::Shape;
  switch (shape) {
    case Shape::start: return "start";
    case Shape::train: return "train";
    case Shape::relay: return "relay";
    case Shape::fan_out: return "fan-out";
    case Shape::fan_in: return "fan-in";
    case Shape::work: return "work";
    case Shape::repeated: return "repeated";
    case Shape::skipped: return "skipped";
  }
  return "";
}

Value of_path(const std::vector<PathLine>& lines) {
  Value all = Value::array();
  for (const PathLine& line : lines) {
    Value one = Value::object();
    one.set("shape", to_string(line.shape));
    Value ranks = Value::array();
    for (const std::uint32_t rank : line.ranks) ranks.items().emplace_back(std::int64_t{rank});
    one.set("ranks", std::move(ranks));
    one.set("count", line.count);
    one.set("period", line.period);
    one.set("from_s", seconds(line.from));
    one.set("to_s", seconds(line.to));
    one.set("smallest_bytes", std::int64_t{line.smallest});
    one.set("largest_bytes", std::int64_t{line.largest});
    one.set("text", path_line_in_words(line));
    all.items().push_back(std::move(one));
  }
  return all;
}

Value of_knobs(const Explanation& e) {
  Value all = Value::array();
  const auto saves = [&](const std::optional<Time>& time) {
    return time ? Value((e.row.time - *time).seconds()) : Value();
  };
  for (const Knob& knob : e.knobs.all) {
    Value one = Value::object();
    one.set("name", knob.name);
    one.set("now", knob.now);
    one.set("then", knob.then);
    one.set("by_degrees", knob.by_degrees);
    one.set("time_s", seconds(knob.time));
    one.set("saves_s", saves(knob.time));
    one.set("time_20_percent_s", seconds(knob.time_20));
    one.set("saves_20_percent_s", saves(knob.time_20));
    one.set("why_not", text_or_null(knob.why_not));
    all.items().push_back(std::move(one));
  }
  return all;
}

Value of_best_chunks(const BestChunks& chunks) {
  Value value = Value::object();
  value.set("by_formula", optional_number(chunks.by_formula));
  value.set("best", chunks.best);
  value.set("time_s", seconds(chunks.best_time));
  Value tried = Value::array();
  for (const BestChunks::Tried& one : chunks.tried) {
    Value pair = Value::object();
    pair.set("chunks", one.chunks);
    pair.set("time_s", seconds(one.time));
    tried.items().push_back(std::move(pair));
  }
  value.set("tried", std::move(tried));
  return value;
}

Value of_bound(const Explanation& e) {
  using Kind = BoundExplanation::Kind;
  Value value = Value::object();
  value.set("bound_s", seconds(e.row.bound));
  value.set("launch_s", seconds(e.bound.launch));
  value.set("bandwidth_s", seconds(e.row.bounds.bandwidth));
  value.set("latency_s", seconds(e.row.bounds.latency));
  value.set("compute_s", seconds(e.row.bounds.compute));
  value.set("binding", e.bound.binding == Kind::bandwidth ? Value("bandwidth")
                       : e.bound.binding == Kind::latency ? Value("latency")
                       : e.bound.binding == Kind::compute ? Value("compute")
                                                          : Value());
  value.set("ratio", e.bound.ratio > 0 ? Value(e.bound.ratio) : Value());
  value.set("text", bound_in_words(e));
  return value;
}

Value of_algorithms(const std::vector<Contender>& algorithms) {
  Value all = Value::array();
  for (const Contender& contender : algorithms) {
    Value one = Value::object();
    one.set("algorithm", contender.algorithm);
    one.set("time_s", seconds(contender.time));
    one.set("why_not", text_or_null(contender.why_not));
    all.items().push_back(std::move(one));
  }
  return all;
}

}  // namespace

Value to_value(const Explanation& e) {
  Value value = Value::object();
  value.set("question", question_of(e));
  value.set("operation", to_string(e.row.operation));
  value.set("algorithm", e.row.algorithm);
  value.set("algorithm_summary", e.summary);
  value.set("chosen_automatically", e.chosen_automatically);
  value.set("ranks", e.row.ranks);
  value.set("size_bytes", std::int64_t{e.row.size});
  value.set("chunks", e.row.chunks);
  value.set("channels", e.row.channels);
  value.set("machine", e.point.cluster->description);
  value.set("time_s", seconds(e.row.time));
  value.set("algbw_bytes_per_s", e.row.algbw());
  value.set("busbw_bytes_per_s", e.row.busbw());
  value.set("busbw_factor", busbw_factor(e.row.operation, e.row.ranks));
  value.set("algorithms", of_algorithms(e.algorithms));
  value.set("formula", of_formula(e));
  value.set("breakdown", of_breakdown(e.breakdown));
  value.set("critical_path", of_path(e.breakdown.lines));
  value.set("knobs", of_knobs(e));
  value.set("best_chunks", e.knobs.chunks ? of_best_chunks(*e.knobs.chunks) : Value());
  value.set("bound", of_bound(e));
  return value;
}

}  // namespace collsim
