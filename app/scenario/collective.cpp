// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/collective.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "app/json/value.hpp"
#include "app/scenario/collective_internal.hpp"
#include "app/scenario/object_reader.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/vocabulary.hpp"
#include "collectives/listed_schedule.hpp"

namespace collsim {
namespace {

// Positions look their pair up one by one.
constexpr std::size_t max_pairs = 10'000;
constexpr auto highest_rank = static_cast<std::int64_t>(max_ranks) - 1;

std::string ranks_of(std::size_t count) {
  return count == 1 ? "the cluster has one rank, 0"
                    : "the cluster has ranks 0 to " + std::to_string(count - 1);
}

// The position of a rank; nothing: it is not in the group.
std::optional<int> position_of(std::int64_t rank, const std::vector<Rank>& group) {
  if (rank < 0 || rank > highest_rank) return std::nullopt;
  const Rank wanted(static_cast<std::size_t>(rank));
  if (wanted.index() < group.size() && group[wanted.index()] == wanted)
    return static_cast<int>(wanted.index());
  const auto found = std::find(group.begin(), group.end(), wanted);
  if (found == group.end()) return std::nullopt;
  return static_cast<int>(found - group.begin());
}

std::string not_in_the_group(std::int64_t rank) {
  return "rank " + std::to_string(rank) + " does not take part";
}

std::string who_takes_part(const std::vector<Rank>& group) {
  constexpr std::size_t most_shown = 16;
  if (group.front() == Rank(0) && group.back() == Rank(group.size() - 1))
    return group.size() == 1 ? "only rank 0 takes part"
                             : "ranks 0 to " + std::to_string(group.size() - 1) + " take part";
  std::string text = "these ranks take part:";
  for (std::size_t i = 0; i < std::min(group.size(), most_shown); ++i)
    text += (i == 0 ? " " : ", ") + std::to_string(group[i].index());
  return text + (group.size() > most_shown ? ", ..." : "");
}

class PairsReader {
 public:
  PairsReader(ObjectReader& reader, const std::vector<Rank>& group)
      : reader_(&reader), group_(&group) {}

  std::vector<std::pair<int, int>> read(const JsonValue& list) {
    std::vector<std::pair<int, int>> pairs;
    if (list.items().size() > max_pairs) {
      reader_->wrong("pattern", "too-large",
                     "a pattern has at most " + std::to_string(max_pairs) + " pairs, not " +
                         std::to_string(list.items().size()));
      return pairs;
    }
    for (std::size_t i = 0; i < list.items().size(); ++i) {
      const JsonValue& item = list.items()[i];
      const bool is_pair = item.is_array() && item.items().size() == 2 &&
                           item.items()[0].integer() && item.items()[1].integer();
      if (!is_pair) {
        wrong(i, "wrong-type", "each pair is a list of two ranks, [from, to]");
      } else if (!group_->empty()) {
        const auto pair = positions(i, *item.items()[0].integer(), *item.items()[1].integer());
        if (pair) pairs.push_back(*pair);
      }
    }
    return pairs;
  }

 private:
  std::optional<std::pair<int, int>> positions(std::size_t i, std::int64_t from, std::int64_t to) {
    const std::optional<int> source = position_of(from, *group_);
    const std::optional<int> target = position_of(to, *group_);
    if (!source || !target)
      return wrong(i, "unknown-rank", not_in_the_group(source ? to : from),
                   who_takes_part(*group_));
    if (!senders_.insert(from).second)
      wrong(i, "repeated", "rank " + std::to_string(from) + " sends more than once");
    if (!receivers_.insert(to).second)
      wrong(i, "repeated", "rank " + std::to_string(to) + " receives more than once");
    return std::pair(*source, *target);
  }

  Refusal wrong(std::size_t i, const char* code, const std::string& message,
                const std::string& hint = {}) {
    return wrong_item(*reader_, "pattern", i, code, message, hint);
  }

