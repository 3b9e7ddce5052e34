// SPDX-License-Identifier: Apache-2.0
#include "app/explain/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "app/explain/explanation_internal.hpp"
#include "app/explain/page.hpp"
#include "app/json/screen_text.hpp"
#include "sim/idle_links.hpp"

namespace collsim {
namespace {

constexpr std::size_t most_algorithms = 4;  // in the table

// --- 1, 2: question and answer ------------------------------------------------------------------

bool is_launched(const Explanation& e) {
  return e.row.protocol && e.row.host > Time{};
}

std::string choice_in_words(const Explanation& e) {
  std::string others;
  int named = 0;
  for (const Contender& one : e.algorithms)
    if (one.algorithm != e.row.algorithm_text() && one.time && named++ < 3)
      others += fmt::format("{}{} {}", others.empty() ? "" : ", ", one.algorithm,
                            seconds_text(one.time->seconds()));
  if (e.row.search)
    return fmt::format(
        "It was {}.{}", to_text(*e.row.search),
        others.empty() ? ""
                       : fmt::format(" The next best algorithms, cut alike{}: {}.",
                                     e.row.channels > 1 ? " and on as many channels" : "", others));
  return fmt::format("The algorithm was chosen automatically{}, because {}.",
                     e.row.protocol ? " among those that NCCL has" : "",
                     others.empty() ? "no other works here"
                                    : fmt::format("it is the fastest; the next best{}: {}",
                                                  is_launched(e) ? " kernels" : "", others));
}

std::string tuner_in_words(const TunerVerdict& verdict) {
  constexpr double microsecond = 1e-6;
  constexpr std::size_t most_named = 4;
  std::string expected;
  for (std::size_t i = 0; i < std::min(most_named, verdict.expected.size()); ++i) {
    const TunerVerdict::Expected& one = verdict.expected[i];
    const char* const separator = i == 0 ? "" : i == 1 ? "; next " : ", ";
    expected += separator + nccl_text(one.algorithm, one.protocol) + " " +
                seconds_text(one.microseconds * microsecond);
  }
  const TunerVerdict::Expected& best = verdict.expected.front();
  const TunerMachine& machine = verdict.machine;
  const NcclChannels& channels = machine.channels_of(best.algorithm);
  return fmt::format(
      "The tuner of NCCL {} chose it; it ranks and does not predict. It counts on {} of {:.4g} "
      "GB/s "
      "and expects {}. NCCL would use {} with {} threads each.",
      verdict.version, count_text(channels.channels, "channel"), channels.intra, expected,
      count_text(verdict.work.channels, "channel"), verdict.work.threads);
}

void write_question(Page& page, const Explanation& e) {
  page.heading("The question");
  page.paragraph(question_of(e));
  page.line("  ", fmt::format("{}: {}.", e.row.algorithm_text(), e.summary), 4);
  if (!e.one_case.cluster->description.empty())
    page.line("  ", fmt::format("machine: {}.", e.one_case.cluster->description), 4);
  if (e.tuner)
    page.line("  ", tuner_in_words(*e.tuner), 4);
  else if (e.chosen_automatically)
    page.line("  ", choice_in_words(e), 4);
}

std::string busbw_meaning(const Explanation& e) {
  const double factor = busbw_factor(e.row.operation, e.row.ranks);
  std::string text = fmt::format("algbw x {:.4g}", factor);
  if (e.row.operation == Operation::all_reduce)
    text += " = 2(K-1)/K";
  else if (factor != 1 || e.row.ranks == 1)
    text += factor != 1 ? " = (K-1)/K" : "";
  text += ": comparable with the bandwidth of the links, for any number of ranks";
  if (e.row.B) text += fmt::format("; here a link has {}", rate_text(*e.row.B));
  return text;
}

void write_answer(Page& page, const Explanation& e) {
  page.heading("The answer");
  page.line(fmt::format("  {:<7}{}", "time", page.bold(seconds_text(e.launched.seconds()))), "", 0);
  if (is_launched(e))
    page.line(
        "         ",
        fmt::format("of one of many in a row: the kernel takes {}, and its launch the host {}",
                    to_text(e.row.time), to_text(e.row.host)),
        9);
  if (e.row.size == 0 || e.row.time == Time{}) return;
  const CaseResult as_run = row_as_run(e);
  page.line(fmt::format("  {:<7}{:<12} ", "algbw", rate_text(as_run.algbw())), "size / time", 22);
  page.line(fmt::format("  {:<7}{:<12} ", "busbw", rate_text(as_run.busbw())), busbw_meaning(e),
            22);
}

// What follows is about the kernel, which the host's launches may hide.
void write_launches(Page& page, const Explanation& e) {
  constexpr double worth_a_word = 1e-3;
  if (!is_launched(e)) return;
  page.heading("The launches");
  std::string text;
  const Time saved = e.launched - std::min(e.launched, e.row.host);
  if (e.row.host > e.row.time)
    text = fmt::format(
        "The host limits: the kernel is done before the next is launched, so that no change of it "
        "or of the network saves {}.",
        saved.seconds() < worth_a_word * e.launched.seconds() ? "anything"
                                                              : "more than " + to_text(saved));
  else
    text = fmt::format("They hide behind the kernel: without them it would take {}.",
                       to_text(e.row.time));
  if (e.launched_apart < e.launched)
    text += fmt::format(
        " With a process for each GPU (\"mode\": \"process-per-gpu\" of "
        "\"launch\") it would take {} ({} less).",
        to_text(e.launched_apart), percent(e.launched - e.launched_apart, e.launched));
  page.paragraph(text + " What follows is about the kernel.");
}

// --- 3: the formula -----------------------------------------------------------------------------

std::string value_of(const ExplainedSymbol& symbol) {
  if (symbol.value == 0) return "0";
  return std::isinf(symbol.value) ? "infinite" : value_text(symbol.value, symbol.units);
}

void write_numbers(Page& page, const FormulaExplanation& f) {
  for (const FormulaTerm& call : f.calls)
    page.line("    ",
              fmt::format("{} = {} = {}", call.text, call.with_values, seconds_text(call.value)),
              6);
  std::size_t longest = 0;
  for (const FormulaTerm& term : f.terms)
    longest = std::max({longest, columns(term.text), columns(term.with_values)});
  longest = std::min<std::size_t>(longest, 34);
  for (const FormulaTerm& term : f.terms) {
    // A term without symbols to fill in.
    const bool same = term.text == term.with_values || term.with_values == seconds_text(term.value);
    page.line(fmt::format("    {} ", padded(term.text, longest)),
              fmt::format("= {}{}", same ? "" : term.with_values + " = ", seconds_text(term.value)),
              longest + 7);
  }
}

void write_parts(Page& page, const FormulaExplanation& f) {
  if (f.parts.empty()) return;
  std::string text;
  for (const VanishingPart& part : f.parts)
    text +=
        fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", part.name, seconds_text(part.seconds),
                    percent(from_seconds(part.seconds), from_seconds(f.form->seconds)));
  page.line(
      "  ",
      (f.parts_add_up
           ? "Of this: "
           : "What would be saved if it were free (not a sum: one hides behind the other): ") +
          text + ".",
      4);
}

void write_formula(Page& page, const Explanation& e) {
  const FormulaExplanation& f = e.formula;
  page.heading("The formula");
  if (f.form) {
    const std::string_view formula = f.form->formula;  // in parts where it is by levels
    page.line("  time = ", formula.substr(0, formula.find("; ")), 9);
    for (std::size_t at = formula.find("; "); at != formula.npos; at = formula.find("; ", at + 2))
      page.line("         ", formula.substr(at + 2, formula.find("; ", at + 2) - at - 2), 11);
    page.line("         ", fmt::format("({})", f.form->reference), 10);
    for (const std::string& definition : f.definitions) page.line("    ", definition, 6);
    for (const ExplainedSymbol& symbol : f.symbols)
      page.line(fmt::format("    {:<6}= {:<20} ", symbol.symbol, value_of(symbol)), symbol.meaning,
                33);
    if (!f.terms.empty()) page.paragraph("With the numbers substituted:");
    write_numbers(page, f);
    if (f.terms.size() != 1)
      page.line(
          "    ",
          fmt::format("{}{}", f.terms.empty() ? "= " : "together ", seconds_text(f.form->seconds)),
          6);
    write_parts(page, f);
  }
  page.paragraph(comparison_in_words(e));
}

// --- 4, 5: where the time goes ------------------------------------------------------------------

void write_busiest_link(Page& page, const Explanation& e) {
  if (!e.breakdown.busiest) return;
  const BusiestLink& link = *e.breakdown.busiest;
  std::string text = fmt::format(
      "The busiest link, {}{}, is busy {} of {} ({}): {}, {}", link.name,
      link.equally_busy > 0 ? fmt::format(" ({} more {} as busy)", link.equally_busy,
                                          link.equally_busy == 1 ? "is" : "are")
                            : "",
      to_text(link.busy), to_text(e.row.time), percent(link.busy, e.row.time),
      count_in_words(static_cast<std::int64_t>(link.messages), link.in_parts ? "part" : "message") +
          (link.in_parts ? " of messages" : ""),
      bytes_to_text(link.bytes));
  if (link.fill) {
    std::string idle;
    const auto add = [&](Time time, std::string_view what) {
      // Rounding of fair rates is not worth a word.
      if (time.seconds() <= 1e-6 * e.row.time_s()) return;
      idle += fmt::format("{}{} {}", idle.empty() ? "" : ", ", to_text(time), what);
    };
    add(*link.fill, "before its first message (fill)");
    add(*link.gaps, "between messages");
    add(*link.drain, "after its last byte (drain: the others must finish)");
    text += idle.empty() ? "; it is never idle" : "; it is idle for " + idle;
  }
  text += ".";
  if (link.rate)
    text += fmt::format(" Of its {}, {} leaves it {}.", to_text(link.rate->own),
                        to_string(link.rate->protocol), to_text(link.rate->has));
  page.paragraph(text);
  if (e.row.idle_links) page.paragraph(to_text(*e.row.idle_links) + ".");
}

// " (first ranks 3 and 7, for switch0->gpu5 at 12.3 us)"
std::string first_tie_in_words(const Breakdown& b) {
  if (!b.first_tie) return "";
  const Breakdown::Tie& tie = *b.first_tie;
  return fmt::format(" ({}ranks {} and {}, for {} at {})", b.ties == 1 ? "" : "first ",
                     tie.first.index(), tie.second.index(), tie.link,
                     tie.asked == Time{} ? "0" : to_text(tie.asked));
}

void write_breakdown(Page& page, const Explanation& e) {
  const Breakdown& b = e.breakdown;
  page.heading("Where the time goes");
  if (!b.every_step_recorded) {
    page.paragraph(fmt::format(
        "This run has about {} instructions, too many to record, so there is no critical path.",
        b.instructions));
    write_busiest_link(page, e);
    return;
  }
  if (e.row.time == Time{}) return page.paragraph("The run takes no time.");
  page.paragraph("Along the critical path, the one chain of causes that lasts until the end:");
  for (const ShareWords& share : shares_in_words(e))
    page.line(fmt::format("    {:<13}{:>10} {:>6}  {} ", share.name, to_text(share.time),
                          percent(share.time, e.row.time),
                          padded(page.bar(share.time.seconds() / e.row.time_s()), bar_width)),
              share.meaning, 58);
  if (b.waiting_for_others > Time{})
    page.paragraph(
        fmt::format("During {} of this ({}) a message on the path was ready, but messages of other "
                    "ranks held its links: contention.",
                    to_text(b.waiting_for_others), percent(b.waiting_for_others, e.row.time)));
  if (b.ties > 0)
    page.paragraph(fmt::format(
        "{} on the path waited behind {} of another rank that asked for the link at the same "
        "moment{}. Then the lower rank's goes first, but last one that comes over a link without "
        "latency at that moment: numbered in another way, the ranks may take another time.",
        b.ties == 1 ? "A message" : fmt::format("{} messages", b.ties),
        b.ties == 1 ? "one" : "messages", first_tie_in_words(b)));
  write_busiest_link(page, e);
}

void write_path(Page& page, const Explanation& e) {
  if (e.breakdown.lines.empty()) return;
  page.heading("The critical path in words");
  for (const PathLine& line : e.breakdown.lines)
    page.line(fmt::format("  {:>9}  ", line.from == Time{} ? "0" : to_text(line.from)),
              path_line_in_words(line), 15);
  page.line(fmt::format("  {:>9}  ", to_text(e.row.time)), "the last rank has finished", 15);
}

// --- 6: knobs -----------------------------------------------------------------------------------

std::string saving(const std::optional<Time>& time, Time now) {
  if (!time) return "?";
  if (*time == now) return "nothing";
  return *time < now ? percent(now - *time, now) : "-" + percent_more(*time - now, now);
}

// "bandwidth of the 4 links like a->b" -> "bandwidth, 4 like a->b"
std::string short_name(const Knob& knob) {
  std::string name = knob.name;
  const auto shorten = [&](std::string_view what, std::string_view by) {
    const std::size_t at = name.find(what);
    if (at != std::string::npos) name.replace(at, what.size(), by);
  };
  shorten(" of the ", ", ");
  shorten(" of ", ", ");
  shorten(" links like ", " like ");
  constexpr std::size_t most = 38;
  return columns(name) <= most ? name : name.substr(0, most - 3) + "...";
}

std::string turn(const Knob& knob) {
  return knob.name == "algorithm" ? knob.then : knob.now + " -> " + knob.then;
}

void write_knob_table(Page& page, const Explanation& e, const std::vector<const Knob*>& shown) {
  std::size_t name = 6;
  std::size_t turned = 9;
  for (const Knob* knob : shown) {
    name = std::max(name, columns(short_name(*knob)));
    turned = std::max(turned, columns(turn(*knob)));
  }
  page.line(fmt::format("    {}  {}  {:>9}  {:>7}  {:>10}", padded("knob", name),
                        padded("change", turned), "time", "saves", "20% better"),
            "", 0);
  for (const Knob* knob : shown)
    page.line(fmt::format("    {}  {}  {:>9}  {:>7}  {:>10}", padded(short_name(*knob), name),
                          padded(turn(*knob), turned), knob->time ? to_text(*knob->time) : "?",
                          saving(knob->time, e.row.time),
                          knob->by_degrees ? saving(knob->time_20, e.row.time) : ""),
              "", 0);
  if (std::any_of(shown.begin(), shown.end(),
                  [](const Knob* knob) { return knob->by_degrees && !knob->time_20; }))
    page.line("    ", "?: not tried, since all of these together would take long", 4);
  for (const Knob* knob : shown)
    if (!knob->key.empty())
      page.line("  ", fmt::format("{}: set by {}.", short_name(*knob), knob->key), 4);
}

void write_best_chunks(Page& page, const Explanation& e) {
  if (!e.knobs.chunks) return;
  const BestChunks& chunks = *e.knobs.chunks;
  const auto slower = [](const BestChunks::Tried& a, const BestChunks::Tried& b) {
    return a.time < b.time;
  };
  const Time worst = std::max_element(chunks.tried.begin(), chunks.tried.end(), slower)->time;
  if ((worst - chunks.best_time).seconds() <= 1e-3 * e.row.time_s())
    return page.paragraph("The number of chunks hardly matters here.");
  std::string text = fmt::format("Best number of chunks tried: {}", chunks.best);
  if (chunks.best == e.row.chunks)
    text += ", as now";
  else if (chunks.best_time < e.row.time)
    text += fmt::format(", with {} ({} saved)", to_text(chunks.best_time),
                        percent(e.row.time - chunks.best_time, e.row.time));
  if (chunks.by_formula)
    text += fmt::format("; the formula's optimum is {:.4g}", *chunks.by_formula);
  if (chunks.broken_off) text += "; more would take too long to try";
  page.paragraph(text + ".");
  std::string tried;
  for (const BestChunks::Tried& one : chunks.tried)
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : ", ", one.chunks, to_text(one.time));
  page.line("    ", "tried " + tried, 10);
}

