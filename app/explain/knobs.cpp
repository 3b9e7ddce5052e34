// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/explain/explanation_internal.hpp"
#include "app/scenario/quantities.hpp"
#include "app/study/run_case.hpp"
#include "collectives/algorithms.hpp"
#include "collectives/cost/conditions.hpp"
#include "collectives/message_router.hpp"
#include "topo/parts.hpp"

namespace collsim {
namespace {

constexpr std::size_t max_link_classes = 4;

Time scaled(Time time, double factor) {
  return Time(std::llround(static_cast<double>(time.ps()) * factor));
}
Bandwidth scaled(Bandwidth bandwidth, double factor) {
  const double value = static_cast<double>(bandwidth.bytes_per_second()) * factor;
  if (value > 9e18) throw_error(ErrorCode::overflow, "a bandwidth beyond 64 bits");
  return Bandwidth(std::max<std::int64_t>(1, std::llround(value)));
}

std::string exact_text(Time time) {
  return exact_time(time);
}
std::string exact_text(Bandwidth bandwidth) {
  return exact_bandwidth(bandwidth);
}

// Links with the same parameters, of which at least one carried a message.
struct LinkClass {
  LinkParameters parameters;
  std::vector<std::size_t> links;
  Time busiest;
};

std::vector<LinkClass> used_classes(const Topology& topology, const Simulation& simulation) {
  std::vector<LinkClass> classes;
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const LinkParameters parameters = topology.parameters(LinkId(i));
    auto found = std::find_if(classes.begin(), classes.end(),
                              [&](const LinkClass& one) { return one.parameters == parameters; });
    if (found == classes.end()) {
      if (classes.size() == 64) continue;  // a graph of all different links
      found = classes.insert(found, LinkClass{parameters, {}, Time(-1)});
    }
    found->links.push_back(i);
    if (simulation.links.empty())  // not recorded
      found->busiest = Time{};
    else if (simulation.links[i].messages > 0)
      found->busiest = std::max(found->busiest, simulation.links[i].busy);
  }
  std::erase_if(classes, [](const LinkClass& one) { return one.busiest < Time{}; });
  std::stable_sort(classes.begin(), classes.end(),
                   [](const LinkClass& a, const LinkClass& b) { return a.busiest > b.busiest; });
  return classes;
}

std::string name_of(const LinkClass& one, const Topology& topology) {
  if (one.links.size() == topology.links().size()) return "all links";
  const std::string example = topology.name(LinkId(one.links.front()));
  if (one.links.size() == 1) return "link " + example;
  return fmt::format("the {} links like {}", one.links.size(), example);
}

class KnobTurner {
 public:
  KnobTurner(const KnobContext& context, WorkBudget& budget)
      : context_(context), one_case_(context.one_case), row_(context.row), budget_(budget) {}

  void turn_links(const Topology& topology, const Simulation& simulation) {
    const std::vector<LinkClass> classes = used_classes(topology, simulation);
    // Links that a message crosses one after the other help only together.
    if (classes.size() > 1 && row_.wire_bytes > 0)
      by_degrees(new_knob("bandwidth of all links", "as given", "doubled"), true, {},
                 [this](double factor) {
                   return with_links(one_case_, [=](LinkParameters& link) {
                     link.bandwidth = scaled(link.bandwidth, factor);
                   });
                 });
    for (const LinkClass& one : classes) {
      if (&one == classes.data() + max_link_classes) break;
      const std::string links = name_of(one, topology);
      const LinkParameters& now = one.parameters;
      const bool is_written = one.links.size() == topology.links().size() && now.segments.empty() &&
                              context_.variations != nullptr && context_.variations->has_one_link();
      const auto key = [&](const char* name) {
        return is_written ? std::string("cluster.link.") + name : std::string();
      };
      if (row_.wire_bytes > 0)
        turn_value("bandwidth", links, now, &LinkParameters::bandwidth, key("bandwidth"));
      turn_value("overhead", links, now, &LinkParameters::startup, key("overhead"));
      const std::size_t before = knobs.all.size();
      turn_value("latency", links, now, &LinkParameters::latency, key("latency"));
      if (knobs.all.size() > before)
        knobs.all.back().key = key_of_hop(one_case_, LinkId(one.links.front()));
    }
  }

