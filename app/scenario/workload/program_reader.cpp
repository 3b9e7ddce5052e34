// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/scenario/collective_internal.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/vocabulary.hpp"
#include "app/scenario/workload/program.hpp"
#include "app/scenario/workload/workload_internal.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

using OpKind = ProgramOp::Kind;

std::size_t index_of(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

class ProgramReader {
 public:
  ProgramReader(ObjectReader& workload, const Cluster* cluster)
      : workload_(&workload), cluster_(cluster), program_(std::make_shared<WrittenProgram>()) {
    program_->ranks = cluster == nullptr ? 0 : static_cast<int>(cluster->topology.rank_count());
  }

  std::shared_ptr<const WrittenProgram> read() {
    read_streams();
    read_groups();
    read_data();
    read_blocks();
    for (const auto& [buffer, value] : uses_)
      if (!defined_.contains(buffer))
        wrong(*value.first, value.second, "unknown-name",
              "there is no buffer " + quoted(program_->buffers[buffer]),
              "declare it in \"data\", or say its \"size\" here");
    if (!diagnostics().empty() || cluster_ == nullptr) return nullptr;
    find_routes(*program_, workload_->raw("program")->place, diagnostics());
    return diagnostics().empty() ? program_ : nullptr;
  }

 private:
  [[nodiscard]] Diagnostics& diagnostics() const { return workload_->diagnostics(); }
  Refusal wrong(const JsonValue& value, const std::string& pointer, std::string code,
                std::string message, std::string hint = {}) {
    return diagnostics().add({.code = std::move(code),
                              .message = std::move(message),
                              .place = value.place,
                              .pointer = pointer,
                              .hint = std::move(hint)});
  }

  void read_streams();
  void read_groups();
  std::vector<Rank> read_ranks(const JsonValue& list, const std::string& pointer);
  void read_data();
  void read_buffer(ObjectReader& data, const JsonValue::Member& member);
  void read_values(const JsonValue& lists, const std::string& pointer, WrittenProgram::Data& data,
                   ElementType type);
  void read_blocks();
  void read_on(ObjectReader& block, WrittenProgram::Block& read);
  std::vector<ProgramOp> read_body(const JsonValue& list, const std::string& pointer);
  std::optional<ProgramOp> read_op(const JsonValue& value, const std::string& pointer);
  void read_kind(ObjectReader& reader, const std::string& key, ProgramOp& op);
  void read_async(ObjectReader& reader, ProgramOp& op);
  void read_message(ObjectReader& reader, const char* key, ProgramOp& op);
  void read_set(ObjectReader& reader, ProgramOp& op);
  void read_repeat(ObjectReader& reader, ProgramOp& op);
  void read_group(ObjectReader& reader, ProgramOp& op);
  void read_call(ObjectReader& reader, const std::string& key, ProgramOp& op);
  void read_algorithm(ObjectReader& reader, ProgramOp& op);
  void read_communicator(ObjectReader& reader, ProgramOp& op);
  void make_async(ProgramOp& op);
  std::size_t read_buffer_name(ObjectReader& reader, const char* key, bool defines);
  ProgramExpression expression(ObjectReader& reader, const char* key, bool is_time = false);
  std::uint16_t stream_number(const std::string& name);

  ObjectReader* workload_;
  const Cluster* cluster_;
  std::shared_ptr<WrittenProgram> program_;
  ProgramNames names_;
  std::uint16_t stream_ = 0;  // that what is being read stands on
  std::set<std::size_t> defined_;
  std::map<std::size_t, std::pair<const JsonValue*, std::string>> uses_;
};

// Only names them in order: a stream need not be declared.
void ProgramReader::read_streams() {
  const JsonValue* const written = workload_->raw("streams");
  if (written == nullptr) return;
  workload_->resolve("streams", *written);
  std::vector<std::string> names;
  bool fits = written->is_array() && !written->items().empty();
  for (std::size_t i = 0; fits && i < written->items().size(); ++i)
    fits = written->items()[i].is_string() && index_of(names, written->items()[i].string()) == i;
  if (fits)
    program_->streams = std::move(names);
  else
    workload_->wrong("streams", "wrong-type", "streams have different names, in a list", {},
                     R"(write ["main", "communication"]: a rank begins on the first)");
}

// --- groups --------------------------------------------------------------------------------------

std::vector<Rank> ProgramReader::read_ranks(const JsonValue& list, const std::string& pointer) {
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const JsonValue& item = list.items()[i];
    const auto number = item.integer();
    const bool exists = number && *number >= 0 &&
                        (cluster_ == nullptr || *number < program_->ranks) &&
                        *number < static_cast<std::int64_t>(max_ranks);
    if (exists)
      ranks.emplace_back(static_cast<std::size_t>(*number));
    else
      wrong(item, pointer_to(pointer, i), "unknown-rank",
            number ? fmt::format("there is no rank {}", *number) : "this is no rank",
            cluster_ == nullptr ? "" : fmt::format("ranks are 0 to {}", program_->ranks - 1));
  }
  return ranks;
}