// Settings and algorithms by the outcome to report.
struct SortedKnobs {
  std::vector<const Knob*> table;
  std::vector<std::string> useless, faster, slower, slower_so_cut, refused, not_tried;
  std::vector<std::string> only_cut_better;  // than the algorithm as it runs, not than at its best

  [[nodiscard]] bool any_was_tried() const {
    return !table.empty() || !useless.empty() || !faster.empty() || !slower.empty() ||
           !slower_so_cut.empty() || !only_cut_better.empty();
  }
};

std::string refused_in_words(const Knob& knob, const std::string& setting) {
  return knob.too_long ? setting : fmt::format("{} ({})", setting, knob.why_not);
}

void sort_algorithm(const Knob& knob, Time now, std::size_t& shown, SortedKnobs& sorted) {
  if (!knob.time)
    (knob.too_long ? sorted.not_tried : sorted.refused)
        .push_back(refused_in_words(knob, knob.then));
  else if (*knob.time < now && shown++ < most_algorithms)
    sorted.table.push_back(&knob);
  else
    (*knob.time < now      ? sorted.faster
     : knob.chunks_untried ? sorted.slower_so_cut
                           : sorted.slower)
        .push_back(fmt::format("{} {}", knob.then, to_text(*knob.time)));
}

// Whether the algorithm is faster only because its chunks suit it: this one is as fast in chunks
// that suit it.
bool is_only_cut_better(const Knob& knob, const Explanation& e) {
  return e.knobs.chunks && knob.then.find(" in ") != std::string::npos && *knob.time < e.row.time &&
         *knob.time >= e.knobs.chunks->best_time;
}

