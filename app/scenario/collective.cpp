// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/collective.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "app/json/write_json.hpp"
#include "app/scenario/collective_parts.hpp"
#include "app/scenario/object_reader.hpp"
#include "app/scenario/quantities.hpp"
#include "app/scenario/vocabulary.hpp"

namespace collsim {
namespace {

constexpr std::int64_t max_slots = 1 << 30;

class CollectiveReader {
 public:
  CollectiveReader(const Value& value, const std::string& pointer, const CollectiveContext& context,
                   Diagnostics& diagnostics)
      : reader_(value, pointer, diagnostics), context_(&context) {}

  std::optional<CollectiveReading> read(Value& resolved) {
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
    const Value* algorithm = reader_.raw("algorithm");
    if (!op) return;
    known_operation_ = true;
    collective().operation = parse_operation(*op);
    if (algorithm != nullptr && algorithm->is_string() &&
        is_in_switch_algorithm(algorithm->string())) {
      reader_.wrong("algorithm", "not-simulated",
                    quoted(algorithm->string()) +
                        " adds up inside of the switches, which is not "
                        "simulated",
                    {}, "allowed: " + list_of(algorithm_words(collective().operation).allowed));
      return;
    }
    const Vocabulary& words = algorithm_words(collective().operation);
    const std::optional<std::string> word = reader_.word("algorithm", words);
    if (algorithm == nullptr) reader_.resolve("algorithm", words.allowed.front());
    if (algorithm == nullptr || word)
      choice().name = algorithm == nullptr ? words.allowed.front() : *word;
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
      reader_.wrong(key, "not-applicable", "\"" + std::string(key) + "\" " + whose, {},
                    "leave it away");
      return false;
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
      collective().in_place = reader_.boolean("in_place", false) && in_place_exists;
    if (applies("pattern", operation == Operation::send_recv, operation_varies(),
                "is only for send-recv"))
      collective().pattern = read_pattern(reader_, collective().group);
  }

  void read_knobs() {
    reader_.at_most_one_of({"chunks", "chunk_size"});
    choice().chunk_size = reader_.size("chunk_size");
    if (choice().chunk_size == 0)
      reader_.wrong("chunk_size", "out-of-range", "a chunk has at least 1 byte");
    if (!reader_.has("chunk_size") || reader_.has("chunks"))
      choice().chunks = static_cast<int>(reader_.integer("chunks", 1, max_chunks, 1));
    else
      static_cast<void>(reader_.raw("chunks"));
    choice().channels = static_cast<int>(reader_.integer("channels", 1, max_channels, 1));
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
    if (!radix && choice().name != "auto") reader_.resolve("radix", choice().radix);
  }

  void read_dims() {
    if (!applies("dims", &OwnKnobs::dims)) return;
    if (reader_.has("dims")) {
      const auto dims = read_integers(reader_, "dims", 1, max_ranks);
      if (dims) choice().dims.assign(dims->begin(), dims->end());
      return;
    }
    static_cast<void>(reader_.raw("dims"));
    if (context_->cluster == nullptr || collective().group.empty()) return;
    choice().dims = natural_dims();
    if (choice().name == "auto") return;
    Value::Array sizes(choice().dims.begin(), choice().dims.end());
    reader_.resolve("dims", Value(std::move(sizes)));
  }

  // The machine's own arrangement where all of it takes part, else the most square one.
  std::vector<int> natural_dims() {
    const std::vector<int>& of_machine = context_->cluster->topology.dims();
    std::int64_t product = of_machine.empty() ? 0 : 1;
    for (const int dim : of_machine) product *= dim;
    return product == collective().size() && !reader_.has("ranks")
               ? of_machine
               : squarest_dims(collective().size());
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
    const Value* data = reader_.raw("data");
    if (operation_varies()) {
      if (data != nullptr) reader_.resolve("data", *data);
      return;
    }
    for (const char* key : {"size", "data"})
      if (key == std::string_view("size") ? size.value_or(0) != 0 : data != nullptr)
        reader_.wrong(key, "not-applicable", "a barrier moves no data", {}, "leave it away");
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
  void check_with_the_core() {
    try {
      validate(collective());
    } catch (const Error& error) {
      return reader_.wrong(error.code() == ErrorCode::too_large ? "size" : "op", error);
    }
    const bool choose = choice().name == "auto";
    const Algorithm& algorithm =
        find_algorithm(collective().operation, choose ? std::string() : choice().name);
    try {
      validate(choice(), algorithm, collective().size());
    } catch (const Error& error) {
      const bool ranks = error.code() == ErrorCode::unsupported_ranks;
      const bool large = error.code() == ErrorCode::too_large;
      return reader_.wrong(ranks ? "algorithm" : large ? "channels" : "dims", error);
    }
    if (!choice().chunk_size || choose) return;
    try {
      static_cast<void>(make_schedule(collective(), choice()));
    } catch (const Error& error) {
      reader_.wrong("chunk_size", error);
    }
  }

  ObjectReader reader_;
  const CollectiveContext* context_;
  CollectiveReading reading_;
  bool known_operation_ = false;
  bool known_type_ = false;
};

}  // namespace

std::optional<CollectiveReading> read_collective(const Value& collective,
                                                 const std::string& pointer,
                                                 const CollectiveContext& context,
                                                 Diagnostics& diagnostics, Value& resolved) {
  return CollectiveReader(collective, pointer, context, diagnostics).read(resolved);
}

}  // namespace collsim
