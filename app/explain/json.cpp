// SPDX-License-Identifier: Apache-2.0
#include "app/explain/explanation.hpp"

#include "app/explain/explanation_internal.hpp"
#include "app/json/screen_text.hpp"
#include "app/scenario/lane_place.hpp"
#include "collectives/cost/bound_text.hpp"

namespace collsim {
namespace {

JsonValue seconds(Time time) {
  return time.seconds();
}
JsonValue seconds(const std::optional<Time>& time) {
  return time ? JsonValue(time->seconds()) : JsonValue();
}
JsonValue text_or_null(const std::string& text) {
  return text.empty() ? JsonValue() : JsonValue(text);
}

JsonValue of_terms(const std::vector<FormulaTerm>& terms) {
  return JsonValue::array(terms, [](const FormulaTerm& term) {
    return JsonValue::object(
        {{"text", term.text}, {"with_values", term.with_values}, {"seconds", term.value}});
  });
}

std::string_view unit_of(const ExplainedSymbol& symbol) {
  if (symbol.units == units_size) return "B";
  if (symbol.units == units_time) return "s";
  if (symbol.units == units_bandwidth) return "B/s";
  return symbol.units == units_cost_per_byte ? "s/B" : "1";
}

JsonValue of_symbol(const ExplainedSymbol& symbol) {
  return JsonValue::object({{"symbol", symbol.symbol},
                            {"value", symbol.value},
                            {"unit", unit_of(symbol)},
                            {"meaning", symbol.meaning}});
}

JsonValue of_formula(const Explanation& e) {
  const FormulaExplanation& f = e.formula;
  const auto of_form = [&](const auto& member) {
    return f.form ? JsonValue(std::invoke(member, *f.form)) : JsonValue();
  };
  const auto of_part = [](const VanishingPart& part) {
    return JsonValue::object({{"name", part.name}, {"seconds", part.seconds}});
  };
  return JsonValue::object({{"applies", f.applies},
                            {"why_not", text_or_null(f.why_not)},
                            {"formula", of_form(&ClosedForm::formula)},
                            {"reference", of_form(&ClosedForm::reference)},
                            {"exact", of_form(&ClosedForm::exact)},
                            {"seconds", of_form(&ClosedForm::seconds)},
                            {"difference_s", of_form([&](const ClosedForm& form) {
                               return e.row.time_s() - form.seconds;
                             })},
                            {"best_chunks", of_form(&ClosedForm::best_chunks)},
                            {"comparison", comparison_in_words(e)},
                            {"symbols", JsonValue::array(f.symbols, of_symbol)},
                            {"definitions", JsonValue::array(f.definitions)},
                            {"terms", of_terms(f.terms)},
                            {"calls", of_terms(f.calls)},
                            {"parts", JsonValue::array(f.parts, of_part)},
                            {"parts_add_up", f.parts_add_up}});
}

JsonValue of_link(const BusiestLink& link) {
  return JsonValue::object({{"name", link.name},
                            {"messages", link.messages},
                            {"bytes", link.bytes},
                            {"busy_s", seconds(link.busy)},
                            {"fill_s", seconds(link.fill)},
                            {"gaps_s", seconds(link.gaps)},
                            {"drain_s", seconds(link.drain)},
                            {"equally_busy", link.equally_busy}});
}

JsonValue of_idle(const IdleLinks& links) {
  return JsonValue::object({{"busy", links.busy}, {"alike", links.alike}, {"idle", links.idle}});
}

JsonValue of_tie(const Breakdown::Tie& tie) {
  return JsonValue::object({{"link", tie.link},
                            {"asked_s", seconds(tie.asked)},
                            {"first", tie.first.index()},
                            {"second", tie.second.index()}});
}

JsonValue of_changed_order(const ChangedOrder& order) {
  JsonValue first;
  if (order.first)
    first = JsonValue::object({{"link", order.first->link},
                               {"at_s", seconds(order.first->at)},
                               {"ahead", order.first->ahead.index()},
                               {"behind", order.first->behind.index()}});
  return JsonValue::object(
      {{"by", order.by}, {"first", std::move(first)}, {"other_ways", order.other_ways}});
}

JsonValue of_breakdown(const Breakdown& b) {
  const auto known = [&](Time time) { return b.every_step_recorded ? seconds(time) : JsonValue(); };
  return JsonValue::object(
      {{"every_step_recorded", b.every_step_recorded},
       {"instructions", b.instructions},
       {"messages", b.messages},
       {"ties", b.ties},
       {"first_tie", b.first_tie ? of_tie(*b.first_tie) : JsonValue()},
       {"start_s", known(b.path.start)},
       {"startup_s", known(b.path.startup)},
       {"wire_s", known(b.path.wire)},
       {"serial_hops_s", known(b.path.hops)},
       {"idle_in_hops", b.path.hops > Time{} ? JsonValue(b.idle_in_hops) : JsonValue()},
       {"sharing_s", known(b.path.sharing)},
       {"flight_s", known(b.path.flight)},
       {"queue_s", known(b.path.queue)},
       {"reduction_s", known(b.path.reduction)},
       {"copy_s", known(b.path.copy)},
       {"instructions_s", known(b.path.instructions)},
       {"launch_s", known(b.launch)},
       {"waiting_for_others_s", known(b.waiting_for_others)},
       {"busiest_link", b.busiest ? of_link(*b.busiest) : JsonValue()}});
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

JsonValue of_line(const PathLine& line) {
  return JsonValue::object({{"shape", to_string(line.shape)},
                            {"ranks", JsonValue::array(line.ranks)},
                            {"places", JsonValue::array(line.places, place_name)},
                            {"count", line.count},
                            {"period", line.period},
                            {"from_s", seconds(line.from)},
                            {"to_s", seconds(line.to)},
                            {"smallest_bytes", line.smallest},
                            {"largest_bytes", line.largest},
                            {"text", path_line_in_words(line)}});
}

JsonValue of_set(const Params& set) {
  JsonValue value;
  for (const auto& [path, then] : set) value.set(path, then);
  return value;
}

JsonValue of_knobs(const Explanation& e) {
  const auto saves = [&](const std::optional<Time>& time) {
    return time ? seconds(e.row.time - *time) : JsonValue();
  };
  return JsonValue::array(e.knobs.all, [&](const Knob& knob) {
    return JsonValue::object({{"name", knob.name},
                              {"now", knob.now},
                              {"then", knob.then},
                              {"by_degrees", knob.by_degrees},
                              {"time_s", seconds(knob.time)},
                              {"saves_s", saves(knob.time)},
                              {"time_20_percent_s", seconds(knob.time_20)},
                              {"saves_20_percent_s", saves(knob.time_20)},
                              {"why_not", text_or_null(knob.why_not)},
                              {"set", of_set(knob.set)}});
  });
}

JsonValue of_best_chunks(const BestChunks& chunks) {
  const auto of_tried = [](const BestChunks::Tried& one) {
    return JsonValue::object({{"chunks", one.chunks}, {"time_s", seconds(one.time)}});
  };
  return JsonValue::object({{"by_formula", chunks.by_formula},
                            {"best", chunks.best},
                            {"time_s", seconds(chunks.best_time)},
                            {"broken_off", chunks.broken_off},
                            {"tried", JsonValue::array(chunks.tried, of_tried)}});
}

JsonValue of_power_of_two(const Knob& knob) {
  JsonValue set = JsonValue::object();
  for (const auto& [path, value] : knob.set) set.set(path, value);
  return JsonValue::object({{"ranks", *number_in<std::int64_t>(knob.then)},
                            {"time_s", seconds(knob.time)},
                            {"set", std::move(set)}});
}

JsonValue of_cut(const Explanation& e) {
  const NarrowestLinks& narrowest = *e.bound.narrowest;
  const Collective& collective = e.one_case.collective;
  const auto rank = [&](int position) {
    return JsonValue(collective.group[static_cast<std::size_t>(position)].index());
  };
  return JsonValue::object(
      {{"ranks", narrowest.together ? JsonValue() : JsonValue::array(narrowest.positions, rank)},
       {"direction", to_string(narrowest.direction)},
       {"bytes", narrowest.bytes},
       {"bytes_per_s", narrowest.bytes_per_second},
       {"links", narrowest.together ? JsonValue() : JsonValue(narrowest.links)},
       {"text", to_text(narrowest, collective, e.one_case.cluster->topology)}});
}

JsonValue of_bound(const Explanation& e) {
  using Kind = BoundExplanation::Kind;
  const Kind binding = e.bound.binding;
  return JsonValue::object({{"bound_s", seconds(e.row.bound)},
                            {"launch_s", seconds(e.bound.launch)},
                            {"bandwidth_s", seconds(e.row.bounds.bandwidth)},
                            {"latency_s", seconds(e.row.bounds.latency)},
                            {"compute_s", seconds(e.row.bounds.compute)},
                            {"binding", binding == Kind::bandwidth ? JsonValue("bandwidth")
                                        : binding == Kind::latency ? JsonValue("latency")
                                        : binding == Kind::compute ? JsonValue("compute")
                                                                   : JsonValue()},
                            {"ratio", e.bound.ratio > 0 ? JsonValue(e.bound.ratio) : JsonValue()},
                            {"text", bound_in_words(e)},
                            {"best_known_s", e.bound.best_known_s},
                            {"cut", e.bound.narrowest ? of_cut(e) : JsonValue()}});
}

JsonValue of_channels(const NcclChannels& channels) {
  constexpr double gigabyte = 1e9;
  return JsonValue::object({{"channels", channels.channels},
                            {"intra_bytes_per_s", channels.intra * gigabyte},
                            {"inter_bytes_per_s", channels.inter * gigabyte}});
}

JsonValue of_tuner(const TunerVerdict& verdict) {
  const auto of_expected = [](const TunerVerdict::Expected& one) {
    constexpr double microsecond = 1e-6;
    return JsonValue::object({{"nccl_algorithm", to_string(one.algorithm)},
                              {"nccl_protocol", to_string(nccl_protocol_of(one.protocol))},
                              {"seconds", one.microseconds * microsecond}});
  };
  return JsonValue::object({{"version", verdict.version},
                            {"expected", JsonValue::array(verdict.expected, of_expected)},
                            {"channels", verdict.work.channels},
                            {"threads", verdict.work.threads},
                            {"ring", of_channels(verdict.machine.ring)},
                            {"tree", of_channels(verdict.machine.tree)},
                            {"nvls", of_channels(verdict.machine.nvls)},
                            {"collnet", of_channels(verdict.machine.collnet)}});
}

JsonValue of_contender(const Contender& contender) {
  return JsonValue::object({{"algorithm", contender.algorithm},
                            {"time_s", seconds(contender.time)},
                            {"why_not", text_or_null(contender.why_not)}});
}

}  // namespace

JsonValue to_value(const Explanation& e) {
  const CaseResult as_run = row_as_run(e);
  return JsonValue::object(
      {{"question", question_of(e)},
       {"operation", to_string(e.row.operation)},
       {"algorithm", e.row.algorithm},
       {"algorithm_summary", e.summary},
       {"chosen_automatically", e.chosen_automatically},
       {"tuner", e.tuner ? of_tuner(*e.tuner) : JsonValue()},
       {"ranks", e.row.ranks},
       {"size_bytes", e.row.size},
       {"chunks", e.row.chunks},
       {"channels", e.row.channels},
       {"machine", e.one_case.cluster->description},
       {"time_s", seconds(e.launched)},
       {"kernel_s", seconds(e.row.time)},
       {"host_s", seconds(e.row.host)},
       {"algbw_bytes_per_s", as_run.algbw()},
       {"busbw_bytes_per_s", as_run.busbw()},
       {"busbw_factor", busbw_factor(e.row.operation, e.row.ranks)},
       {"algorithms", JsonValue::array(e.algorithms, of_contender)},
       {"formula", of_formula(e)},
       {"breakdown", of_breakdown(e.breakdown)},
       {"idle_links", e.row.idle_links ? of_idle(*e.row.idle_links) : JsonValue()},
       {"critical_path", JsonValue::array(e.breakdown.lines, of_line)},
       {"knobs", of_knobs(e)},
       {"power_of_two",
        e.knobs.power_of_two ? of_power_of_two(*e.knobs.power_of_two) : JsonValue()},
       {"changed_order", e.changed_order ? of_changed_order(*e.changed_order) : JsonValue()},
       {"best_chunks", e.knobs.chunks ? of_best_chunks(*e.knobs.chunks) : JsonValue()},
       {"bound", of_bound(e)}});
}

}  // namespace collsim