  ObjectReader* reader_;
  const std::vector<Rank>* group_;
  std::unordered_set<std::int64_t> senders_, receivers_;
};

int read_shift(ObjectReader& reader, const JsonValue& pattern) {
  ObjectReader inner(pattern, reader.pointer_of("pattern"), reader.diagnostics());
  inner.need({"shift"});
  const std::int64_t distance = inner.integer("shift", -highest_rank, highest_rank, 1);
  reader.resolve("pattern", inner.finish());
  return static_cast<int>(distance);
}

constexpr std::int64_t max_slots = 1 << 30;

class CollectiveReader {
 public:
  CollectiveReader(const JsonValue& value, const std::string& pointer,
                   const CollectiveContext& context, Diagnostics& diagnostics)
      : reader_(value, pointer, diagnostics), context_(&context) {}

  std::optional<CollectiveReading> read(JsonValue& resolved) {
    read_operation();
    read_types();
    read_who();
    read_knobs();
    read_dims();
    read_size_and_data();
    if (reader_.diagnostics().empty() && context_->cluster != nullptr) check_with_the_core();
    resolved = reader_.finish();
    if (!reader_.diagnostics().empty() || context_->cluster == nullptr) return std::nullopt;
    return std::move(reading_);
  }

 private:
  Collective& collective() { return reading_.collective; }
  AlgorithmChoice& choice() { return reading_.choice; }

  void read_operation() {
    reader_.need({"op"});
    const std::optional<std::string> op = reader_.word("op", operation_words());
    const JsonValue* algorithm = reader_.raw("algorithm");
    if (!op) return;
    known_operation_ = true;
    collective().operation = parse_operation(*op);
    if (algorithm != nullptr && algorithm->is_object()) return read_listed(*algorithm);
    const std::optional<std::string> word =
        reader_.word("algorithm", algorithm_words(collective().operation));
    if (algorithm == nullptr) reader_.resolve("algorithm", default_algorithm());
    if (algorithm == nullptr || word)
      choice().name = algorithm == nullptr ? default_algorithm() : *word;
    by_default_ = algorithm == nullptr;
  }

  // On a real machine what runs there: NCCL's choice.  It is one that has a name, or whose links
  // say what NCCL's protocols cost on them, as those of imported machines do.
  std::string default_algorithm() {
    const Cluster* const cluster = context_->cluster;
    const bool is_real = cluster != nullptr && (!cluster->preset.empty() ||
                                                cluster->topology.carries(LinkProtocol::simple));
    if (is_real && collective().operation != Operation::barrier) return "nccl";
    return algorithm_words(collective().operation).allowed.front();
  }

  void read_listed(const JsonValue& algorithm) {
    ObjectReader inner(algorithm, reader_.pointer_of("algorithm"), reader_.diagnostics());
    const std::optional<std::string> file = inner.text("msccl");
    inner.need({"msccl"});
    reader_.resolve("algorithm", inner.finish());
    if (!file) return;
    static const ProgramFiles no_files;
    const ProgramFiles& known = context_->programs != nullptr ? *context_->programs : no_files;
    const auto found = known.find(*file);
    if (found == known.end()) {
      reader_.wrong("algorithm", "unread-file", quoted(*file) + " was not read", {},
                    "sweep whole values: \"collective.algorithm\": [{\"msccl\": \"file.xml\"}]");
      return;
    }
    if (!found->second) return;  // what is wrong with it was said
    choice().list = found->second;
    choice().name = std::string(listed_prefix) + found->second->file;
  }

  static std::string list_of(const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
    return list;
  }

  // Whether a key means something here.  Where it means nothing it is a mistake, unless a sweep
  // goes over what decides that.
  bool applies(const char* key, bool meaningful, bool varies, const std::string& whose) {
    if (meaningful || !known_operation_) return true;
    if (reader_.has(key) && !varies) {
      static_cast<void>(reader_.raw(key));
      const bool whatever_runs = whose.starts_with("means nothing for");
      const bool chosen_by_default = by_default_ && choice().name == "nccl" && !whatever_runs;
      return reader_.wrong(key, "not-applicable", "\"" + std::string(key) + "\" " + whose, {},
                           chosen_by_default ? "omit it, or name an algorithm: on a preset or an "
                                               "imported machine nccl is the default"
                                             : "omit it");
    }
    return reader_.has(key);
  }

