// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/workload/expand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/scenario/make_case.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/vocabulary.hpp"
#include "app/scenario/workload/folding.hpp"
#include "app/scenario/workload/workload.hpp"
#include "collectives/workload_checker.hpp"
#include "collectives/workload_data.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

// Stated limits: of what all ranks do, and of what is written.
constexpr std::int64_t max_actions = 5'000'000;
constexpr std::size_t max_lines = 20'000;

using StreamPair = std::pair<std::uint16_t, std::uint16_t>;  // who records, for whom

// What actions carry, by what they are for.
std::string content_of(const Action& action, const Workload& workload) {
  if (action.kind == Action::Kind::collective) {
    const std::string& group = workload.communicators()[action.communicator].name;
    if (group == "tied") return "table";
    if (group == "cp") return reduces(action.call.operation) ? "key_gradients" : "keys";
  }
  switch (action.label.kind) {
    case Label::Kind::bucket: return "gradients";
    case Label::Kind::parameters:
      return reduces(action.call.operation) ? "gradients" : "parameters";
    case Label::Kind::buffers: return "buffers";
    case Label::Kind::none: return "x";
    case Label::Kind::backward: return "errors";  // gradients of activations
    default: return "activations";
  }
}

bool carries(const Action& action) {
  return action.kind == Action::Kind::send || action.kind == Action::Kind::receive ||
         action.kind == Action::Kind::collective;
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
//
// What carries the same kind of thing has one buffer, or `buffers` of them that take turns; with
// `bare` messages those have none.
class ProgramWriter {
 public:
  ProgramWriter(const Workload& workload, std::size_t buffers, bool bare_messages)
      : workload_(&workload), buffers_(buffers), bare_messages_(bare_messages) {
    look();
  }
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
  // What the text of a line depends on, which millions of lines have in common.
  struct LineKey {
    Action::Kind kind;
    Label::Kind label;
    bool relative;
    std::uint16_t stream, other, communicator;
    std::int64_t peer, amount;  // a rank, or how far it is; bytes, or the number of an event
    std::size_t buffer;         // 0: the only one
    Call call;
    Rank rank;  // where its text depends on it
    auto operator<=>(const LineKey&) const = default;
  };

  void look();
  void note_route(Rank from, Rank to, const StreamPair& streams);
  [[nodiscard]] std::optional<std::uint32_t> item_of(const Action& action, Rank rank) const;
  [[nodiscard]] std::size_t buffer_number(const Action& action, Rank rank) const;
  [[nodiscard]] std::string buffer_of(const Action& action, const LineKey& key) const;
  [[nodiscard]] std::int64_t event_number(const StreamPair& pair, std::int64_t number) const;
  [[nodiscard]] std::string event(const StreamPair& pair, std::int64_t number) const;
  [[nodiscard]] Blocks blocks(bool relative);
  [[nodiscard]] bool depends_on_rank(const Action& action, Rank rank) const;
  [[nodiscard]] std::vector<int> lines_of(Rank rank, bool relative);
  void write_unheard(const Records& records, std::vector<int>& lines);
  [[nodiscard]] JsonValue line(const Action& action, Rank rank, const LineKey& key);
  [[nodiscard]] JsonValue message(const Action& action, Rank rank, const LineKey& key) const;
  [[nodiscard]] JsonValue call(const Action& action, Rank rank, const std::string& buffer);
  [[nodiscard]] int number_of(std::size_t stream, JsonValue line);
  [[nodiscard]] JsonValue ranks(const std::vector<Rank>& ranks) const;
  [[nodiscard]] JsonValue groups() const;
  [[nodiscard]] JsonValue body(const std::vector<FoldedLine>& lines);

  const Workload* workload_;
  std::map<StreamPair, std::int64_t> names_;  // how many a pair's records need
  // The streams that messages connect: with their number as a tag, all but the first.
  std::map<std::pair<Rank, Rank>, std::vector<StreamPair>> routes_;
  std::size_t buffers_;
  bool bare_messages_;
  std::map<std::string, std::map<std::uint32_t, std::size_t>> items_;  // of each content, numbered
  std::map<LineKey, int> known_;
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
      if (carries(*action))
        if (const auto item = item_of(*action, rank))
          items_[content_of(*action, *workload_)].emplace(*item, 0);
      if (action->kind == Action::Kind::send)
        note_route(rank, action->peer, {action->stream, action->other});
      if (action->kind == Action::Kind::receive)
        note_route(action->peer, rank, {action->other, action->stream});
      records.note(*action);
    }
  }
  for (auto& [content, items] : items_) {
    std::size_t number = 0;
    for (auto& [item, own] : items) own = number++;
  }
}

