// SPDX-License-Identifier: Apache-2.0
#include "app/import/msccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <pugixml.hpp>
#include <string>
#include <utility>

#include "app/import/msccl_internal.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

struct CollectiveName {
  std::string_view name;
  std::optional<Operation> operation;
};
constexpr std::array<CollectiveName, 7> collective_names{{
    {"allreduce", Operation::all_reduce},
    {"allgather", Operation::all_gather},
    {"reduce_scatter", Operation::reduce_scatter},
    {"alltoall", Operation::all_to_all},
    {"broadcast", Operation::broadcast},
    {"reduce", Operation::reduce},
    {"custom", std::nullopt},
}};

constexpr std::array<MscclOperation, 9> step_types{{
    {"s", Op::send},
    {"r", Op::receive},
    {"rcs", Op::receive_send},
    {"rrc", Op::receive_reduce},
    {"rrs", Op::receive_reduce_send},
    {"rrcs", Op::receive_reduce_store_send},
    {"cpy", Op::copy},
    {"re", Op::local_reduce},
    {"nop", std::nullopt},
}};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-' ||
         c == ':' || c == '.';
}

// The elements that a text has opened and not closed, the outermost first; the last one may be a
// tag that does not end.
struct OpenElements {
  std::vector<std::string> names;
  bool inside_tag = false;
  std::size_t last_tag = 0;  // where that one begins
};
OpenElements open_elements(std::string_view text) {
  OpenElements open;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at)) {
    const bool comment = text.substr(at, 4) == "<!--";
    const std::size_t end = comment ? text.find("-->", at + 4) : text.find('>', at);
    const bool closes = text.substr(at, 2) == "</";
    std::size_t name_end = at + 1;
    while (name_end < text.size() && is_name_character(text[name_end])) ++name_end;
    const std::string name(text.substr(at + 1, name_end - at - 1));
    if (end == std::string_view::npos) {
      open.inside_tag = true;
      open.last_tag = at;
      open.names.push_back(comment ? "!--" : closes ? "/" : name);
      return open;
    }
    if (closes && !open.names.empty()) open.names.pop_back();
    if (!name.empty() && text[end - 1] != '/') open.names.push_back(name);
    at = end + 1;
  }
  return open;
}

class MscclReader {
 public:
  MscclReader(std::uint32_t source, const Sources& sources, Diagnostics& diagnostics)
      : source_(source), text_(sources.text(source)), diagnostics_(&diagnostics) {
    list_.file = sources.name(source);
    for (std::size_t at = text_.find('\n'); at != std::string_view::npos;
         at = text_.find('\n', at + 1))
      line_ends_.push_back(at);
  }

  std::optional<ListedSchedule> read() {
    const std::size_t mistakes = diagnostics_->size();
    if (!parse()) return std::nullopt;
    const pugi::xml_node algorithm = root();
    if (!algorithm) return std::nullopt;
    read_algorithm(algorithm);
    read_gpus(algorithm);
    make_msccl_lanes(gpus_, list_, *diagnostics_);
    if (diagnostics_->size() > mistakes) return std::nullopt;
    return std::move(list_);
  }

 private:
  void wrong(SourceRange place, const char* code, std::string message, std::string hint = {}) {
    diagnostics_->add(
        {.code = code, .message = std::move(message), .place = place, .hint = std::move(hint)});
  }
  [[nodiscard]] SourceRange range(std::size_t begin, std::size_t end) const {
    const std::size_t last = std::min(end, text_.size());
    return {source_, static_cast<std::uint32_t>(std::min(begin, last)),
            static_cast<std::uint32_t>(last)};
  }

  // --- the XML ----------------------------------------------------------------------------------