// "double-tree", where there is a better "double-tree in 64 chunks".
bool is_better_in_chunks(const Knob& knob, const std::vector<Knob>& all) {
  return std::any_of(all.begin(), all.end(), [&](const Knob& other) {
    return other.name == knob.name && other.then.starts_with(knob.then + " in ");
  });
}

SortedKnobs sorted_knobs(const Explanation& e) {
  SortedKnobs sorted;
  std::size_t algorithms = 0;
  for (const Knob& knob : e.knobs.all) {
    if (knob.name == "algorithm" && is_better_in_chunks(knob, e.knobs.all)) continue;
    if (knob.name == "algorithm" && knob.time && is_only_cut_better(knob, e)) {
      sorted.only_cut_better.push_back(fmt::format("{} {}", knob.then, to_text(*knob.time)));
      continue;
    }
    const std::string setting = knob.by_degrees ? knob.name : knob.name + " " + knob.then;
    if (knob.name == "algorithm")
      sort_algorithm(knob, e.row.time, algorithms, sorted);
    else if (!knob.time)
      (knob.too_long ? sorted.not_tried : sorted.refused)
          .push_back(refused_in_words(knob, setting));
    else if (*knob.time == e.row.time && knob.time_20.value_or(e.row.time) == e.row.time)
      sorted.useless.push_back(setting);
    else
      sorted.table.push_back(&knob);
  }
  return sorted;
}