  // Of all rows at once, where a link costs what the size of a message says.
  template <class Quantity>
  void turn_value(const char* what, const std::string& links, const LinkParameters& now,
                  Quantity LinkParameters::*value, const std::string& key) {
    constexpr bool rate = std::is_same_v<Quantity, Bandwidth>;
    const std::string name = fmt::format("{} of {}", what, links);
    const auto make = [this, now, value](double factor) {
      return with_links(
          one_case_, [=](LinkParameters& link) { link.*value = scaled(link.*value, factor); }, now);
    };
    if (!now.segments.empty())
      return by_degrees(new_knob(name, "as given", rate ? "doubled" : "halved"), rate, {}, make);
    if constexpr (!rate)
      if (now.*value == Time{}) return;
    by_degrees(name, now.*value, key, make);
  }

  // Messages that queue behind those of others would flow beside them on links that are shared.
  void turn_sharing(const Topology& topology, const Breakdown& breakdown) {
    constexpr double worth_a_word = 0.05;
    const auto links = topology.links();
    // In an all-to-all queues cost more than the critical path shows.
    const bool queues = breakdown.waiting_for_others.seconds() > worth_a_word * row_.time_s() ||
                        row_.operation == Operation::all_to_all;
    if (!queues || topology.has_segments() ||
        std::none_of(links.begin(), links.end(),
                     [](const Link& link) { return link.sharing == Sharing::exclusive; }))
      return;
    const auto is_like_the_first = [&](const Link& link) {
      return topology.parameters(LinkId(static_cast<std::size_t>(&link - links.data()))) ==
             topology.parameters(LinkId(0));
    };
    Params set;
    if (context_.variations != nullptr && context_.variations->has_one_link() &&
        std::all_of(links.begin(), links.end(), is_like_the_first))
      set = {{"cluster.link.sharing", "fair"}};
    Knob knob = new_knob("sharing of all links", "exclusive", "fair");
    knob.set = std::move(set);
    add(std::move(knob), [this] {
      return with_links(one_case_, [](LinkParameters& link) { link.sharing = Sharing::fair; });
    });
  }

  void turn_costs() {
    turn_rate("reduce_bandwidth", &CostModel::reduce_bandwidth);
    turn_rate("copy_bandwidth", &CostModel::copy_bandwidth);
    turn_rate("local_bandwidth", &CostModel::local_bandwidth);
    turn_rate("second_write_bandwidth", &CostModel::second_write_bandwidth);
    turn_time("instruction_overhead", &CostModel::instruction_overhead);
    turn_time("launch", &CostModel::launch);
    for (const auto& [rank, late] : late_ranks(*one_case_.cluster, one_case_.collective.group)) {
      Case changed = one_case_;
      Cluster cluster = *one_case_.cluster;
      std::erase_if(cluster.late, [one = rank](const auto& entry) { return entry.first == one; });
      changed.cluster = std::make_shared<const Cluster>(std::move(cluster));
      once(fmt::format("late rank {}", rank.index()), to_text(late), "on time",
           {{fmt::format("cluster.late.{}", rank.index()), "0ns"}}, changed);
      if (++late_ranks_ == 3) break;
    }
  }

  void turn_choice() {
    const AlgorithmChoice& choice = one_case_.choice;
    if (row_.size > 0 && row_.ranks > 1) {
      if (choice.chunk_size) {
        size_of_chunks(*choice.chunk_size <= std::numeric_limits<Bytes>::max() / 2
                           ? 2 * *choice.chunk_size
                           : *choice.chunk_size);
        size_of_chunks(*choice.chunk_size / 2);
      } else {
        number("chunks", row_.chunks, 2 * std::int64_t{row_.chunks}, &AlgorithmChoice::chunks);
        if (row_.chunks > 1)
          number("chunks", row_.chunks, row_.chunks / 2, &AlgorithmChoice::chunks);
      }
      turn_channels();
    }
    if (choice.slots && *choice.slots <= std::numeric_limits<int>::max() / 2) {
      Case changed = one_case_;
      AlgorithmChoice more = choice;
      more.slots = 2 * *choice.slots;
      changed.choose(more);
      once("slots", std::to_string(*choice.slots), std::to_string(2 * *choice.slots),
           {{"collective.slots", 2 * *choice.slots}}, changed);
    }
  }