  bool parse() {
    const pugi::xml_parse_result result =
        document_.load_buffer(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
    if (result) return true;
    const auto offset = static_cast<std::size_t>(result.offset);
    const OpenElements open = open_elements(text_);
    // The parser stops at the first thing that it cannot explain; when that is the end of the file,
    // nothing before it was wrong.
    const bool at_end = offset + 1 >= text_.size() || (open.inside_tag && offset >= open.last_tag);
    if (text_.find('<') == std::string_view::npos)
      wrong(range(0, 1), "not-xml", "this is no XML",
            "an MSCCL file begins with <algo name=... coll=... ngpus=...>");
    else if (at_end && !open.names.empty())
      wrong(at(text_.size()), "cut-off", where_it_ends(open),
            "get the whole file; what is missing cannot be guessed");
    else
      wrong(at(offset), "not-xml", lower(result.description()));
    return false;
  }

  static std::string where_it_ends(const OpenElements& open) {
    std::string missing;
    const bool comment = open.inside_tag && open.names.back() == "!--";
    const std::size_t whole = open.names.size() - (open.inside_tag ? 1 : 0);
    for (std::size_t i = whole; i-- > 0;)
      missing += (missing.empty() ? "</" : ", </") + open.names[i] + ">";
    std::string text = "the file is cut off: it ends ";
    if (comment)
      text += "inside a comment";
    else if (open.inside_tag)
      text += open.names.back() == "/" ? "inside an end tag" : "inside <" + open.names.back();
    else
      text += "inside <" + open.names.back() + ">";
    return text + (missing.empty() ? "" : ", before " + missing);
  }

  // The last character that is there.
  [[nodiscard]] SourceRange at(std::size_t offset) const {
    std::size_t begin = std::min(offset, text_.size());
    while (begin > 0 && (begin == text_.size() || text_[begin] == '\n' || text_[begin] == '\r'))
      --begin;
    return range(begin, begin + 1);
  }

  pugi::xml_node root() {
    pugi::xml_node found;
    for (const pugi::xml_node node : document_.children()) {
      if (node.type() != pugi::node_element) continue;
      if (found) {
        wrong(place_of(node), "not-msccl", "an MSCCL file holds one <algo>");
        return {};
      }
      found = node;
    }
    if (found && found.name() == std::string_view("algo")) return found;
    const std::string name = found ? found.name() : "";
    wrong(found ? place_of(found) : SourceRange{source_, 0, 0}, "not-msccl",
          found ? fmt::format("an MSCCL file begins with <algo>, not with <{}>", shortened(name))
                : "an MSCCL file begins with <algo>",
          name == "system"        ? "this is a topology of NCCL (NCCL_TOPO_FILE)"
          : name == "graphs"      ? "this is a graph of NCCL (NCCL_GRAPH_FILE)"
          : name == "msccl_algos" ? "this lists algorithm files; name one of them"
                                  : "");
    return {};
  }

  [[nodiscard]] SourceRange place_of(pugi::xml_node node) const {
    const auto begin = static_cast<std::size_t>(node.offset_debug());
    return range(begin - 1, begin + std::string_view(node.name()).size());
  }

  // pugixml does not remember where attributes are; this is for messages only.
  [[nodiscard]] SourceRange place_of(pugi::xml_node node, std::string_view key) const {
    const auto name = static_cast<std::size_t>(node.offset_debug());
    char quote = 0;
    for (std::size_t at = name; at < text_.size(); ++at) {
      const char c = text_[at];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '>') {
        break;
      } else if (text_.substr(at, key.size()) == key && !is_name_character(text_[at - 1]) &&
                 !is_name_character(text_[at + key.size()])) {
        const std::size_t open = text_.find_first_of("\"'", at);
        const std::size_t close =
            open == std::string_view::npos ? open : text_.find(text_[open], open + 1);
        if (close != std::string_view::npos) return range(at, close + 1);
      }
    }
    return place_of(node);
  }

  [[nodiscard]] int line_of(pugi::xml_node node) const {
    const auto offset = static_cast<std::size_t>(node.offset_debug());
    return 1 + static_cast<int>(std::lower_bound(line_ends_.begin(), line_ends_.end(), offset) -
                                line_ends_.begin());
  }

  // --- attributes -------------------------------------------------------------------------------

  std::string_view text_of(pugi::xml_node node, const char* key) {
    const pugi::xml_attribute attribute = node.attribute(key);
    if (attribute) return attribute.value();
    wrong(place_of(node), "missing-attribute", fmt::format("<{}> has no {}", node.name(), key));
    return {};
  }