void ProgramWriter::note_route(Rank from, Rank to, const StreamPair& streams) {
  std::vector<StreamPair>& known = routes_[{from, to}];
  if (std::find(known.begin(), known.end(), streams) == known.end()) known.push_back(streams);
}

// The first of those that it reads, or else writes.
std::optional<std::uint32_t> ProgramWriter::item_of(const Action& action, Rank rank) const {
  if (workload_->data() == nullptr) return std::nullopt;
  Uses uses;
  workload_->data()->uses(rank, action, uses);
  const std::vector<Items>& used = uses.reads.empty() ? uses.writes : uses.reads;
  if (used.empty()) return std::nullopt;
  return used.front().begin;
}

std::size_t ProgramWriter::buffer_number(const Action& action, Rank rank) const {
  if (buffers_ == 1 || !carries(action)) return 0;
  const auto item = item_of(action, rank);
  if (!item) return 0;
  const auto& all = items_.at(content_of(action, *workload_));
  return all.size() == 1 ? 0 : all.at(*item) % buffers_ + 1;
}

std::string ProgramWriter::buffer_of(const Action& action, const LineKey& key) const {
  std::string content = content_of(action, *workload_);
  return key.buffer == 0 ? content : fmt::format("{}_{}", content, key.buffer);
}

// As many names as needed for the latest record of a name to be the one that is meant.
std::int64_t ProgramWriter::event_number(const StreamPair& pair, std::int64_t number) const {
  const auto found = names_.find(pair);
  return found == names_.end() || found->second == 1 ? 0 : (number - 1) % found->second + 1;
}

std::string ProgramWriter::event(const StreamPair& pair, std::int64_t number) const {
  const std::vector<std::string>& streams = workload_->stream_names();
  std::string name = fmt::format("{} for {}", streams[pair.first], streams[pair.second]);
  return number == 0 ? name : fmt::format("{} {}", name, number);
}

ProgramWriter::Blocks ProgramWriter::blocks(bool relative) {
  Blocks blocks;
  for (const Rank rank : workload_->group()) blocks[lines_of(rank, relative)].push_back(rank);
  return blocks;
}

// Roots are ranks, and tags belong to pairs of them.
bool ProgramWriter::depends_on_rank(const Action& action, Rank rank) const {
  switch (action.kind) {
    case Action::Kind::collective: return has_root(action.call.operation);
    case Action::Kind::send: return routes_.at({rank, action.peer}).size() > 1;
    case Action::Kind::receive: return routes_.at({action.peer, rank}).size() > 1;
    default: return false;
  }
}