std::string changed_order_in_words(const ChangedOrder& order) {
  std::string text;
  if (order.first)
    text = fmt::format(
        "With {} messages meet in another order: from {} on, where rank {}'s message "
        "crosses {} before rank {}'s. Without it rank {}'s goes first.",
        order.by, to_text(order.first->at), order.first->ahead.index(), order.first->link,
        order.first->behind.index(), order.first->behind.index());
  if (order.other_ways > 0)
    text += fmt::format("{}{} take{} another way because of {}.", text.empty() ? "" : " ",
                        count_in_words(static_cast<std::int64_t>(order.other_ways), "message"),
                        order.other_ways == 1 ? "s" : "", text.empty() ? order.by : "it");
  return text;
}

void write_knobs(Page& page, const Explanation& e) {
  page.heading("The next knob");
  if (e.row.time == Time{}) return page.paragraph("Nothing can be made faster.");
  const SortedKnobs sorted = sorted_knobs(e);
  if (!sorted.table.empty() && *sorted.table.front()->time < e.row.time)
    page.paragraph(knob_in_words(*sorted.table.front(), e.row.time));
  else
    page.paragraph(sorted.any_was_tried() ? "No change that was tried makes it faster."
                                          : "No change was tried.");
  if (!sorted.table.empty()) write_knob_table(page, e, sorted.table);
  const auto list = [&](const char* what, const std::vector<std::string>& which) {
    if (!which.empty()) page.line("  ", fmt::format("{}: {}.", what, fmt::join(which, ", ")), 4);
  };
  list("Would change nothing", sorted.useless);
  list("Other faster algorithms", sorted.faster);
  if (!sorted.only_cut_better.empty())
    page.line("  ",
              fmt::format("Not faster than {} in {}: {}.", e.row.algorithm_text(),
                          count_in_words(e.knobs.chunks->best, "chunk"),
                          fmt::join(sorted.only_cut_better, ", ")),
              4);
  list("Algorithms that are not faster", sorted.slower);
  list("Not faster with as many chunks as now or as named (more would take too long to try)",
       sorted.slower_so_cut);
  list("Does not work here", sorted.refused);
  list("Not tried, because it would take too long", sorted.not_tried);
  if (e.changed_order) page.paragraph(changed_order_in_words(*e.changed_order));
  write_best_chunks(page, e);
  if (e.knobs.folded_ranks == 0) return;
  std::string folds = fmt::format(
      "{} is no power of two: the vectors of {} go to another rank first, and the sums come back "
      "last.",
      e.row.ranks, count_in_words(e.knobs.folded_ranks, "rank"));
  if (const auto& power = e.knobs.power_of_two)
    folds += fmt::format(" The first {} ranks alone would take {} ({} less).", power->then,
                         to_text(*power->time), percent(e.row.time - *power->time, e.row.time));
  page.paragraph(folds);
}