void ProgramReader::read_groups() {
  const JsonValue* const written = workload_->raw("groups");
  if (written == nullptr) return;
  workload_->resolve("groups", *written);
  if (!written->is_object()) {
    workload_->wrong("groups", "wrong-type", "groups have names", {},
                     R"(write {"tp": [[0, 1], [2, 3]]})");
    return;
  }
  for (const JsonValue::Member& member : written->members()) {
    const std::string pointer = pointer_to(workload_->pointer_of("groups"), member.key);
    const JsonValue& value = member.value;
    Communicator communicator{member.key, {}, 1};
    std::set<Rank> seen;
    const auto add = [&](const JsonValue& list, const std::string& at) {
      const std::vector<Rank> ranks = read_ranks(list, at);
      for (const Rank rank : ranks)
        if (!seen.insert(rank).second)
          wrong(list, at, "repeated",
                fmt::format("rank {} is in {} twice", rank.index(), quoted(member.key)));
      if (ranks.empty()) wrong(list, at, "wrong-type", "a group has at least one rank");
      communicator.groups.push_back(ranks);
    };
    if (!value.is_array() || value.items().empty()) {
      wrong(value, pointer, "wrong-type", "a group is a list of ranks, or several lists",
            R"(write [0, 1], or [[0, 1], [2, 3]])");
    } else if (!value.items().front().is_array()) {
      add(value, pointer);
    } else {
      for (std::size_t i = 0; i < value.items().size(); ++i)
        if (value.items()[i].is_array())
          add(value.items()[i], pointer_to(pointer, i));
        else
          wrong(value.items()[i], pointer_to(pointer, i), "wrong-type", "this is no list of ranks");
    }
    if (communicator.groups.empty()) communicator.groups.emplace_back();  // wrong, see above
    program_->communicators.push_back(std::move(communicator));
    program_->async_streams.push_back(-1);
  }
}

// --- data ----------------------------------------------------------------------------------------

void ProgramReader::read_values(const JsonValue& lists, const std::string& pointer,
                                WrittenProgram::Data& data, ElementType type) {
  const auto ranks = static_cast<std::size_t>(program_->ranks);
  if (cluster_ != nullptr && lists.items().size() != ranks) {
    wrong(lists, pointer, "wrong-count",
          fmt::format("{} for {}", count_text(lists.items().size(), "list"),
                      count_text(program_->ranks, "rank")),
          "write one list of numbers per rank; [] where it has none");
    return;
  }
  for (std::size_t i = 0; i < lists.items().size(); ++i) {
    const JsonValue& list = lists.items()[i];
    data.values.emplace_back();
    if (!list.is_array()) {
      wrong(list, pointer_to(pointer, i), "wrong-type", "the data of a rank is a list of numbers");
      continue;
    }
    for (std::size_t j = 0; j < list.items().size(); ++j) {
      const JsonValue& item = list.items()[j];
      const std::string problem = element_misfit(item, type);
      if (problem.empty())
        data.values.back().push_back(item.number());
      else
        wrong(item, pointer_to(pointer_to(pointer, i), j), "out-of-range", "this " + problem);
    }
    data.shapes.push_back({static_cast<std::int64_t>(list.items().size()), type, true});
  }
}