  std::string this_operation() { return std::string(to_string(collective().operation)); }
  [[nodiscard]] bool operation_varies() const { return context_->operation_varies; }
  [[nodiscard]] bool algorithm_varies() const {
    return context_->operation_varies || context_->algorithm_varies;
  }
  enum class UnderAuto : std::uint8_t { any_candidate, none };
  // Whether the algorithm listens to a knob.
  bool heeds(bool OwnKnobs::*knob, UnderAuto under_auto = UnderAuto::any_candidate) {
    const std::string& name = choice().name;
    if (name.empty()) return true;  // a mistake, reported elsewhere
    const bool any = name == "auto" && under_auto == UnderAuto::any_candidate;
    for (const Algorithm* row : algorithms(collective().operation))
      if ((any || row->name == name) && row->knobs.*knob) return true;
    return false;
  }
  bool applies(const char* key, bool OwnKnobs::*knob) {
    if (!reader_.has(key)) return !known_operation_ || heeds(knob);
    return applies(key, heeds(knob), algorithm_varies(), "is only for " + algorithms_with(knob));
  }

  void read_types() {
    const std::optional<std::string> type = reader_.word("dtype", element_type_words());
    if (type) collective().type = parse_element_type(*type);
    known_type_ = type || !reader_.has("dtype");
    if (!reader_.has("dtype")) reader_.resolve("dtype", element_type_word(collective().type));
    if (applies("reduction", reduces(collective().operation), operation_varies(),
                "means nothing for " + this_operation() + ", which adds nothing up"))
      collective().reduction = parse_reduction(reader_.word("reduction", reduction_words(), "sum"));
  }

  void read_who() {
    collective().group = read_group(reader_, context_->cluster);
    const Operation operation = collective().operation;
    if (applies("root", has_root(operation) || heeds(&OwnKnobs::root, UnderAuto::none),
                algorithm_varies(),
                "means nothing for " + this_operation() + ", which has no root"))
      collective().root = read_root(reader_, collective().group);
    const Operation exchanging[] = {Operation::all_to_all, Operation::send_recv,
                                    Operation::barrier};
    const bool in_place_exists =
        std::find(std::begin(exchanging), std::end(exchanging), operation) == std::end(exchanging);
    if (applies("in_place", in_place_exists, operation_varies(),
                "means nothing for " + this_operation() + ", which has no in-place form"))
      collective().in_place =
          reader_.boolean("in_place", choice().list && !choice().list->out_of_place) &&
          in_place_exists;
    if (applies("pattern", operation == Operation::send_recv, operation_varies(),
                "means nothing for " + this_operation() + ", only for send-recv"))
      collective().pattern = read_pattern(reader_, collective().group);
  }

  void read_nccl_choice() {
    const bool chooses = choice().name == "nccl" || choice().name.empty();
    const Operation operation = collective().operation;
    const bool exchanges = operation == Operation::all_to_all || operation == Operation::gather ||
                           operation == Operation::scatter || operation == Operation::send_recv;
    if (chooses && exchanges)
      static_cast<void>(applies("nccl_algo", false, operation_varies(),
                                "means nothing for " + this_operation() +
                                    ", for which NCCL has only sends and receives"));
    const std::string whose = "is only for the algorithm nccl";
    if (!exchanges && applies("nccl_algo", chooses, algorithm_varies(), whose))
      read_nccl_list("nccl_algo", read_nccl_algorithms);
    if (applies("nccl_proto", chooses, algorithm_varies(), whose))
      read_nccl_list("nccl_proto", read_nccl_protocols);
    if (!applies("nccl_tuner", chooses, algorithm_varies(), whose)) return;
    static const Vocabulary tuners{.what = "tuner of NCCL", .allowed = {"fastest", "2.28"}};
    const std::string tuner = reader_.word("nccl_tuner", tuners, "fastest");
    if (tuner != "fastest") reading_.nccl_choice.tuner = tuner;
  }

  void read_nccl_list(const char* key, std::string (*parse)(std::string_view, NcclChoice&)) {
    const std::optional<std::string> list = reader_.text(key);
    if (!list) return;
    const std::string mistake = parse(*list, reading_.nccl_choice);
    if (!mistake.empty())
      reader_.wrong(
          key, "unknown-name", mistake, {},
          "names with commas between, after a ^ all but these: \"Ring,Tree\", \"^LL128\"");
  }