  // `unclear` when it is wrong.
  std::int64_t number(pugi::xml_node node, const char* key, std::int64_t low, std::int64_t high) {
    const pugi::xml_attribute attribute = node.attribute(key);
    if (!attribute) {
      wrong(place_of(node), "missing-attribute", fmt::format("<{}> has no {}", node.name(), key));
      return unclear;
    }
    const std::string_view text = attribute.value();
    std::int64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size())
      wrong(place_of(node, key), "wrong-number",
            fmt::format("{} is a whole number, not \"{}\"", key, shortened(printable(text))));
    else if (value < low || value > high)
      wrong(place_of(node, key), "out-of-range",
            fmt::format("{} is {}, but must be {} to {}", key, value, low, high));
    else
      return value;
    return unclear;
  }
  std::int64_t number_or(pugi::xml_node node, const char* key, std::int64_t low, std::int64_t high,
                         std::int64_t otherwise) {
    return node.attribute(key) ? number(node, key, low, high) : otherwise;
  }
  int small(pugi::xml_node node, const char* key, std::int64_t low, std::int64_t high) {
    return static_cast<int>(number(node, key, low, high));
  }

  std::optional<Buffer> buffer(pugi::xml_node node, const char* key) {
    const std::string_view text = text_of(node, key);
    if (text == "i") return Buffer::input;
    if (text == "o") return Buffer::output;
    if (text == "s") return Buffer::scratch;
    if (node.attribute(key))
      wrong(place_of(node, key), "unknown-word",
            fmt::format("unknown buffer \"{}\"", shortened(printable(text))),
            "allowed: i (input), o (output), s (scratch)");
    return std::nullopt;
  }

  // Reads the children of that name; others are mistakes, because what they say would be lost.
  // Whether there were none of these.
  template <class Read>
  bool each(pugi::xml_node node, std::string_view name, const Read& read) {
    bool only_those = true;
    for (const pugi::xml_node child : node.children()) {
      if (child.type() != pugi::node_element) continue;
      if (child.name() == name) {
        read(child);
        continue;
      }
      only_those = false;
      const bool old = name == "step" && child.name() == std::string_view("op");
      wrong(place_of(child), "unknown-element",
            fmt::format("<{}> holds <{}>, not <{}>", node.name(), name,
                        shortened(printable(child.name()))),
            old ? "this is the older form of msccl-tools, which MSCCL does not read: write it anew "
                  "with old_format=True left out"
                : "");
    }
    return only_those;
  }

  // --- the algorithm ----------------------------------------------------------------------------

  void read_algorithm(pugi::xml_node node) {
    list_.title = node.attribute("name").value();
    list_.protocol = text_of(node, "proto");
    if (node.attribute("proto") && list_.protocol != "LL" && list_.protocol != "LL128" &&
        list_.protocol != "Simple")
      wrong(place_of(node, "proto"), "unknown-word",
            fmt::format("unknown protocol \"{}\"", shortened(printable(list_.protocol))),
            "allowed: LL, LL128, Simple");
    read_collective(node);
    list_.positions = small(node, "ngpus", 1, max_msccl_gpus);
    list_.channels = small(node, "nchannels", 1, msccl_channels);
    list_.blocks = small(node, "nchunksperloop", 1, max_msccl_chunks);
    const std::int64_t in_place = number(node, "inplace", 0, 1);
    const std::int64_t out_of_place = number_or(node, "outofplace", 0, 1, in_place == 1 ? 0 : 1);
    list_.in_place = in_place == 1;
    list_.out_of_place = out_of_place == 1;
    if (in_place == 0 && out_of_place == 0)
      wrong(place_of(node, "inplace"), "out-of-range",
            "inplace and outofplace are both 0, so the algorithm is for nothing");
    constexpr std::int64_t any = std::int64_t{1} << 60;
    list_.least = number_or(node, "minBytes", 0, any, 0);
    list_.most = number_or(node, "maxBytes", 0, any, std::int64_t{1} << 27);
    const bool by_rank = list_.operation == Operation::all_gather ||
                         list_.operation == Operation::reduce_scatter ||
                         list_.operation == Operation::all_to_all;
    if (by_rank && list_.blocks != unclear && list_.positions != unclear &&
        list_.blocks % list_.positions != 0)
      wrong(place_of(node, "nchunksperloop"), "out-of-range",
            fmt::format("{} chunks are not the same number for each of {} gpus", list_.blocks,
                        list_.positions));
  }

  void read_collective(pugi::xml_node node) {
    const std::string_view name = text_of(node, "coll");
    if (!node.attribute("coll")) return;
    std::string allowed;
    for (const CollectiveName& one : collective_names) {
      if (name == one.name) {
        list_.operation = one.operation;
        return;
      }
      allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", one.name);
    }
    wrong(place_of(node, "coll"), "unknown-word",
          fmt::format("unknown collective \"{}\"", shortened(printable(name))),
          "allowed: " + allowed);
  }

  void read_gpus(pugi::xml_node node) {
    gpus_.resize(
        static_cast<std::size_t>(list_.positions == unclear ? max_msccl_gpus : list_.positions));
    list_.scratch.resize(gpus_.size());
    std::vector<bool> seen(gpus_.size());
    bool may_miss = list_.positions != unclear;
    each(node, "gpu", [&](pugi::xml_node gpu) {
      const int id = small(gpu, "id", 0, last_gpu());
      const bool repeated = id != unclear && seen[static_cast<std::size_t>(id)];
      if (repeated)
        wrong(place_of(gpu), "repeated", fmt::format("gpu {} is there more than once", id));
      MscclGpu none_known;
      if (id == unclear || repeated) {
        may_miss = false;  // it is the missing one, perhaps
        read_gpu(gpu, unclear, none_known);
        return;
      }
      seen[static_cast<std::size_t>(id)] = true;
      read_gpu(gpu, id, gpus_[static_cast<std::size_t>(id)]);
      list_.scratch[static_cast<std::size_t>(id)] = gpus_[static_cast<std::size_t>(id)].scratch;
    });
    for (std::size_t id = 0; may_miss && id < seen.size(); ++id)
      if (!seen[id])
        wrong(place_of(node, "ngpus"), "missing-gpu",
              fmt::format("gpu {} is missing: ngpus is {}", id, list_.positions));
  }

  [[nodiscard]] int last_gpu() const { return static_cast<int>(gpus_.size()) - 1; }

  void read_gpu(pugi::xml_node node, int id, MscclGpu& gpu) {
    const std::size_t mistakes = diagnostics_->size();
    gpu.has_numbers = gpu.has_peers = true;
    gpu.place = place_of(node);
    need_all_chunks(node, "i_chunks", list_.operation == Operation::all_gather);
    need_all_chunks(node, "o_chunks", list_.operation == Operation::reduce_scatter);
    gpu.scratch = small(node, "s_chunks", 0, max_msccl_chunks);
    bool fits = true;
    const bool only_blocks = each(node, "tb", [&](pugi::xml_node block) {
      if (gpu.blocks.size() < msccl_thread_blocks)
        read_block(block, id, gpu);
      else if (std::exchange(fits, false))
        wrong(place_of(block), "too-large",
              fmt::format("a gpu has at most {} thread blocks", msccl_thread_blocks));
    });
    if (!only_blocks || !fits) gpu.has_numbers = gpu.has_peers = false;
    gpu.is_sound = diagnostics_->size() == mistakes;
  }

  // The rule of MSCCL's own reader; custom algorithms break it.
  void need_all_chunks(pugi::xml_node node, const char* key, bool share) {
    const int chunks = small(node, key, 0, max_msccl_chunks);
    if (chunks == unclear || list_.blocks == unclear || (share && list_.positions == unclear))
      return;
    const std::int64_t all = std::int64_t{chunks} * (share ? list_.positions : 1);
    if (chunks == 0 || all == list_.blocks || !list_.operation) return;
    wrong(place_of(node, key), "out-of-range",
          fmt::format("{} is {}, but must be {} or 0: nchunksperloop is {}", key, chunks,
                      list_.blocks / (share ? list_.positions : 1), list_.blocks));
  }

  void read_block(pugi::xml_node node, int gpu, MscclGpu& into) {
    const int id = small(node, "id", 0, msccl_thread_blocks - 1);
    if (id != unclear && id != static_cast<int>(into.blocks.size())) {
      wrong(place_of(node, "id"), "bad-order",
            fmt::format("thread blocks are numbered 0, 1, 2, ...: this is number {}, not {}",
                        into.blocks.size(), id));
      into.has_numbers = false;
    }
    MscclBlock& block = into.blocks.emplace_back();
    block.place = place_of(node);
    block.send = peer(node, "send", gpu);
    block.receive = peer(node, "recv", gpu);
    const bool is_connected = block.send >= 0 || block.receive >= 0;
    const int channels = list_.channels == unclear ? msccl_channels : list_.channels;
    block.channel = small(node, "chan", is_connected ? 0 : -1, channels - 1);
    if (block.send == unclear || block.receive == unclear || block.channel == unclear)
      into.has_peers = false;
    block.lane =
        static_cast<int>(number_or(node, "lane", 0, std::int64_t{4} * msccl_thread_blocks, -1));
    bool fits = true;
    const bool only_steps = each(node, "step", [&](pugi::xml_node step) {
      if (block.steps.size() < msccl_steps)
        read_step(step, block, into);
      else if (std::exchange(fits, false))
        wrong(place_of(step), "too-large",
              fmt::format("a thread block has at most {} steps", msccl_steps));
    });
    if (!only_steps || !fits) into.has_numbers = false;
  }

  int peer(pugi::xml_node node, const char* key, int gpu) {
    const int peer = small(node, key, -1, last_gpu());
    if (peer < 0 || peer != gpu) return peer;
    wrong(place_of(node, key), "self", fmt::format("{} names gpu {} itself", key, gpu));
    return unclear;
  }

  void read_step(pugi::xml_node node, MscclBlock& block, MscclGpu& gpu) {
    const int number_of = small(node, "s", 0, msccl_steps - 1);
    if (number_of != unclear && number_of != static_cast<int>(block.steps.size())) {
      wrong(place_of(node, "s"), "bad-order",
            fmt::format("steps are numbered 0, 1, 2, ...: this is step {}, not {}",
                        block.steps.size(), number_of));
      gpu.has_numbers = false;
    }
    MscclStep& step = block.steps.emplace_back();
    step.place = place_of(node);
    step.line = line_of(node);
    const MscclOperation* operation = read_type(node, block);
    if (operation != nullptr) step.type = operation->type;
    step.other_block = small(node, "depid", -1, msccl_thread_blocks - 1);
    step.other_step = small(node, "deps", -1, msccl_steps - 1);
    step.is_awaited = number(node, "hasdep", 0, 1) != 0;
    step.is_half = number_or(node, "half", 0, 1, 0) == 1;
    if (operation == nullptr || !operation->op) return;
    const std::optional<Buffer> source_buffer = buffer(node, "srcbuf");
    const std::optional<Buffer> destination_buffer = buffer(node, "dstbuf");
    step.source_buffer = source_buffer.value_or(Buffer::scratch);
    step.destination_buffer = destination_buffer.value_or(Buffer::scratch);
    step.count = small(node, "cnt", 1, msccl_count);
    // The operand that a type does not use may say anything; its numbers are the other's.
    const Op op = *operation->op;
    const bool uses_source = reads(op);
    const bool uses_destination = stores(op) || op == Op::local_reduce;
    if (uses_source) step.source = offset(node, "srcoff", source_buffer, step.count, gpu);
    if (uses_destination)
      step.destination = offset(node, "dstoff", destination_buffer, step.count, gpu);
    if (!uses_source) step.source = step.destination, step.source_buffer = step.destination_buffer;
    if (!uses_destination)
      step.destination = step.source, step.destination_buffer = step.source_buffer;
  }

  const MscclOperation* read_type(pugi::xml_node node, const MscclBlock& block) {
    const std::string_view type = text_of(node, "type");
    if (!node.attribute("type")) return nullptr;
    const MscclOperation* operation = find_msccl_operation(type);
    if (operation == nullptr) {
      std::string allowed;
      for (const MscclOperation& one : step_types)
        allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", one.type);
      wrong(place_of(node, "type"), "unknown-word",
            type == "ra" ? "ra adds a second input (a residual), which no collective here has"
                         : fmt::format("unknown type of step \"{}\"", shortened(printable(type))),
            "allowed: " + allowed);
    } else if (operation->op) {
      if (sends(*operation->op) && block.send == -1)
        wrong(place_of(node, "type"), "no-peer",
              fmt::format("{} sends, but the thread block has send=\"-1\"", type));
      if (receives(*operation->op) && block.receive == -1)
        wrong(place_of(node, "type"), "no-peer",
              fmt::format("{} receives, but the thread block has recv=\"-1\"", type));
    }
    return operation;
  }

  int offset(pugi::xml_node node, const char* key, std::optional<Buffer> buffer, int count,
             const MscclGpu& gpu) {
    const int first = small(node, key, 0, max_msccl_chunks);
    if (!buffer) return unclear;
    const int chunks = *buffer == Buffer::scratch ? gpu.scratch : list_.blocks;
    if (first == unclear || count == unclear || chunks == unclear) return unclear;
    if (first + count <= chunks) return first;
    wrong(place_of(node, key), "out-of-range",
          fmt::format("chunk{} of {}, which has {}",
                      count == 1 ? fmt::format(" {}", first)
                                 : fmt::format("s {} to {}", first, first + count - 1),
                      to_string(*buffer), chunks));
    return unclear;
  }

  std::uint32_t source_;
  std::string_view text_;
  Diagnostics* diagnostics_;
  std::vector<std::size_t> line_ends_;
  pugi::xml_document document_;
  std::vector<MscclGpu> gpus_;
  ListedSchedule list_;
};

}  // namespace

const MscclOperation* find_msccl_operation(std::string_view type) {
  for (const MscclOperation& one : step_types)
    if (one.type == type) return &one;
  return nullptr;
}

std::optional<ListedSchedule> read_msccl(std::uint32_t source, const Sources& sources,
                                         Diagnostics& diagnostics) {
  return MscclReader(source, sources, diagnostics).read();
}

}  // namespace collsim