std::vector<int> ProgramWriter::lines_of(Rank rank, bool relative) {
  std::vector<int> lines;
  Records records;
  Script script = workload_->script(rank);
  while (const Action* const action = script.next()) {
    LineKey key{action->kind,
                action->label.kind,
                relative,
                action->stream,
                action->other,
                action->communicator,
                0,
                action->amount,
                buffer_number(*action, rank),
                action->call,
                depends_on_rank(*action, rank) ? rank : Rank{}};
    if (action->kind == Action::Kind::send || action->kind == Action::Kind::receive)
      key.peer = static_cast<std::int64_t>(action->peer.index()) -
                 (relative ? static_cast<std::int64_t>(rank.index()) : 0);
    bool is_written = action->kind != Action::Kind::update;  // which takes no time
    if (action->kind == Action::Kind::wait) {
      const std::int64_t number = records.asked(*action);
      is_written = number > 0;
      if (is_written) key.amount = event_number({action->other, action->stream}, number);
    } else if (action->kind == Action::Kind::record) {
      const StreamPair pair{action->stream, action->other};
      key.amount = event_number(pair, records.recorded[pair] + 1);
    }
    records.note(*action);
    if (!is_written) continue;
    auto known = known_.find(key);
    if (known == known_.end())
      known = known_.emplace(key, number_of(action->stream, line(*action, rank, key))).first;
    lines.push_back(known->second);
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
      lines.push_back(number_of(
          pair.second, JsonValue::object({{"wait", event(pair, event_number(pair, number))}})));
  }
}

JsonValue ProgramWriter::line(const Action& action, Rank rank, const LineKey& key) {
  switch (action.kind) {
    case Action::Kind::work: return JsonValue::object({{"work", exact_time(Time(action.amount))}});
    case Action::Kind::wait:
      return JsonValue::object({{"wait", event({action.other, action.stream}, key.amount)}});
    case Action::Kind::record:
      return JsonValue::object({{"record", event({action.stream, action.other}, key.amount)}});
    case Action::Kind::collective: return call(action, rank, buffer_of(action, key));
    case Action::Kind::drain:
      throw_error(ErrorCode::invalid_argument, "it waits for messages of all kinds to leave");
    default: return message(action, rank, key);
  }
}

JsonValue ProgramWriter::message(const Action& action, Rank rank, const LineKey& key) const {
  JsonValue other = key.peer;
  if (key.relative) other = fmt::format("rank {} {}", key.peer < 0 ? '-' : '+', std::abs(key.peer));
  const bool sends = action.kind == Action::Kind::send;
  const JsonValue buffer = bare_messages_ ? JsonValue(true) : buffer_of(action, key);
  JsonValue written = JsonValue::object({{sends ? "post" : "receive", buffer},
                                         {sends ? "to" : "from", std::move(other)},
                                         {"size", exact_size(action.amount)}});
  const auto& streams =
      routes_.at(sends ? std::pair(rank, action.peer) : std::pair(action.peer, rank));
  const StreamPair mine =
      sends ? StreamPair{action.stream, action.other} : StreamPair{action.other, action.stream};
  const auto tag = std::find(streams.begin(), streams.end(), mine) - streams.begin();
  if (tag > 0) written.set("tag", static_cast<std::int64_t>(tag));
  return written;
}

JsonValue ProgramWriter::call(const Action& action, Rank rank, const std::string& buffer) {
  has_calls_ = true;
  const Call& call = action.call;
  const Communicator& communicator = workload_->communicators()[action.communicator];
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

namespace {

// Whether a program uses one buffer for two things at a time.
bool has_race(const JsonValue& program, const WorkloadContext& context) {
  Diagnostics diagnostics;
  JsonValue resolved;
  const auto step = read_workload(program, "/workload", context, diagnostics, resolved);
  COLLSIM_CHECK(step.has_value(), "an expanded workload can be read");
  const WorkloadReport report = check(asked_for(*step));
  return report.fault && report.fault->kind == WorkloadFault::Kind::race;
}

// The script of every rank, with as few buffers as will do; where that makes too many lines,
// messages have none.
JsonValue program_of(const Workload& workload, const WorkloadContext& context) {
  constexpr std::size_t some = 8;
  constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
  for (const bool bare_messages : {false, true})
    for (const std::size_t buffers : {std::size_t{1}, some, all}) {
      try {
        JsonValue program = ProgramWriter(workload, buffers, bare_messages).write();
        if (buffers == all || !has_race(program, context)) return program;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::too_large || bare_messages) throw;
        break;
      }
    }
  return {};
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
  JsonValue program = program_of(asked_for(*step), context);
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
