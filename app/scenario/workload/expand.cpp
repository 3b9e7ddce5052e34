// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/workload/expand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/scenario/make_case.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/vocabulary.hpp"
#include "app/scenario/workload/folding.hpp"
#include "app/scenario/workload/workload.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

// Stated limits: of what all ranks do, and of what is written.
constexpr std::int64_t max_actions = 5'000'000;
constexpr std::size_t max_lines = 20'000;

using StreamPair = std::pair<std::uint16_t, std::uint16_t>;  // who records, for whom

// What actions carry, by what they are for.
std::string buffer_of(const Action& action) {
  switch (action.label.kind) {
    case Label::Kind::bucket: return "gradients";
    case Label::Kind::parameters: return "parameters";
    case Label::Kind::buffers: return "buffers";
    case Label::Kind::none: return "x";
    default: return "activations";
  }
}

// The records of one rank so far, and up to which its streams have waited.
struct Records {
  std::map<StreamPair, std::int64_t> recorded, taken;

  // Which record a wait is for; 0: for none that has not been waited for.
  [[nodiscard]] std::int64_t asked(const Action& wait) const {
    const StreamPair pair{wait.other, wait.stream};
    const auto in = [&](const auto& map) {
      const auto found = map.find(pair);
      return found == map.end() ? 0 : found->second;
    };
    const std::int64_t number = wait.amount > 0 ? wait.amount : in(recorded);
    if (number > in(recorded))
      throw_error(ErrorCode::invalid_argument,
                  "it waits for what is recorded later, which a program cannot say");
    return number > in(taken) ? number : 0;
  }
  void note(const Action& action) {
    if (action.kind == Action::Kind::record) ++recorded[{action.stream, action.other}];
    if (action.kind != Action::Kind::wait) return;
    const std::int64_t number = asked(action);
    if (number > 0) taken[{action.other, action.stream}] = number;
  }
};

// Writes the script of every rank as lines of a program.
class ProgramWriter {
 public:
  explicit ProgramWriter(const Workload& workload) : workload_(&workload) { look(); }

  [[nodiscard]] JsonValue write() {
    Blocks fewest = blocks(false);
    Blocks relative = blocks(true);
    if (relative.size() < fewest.size()) fewest = std::move(relative);
    JsonValue program = JsonValue::array();
    std::vector<const Blocks::value_type*> in_order;
    for (const auto& block : fewest) in_order.push_back(&block);
    std::sort(in_order.begin(), in_order.end(),
              [](const auto* a, const auto* b) { return a->second < b->second; });
    for (const auto* block : in_order)
      program.items().push_back(
          JsonValue::object({{"on", ranks(block->second)}, {"do", body(folded(block->first))}}));
    JsonValue result = JsonValue::object();
    if (workload_->stream_names().size() > 1)
      result.set("streams", JsonValue::array(workload_->stream_names()));
    if (JsonValue written = groups(); !written.members().empty())
      result.set("groups", std::move(written));
    if (!data_.members().empty()) result.set("data", data_);
    result.set("program", std::move(program));
    return result;
  }

 private:
  using Blocks = std::map<std::vector<int>, std::vector<Rank>>;  // lines, and who does them

  void look();
  void note_route(Rank from, Rank to, const StreamPair& streams);
  [[nodiscard]] std::string event(const StreamPair& pair, std::int64_t number) const;
  [[nodiscard]] Blocks blocks(bool relative);
  [[nodiscard]] std::vector<int> lines_of(Rank rank, bool relative);
  void write_unheard(const Records& records, std::vector<int>& lines);
  [[nodiscard]] JsonValue line(const Action& action, Rank rank, bool relative);
  [[nodiscard]] JsonValue call(const Action& action, Rank rank);
  [[nodiscard]] int number_of(std::size_t stream, JsonValue line);
  [[nodiscard]] JsonValue ranks(const std::vector<Rank>& ranks) const;
  [[nodiscard]] JsonValue groups() const;
  [[nodiscard]] JsonValue body(const std::vector<FoldedLine>& lines);

  const Workload* workload_;
  std::map<StreamPair, std::int64_t> names_;            // how many a pair's records need
  std::map<std::pair<Rank, Rank>, StreamPair> routes_;  // of messages
  std::map<std::pair<std::size_t, std::string>, int> numbers_;
  std::vector<std::pair<std::size_t, JsonValue>> lines_;  // by number: on which stream, what
  JsonValue data_ = JsonValue::object();
  std::size_t written_ = 0;
  bool has_calls_ = false;
};