  void add_algorithms(const std::vector<Contender>& algorithms) {
    for (const Contender& other : algorithms) {
      if (other.algorithm == row_.algorithm) continue;
      Knob knob = new_knob("algorithm", row_.algorithm, other.algorithm);
      knob.time = other.time;
      knob.why_not = other.why_not;
      knob.too_long = other.too_long;
      knob.set = other.set;
      knobs.all.push_back(std::move(knob));
    }
  }

  // After everything else, because it only sharpens the picture.
  void turn_a_little() {
    for (const auto& [index, change] : little_)
      knobs.all[index].time_20 = attempt(change, budget_).time;
  }

  Knobs knobs;

 private:
  using Change = std::function<Case()>;

  static Knob new_knob(std::string name, std::string now, std::string then) {
    Knob knob;
    knob.name = std::move(name);
    knob.now = std::move(now);
    knob.then = std::move(then);
    return knob;
  }

  // As a run with --set would have it; where nothing is written, by the change itself.
  void add(Knob knob, const Change& change) {
    const bool is_set = !knob.set.empty() && context_.variations != nullptr;
    if (is_set) knob.set = context_.with(knob.set);
    Attempt result =
        attempt([&] { return is_set ? context_.variations->with(knob.set) : change(); }, budget_);
    if (!is_set) knob.set.clear();
    knob.time = result.time;
    knob.why_not = std::move(result.why_not);
    knob.too_long = result.too_long;
    knobs.all.push_back(std::move(knob));
  }
  void once(std::string name, std::string now, std::string then, Params set, const Case& changed) {
    Knob knob = new_knob(std::move(name), std::move(now), std::move(then));
    knob.set = std::move(set);
    add(std::move(knob), [&] { return changed; });
  }

  // A rate doubles, a time halves; or 20% more and less.
  template <class Make>
  void by_degrees(Knob knob, bool rate, Params set, Make make) {
    knob.by_degrees = true;
    knob.set = std::move(set);
    little_.emplace_back(knobs.all.size(), [=] { return make(rate ? 1.2 : 0.8); });
    add(std::move(knob), [=] { return make(rate ? 2 : 0.5); });
  }
  template <class Quantity, class Make>
  void by_degrees(const std::string& name, Quantity now, const std::string& key, Make make) {
    constexpr bool rate = std::is_same_v<Quantity, Bandwidth>;
    Knob knob = new_knob(name, to_text(now), "");
    Params set;
    try {
      const Quantity then = scaled(now, rate ? 2 : 0.5);
      knob.then = to_text(then);
      if (!key.empty()) set = {{key, exact_text(then)}};
    } catch (const Error&) {
      return;  // nothing is twice as good as what 64 bits hold
    }
    by_degrees(std::move(knob), rate, std::move(set), make);
  }
  [[nodiscard]] static std::string key_of_cost(const char* name) {
    return std::string("model.") + name;
  }
  void turn_rate(const char* name, std::optional<Bandwidth> CostModel::*member) {
    if (!(one_case_.costs.*member)) return;
    by_degrees(name, *(one_case_.costs.*member), key_of_cost(name), [this, member](double factor) {
      Case changed = one_case_;
      changed.costs.*member = scaled(*(one_case_.costs.*member), factor);
      return changed;
    });
  }
  void turn_time(const char* name, Time CostModel::*member) {
    if (one_case_.costs.*member == Time{}) return;
    by_degrees(name, one_case_.costs.*member, key_of_cost(name), [this, member](double factor) {
      Case changed = one_case_;
      changed.costs.*member = scaled(one_case_.costs.*member, factor);
      return changed;
    });
  }
  void number(const char* name, std::int64_t now, std::int64_t then, int AlgorithmChoice::*member) {
    if (then > std::numeric_limits<int>::max()) return;
    Case changed = one_case_;
    AlgorithmChoice choice = one_case_.choice;
    choice.*member = static_cast<int>(then);
    changed.choose(choice);
    once(name, std::to_string(now), std::to_string(then),
         {{std::string("collective.") + name, then}}, changed);
  }
  void turn_channels() {
    const auto turn = [this](std::int64_t then) {
      number("channels", row_.channels, then, &AlgorithmChoice::channels);
    };
    if (!one_case_.choice.list) {
      turn(2 * std::int64_t{row_.channels});
      // As many as a node has ranks, so that each enters it at another one, through another NIC.
      const int members = members_per_node(one_case_.cluster->topology, one_case_.collective.group);
      if (members < row_.ranks && members > 2 * row_.channels) turn(members);
    }
    if (row_.channels > 1) turn(row_.channels / 2);
  }
  void size_of_chunks(Bytes then) {
    if (then < 1 || then == *one_case_.choice.chunk_size) return;
    Case changed = one_case_;
    AlgorithmChoice choice = one_case_.choice;
    choice.chunk_size = then;
    changed.choose(choice);
    once("chunk_size", bytes_to_text(*one_case_.choice.chunk_size), bytes_to_text(then),
         {{"collective.chunk_size", exact_size(then)}}, changed);
  }