  void read_knobs() {
    read_nccl_choice();
    if (choice().name == "nccl") {
      for (const char* key : {"chunks", "chunk_size", "channels", "slots", "radix", "aggregation"})
        static_cast<void>(applies(key, false, algorithm_varies(),
                                  "is chosen by NCCL, and so by the algorithm nccl"));
      return;
    }
    const bool is_auto = choice().name == "auto";
    reader_.at_most_one_of({"chunks", "chunk_size"});
    choice().chunk_size = reader_.size("chunk_size");
    if (choice().chunk_size == 0)
      reader_.wrong("chunk_size", "out-of-range", "a chunk has at least 1 byte");
    reading_.open.chunks = is_auto && !reader_.has("chunks") && !reader_.has("chunk_size");
    if (!reading_.open.chunks && (!reader_.has("chunk_size") || reader_.has("chunks")))
      choice().chunks = static_cast<int>(reader_.integer("chunks", 1, max_chunks, 1));
    else
      static_cast<void>(reader_.raw("chunks"));
    read_channels();
    if (const auto slots = reader_.integer("slots", 1, max_slots))
      choice().slots = static_cast<int>(*slots);
    if (applies("radix", &OwnKnobs::radix)) read_radix();
    if (applies("aggregation", &OwnKnobs::aggregation))
      if (const auto blocks = reader_.integer("aggregation", 1, max_ranks))
        choice().aggregation = static_cast<int>(*blocks);
  }

  void read_radix() {
    const std::optional<std::int64_t> radix = reader_.integer("radix", 2, max_radix);
    if (radix) choice().radix = static_cast<int>(*radix);
    if (!radix && !is_policy(choice().name)) reader_.resolve("radix", choice().radix);
  }

  void read_dims() {
    reading_.open.dims = !reader_.has("dims");
    if (!applies("dims", &OwnKnobs::dims)) return;
    if (reader_.has("dims")) {
      const auto dims = read_integers(reader_, "dims", 1, max_ranks);
      if (dims) choice().dims.assign(dims->begin(), dims->end());
      return;
    }
    static_cast<void>(reader_.raw("dims"));
    if (const Algorithm* const row = chosen_row()) {
      choice().dims = natural_dims(*row, context_->cluster->topology, collective().group);
      JsonValue::Array sizes(choice().dims.begin(), choice().dims.end());
      reader_.resolve("dims", JsonValue(std::move(sizes)));
    }
  }

  // Null where it is a policy, or where there is no machine for it.
  const Algorithm* chosen_row() {
    if (context_->cluster == nullptr || collective().group.empty()) return nullptr;
    for (const Algorithm* row : algorithms(collective().operation))
      if (row->name == choice().name) return row;
    return nullptr;
  }

  void read_channels() {
    if (!applies("channels", choice().list == nullptr, algorithm_varies(),
                 "means nothing for a program from a file, which has its own channels"))
      return;
    reading_.open.channels = choice().name == "auto" && !reader_.has("channels");
    if (reading_.open.channels)
      static_cast<void>(reader_.raw("channels"));
    else
      choice().channels =
          static_cast<int>(reader_.integer("channels", 1, max_channels, channels_by_default()));
    if (choice().list) choice().channels = 1;
  }

  int channels_by_default() {
    const Algorithm* const row = chosen_row();
    if (row == nullptr) return 1;
    const Topology& topology = context_->cluster->topology;
    std::vector<int> dims;
    const JsonValue* const written = reader_.raw("dims");
    if (written == nullptr) dims = natural_dims(*row, topology, collective().group);
    if (written != nullptr && written->is_array())
      for (const JsonValue& dim : written->items())
        dims.push_back(static_cast<int>(dim.integer().value_or(0)));
    return default_channels(*row, dims, topology, collective().group);
  }