// How far back waits look, and which streams messages connect.
void ProgramWriter::look() {
  std::int64_t actions = 0;
  for (const Rank rank : workload_->group()) {
    Records records;
    Script script = workload_->script(rank);
    while (const Action* const action = script.next()) {
      if (++actions > max_actions)
        throw_error(ErrorCode::too_large, "all ranks together do more than ",
                    with_commas(max_actions), " things");
      if (action->kind == Action::Kind::wait && records.asked(*action) > 0) {
        const StreamPair pair{action->other, action->stream};
        std::int64_t& names = names_[pair];
        names = std::max(names, records.recorded[pair] - records.asked(*action) + 1);
      }
      if (action->kind == Action::Kind::send)
        note_route(rank, action->peer, {action->stream, action->other});
      if (action->kind == Action::Kind::receive)
        note_route(action->peer, rank, {action->other, action->stream});
      records.note(*action);
    }
  }
}

void ProgramWriter::note_route(Rank from, Rank to, const StreamPair& streams) {
  if (routes_.try_emplace({from, to}, streams).first->second == streams) return;
  throw_error(ErrorCode::invalid_argument, "messages from rank ", from.index(), " to rank ",
              to.index(), " belong to several streams, which a program cannot say");
}

// As many names as needed for the latest record of a name to be the one that is meant.
std::string ProgramWriter::event(const StreamPair& pair, std::int64_t number) const {
  const std::vector<std::string>& streams = workload_->stream_names();
  std::string name = fmt::format("{} for {}", streams[pair.first], streams[pair.second]);
  const auto found = names_.find(pair);
  if (found == names_.end() || found->second == 1) return name;
  return fmt::format("{} {}", name, (number - 1) % found->second + 1);
}

ProgramWriter::Blocks ProgramWriter::blocks(bool relative) {
  Blocks blocks;
  for (const Rank rank : workload_->group()) blocks[lines_of(rank, relative)].push_back(rank);
  return blocks;
}

std::vector<int> ProgramWriter::lines_of(Rank rank, bool relative) {
  std::vector<int> lines;
  Records records;
  Script script = workload_->script(rank);
  while (const Action* const action = script.next()) {
    JsonValue written;
    if (action->kind == Action::Kind::wait) {
      const std::int64_t number = records.asked(*action);
      if (number > 0)
        written = JsonValue::object({{"wait", event({action->other, action->stream}, number)}});
    } else if (action->kind == Action::Kind::record) {
      const StreamPair pair{action->stream, action->other};
      written = JsonValue::object({{"record", event(pair, records.recorded[pair] + 1)}});
    } else if (action->kind != Action::Kind::update) {  // which takes no time
      written = line(*action, rank, relative);
    }
    records.note(*action);
    if (!written.is_null()) lines.push_back(number_of(action->stream, std::move(written)));
  }
  write_unheard(records, lines);
  return lines;
}

// A program has records only for who waits; a stream that is told and does not listen does so at
// its end.
void ProgramWriter::write_unheard(const Records& records, std::vector<int>& lines) {
  std::map<StreamPair, std::int64_t> by_listener;
  for (const auto& [pair, recorded] : records.recorded)
    by_listener[{pair.second, pair.first}] = recorded;
  for (const auto& [ends, recorded] : by_listener) {
    const StreamPair pair{ends.second, ends.first};
    const auto taken = records.taken.find(pair);
    std::int64_t from = taken == records.taken.end() ? 0 : taken->second;
    const auto names = names_.find(pair);
    from = std::max(from, recorded - (names == names_.end() ? 1 : names->second));
    for (std::int64_t number = from + 1; number <= recorded; ++number)
      lines.push_back(number_of(pair.second, JsonValue::object({{"wait", event(pair, number)}})));
  }
}

JsonValue ProgramWriter::line(const Action& action, Rank rank, bool relative) {
  if (action.kind == Action::Kind::work)
    return JsonValue::object({{"work", exact_time(Time(action.amount))}});
  if (action.kind == Action::Kind::collective) return call(action, rank);
  if (action.kind == Action::Kind::drain)
    throw_error(ErrorCode::invalid_argument, "it waits for messages of all kinds to leave");
  const auto peer = static_cast<std::int64_t>(action.peer.index());
  const std::int64_t step = peer - static_cast<std::int64_t>(rank.index());
  JsonValue other = peer;
  if (relative) other = fmt::format("rank {} {}", step < 0 ? '-' : '+', std::abs(step));
  const bool sends = action.kind == Action::Kind::send;
  return JsonValue::object({{sends ? "post" : "receive", buffer_of(action)},
                            {sends ? "to" : "from", std::move(other)},
                            {"size", exact_size(action.amount)}});
}