void ProgramReader::read_buffer(ObjectReader& data, const JsonValue::Member& member) {
  const std::string pointer = data.pointer_of(member.key);
  const JsonValue* value = &member.value;
  if (!is_program_name(member.key))
    wrong(*value, pointer, "bad-name",
          quoted(member.key) + " is no name of a buffer: letters, digits and _ only");
  std::optional<ElementType> said;
  WrittenProgram::Data read;
  std::optional<Bytes> size;
  if (value->is_object()) {
    ObjectReader inner(*value, pointer, diagnostics());
    if (const auto word = inner.word("dtype", element_type_words()))
      said = parse_element_type(*word);
    inner.at_most_one_of({"values", "size"});
    size = inner.size("size");
    value = inner.raw("values");
    if (value != nullptr) inner.resolve("values", *value);
    static_cast<void>(inner.finish());
  } else if (!value->is_array()) {
    size = data.size(member.key);
  }
  const ElementType type = said.value_or(ElementType::f32);
  if (value != nullptr && value->is_array()) {
    read_values(*value, pointer, read, type);
  } else if (size && *size % size_of(type) == 0) {
    const BufferShape shape{*size / size_of(type), type, said.has_value()};
    read.shapes.assign(static_cast<std::size_t>(program_->ranks), shape);
  } else {
    wrong(member.value, pointer, "not-whole-elements",
          size ? fmt::format("{} is no whole number of elements of {} bytes", exact_size(*size),
                             size_of(type))
               : "a buffer is a size, or one list of numbers per rank",
          R"(write "64MiB", [[1, 2], [3, 4]], or {"dtype": "int64", "values": [[1], [2]]})");
  }
  defined_.insert(index_of(program_->buffers, member.key));
  program_->data.push_back(std::move(read));
}

void ProgramReader::read_data() {
  const JsonValue* const written = workload_->raw("data");
  if (written == nullptr) return;
  ObjectReader data(*written, workload_->pointer_of("data"), diagnostics());
  if (written->is_object())
    for (const JsonValue::Member& member : written->members()) {
      static_cast<void>(data.raw(member.key));
      read_buffer(data, member);
    }
  static_cast<void>(data.finish());
  workload_->resolve("data", *written);
}

// --- blocks --------------------------------------------------------------------------------------

void ProgramReader::read_on(ObjectReader& block, WrittenProgram::Block& read) {
  const auto ranks = static_cast<std::size_t>(program_->ranks);
  const JsonValue* const on = block.raw("on");
  read.on.assign(ranks, on == nullptr || (on->is_string() && on->string() == "all"));
  if (on == nullptr) return;
  block.resolve("on", *on);
  const std::string pointer = block.pointer_of("on");
  if (on->is_array() || on->is_number()) {
    const JsonValue list = on->is_array() ? *on : JsonValue(JsonValue::Array{*on});
    for (const Rank rank : read_ranks(list, pointer)) {
      if (rank.index() >= ranks) continue;
      if (read.on[rank.index()])
        wrong(*on, pointer, "repeated", fmt::format("rank {} is there twice", rank.index()));
      read.on[rank.index()] = true;
    }
  } else if (!on->is_string()) {
    wrong(*on, pointer, "wrong-type", "these are no ranks",
          R"(write "all", a rank, a list of ranks, or "rank % 2 == 1")");
  } else if (on->string() != "all") {
    const auto condition = ProgramCondition::read(*on, pointer, diagnostics());
    for (std::size_t rank = 0; condition && rank < ranks; ++rank) {
      const double numbers[] = {static_cast<double>(rank), static_cast<double>(ranks)};
      const ProgramExpression::Value value = (*condition)(numbers);
      if (!value.number) return wrong(*on, pointer, "syntax", value.why_not), void();
      read.on[rank] = *value.number != 0;
    }
  }
}

void ProgramReader::read_blocks() {
  const JsonValue* const written = workload_->raw("program");
  workload_->resolve("program", *written);
  const std::string pointer = workload_->pointer_of("program");
  if (!written->is_array()) {
    workload_->wrong("program", "wrong-type", "a program is a list", {},
                     R"(write [{"on": "all", "do": [{"work": "3ms"}]}])");
    return;
  }
  for (std::size_t i = 0; i < written->items().size(); ++i) {
    ObjectReader block(written->items()[i], pointer_to(pointer, i), diagnostics());
    WrittenProgram::Block read;
    read_on(block, read);
    block.need({"do"}, R"(write {"on": "all", "do": [{"work": "3ms"}]})");
    if (const JsonValue* const body = block.raw("do"))
      read.body = read_body(*body, block.pointer_of("do"));
    static_cast<void>(block.finish());
    program_->blocks.push_back(std::move(read));
  }
}