  void read_size_and_data() {
    if (known_operation_ && collective().operation == Operation::barrier)
      return read_nothing_to_move();
    const std::optional<Bytes> size = reader_.size("size");
    if (!reader_.has("data")) reader_.need({"size"});
    if (size && known_type_) read_count(*size);
    const bool known = known_operation_ && known_type_ && (size || !reader_.has("size"));
    reading_.data = known ? read_data(reader_, collective()) : std::nullopt;
    if (!known) static_cast<void>(reader_.raw("data"));
    if (!reading_.data) return;
    if (!reader_.has("size")) reader_.resolve("size", exact_size(collective().bytes()));
    reader_.resolve("data", *reader_.raw("data"));
  }

  void read_nothing_to_move() {
    const std::optional<Bytes> size = reader_.size("size");
    const JsonValue* data = reader_.raw("data");
    if (operation_varies()) {
      if (data != nullptr) reader_.resolve("data", *data);
      return;
    }
    for (const char* key : {"size", "data"})
      if (key == std::string_view("size") ? size.value_or(0) != 0 : data != nullptr)
        reader_.wrong(key, "not-applicable", "a barrier moves no data", {}, "omit it");
  }

  void read_count(Bytes size) {
    const Bytes element = size_of(collective().type);
    collective().count = size / element;
    const Bytes below = size - size % element;
    if (size == below) return;
    const std::string type(element_type_word(collective().type));
    constexpr Bytes most = std::numeric_limits<Bytes>::max();
    reader_.wrong("size", "not-whole-elements",
                  exact_size(size) + " is not a whole number of elements: " + type + " has " +
                      std::to_string(element) + " bytes",
                  {},
                  "write " + quoted(exact_size(below)) +
                      (below > most - element ? std::string()
                                              : " or " + quoted(exact_size(below + element))));
  }

  // What is left to be wrong once every key is right by itself.
  bool check_with_the_core() {
    try {
      validate(collective());
    } catch (const Error& error) {
      return reader_.wrong(error.code() == ErrorCode::too_large ? "size" : "op", error);
    }
    if (choice().list) return check_listed();
    const bool choose = is_policy(choice().name);
    const Algorithm& algorithm =
        find_algorithm(collective().operation, choose ? std::string() : choice().name);
    try {
      validate(choice(), algorithm, collective().size());
    } catch (const Error& error) {
      const bool ranks = error.code() == ErrorCode::unsupported_ranks;
      const bool large = error.code() == ErrorCode::too_large;
      return reader_.wrong(ranks ? "algorithm" : large ? "channels" : "dims", error);
    }
    if (!choice().chunk_size || choose) return true;
    try {
      static_cast<void>(make_schedule(collective(), choice()));
    } catch (const Error& error) {
      return reader_.wrong("chunk_size", error);
    }
    return true;
  }

  bool check_listed() {
    Collective fitting = collective();
    fitting.count = choice().list->blocks;
    try {
      static_cast<void>(make_schedule(fitting, choice()));
    } catch (const Error& error) {
      return reader_.wrong("algorithm", error);
    }
    try {
      static_cast<void>(make_schedule(collective(), choice()));
    } catch (const Error& error) {
      const bool chunk = choice().chunk_size && error.code() == ErrorCode::too_large;
      return reader_.wrong(chunk ? "chunk_size" : "size", error);
    }
    return true;
  }