JsonValue ProgramWriter::call(const Action& action, Rank rank) {
  has_calls_ = true;
  const Call& call = action.call;
  const Communicator& communicator = workload_->communicators()[action.communicator];
  const std::string buffer = buffer_of(action);
  const Bytes bytes = call.count * size_of(call.type);
  if (call.type != ElementType::f32 && data_.find(buffer) == nullptr)
    data_.set(buffer, JsonValue::object(
                          {{"dtype", element_type_word(call.type)}, {"size", exact_size(bytes)}}));
  JsonValue written =
      JsonValue::object({{to_string(call.operation), buffer}, {"size", exact_size(bytes)}});
  if (communicator.name != "world") written.set("group", communicator.name);
  const AlgorithmChoice choice = call.choice != nullptr ? *call.choice : AlgorithmChoice{};
  if (!choice.name.empty()) written.set("algorithm", choice.name);
  if (choice.chunks != 1) written.set("chunks", choice.chunks);
  if (choice.channels != 1 && choice.orders.empty()) written.set("channels", choice.channels);
  if (reduces(call.operation) && call.reduction != Reduction::sum)
    written.set("reduction", std::string(to_string(call.reduction)));
  if (has_root(call.operation) && call.root != 0)
    for (const std::vector<Rank>& group : communicator.groups)
      if (std::find(group.begin(), group.end(), rank) != group.end())
        written.set("root", group[static_cast<std::size_t>(call.root)].index());
  return written;
}

int ProgramWriter::number_of(std::size_t stream, JsonValue line) {
  const auto next = static_cast<int>(lines_.size());
  const auto [known, is_new] = numbers_.try_emplace({stream, to_json(line, -1)}, next);
  if (is_new) lines_.emplace_back(stream, std::move(line));
  return known->second;
}

JsonValue ProgramWriter::ranks(const std::vector<Rank>& ranks) const {
  if (static_cast<int>(ranks.size()) == workload_->size()) return "all";
  if (ranks.size() == 1) return ranks.front().index();
  return JsonValue::array(ranks, [](Rank rank) { return rank.index(); });
}

JsonValue ProgramWriter::groups() const {
  JsonValue groups = JsonValue::object();
  const std::vector<Communicator>& all = workload_->communicators();
  // Which is there by itself where something is called on it.
  const bool only_world = has_calls_ && all.size() == 1 && all.front().name == "world" &&
                          all.front().groups.front() == workload_->group();
  if (only_world) return groups;
  const auto numbers = [](const std::vector<Rank>& group) {
    return JsonValue::array(group, [](Rank rank) { return rank.index(); });
  };
  for (const Communicator& one : all)
    groups.set(one.name, one.groups.size() == 1 ? numbers(one.groups.front())
                                                : JsonValue::array(one.groups, numbers));
  return groups;
}

// Neighbouring lines of one stream are put together.
JsonValue ProgramWriter::body(const std::vector<FoldedLine>& lines) {
  JsonValue result = JsonValue::array();
  std::size_t current = 0;  // the stream of the last item
  for (const FoldedLine& line : lines) {
    if (++written_ > max_lines)
      throw_error(ErrorCode::too_large, "the program would have more than ",
                  with_commas(static_cast<std::int64_t>(max_lines)), " lines");
    if (line.rounds > 0) {
      result.items().push_back(
          JsonValue::object({{"repeat", line.rounds}, {"do", body(line.body)}}));
      current = 0;
      continue;
    }
    const auto& [stream, what] = lines_[static_cast<std::size_t>(line.number)];
    if (stream == 0)
      result.items().push_back(what);
    else if (stream == current)
      result.items().back().find("do")->items().push_back(what);
    else
      result.items().push_back(JsonValue::object(
          {{"stream", workload_->stream_names()[stream]}, {"do", JsonValue::Array{what}}}));
    current = stream;
  }
  return result;
}

}  // namespace

JsonValue expanded(const Scenario& scenario, std::size_t point) {
  Diagnostics diagnostics;
  ClusterCache clusters;
  PointReading at = read_point(scenario, point, {}, clusters, diagnostics);
  if (!at.one_case || !at.one_case->step || at.one_case->step->program)
    throw_error(ErrorCode::invalid_argument,
                "only the schemes of training steps can be expanded, and a program is one already");
  // What slows ranks down is said of programs as of schemes.
  JsonValue scheme = at.workload;
  for (const char* key : {"slow", "jitter"}) scheme.erase(key);
  JsonValue resolved;
  const WorkloadContext context{.cluster = at.one_case->cluster.get(), .varies = true};
  const auto step = read_workload(scheme, "/workload", context, diagnostics, resolved);
  COLLSIM_CHECK(step.has_value(), "a workload that was read reads back");
  JsonValue program = ProgramWriter(asked_for(*step)).write();
  for (const char* key : {"slow", "jitter", "timeout", "protocol"})
    if (const JsonValue* const said = at.workload.find(key)) program.set(key, *said);
  JsonValue kept = JsonValue::object();  // of the device
  if (const JsonValue* const device = at.workload.find("device"))
    for (const char* key : {"slowdown", "collectives_at_a_time"})
      if (const JsonValue* const said = device->find(key)) kept.set(key, *said);
  if (!kept.members().empty()) program.set("device", std::move(kept));
  JsonValue result = JsonValue::object({{"scenario", 1}});
  if (!scenario.title.empty()) result.set("title", scenario.title);
  result.set("cluster", at.cluster);
  result.set("workload", std::move(program));
  if (at.model.is_object() && !at.model.members().empty()) result.set("model", at.model);
  forget_places(result);
  return result;
}

}  // namespace collsim