std::vector<ProgramOp> ProgramReader::read_body(const JsonValue& list, const std::string& pointer) {
  std::vector<ProgramOp> body;
  if (!list.is_array()) {
    wrong(list, pointer, "wrong-type", "what is done is a list", R"(write [{"work": "3ms"}])");
    return body;
  }
  for (std::size_t i = 0; i < list.items().size(); ++i)
    if (auto op = read_op(list.items()[i], pointer_to(pointer, i))) body.push_back(std::move(*op));
  return body;
}

// --- what is done --------------------------------------------------------------------------------

std::optional<ProgramOp> ProgramReader::read_op(const JsonValue& value,
                                                const std::string& pointer) {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all{"work",   "send",   "post", "receive", "set",
                                 "stream", "record", "wait", "repeat",  "async"};
    for (const Operation operation : all_operations())
      if (operation != Operation::send_recv) all.emplace_back(to_string(operation));
    all.emplace_back("group");  // last: it is also a key of collectives
    return all;
  }();
  const std::size_t before = diagnostics().size();
  ObjectReader reader(value, pointer, diagnostics());
  std::string key;
  for (const std::string& one : keys) {
    if (!reader.has(one)) continue;
    if (key.empty())
      key = one;
    else if (one != "group")
      reader.wrong(one, "conflicting-keys",
                   fmt::format("this does two things, \"{}\" and \"{}\"", key, one), {},
                   "write {...}, {...}");
  }
  ProgramOp op;
  op.place = static_cast<std::uint32_t>(program_->places.size());
  program_->places.push_back(value.place);
  if (!key.empty()) read_kind(reader, key, op);
  for (const std::string& one : keys)
    if (key.empty() || reader.has(one)) static_cast<void>(reader.raw(one));
  static_cast<void>(reader.finish());
  if (key.empty() && diagnostics().size() == before)
    wrong(value, pointer, "missing-key", "this does nothing",
          fmt::format("write one of {}", fmt::join(keys, ", ")));
  if (diagnostics().size() != before) return std::nullopt;
  return op;
}

void ProgramReader::read_kind(ObjectReader& reader, const std::string& key, ProgramOp& op) {
  if (key == "work") {
    op.kind = OpKind::work;
    if (const JsonValue& written = *reader.raw("work"); written.is_string())
      op.time = parse_time(written.string()).value;
    if (!op.time) op.number = expression(reader, "work", true);
  } else if (key == "send" || key == "post" || key == "receive") {
    op.kind = key == "receive" ? OpKind::receive : OpKind::send;
    op.is_posted = key == "post";
    read_message(reader, key.c_str(), op);
  } else if (key == "set") {
    read_set(reader, op);
  } else if (key == "stream") {
    op.kind = OpKind::stream;
    const std::string name = reader.text("stream").value_or("main");
    const std::uint16_t outer = std::exchange(stream_, stream_number(name));
    op.stream = stream_;
    reader.need({"do"});
    if (const JsonValue* const body = reader.raw("do"))
      op.body = read_body(*body, reader.pointer_of("do"));
    stream_ = outer;
  } else if (key == "record" || key == "wait") {
    op.kind = key == "record" ? OpKind::record : OpKind::wait;
    op.event = index_of(program_->events, reader.text(key).value_or(""));
    program_->waiters.resize(program_->events.size());
    auto& waiters = program_->waiters[op.event];
    if (key == "wait" && std::find(waiters.begin(), waiters.end(), stream_) == waiters.end())
      waiters.push_back(stream_);
  } else if (key == "repeat") {
    read_repeat(reader, op);
  } else if (key == "group") {
    read_group(reader, op);
  } else if (key == "async") {
    read_async(reader, op);
  } else {
    read_call(reader, key, op);
  }
}

ProgramExpression ProgramReader::expression(ObjectReader& reader, const char* key, bool is_time) {
  const JsonValue* const written = reader.raw(key);
  if (written == nullptr) return {};
  if (written->is_number() && (!is_time || written->number() == 0))
    return ProgramExpression(written->number());
  if (!written->is_string()) {
    reader.wrong(key, is_time ? "no-unit" : "wrong-type",
                 is_time ? "a time is needed" : "a number or an expression is needed", {},
                 is_time ? R"(write "3ms")" : R"(write 1, or "rank + 1")");
    return {};
  }
  return ProgramExpression::read(*written, written->string(), reader.pointer_of(key), names_,
                                 is_time, diagnostics());
}

