// SPDX-License-Identifier: Apache-2.0
#include "app/explain/explanation_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/scenario/lane_place.hpp"
#include "collectives/cost/bound_text.hpp"
#include "topo/units.hpp"

namespace collsim {
namespace {

constexpr double most_seconds = 9e6;  // of a Time
constexpr double most = 9e18;         // of 64 bits

}  // namespace

std::string seconds_text(double seconds) {
  if (seconds == 0) return "0";
  if (!(seconds > 0) || seconds > most_seconds) return fmt::format("{:.4g} s", seconds);
  return to_text(from_seconds(seconds));
}

std::string rate_text(double bytes_per_second) {
  if (!(bytes_per_second >= 1) || bytes_per_second > most)
    return fmt::format("{:.4g} B/s", bytes_per_second);
  return to_text(Bandwidth(std::llround(bytes_per_second)));
}

namespace {

using Shape = PathLine::Shape;

// --- the question -------------------------------------------------------------------------------

std::string ranks_of(const Explanation& e) {
  const std::size_t machine = e.one_case.cluster->topology.rank_count();
  const auto taking_part = static_cast<std::size_t>(e.row.ranks);
  if (taking_part == machine) return count_in_words(e.row.ranks, "rank");
  return fmt::format("{} of the machine's {} ranks", taking_part, machine);
}

std::string messages_asked(const Explanation& e, const std::string& size,
                           const std::string& ranks) {
  const Pattern& pattern = e.one_case.collective.pattern;
  switch (pattern.kind) {
    case Pattern::Kind::shift:
      return fmt::format("A message of {} from each of {} to the rank {} further on", size, ranks,
                         pattern.distance);
    case Pattern::Kind::exchange:
      return fmt::format("Messages of {} exchanged by pairs of neighbours among {}", size, ranks);
    case Pattern::Kind::pairs:
      return fmt::format("{} of {} among {}",
                         count_in_words(static_cast<std::int64_t>(pattern.pairs.size()), "message"),
                         size, ranks);
  }
  return "";
}

std::string what_is_asked(const Explanation& e) {
  const Collective& c = e.one_case.collective;
  const std::string size = bytes_to_text(c.bytes());
  const std::string block = bytes_to_text((c.bytes() + c.size() - 1) / c.size());
  const std::string ranks = ranks_of(e);
  const std::string root =
      fmt::format("rank {}", c.group[static_cast<std::size_t>(c.root)].index());
  const std::string_view how = to_string(c.reduction);
  switch (c.operation) {
    case Operation::broadcast:
      return fmt::format("A broadcast of {} from {} to {}", size, root, ranks);
    case Operation::reduce:
      return fmt::format("A reduce ({}) of {} from each of {} to {}", how, size, ranks, root);
    case Operation::all_reduce:
      return fmt::format("An all-reduce ({}) of {} over {}", how, size, ranks);
    case Operation::all_gather:
      return fmt::format("An all-gather of {} over {} (a block of {} each)", size, ranks, block);
    case Operation::reduce_scatter:
      return fmt::format("A reduce-scatter ({}) of {} over {} (a block of {} for each)", how, size,
                         ranks, block);
    case Operation::gather:
      return fmt::format("A gather of {} from {} at {} (a block of {} each)", size, ranks, root,
                         block);
    case Operation::scatter:
      return fmt::format("A scatter of {} from {} over {} (a block of {} each)", size, root, ranks,
                         block);
    case Operation::all_to_all:
      return fmt::format("An all-to-all of {} per rank over {} (a block of {} to each)", size,
                         ranks, block);
    case Operation::barrier: return fmt::format("A barrier of {}", ranks);
    case Operation::send_recv: return messages_asked(e, size, ranks);
  }
  return "";
}

// --- shares -------------------------------------------------------------------------------------

struct NamedShare {
  const char* name;
  Time TimeShares::*member;
};
constexpr NamedShare named_shares[] = {
    {"before the start", &TimeShares::start}, {"instruction overhead", &TimeShares::instructions},
    {"adding", &TimeShares::reduction},       {"copying", &TimeShares::copy},
    {"waiting", &TimeShares::queue},          {"startup", &TimeShares::startup},
    {"transfer", &TimeShares::wire},          {"sharing", &TimeShares::sharing},
    {"latency", &TimeShares::flight},
};

// "3.2 ms = 16 x (5 us startup + 168 us wire)"
std::string cost_in_words(const PathLine& line) {
  const bool each =
      line.alike && line.count > 1 && line.shape != Shape::repeated && line.shape != Shape::skipped;
  // Of messages that queue for a link only the last one's flight is on the path.
  const bool flies_once = each && line.shape != Shape::relay && line.shares.flight > Time{};
  const double share = each ? 1 / static_cast<double>(line.count) : 1;
  std::string parts;
  int kinds = 0;
  for (const NamedShare& named : named_shares) {
    const Time time = line.shares.*named.member;
    if (time == Time{} || (flies_once && named.member == &TimeShares::flight)) continue;
    parts += fmt::format("{}{} {}", kinds++ == 0 ? "" : " + ", seconds_text(time.seconds() * share),
                         named.name);
  }
  std::string total = seconds_text(line.shares.total().seconds());
  if (line.shape == Shape::start) return total;
  const std::string last =
      flies_once ? fmt::format(" + {} latency", seconds_text(line.shares.flight.seconds())) : "";
  if (each) return fmt::format("{} = {} x ({}){}", total, line.count, parts, last);
  return kinds == 1 ? parts : fmt::format("{} ({})", total, parts);
}

std::string end_in_words(const PathLine& line, std::size_t i) {
  return lane_name(Rank(line.ranks[i]), line.places[i]);
}

// "ranks 1, 2, 3", or the name of each.
std::string ends_in_words(const PathLine& line, std::size_t first, std::string_view separator,
                          std::string_view plural = "ranks ") {
  const bool all_ranks =
      std::all_of(line.places.begin() + static_cast<std::ptrdiff_t>(first), line.places.end(),
                  [](Programs::Place place) { return place == Programs::Place::rank; });
  std::string text(all_ranks ? plural : "");
  for (std::size_t i = first; i < line.ranks.size(); ++i) {
    if (i > first) text += separator;
    if (line.more_ranks && i + 1 == line.ranks.size()) text += fmt::format("...{}", separator);
    text += all_ranks ? std::to_string(line.ranks[i]) : end_in_words(line, i);
  }
  return text;
}

std::string messages_in_words(const PathLine& line, std::string_view one = "message") {
  const std::string sizes =
      line.alike || line.smallest == line.largest
          ? bytes_to_text(line.largest)
          : fmt::format("{} to {}", bytes_to_text(line.smallest), bytes_to_text(line.largest));
  return line.count == 1 ? sizes : fmt::format("{} of {}", count_in_words(line.count, one), sizes);
}

std::string what_happens(const PathLine& line) {
  const bool adds = line.shares.reduction > Time{};
  switch (line.shape) {
    case Shape::start: return fmt::format("rank {} has not started yet", line.ranks[0]);
    case Shape::train:
      return fmt::format("{} {}sends {} to {}{}", end_in_words(line, 0), adds ? "adds and " : "",
                         messages_in_words(line), end_in_words(line, 1),
                         line.count > 1 ? ", one after the other" : "");
    case Shape::relay:
      return fmt::format("{} from {}, each hop {}sent on when the one before has arrived",
                         messages_in_words(line, "hop"), ends_in_words(line, 0, " -> ", "rank "),
                         adds ? "added and " : "");
    case Shape::fan_out:
      return fmt::format("{} {}sends {} to {} in turn", end_in_words(line, 0),
                         adds ? "adds and " : "", messages_in_words(line),
                         ends_in_words(line, 1, ", "));
    case Shape::fan_in:
      return fmt::format("{} reach {} in turn, from {}", messages_in_words(line),
                         end_in_words(line, 0), ends_in_words(line, 1, ", "));
    case Shape::work:
      return fmt::format("{} {}{}", end_in_words(line, 0),
                         adds ? "adds what it has received" : "works",
                         line.count > 1 ? fmt::format(", {} times", line.count) : "");
    case Shape::repeated:
      if (line.period == 1) return "repeats " + count_in_words(line.count, "more time");
      return fmt::format("these {} lines repeat {}", line.period,
                         count_in_words(line.count, "more time"));
    case Shape::skipped: return "... " + count_in_words(line.count, "more event");
  }
  return "";
}

// --- knobs --------------------------------------------------------------------------------------

std::string turn_in_words(const Knob& knob) {
  if (!knob.by_degrees) {
    if (knob.name == "algorithm") return fmt::format("The algorithm {}", knob.then);
    if (knob.name == "links_override") return "The network without links_override";
    if (knob.then == "fair") return "Links that all messages share fairly (\"sharing\": \"fair\")";
    if (knob.then == "on time") return fmt::format("A punctual {}", knob.name.substr(5));
    return fmt::format("{} {} instead of {}", knob.then, knob.name, knob.now);
  }
  const bool rate = knob.name.find("bandwidth") != std::string::npos;
  return fmt::format("{} the {}", rate ? "Twice" : "Half", knob.name);
}

}  // namespace

std::string percent(Time part, Time whole) {
  if (whole == Time{}) return "0%";
  const double value = 100 * part.seconds() / whole.seconds();
  if (value > 0 && value < 0.1) return "<0.1%";
  // Nothing but all of it is 100%.
  if (value < 100 && value > 99.9) return ">99.9%";
  const bool near_an_end = value < 9.95 || (value >= 99.5 && value < 100);
  return near_an_end ? fmt::format("{:.1f}%", value) : fmt::format("{:.0f}%", value);
}

std::string percent_more(Time part, Time whole) {
  const double value = whole == Time{} ? 0 : 100 * part.seconds() / whole.seconds();
  return value < 99.5 ? percent(part, whole) : fmt::format("{:.0f}%", value);
}

std::string count_in_words(std::int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string question_of(const Explanation& e) {
  std::string text = what_is_asked(e) + " by " + e.row.algorithm_text();
  if (e.row.ranks > 1 && e.row.chunks > 1) {
    const Bytes element = size_of(e.row.type);
    const Bytes elements = e.largest_message / element;
    const Bytes piece = (elements + e.row.chunks - 1) / e.row.chunks * element;
    if (e.largest_message == e.row.size)
      text += fmt::format(", cut into {} messages of {}{}", e.row.chunks,
                          elements % e.row.chunks == 0 ? "" : "at most ", bytes_to_text(piece));
    else
      text += fmt::format(", each step's message cut into {} chunks", e.row.chunks);
  }
  if (e.row.channels > 1) text += fmt::format(", on {} channels", e.row.channels);
  if (e.one_case.choice.slots)
    text +=
        fmt::format(", with {} per connection", count_in_words(*e.one_case.choice.slots, "slot"));
  return text + ".";
}

std::string path_line_in_words(const PathLine& line) {
  // That messages to one rank queue is said already.
  const bool queued = line.waited_for_others && line.shape != Shape::fan_in;
  std::string text = what_happens(line);
  if (queued) text += " (queued behind other ranks' messages)";
  text += ": " + cost_in_words(line);
  return text;
}

std::vector<ShareWords> shares_in_words(const Explanation& e) {
  const Breakdown& b = e.breakdown;
  const TimeShares& p = b.path;
  std::string start = "no rank on the path had started";
  if (b.launch == p.start)
    start = "the launch, before any rank starts";
  else if (b.launch > Time{})
    start = fmt::format("{} launch, then a late rank begins the path", to_text(b.launch));
  else
    start = "of a late rank, with which the path begins";
  const char* const copying = e.one_case.costs.local_bandwidth
                                  ? "within a rank, at local_bandwidth"
                                  : "moving data in memory, at copy_bandwidth";
  const auto is_fair = [](const Link& link) { return link.sharing == Sharing::fair; };
  const bool overlaps = std::ranges::any_of(e.one_case.cluster->topology.links(), is_fair);
  std::vector<ShareWords> all{
      {"start", p.start, start},
      {"startup", p.startup,
       fmt::format("alpha of {} on the path{}",
                   count_in_words(static_cast<std::int64_t>(b.messages), "message"),
                   overlaps && b.messages > 1 ? ", while no data flowed" : "")},
      {"wire", p.wire, "bytes crossing at full bandwidth"},
      {"serial hops", p.hops, fmt::format("bytes on other links while {} is idle", b.idle_in_hops)},
      {"sharing", p.sharing, "messages of other ranks shared the links"},
      {"latency", p.flight, "messages sent but not yet arrived"},
      {"queue", p.queue, "waiting for a link"},
      {"adding", p.reduction,
       fmt::format("summing received data, {}",
                   count_in_words(static_cast<std::int64_t>(b.reductions), "time"))},
      {"copying", p.copy, copying},
      {"instructions", p.instructions, "fixed cost of instructions"},
  };
  std::erase_if(all, [](const ShareWords& share) { return share.time == Time{}; });
  return all;
}

std::string comparison_in_words(const Explanation& e) {
  const FormulaExplanation& f = e.formula;
  if (!f.form) return fmt::format("No formula: {}.", f.why_not);
  const double simulated = e.row.time_s();
  const double difference = simulated - f.form->seconds;
  if (!f.applies)
    return fmt::format("This leaves out that {}. With that, the simulation says {}, {} more.",
                       f.why_not, seconds_text(simulated), seconds_text(std::max(0.0, difference)));
  // Every message and every addition that follow one another are rounded up to a picosecond.
  const double rounding =
      1e-12 * (2.0 * static_cast<double>(e.row.messages + 2) + static_cast<double>(e.row.ranks)) +
      1e-9 * simulated;
  const char* const evened =
      e.row.evened ? " (Parts that differ by an element were all simulated as long as the longest.)"
                   : "";
  if (std::abs(difference) <= rounding)
    return fmt::format("The simulation says {}: the same.{}", seconds_text(simulated), evened);
  const std::string by = fmt::format("{} {} ({:.2g}%)", seconds_text(std::abs(difference)),
                                     difference > 0 ? "more" : "less",
                                     100 * std::abs(difference) / std::max(f.form->seconds, 1e-12));
  return fmt::format("The simulation says {}: {}{}.{}", seconds_text(simulated), by,
                     f.form->exact ? "" : ", because the data does not divide evenly", evened);
}

std::string knob_in_words(const Knob& knob, Time now) {
  if (!knob.time) return "";
  const std::string turn = turn_in_words(knob);
  if (*knob.time == now) return turn + " would change nothing.";
  if (*knob.time > now)
    return fmt::format("{} would cost {} more ({}).", turn, to_text(*knob.time - now),
                       percent_more(*knob.time - now, now));
  return fmt::format("{} would save {} ({}).", turn, to_text(now - *knob.time),
                     percent(now - *knob.time, now));
}

namespace {

// The larger of the bound's two parts first: it is the cause.
std::string with_message(const std::string& work, Time whole, Time startup, Time flight) {
  const Time message = startup + flight;
  if (message == Time{}) return work;
  std::string costs;
  if (startup > Time{}) costs = fmt::format("a startup of {}", to_text(startup));
  if (flight > Time{})
    costs += fmt::format("{}a latency of {}", costs.empty() ? "" : " and ", to_text(flight));
  const std::string timed = fmt::format("{} ({})", work, to_text(whole - message));
  if (message > whole - message) return fmt::format("a message costs {}, and {}", costs, timed);
  return fmt::format("{}, and a message costs {} besides", timed, costs);
}

std::string why_bound(const Explanation& e) {
  using Kind = BoundExplanation::Kind;
  const LowerBounds& bounds = e.row.bounds;
  switch (e.bound.binding) {
    case Kind::bandwidth:
      return with_message(
          to_text(*e.bound.narrowest, e.one_case.collective, e.one_case.cluster->topology),
          bounds.bandwidth, bounds.startup, bounds.flight);
    case Kind::latency:
      return e.row.size == 0 || e.row.operation == Operation::barrier
                 ? "data from every rank must reach every other, and messages cost a startup and a "
                   "latency"
                 : "data from one rank must reach all, and messages cost a startup and a "
                   "latency";
    case Kind::compute:
      return with_message(
          fmt::format("the vectors of {} must be added up, even if the additions are shared evenly",
                      count_in_words(e.row.ranks, "rank")),
          bounds.compute, bounds.first_startup, bounds.first_flight);
    case Kind::none: break;
  }
  return "";
}

std::string meaning_of(const BoundExplanation& b) {
  if (b.ratio < 1.005)
    return "This run is within 0.5% of that: no other schedule can do noticeably better.";
  const std::string times =
      b.ratio < 9.95 ? fmt::format("{:.2f}", b.ratio) : fmt::format("{:.0f}", b.ratio);
  if (b.late > Time{})
    return fmt::format(
        "This run takes {} times that, but a rank starts {} late, which the bound ignores: a "
        "better schedule could not win all of the gap.",
        times, to_text(b.late));
  if (b.ratio < 1.2)
    return fmt::format(
        "This run takes {} times that: little is left to gain without better hardware.", times);
  return fmt::format(
      "This run takes {} times that; the bound may not be reachable, but a better schedule could "
      "win at most this gap.",
      times);
}

// Where nobody knows whether the bound of an all-reduce can be reached.
std::string best_known_in_words(const Explanation& e) {
  constexpr double reached = 1.005;
  const std::optional<double>& known = e.bound.best_known_s;
  if (!known || *known < e.row.bounds.bandwidth.seconds() * reached || *known > e.row.time_s())
    return "";
  return fmt::format(
      " A reduce-scatter and then an all-gather take {} at the best rates that this network allows "
      "them, without startups.",
      seconds_text(*known));
}

}  // namespace

std::string bound_in_words(const Explanation& e) {
  const BoundExplanation& b = e.bound;
  if (b.binding == BoundExplanation::Kind::none) {
    if (e.row.time == Time{}) return "No data has to move, so no time is needed.";
    if (e.row.bound > Time{})
      return fmt::format(
          "No data has to move, so only the launch takes time, {}: empty messages need not be "
          "sent.",
          to_text(e.row.bound));
    return "No data has to move, so no time is needed: empty messages need not be sent.";
  }
  const std::string launch =
      b.launch > Time{} ? fmt::format(" (of which launch {})", to_text(b.launch)) : "";
  // Under another protocol links have other rates and hops, and so another bound.
  const std::string under =
      e.row.protocol ? fmt::format(" under {}", to_string(*e.row.protocol)) : "";
  return fmt::format("No schedule{} can be faster than {}{}, because {}. {}{}", under,
                     to_text(e.row.bound), launch, why_bound(e), meaning_of(b),
                     best_known_in_words(e));
}

}  // namespace collsim