  const KnobContext& context_;
  const Case& one_case_;
  const CaseResult& row_;
  WorkBudget& budget_;
  std::vector<std::pair<std::size_t, Change>> little_;
  int late_ranks_ = 0;
};

// --- the best number of chunks ------------------------------------------------------------------

class ChunkSearch {
 public:
  // Of the case with `set`, which takes so long with its own chunks.
  ChunkSearch(const KnobContext& context, WorkBudget& budget, Time now, Params set = {})
      : context_(context),
        is_set_(context.variations != nullptr && !context.one_case.choice.chunk_size),
        set_(std::move(set)),
        one_case_(context.one_case),
        budget_(budget) {
    AlgorithmChoice choice = one_case_.choice;
    choice.chunk_size.reset();
    one_case_.choose(choice);
    times_[context.row.chunks] = now;
  }

  // Powers of two while the time falls, and what the formula recommends.
  std::optional<BestChunks> run(const std::optional<ClosedForm>& form) {
    const bool has_best = form && form->best_chunks && *form->best_chunks < 1e6;
    if (has_best)
      for (const double rounded : {std::floor(*form->best_chunks), std::ceil(*form->best_chunks)})
        try_chunks(static_cast<int>(rounded));
    // More chunks than elements are empty messages.
    const auto most =
        static_cast<int>(std::min<std::int64_t>(one_case_.collective.count, std::int64_t{1} << 20));
    int worse = 0;
    std::optional<Time> before;
    for (int chunks = 1; chunks <= most && worse < 2; chunks *= 2) {
      const std::optional<Time> time = try_chunks(chunks);
      broken_off_ = !time && too_long_;
      if (!time) break;
      // A thousandth is not worth more messages.
      worse = before && time->seconds() > 0.999 * before->seconds() ? worse + 1 : 0;
      before = time;
    }
    if (times_.size() < 2) return std::nullopt;
    BestChunks best;
    if (form) best.by_formula = form->best_chunks;
    for (const auto& [chunks, time] : times_) best.tried.push_back({chunks, time});
    const auto fastest =
        std::min_element(times_.begin(), times_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    best.best = fastest->first;
    best.best_time = fastest->second;
    best.broken_off = broken_off_;
    return best;
  }
  [[nodiscard]] bool broken_off() const { return broken_off_; }

 private:
  std::optional<Time> try_chunks(int chunks) {
    if (chunks < 1) return std::nullopt;
    if (const auto known = times_.find(chunks); known != times_.end()) return known->second;
    const Attempt result = attempt([&] { return cut_into(chunks); }, budget_);
    too_long_ = result.too_long;
    if (result.time) times_[chunks] = *result.time;
    return result.time;
  }
  Case cut_into(int chunks) {
    if (is_set_) {
      Params set = set_;
      set.emplace_back("collective.chunks", chunks);
      return context_.variations->with(context_.with(set));
    }
    AlgorithmChoice choice = one_case_.choice;
    choice.chunks = chunks;
    one_case_.choose(choice);
    return one_case_;
  }

  const KnobContext& context_;
  bool is_set_;
  Params set_;
  Case one_case_;
  WorkBudget& budget_;
  std::map<int, Time> times_;
  bool too_long_ = false;  // the last attempt, for the budget
  bool broken_off_ = false;
};

// Other algorithms in as many chunks as suit them: a tree in one piece says nothing about trees.
// "auto" has tried that.
void add_algorithms_in_chunks(const KnobContext& context, const std::vector<Contender>& algorithms,
                              WorkBudget& budget, std::vector<Knob>& knobs) {
  constexpr double worth_a_word = 0.9;
  if (context.variations == nullptr || context.row.search || context.one_case.choice.chunk_size)
    return;
  for (const Contender& other : algorithms) {
    if (other.algorithm == context.row.algorithm || !other.time || other.set.empty()) continue;
    ChunkSearch search(context, budget, *other.time, other.set);
    const auto best = search.run(std::nullopt);
    for (Knob& whole : knobs)
      if (whole.name == "algorithm" && whole.then == other.algorithm)
        whole.chunks_untried = search.broken_off();
    if (!best || best->best_time.seconds() > worth_a_word * other.time->seconds()) continue;
    Knob knob;
    knob.name = "algorithm";
    knob.now = context.row.algorithm;
    knob.then = fmt::format("{} in {}", other.algorithm, count_in_words(best->best, "chunk"));
    knob.time = best->best_time;
    knob.set = other.set;
    knob.set.emplace_back("collective.chunks", best->best);
    knob.chunks_untried = search.broken_off();
    knobs.push_back(std::move(knob));
  }
}

// How many ranks are beyond a power of two, where those are an extra step of whole vectors at both
// ends.
int folded_ranks(const KnobContext& context) {
  const CaseResult& row = context.row;
  if (row.operation != Operation::all_reduce || context.one_case.choice.list) return 0;
  const auto& costs = find_algorithm(row.operation, row.algorithm).costs;
  const bool folds = std::any_of(costs.begin(), costs.end(),
                                 [](const Cost& cost) { return cost.holds == when::power_of_two; });
  const auto ranks = static_cast<unsigned>(row.ranks);
  return folds ? static_cast<int>(ranks - std::bit_floor(ranks)) : 0;
}

// The ranks that are no extra step, alone.
std::optional<Knob> power_of_two_of(const KnobContext& context, WorkBudget& budget) {
  constexpr double much_less = 0.75;
  constexpr unsigned most_listed = 4096;
  const Case& one_case = context.one_case;
  const CaseResult& row = context.row;
  const auto ranks = static_cast<unsigned>(row.ranks);
  const unsigned power = std::bit_floor(ranks);
  if (folded_ranks(context) == 0 || power > most_listed || context.variations == nullptr)
    return std::nullopt;
  // The ranks that are left out must differ from the others in nothing else.
  if (!one_case.cluster->late.empty() || context.variations->says("cluster.links_override"))
    return std::nullopt;
  JsonValue first = JsonValue::array();
  for (std::size_t i = 0; i < power; ++i)
    first.items().emplace_back(one_case.collective.group[i].index());
  Knob knob;
  knob.name = "ranks";
  knob.now = std::to_string(ranks);
  knob.then = std::to_string(power);
  knob.set = context.with({{"collective.ranks", std::move(first)}});
  knob.time = attempt([&] { return context.variations->with(knob.set); }, budget).time;
  if (!knob.time || knob.time->seconds() > much_less * row.time_s()) return std::nullopt;
  return knob;
}

void put_best_first(std::vector<Knob>& knobs) {
  std::stable_sort(knobs.begin(), knobs.end(), [](const Knob& a, const Knob& b) {
    return a.time.value_or(Time::never()) < b.time.value_or(Time::never());
  });
}

}  // namespace

Params KnobContext::with(const Params& set) const {
  Params all;
  for (const auto& value : chosen)
    if (std::none_of(set.begin(), set.end(),
                     [&](const auto& other) { return other.first == value.first; }))
      all.push_back(value);
  all.insert(all.end(), set.begin(), set.end());
  return all;
}

// Every row of a link that costs what the size of a message says.
void change_costs(LinkParameters& link, const std::function<void(LinkParameters&)>& change) {
  for (LinkSegment& row : link.segments) {
    LinkParameters of_row{
        .bandwidth = row.bandwidth, .latency = row.latency, .startup = row.startup};
    change(of_row);
    row.bandwidth = of_row.bandwidth;
    row.latency = of_row.latency;
    row.startup = of_row.startup;
  }
  change(link);
  take_best_of_segments(link);
}

Case with_links(const Case& one_case, const std::function<void(LinkParameters&)>& change,
                const std::optional<LinkParameters>& only) {
  const Topology& topology = one_case.cluster->topology;
  std::vector<Topology::LinkChange> changes;
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    LinkParameters parameters = topology.parameters(LinkId(i));
    if (only && parameters != *only) continue;
    change_costs(parameters, change);
    changes.push_back({LinkId(i), parameters});
  }
  Cluster cluster = *one_case.cluster;
  if (cluster.link && (!only || *cluster.link == *only)) change_costs(*cluster.link, change);
  if (changes.size() < topology.links().size()) {
    cluster.topology = topology.with_changed_links(changes);
  } else {
    // All links change alike: routes and symmetry, which with_changed_links() gives up, stay.
    Topology::Parts parts = topology.parts();
    for (const auto& [id, parameters] : changes) {
      Link& link = parts.links[id.index()];
      link.bandwidth = parameters.bandwidth;
      link.latency = parameters.latency;
      link.startup = parameters.startup;
      link.sharing = parameters.sharing;
      link.segments = kind_of(parts, parameters.segments);
    }
    cluster.topology = Topology(std::move(parts));
  }
  Case changed = one_case;
  changed.cluster = std::make_shared<const Cluster>(std::move(cluster));
  return changed;
}