std::uint16_t ProgramReader::stream_number(const std::string& name) {
  return static_cast<std::uint16_t>(index_of(program_->streams, name));
}

std::size_t ProgramReader::read_buffer_name(ObjectReader& reader, const char* key, bool defines) {
  const JsonValue* const written = reader.raw(key);
  if (written == nullptr) return ProgramOp::none;
  if (!written->is_string() || !is_program_name(written->string())) {
    reader.wrong(key, "wrong-type", "the name of a buffer is needed");
    return ProgramOp::none;
  }
  const std::size_t buffer = index_of(program_->buffers, written->string());
  if (defines || reader.has("size"))
    defined_.insert(buffer);
  else
    uses_.try_emplace(buffer, written, reader.pointer_of(key));
  return buffer;
}

void ProgramReader::read_message(ObjectReader& reader, const char* key, ProgramOp& op) {
  const char* const peer = op.kind == OpKind::send ? "to" : "from";
  op.size = reader.size("size");
  if (*reader.raw(key) == JsonValue(true))  // of no buffer
    reader.need({"size"});
  else
    op.buffer = read_buffer_name(reader, key, false);
  op.number = expression(reader, peer);
  if (reader.has("tag")) op.tag = static_cast<int>(reader.integer("tag", 0, ProgramOp::max_tag, 0));
  reader.need({peer});
}

void ProgramReader::read_set(ObjectReader& reader, ProgramOp& op) {
  op.kind = OpKind::set;
  const JsonValue& written = *reader.raw("set");
  const std::string pointer = reader.pointer_of("set");
  if (!written.is_object()) {
    reader.wrong("set", "wrong-type", "what is set has a name", {}, R"(write {"y": "2 * x"})");
    return;
  }
  for (const JsonValue::Member& member : written.members()) {
    const std::string here = pointer_to(pointer, member.key);
    if (!is_program_name(member.key))
      wrong(member.value, here, "bad-name", "this is no name of a buffer");
    ProgramNames names = names_;
    names.buffers = &program_->buffers;
    ProgramExpression value;
    if (member.value.is_number())
      value = ProgramExpression(member.value.number());
    else if (member.value.is_string())
      value = ProgramExpression::read(member.value, member.value.string(), here, names, false,
                                      diagnostics());
    else
      wrong(member.value, here, "wrong-type", "a number or an expression is needed");
    const std::size_t buffer = index_of(program_->buffers, member.key);
    defined_.insert(buffer);
    op.assignments.push_back({buffer, std::move(value)});
  }
}

void ProgramReader::read_repeat(ObjectReader& reader, ProgramOp& op) {
  op.kind = OpKind::repeat;
  op.number = expression(reader, "repeat");
  const auto name = reader.text("as");
  if (name) {
    if (const std::string why_not = names_.why_no_other(*name); !why_not.empty())
      reader.wrong("as", "bad-name", why_not);
    op.variable = names_.numbers.size();
    names_.numbers.push_back(*name);
    program_->numbers = std::max(program_->numbers, names_.numbers.size());
  }
  reader.need({"do"});
  if (const JsonValue* const body = reader.raw("do"))
    op.body = read_body(*body, reader.pointer_of("do"));
  if (name) names_.numbers.pop_back();
}

// On a stream of its own.
void ProgramReader::make_async(ProgramOp& op) {
  op.is_async = true;
  if (op.kind != OpKind::collective) return;
  int& stream = program_->async_streams[op.communicator];
  const std::string& name = program_->communicators[op.communicator].name;
  if (stream < 0) stream = stream_number(name + " (asynchronous)");
}

void ProgramReader::read_group(ObjectReader& reader, ProgramOp& op) {
  op.kind = OpKind::group;
  const JsonValue& written = *reader.raw("group");
  op.body = read_body(written, reader.pointer_of("group"));
  for (ProgramOp& member : op.body) {
    const bool fits = member.kind == OpKind::send || member.kind == OpKind::receive ||
                      member.kind == OpKind::collective;
    if (!fits)
      diagnostics().add({.code = "not-applicable",
                         .message = "a group has messages and collectives only",
                         .place = program_->places[member.place],
                         .pointer = reader.pointer_of("group")});
    if (fits) make_async(member);
  }
}