// --- 7: the bound -------------------------------------------------------------------------------

void write_bound(Page& page, const Explanation& e) {
  page.heading("The bound");
  const LowerBounds& bounds = e.row.bounds;
  if (e.bound.binding != BoundExplanation::Kind::none) {
    using Kind = BoundExplanation::Kind;
    const auto row = [&](const char* name, Time time, Kind kind) {
      if (time == Time{}) return;
      page.line(fmt::format("    {:<11}{:>10} ", name, to_text(time)),
                kind == e.bound.binding ? "<- binds" : "", 0);
    };
    row("bandwidth", bounds.bandwidth, Kind::bandwidth);
    row("latency", bounds.latency, Kind::latency);
    row("compute", bounds.compute, Kind::compute);
    if (e.bound.launch > Time{})
      page.line(fmt::format("    {:<11}{:>10} ", "launch", to_text(e.bound.launch)),
                "on top of the largest", 0);
  }
  page.paragraph(bound_in_words(e));
}

}  // namespace

std::string to_text(const Explanation& explanation, const PageStyle& style) {
  Page page(style);
  write_question(page, explanation);
  write_answer(page, explanation);
  write_launches(page, explanation);
  write_formula(page, explanation);
  write_breakdown(page, explanation);
  write_path(page, explanation);
  write_knobs(page, explanation);
  write_bound(page, explanation);
  return page.take();
}

}  // namespace collsim