  ObjectReader reader_;
  const CollectiveContext* context_;
  CollectiveReading reading_;
  bool known_operation_ = false;
  bool known_type_ = false;
  bool by_default_ = false;  // the algorithm
};

}  // namespace

Refusal wrong_item(ObjectReader& reader, std::string_view key, std::size_t index, std::string code,
                   std::string message, std::string hint) {
  const JsonValue* list = reader.raw(key);
  return reader.diagnostics().add({.code = std::move(code),
                                   .message = std::move(message),
                                   .place = list->items()[index].place,
                                   .pointer = pointer_to(reader.pointer_of(key), index),
                                   .hint = std::move(hint)});
}

std::optional<std::vector<std::int64_t>> read_integers(ObjectReader& reader, std::string_view key,
                                                       std::int64_t low, std::int64_t high) {
  const JsonValue* list = reader.raw(key);
  if (list == nullptr) return std::nullopt;
  if (!list->is_array() || list->items().empty())
    return reader.wrong(key, "wrong-type",
                        "a list of whole numbers is needed, not " +
                            (list->is_array() ? "an empty one" : std::string(list->kind_name())));
  std::vector<std::int64_t> numbers;
  bool fine = true;
  for (std::size_t i = 0; i < list->items().size(); ++i) {
    const std::optional<std::int64_t> number = list->items()[i].integer();
    fine = number && *number >= low && *number <= high;
    if (!fine) {
      wrong_item(reader, key, i, number ? "out-of-range" : "wrong-type",
                 "a whole number from " + std::to_string(low) + " to " + std::to_string(high) +
                     " is needed");
      break;
    }
    numbers.push_back(*number);
  }
  if (!fine) return std::nullopt;
  reader.resolve(key, *list);
  return numbers;
}

std::vector<Rank> read_group(ObjectReader& reader, const Cluster* cluster) {
  const auto count = cluster != nullptr ? cluster->topology.rank_count() : max_ranks;
  if (!reader.has("ranks")) {
    static_cast<void>(reader.raw("ranks"));
    return cluster != nullptr ? first_ranks(count) : std::vector<Rank>();
  }
  const auto numbers = read_integers(reader, "ranks", 0, highest_rank);
  if (!numbers) return {};
  std::vector<Rank> group;
  std::unordered_set<std::int64_t> seen;
  bool fine = true;
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    const std::int64_t number = (*numbers)[i];
    const bool exists = static_cast<std::size_t>(number) < count;
    const bool once = seen.insert(number).second;
    if (!exists)
      wrong_item(reader, "ranks", i, "unknown-rank", "there is no rank " + std::to_string(number),
                 ranks_of(count));
    if (!once)
      wrong_item(reader, "ranks", i, "repeated",
                 "rank " + std::to_string(number) + " is in the group more than once");
    fine = fine && exists && once;
    group.emplace_back(static_cast<std::size_t>(number));
  }
  return fine ? group : std::vector<Rank>();
}

int read_root(ObjectReader& reader, const std::vector<Rank>& group) {
  const bool written = reader.has("root");
  const std::optional<std::int64_t> root = reader.integer("root", 0, highest_rank);
  if (group.empty() || (written && !root)) return 0;
  if (!written) {
    reader.resolve("root", static_cast<std::int64_t>(group.front().index()));
    return 0;
  }
  const std::optional<int> position = position_of(*root, group);
  if (!position)
    reader.wrong("root", "unknown-rank",
                 "rank " + std::to_string(*root) + ", the root, does not take part", {},
                 who_takes_part(group));
  return position.value_or(0);
}

Pattern read_pattern(ObjectReader& reader, const std::vector<Rank>& group) {
  Pattern pattern;
  const JsonValue* value = reader.raw("pattern");
  const auto resolve_shift_by_one = [&] {
    JsonValue shift = JsonValue::object({{"shift", 1}});
    if (value != nullptr) shift.place = value->place;
    reader.resolve("pattern", std::move(shift));
  };
  if (value == nullptr) {
    resolve_shift_by_one();
  } else if (value->is_object()) {
    pattern.distance = read_shift(reader, *value);
  } else if (value->is_array()) {
    pattern.kind = Pattern::Kind::pairs;
    pattern.pairs = PairsReader(reader, group).read(*value);
    reader.resolve("pattern", *value);
  } else if (value->is_string()) {
    static const Vocabulary words{.what = "pattern", .allowed = {"shift", "exchange"}};
    if (reader.word("pattern", words) == "exchange")
      pattern.kind = Pattern::Kind::exchange;
    else
      resolve_shift_by_one();
  } else {
    reader.wrong("pattern", "wrong-type",
                 "a pattern is a word, an object or a list, not " + std::string(value->kind_name()),
                 {}, "\"shift\", \"exchange\", {\"shift\": 2} or [[0, 1], [1, 0]]");
  }
  return pattern;
}

std::optional<CollectiveReading> read_collective(const JsonValue& collective,
                                                 const std::string& pointer,
                                                 const CollectiveContext& context,
                                                 Diagnostics& diagnostics, JsonValue& resolved) {
  return CollectiveReader(collective, pointer, context, diagnostics).read(resolved);
}

}  // namespace collsim