void ProgramReader::read_async(ObjectReader& reader, ProgramOp& op) {
  const std::uint32_t place = op.place;
  auto inner = read_op(*reader.raw("async"), reader.pointer_of("async"));
  const auto handle = reader.text("as");
  if (!inner) return;
  op = std::move(*inner);
  op.place = place;
  const bool is_message = op.kind == OpKind::send || op.kind == OpKind::receive;
  if (op.is_posted || (!is_message && op.kind != OpKind::collective)) {
    reader.wrong("async", "not-applicable",
                 op.is_posted ? "nothing waits for a post anyway"
                              : "only messages and collectives can be asynchronous",
                 {}, "put other work on a stream of its own");
    return;
  }
  make_async(op);
  if (!handle) return;
  op.event = index_of(program_->events, *handle);
  program_->waiters.resize(program_->events.size());
}

void ProgramReader::read_communicator(ObjectReader& reader, ProgramOp& op) {
  const std::string name = reader.text("group").value_or("world");
  auto& all = program_->communicators;
  auto found = std::ranges::find(all, name, &Communicator::name);
  if (found == all.end() && name == "world") {
    all.push_back({"world", {first_ranks(static_cast<std::size_t>(program_->ranks))}, 0});
    program_->async_streams.push_back(-1);
    found = all.end() - 1;
  }
  if (found == all.end()) {
    std::string known;
    for (const Communicator& one : all) known += one.name + ", ";
    reader.wrong("group", "unknown-name", "there is no group " + quoted(name), {},
                 "there are " + known + "world");
    return;
  }
  op.communicator = static_cast<std::uint16_t>(found - all.begin());
}

void ProgramReader::read_algorithm(ObjectReader& reader, ProgramOp& op) {
  Vocabulary words = algorithm_words(op.call.operation);
  std::erase_if(words.allowed, [](const std::string& word) { return is_policy(word); });
  op.choice.name = reader.word("algorithm", words, words.allowed.front());
  op.choice.chunks = static_cast<int>(reader.integer("chunks", 1, max_chunks, 1));
  const auto channels = reader.integer("channels", 1, max_channels);
  op.choice.channels = static_cast<int>(channels.value_or(1));
  if (op.communicator >= program_->communicators.size() || cluster_ == nullptr) return;
  Communicator& communicator = program_->communicators[op.communicator];
  try {
    for (const std::vector<Rank>& group : communicator.groups)
      validate(op.choice, find_algorithm(op.call.operation, op.choice.name),
               static_cast<int>(group.size()));
    spread_over_nics(op.choice, channels.has_value(), *cluster_, communicator.groups);
    communicator.lanes = std::max(communicator.lanes, lanes_of(op.call.operation, op.choice));
  } catch (const Error& error) {
    reader.wrong("algorithm", error);
  }
}

void ProgramReader::read_call(ObjectReader& reader, const std::string& key, ProgramOp& op) {
  op.kind = OpKind::collective;
  op.call.operation = parse_operation(key);
  const Operation operation = op.call.operation;
  read_communicator(reader, op);
  read_algorithm(reader, op);
  if (reduces(operation))
    op.call.reduction = parse_reduction(reader.word("reduction", reduction_words(), "sum"));
  if (has_root(operation)) {
    op.has_root = reader.has("root");
    op.number = expression(reader, "root");
  }
  op.call.in_place = false;
  if (operation == Operation::barrier) {
    if (const JsonValue& written = *reader.raw(key); !written.is_boolean() || !written.boolean())
      reader.wrong(key, "wrong-type", "a barrier has no buffer", {}, R"(write "barrier": true)");
    return;
  }
  op.size = reader.size("size");
  op.buffer = read_buffer_name(reader, key.c_str(), false);
  op.into = reader.raw("into") != nullptr ? read_buffer_name(reader, "into", true) : op.buffer;
  op.call.in_place = op.into == op.buffer && operation != Operation::all_to_all;
}

}  // namespace

std::shared_ptr<const WrittenProgram> read_program(ObjectReader& workload, const Cluster* cluster) {
  return ProgramReader(workload, cluster).read();
}

}  // namespace collsim
