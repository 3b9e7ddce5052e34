// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "app/import/workload/workload_parts.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

// Protobuf's wire format, as far as Chakra needs it: fields of a number and a value, one behind the
// other.  What goes beyond the end makes it broken.
class Wire {
 public:
  explicit Wire(std::string_view bytes) : bytes_(bytes) {}

  struct Field {
    std::uint64_t number = 0;
    bool is_text = false;     // of a length; else a number
    std::uint64_t value = 0;  // of a number, or its bits
    std::string_view text{};  // of a length
  };

  [[nodiscard]] bool at_end() const { return next_ >= bytes_.size(); }
  [[nodiscard]] bool is_broken() const { return broken_; }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_end()) break;
      const auto byte = static_cast<unsigned char>(bytes_[next_++]);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    broken_ = true;
    return 0;
  }

  std::string_view block(std::uint64_t length) {
    if (length > bytes_.size() - next_) {
      broken_ = true;
      next_ = bytes_.size();
      return {};
    }
    const std::string_view found = bytes_.substr(next_, static_cast<std::size_t>(length));
    next_ += static_cast<std::size_t>(length);
    return found;
  }

  Field field() {
    enum : std::uint64_t { number = 0, bits64 = 1, length = 2, bits32 = 5 };
    const std::uint64_t tag = varint();
    Field found{tag >> 3U};
    switch (tag & 7U) {
      case number: found.value = varint(); break;
      case bits64: found.value = fixed(block(sizeof(std::uint64_t))); break;
      case bits32: found.value = fixed(block(sizeof(std::uint32_t))); break;
      case length:
        found.is_text = true;
        found.text = block(varint());
        break;
      default: broken_ = true;
    }
    if (found.number == 0) broken_ = true;
    return found;
  }

 private:
  static std::uint64_t fixed(std::string_view bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;)
      value = value << 8U | static_cast<unsigned char>(bytes[i]);
    return value;
  }

  std::string_view bytes_;
  std::size_t next_ = 0;
  bool broken_ = false;
};

// The numbers of the fields in et_def.proto.
enum NodeField : std::uint64_t {
  node_id = 1,
  node_name = 2,
  node_type = 3,
  node_ctrl_deps = 4,
  node_data_deps = 5,
  node_duration = 7,
  node_attribute = 10
};
enum AttributeField : std::uint64_t {
  attribute_name = 1,
  attribute_first_whole = 7,  // int32, and from there on every kind of whole number and its list
  attribute_last_whole = 27,  // bool
  attribute_bool_list = 28,
  attribute_string = 29
};

bool add_numbers(const Wire::Field& field, std::vector<std::int64_t>& list) {
  if (!field.is_text) {
    list.push_back(static_cast<std::int64_t>(field.value));
    return true;
  }
  Wire packed(field.text);
  while (!packed.at_end() && !packed.is_broken())
    list.push_back(static_cast<std::int64_t>(packed.varint()));
  return !packed.is_broken();
}

// Values of sint kinds, fields 15 and 21 in the file, do not occur.
bool read_attribute(std::string_view bytes, ChakraNode& node) {
  Wire wire(bytes);
  std::string_view name, text;
  std::optional<std::int64_t> whole;
  bool has_false = false;
  while (!wire.at_end() && !wire.is_broken()) {
    const Wire::Field field = wire.field();
    if (field.number == attribute_name && field.is_text) name = field.text;
    if (field.number == attribute_string && field.is_text) text = field.text;
    if (field.number >= attribute_first_whole && field.number <= attribute_last_whole &&
        !field.is_text)
      whole = static_cast<std::int64_t>(field.value);
    if (field.number == attribute_bool_list && field.is_text) {
      Wire list(field.text);
      while (!list.at_end() && !list.is_broken()) {
        const Wire::Field item = list.field();
        std::vector<std::int64_t> flags;
        if (!add_numbers(item, flags)) return false;
        has_false = has_false || std::find(flags.begin(), flags.end(), 0) != flags.end();
      }
      if (list.is_broken()) return false;
    }
  }
  if (name == "is_cpu_op") node.on_host = whole.value_or(0) != 0;
  if (name == "comm_type") node.collective = whole;
  if (name == "comm_size") node.bytes = whole;
  if (name == "num_ops") node.operations = whole;
  if (name == "pg_name") node.group = std::string(text);
  if (name == "involved_dim") node.some_dimensions = has_false;
  return !wire.is_broken();
}

bool read_node(std::string_view bytes, ChakraNode& node) {
  constexpr std::uint64_t most_us = std::uint64_t{1} << 40U;
  Wire wire(bytes);
  while (!wire.at_end() && !wire.is_broken()) {
    const Wire::Field field = wire.field();
    switch (field.number) {
      case node_id: node.id = static_cast<std::int64_t>(field.value); break;
      case node_name: node.name = std::string(field.text); break;
      case node_type: node.kind = static_cast<std::int64_t>(field.value); break;
      case node_duration:
        if (field.value > most_us) return false;
        node.us = static_cast<double>(field.value);
        break;
      case node_ctrl_deps:
      case node_data_deps:
        if (!add_numbers(field, node.after)) return false;
        break;
      case node_attribute:
        if (!field.is_text || !read_attribute(field.text, node)) return false;
        break;
      default: break;
    }
  }
  return !wire.is_broken();
}

}  // namespace

// A message of a few bytes, of which every field is a text: the metadata, {version, attributes}.
bool looks_like_chakra_protobuf(std::string_view bytes) {
  constexpr char version = 0x0A, attribute = 0x12;
  Wire wire(bytes);
  const std::uint64_t length = wire.varint();
  const std::string_view message = wire.block(length);
  if (wire.is_broken() || message.empty()) return false;
  if (message.front() != version && message.front() != attribute) return false;
  Wire fields(message);
  while (!fields.at_end() && !fields.is_broken())
    if (!fields.field().is_text) return false;
  return !fields.is_broken();
}

std::optional<ImportedWorkload> read_chakra_protobuf(const WorkloadSource& file) {
  Wire wire(file.text());
  std::vector<ChakraNode> nodes;
  static_cast<void>(wire.block(wire.varint()));  // the metadata
  while (!wire.at_end()) {
    ChakraNode node;
    node.place = {file.source, 0, 0};
    const bool read = read_node(wire.block(wire.varint()), node);
    if (wire.is_broken() || !read)
      return file.refuse("cut", fmt::format("the file is damaged or cut in the message behind {}",
                                            count_text(nodes.size(), "node")));
    nodes.push_back(std::move(node));
  }
  return workload_of(std::move(nodes), file);
}

}  // namespace collsim