double work_of(const Case& one_case) {
  const Schedule& schedule = *one_case.schedule;
  const Topology& topology = one_case.cluster->topology;
  const double crossed = links_per_message(topology, schedule);
  const auto is_shared = [](const Link& link) { return link.sharing == Sharing::fair; };
  const bool shares = std::any_of(topology.links().begin(), topology.links().end(), is_shared);
  // Every message on shared links changes the rates of others.
  const double instructions =
      effort_of(one_case, schedule).instructions * crossed * (shares ? 4 : 1);
  const double simulated = instructions / expected_ranks_for_each(one_case, schedule);
  // Every simulation also looks at every link and lane.
  return simulated + static_cast<double>(topology.links().size()) + 100.0 * schedule.size();
}

Attempt attempt(const std::function<Case()>& make, WorkBudget& budget) {
  try {
    const Case made = with_schedule(make());
    if (!budget.take(work_of(made))) return {std::nullopt, "it would take too long", true};
    return {run_case(made).time, "", false};
  } catch (const Error& error) {
    const bool hangs = error.code() == ErrorCode::deadlock;  // of which the whole circle is told
    return {std::nullopt, hangs ? "hangs with so few slots" : error.what(), false};
  }
}

Knobs explain_knobs(const KnobContext& context, const Simulation& simulation,
                    const Breakdown& breakdown, const std::vector<Contender>& algorithms,
                    WorkBudget& budget) {
  const Case& one_case = context.one_case;
  const CaseResult& row = context.row;
  KnobTurner turner(context, budget);
  if (row.messages > 0) turner.turn_links(one_case.cluster->topology, simulation);
  if (row.messages > 0) turner.turn_sharing(one_case.cluster->topology, breakdown);
  std::ranges::move(wiring_knobs(context, budget), std::back_inserter(turner.knobs.all));
  turner.turn_costs();
  const bool nccl_chooses = row.protocol.has_value();
  if (!nccl_chooses) turner.turn_choice();
  if (!nccl_chooses) turner.add_algorithms(algorithms);
  if (row.size > 0 && row.ranks > 1 && !nccl_chooses)
    turner.knobs.chunks = ChunkSearch(context, budget, row.time).run(row.analytic);
  turner.turn_a_little();
  Knobs knobs = std::move(turner.knobs);
  if (row.size > 0 && row.ranks > 1 && !nccl_chooses)
    add_algorithms_in_chunks(context, algorithms, budget, knobs.all);
  put_best_first(knobs.all);
  if (!nccl_chooses) knobs.folded_ranks = folded_ranks(context);
  if (!nccl_chooses) knobs.power_of_two = power_of_two_of(context, budget);
  return knobs;
}

}  // namespace collsim
