// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/cluster/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/json/value.hpp"
#include "topo/parts.hpp"

namespace collsim {
namespace {

const Vocabulary& duplex_words() {
  static const Vocabulary words{.what = "duplex", .allowed = {"full", "half"}};
  return words;
}

Sharing sharing_of(std::string_view word) {
  return word == "fair" ? Sharing::fair : Sharing::exclusive;
}

}  // namespace

const Vocabulary& sharing_words() {
  static const Vocabulary words{
      .what = "sharing",
      .allowed = {"exclusive", "fair"},
      .aliases = {
          {"fifo", "exclusive"}, {"fcfs", "exclusive"}, {"maxmin", "fair"}, {"shared", "fair"}}};
  return words;
}

std::string_view to_string(Sharing sharing) {
  return sharing == Sharing::fair ? "fair" : "exclusive";
}

bool check_link_time(ObjectReader& reader, std::string_view key, Time time) {
  if (time <= max_link_time) return true;
  // "nic.latency" of a preset is the latency of its NICs.
  const std::string_view what = key.substr(key.find_last_of('.') + 1);
  return reader.wrong(
      key, "out-of-range",
      fmt::format("{} {} of {} is too long", what == "overhead" ? "an" : "a", what, to_text(time)),
      {}, "at most 53 days");
}

Protocols read_protocols(ObjectReader& owner, std::string_view key) {
  Protocols read;
  const JsonValue* const written = owner.raw(key);
  if (written == nullptr) return read;
  ObjectReader table(*written, owner.pointer_of(key), owner.diagnostics());
  for (const LinkProtocol protocol : all_protocols) {
    const std::string name = to_string(protocol);
    const JsonValue* const row = table.raw(name);
    if (row == nullptr) continue;
    ObjectReader reader(*row, table.pointer_of(name), table.diagnostics());
    ProtocolCost cost;
    cost.hop = reader.time("hop", Time{});
    cost.growth = reader.number("growth", 0, 1000, 0);
    cost.rate = reader.number("rate", 1e-6, 1000, 1);
    cost.per_chunk = reader.size("per_chunk").value_or(0);
    const bool fits = check_link_time(reader, "hop", cost.hop);
    table.resolve(name, reader.finish());
    if (fits) read[static_cast<std::size_t>(protocol)] = cost;
  }
  owner.resolve(key, table.finish());
  return read;
}

namespace {

std::optional<LinkSegment> read_segment(const JsonValue& row, const std::string& pointer,
                                        bool is_last, Diagnostics& diagnostics,
                                        JsonValue& resolved) {
  ObjectReader reader(row, pointer, diagnostics);
  const auto up_to = reader.size("up_to");
  const auto bandwidth = reader.bandwidth("bandwidth");
  const Time latency = reader.time("latency", Time{});
  const Time startup = reader.time("overhead", Time{});
  if (is_last)
    reader.need({"bandwidth"});
  else
    reader.need({"up_to", "bandwidth"});
  const bool latency_fits = check_link_time(reader, "latency", latency);
  const bool startup_fits = check_link_time(reader, "overhead", startup);
  resolved = reader.finish();
  if (!bandwidth || (!up_to && !is_last) || !latency_fits || !startup_fits) return std::nullopt;
  constexpr Bytes no_end = std::numeric_limits<Bytes>::max();
  return LinkSegment{up_to.value_or(no_end), *bandwidth, latency, startup};
}

// The first key that says what messages of all sizes cost; all are known then, none a typing error.
std::string_view known_cost_of(ObjectReader& link) {
  std::string_view first;
  for (const std::string_view key : {"bandwidth", "latency", "overhead", "protocols"})
    if (link.has(key)) {
      static_cast<void>(link.raw(key));
      if (first.empty()) first = key;
    }
  return first;
}

// "segments" of a link; nothing when they are wrong.  Empty when there are none.
std::optional<LinkSegments> read_segments(ObjectReader& link) {
  constexpr const char* key = "segments";
  constexpr std::size_t most_rows = 100;
  const JsonValue* const written = link.raw(key);
  if (written == nullptr) return LinkSegments{};
  const auto wrong = [&](std::string code, std::string message, std::string hint) {
    link.wrong(key, std::move(code), std::move(message), {}, std::move(hint));
    return std::nullopt;
  };
  const char* const example =
      R"(write [{"up_to": "4KiB", "overhead": "1us", "bandwidth": "2GB/s"}, {"bandwidth": "10GB/s"}])";
  if (!written->is_array() || written->items().empty() || written->items().size() > most_rows)
    return wrong("wrong-type",
                 fmt::format("segments are a list of 1 to {} rows by size of message", most_rows),
                 example);
  if (const std::string_view other = known_cost_of(link); !other.empty())
    return wrong("conflict", fmt::format("the link has segments and \"{}\"", other),
                 other == "protocols"
                     ? "leave one of them out"
                     : fmt::format("write \"{}\" in every row of the segments", other));
  LinkSegments read;
  JsonValue rows = JsonValue::array();
  bool fine = true;
  for (std::size_t i = 0; i < written->items().size(); ++i) {
    const bool is_last = i + 1 == written->items().size();
    JsonValue resolved;
    const auto row = read_segment(written->items()[i], pointer_to(link.pointer_of(key), i), is_last,
                                  link.diagnostics(), resolved);
    rows.items().push_back(std::move(resolved));
    fine = fine && row.has_value();
    if (!row) continue;
    if (!read.empty() && row->up_to <= read.back().up_to) {
      const JsonValue& written_row = written->items()[i];
      const JsonValue* const up_to = written_row.find("up_to");
      link.diagnostics().add({.code = "wrong-order",
                              .message = "rows of segments go from short messages to long ones",
                              .place = up_to != nullptr ? up_to->place : written_row.place,
                              .pointer = pointer_to(pointer_to(link.pointer_of(key), i), "up_to"),
                              .hint = "sort them by \"up_to\""});
      return std::nullopt;
    }
    read.push_back(*row);
  }
  link.resolve(key, std::move(rows));
  return fine ? std::optional(std::move(read)) : std::nullopt;
}

bool check_sharing_of_segments(ObjectReader& link, Sharing sharing) {
  if (sharing != Sharing::fair) return true;
  return link.wrong(link.has("segments") ? "segments" : "sharing", "conflict",
                    "a link that is shared fairly cannot have segments", {},
                    "write \"sharing\": \"exclusive\"");
}

// A link that costs what the size of a message says.
std::optional<LinkParameters> read_segmented_link(ObjectReader& link) {
  auto segments = read_segments(link);
  const std::string sharing = link.word("sharing", sharing_words(), "exclusive");
  const std::string duplex = link.word("duplex", duplex_words(), "full");
  if (!check_sharing_of_segments(link, sharing_of(sharing)) || !segments) return std::nullopt;
  LinkParameters parameters{
      .bandwidth = Bandwidth(1), .half_duplex = duplex == "half", .segments = std::move(*segments)};
  take_best_of_segments(parameters);
  return parameters;
}

}  // namespace

std::optional<LinkParameters> read_link_keys(ObjectReader& link) {
  if (link.raw("segments") != nullptr) return read_segmented_link(link);
  const auto bandwidth = link.bandwidth("bandwidth");
  const Time latency = link.time("latency", Time{});
  const Time startup = link.time("overhead", Time{});
  const std::string sharing = link.word("sharing", sharing_words(), "exclusive");
  const std::string duplex = link.word("duplex", duplex_words(), "full");
  const Protocols protocols = read_protocols(link, "protocols");
  link.need({"bandwidth"});
  const bool latency_fits = check_link_time(link, "latency", latency);
  const bool startup_fits = check_link_time(link, "overhead", startup);
  if (!bandwidth || !latency_fits || !startup_fits) return std::nullopt;
  return LinkParameters{.bandwidth = *bandwidth,
                        .latency = latency,
                        .startup = startup,
                        .sharing = sharing_of(sharing),
                        .half_duplex = duplex == "half",
                        .protocols = protocols};
}

LinkParameters read_link(ObjectReader& owner, std::string_view key) {
  const JsonValue* value = owner.raw(key);
  if (value == nullptr) {
    owner.need({key});
    return stand_in_link;
  }
  ObjectReader link(*value, owner.pointer_of(key), owner.diagnostics());
  auto parameters = read_link_keys(link);
  owner.resolve(key, link.finish());
  return parameters.value_or(stand_in_link);
}

LinkKeysRead change_link(ObjectReader& change, LinkParameters& parameters) {
  LinkKeysRead read;
  const auto take = [&](std::string_view key, const auto& value, auto& into) {
    if (!change.has(key)) return;
    read.any = true;
    read.right = read.right && value.has_value();
    if (value) into = *value;
  };
  if (change.raw("segments") != nullptr) {
    take("segments", read_segments(change), parameters.segments);
    if (parameters.protocols != Protocols{})
      read.right = change.wrong("segments", "conflict",
                                "the link says what NCCL's protocols cost, and would lose it", {},
                                "write the cluster's links without protocols to give one segments");
    take_best_of_segments(parameters);
  } else if (const std::string_view key =
                 parameters.segments.empty() ? std::string_view() : known_cost_of(change);
             !key.empty()) {
    change.wrong(key, "conflict", "the link costs what the size of a message says", {},
                 "change its \"segments\"");
    read = {.right = false, .any = true};
  } else {
    take("bandwidth", change.bandwidth("bandwidth"), parameters.bandwidth);
    take("latency", change.time("latency"), parameters.latency);
    take("overhead", change.time("overhead"), parameters.startup);
  }
  take("down", change.boolean("down"), parameters.down);
  std::string sharing, duplex;
  take("sharing", change.word("sharing", sharing_words()), sharing);
  take("duplex", change.word("duplex", duplex_words()), duplex);
  if (!sharing.empty()) parameters.sharing = sharing_of(sharing);
  if (!duplex.empty()) parameters.half_duplex = duplex == "half";
  if (!parameters.segments.empty() && !check_sharing_of_segments(change, parameters.sharing))
    read.right = false;
  const bool latency_fits = check_link_time(change, "latency", parameters.latency);
  const bool startup_fits = check_link_time(change, "overhead", parameters.startup);
  read.right = read.right && latency_fits && startup_fits;
  return read;
}

std::string in_words(const LinkParameters& link) {
  if (!link.segments.empty())
    return fmt::format("up to {} by size of message ({}){}", to_text(link.bandwidth),
                       count_text(link.segments.size(), "row"),
                       link.half_duplex ? ", half duplex" : "");
  std::string text = to_text(link.bandwidth);
  if (link.startup > Time{}) text += fmt::format(", {} per message", to_text(link.startup));
  if (link.latency > Time{}) text += fmt::format(", {} latency", to_text(link.latency));
  if (link.sharing == Sharing::fair) text += ", shared fairly";
  if (link.half_duplex) text += ", half duplex";
  return text;
}

bool within_limit(ObjectReader& reader, std::string_view key, double count, std::string_view noun) {
  const std::int64_t most = noun == "link"     ? max_cluster_links
                            : noun == "device" ? max_cluster_devices
                                               : max_cluster_ranks;
  if (count <= static_cast<double>(most)) return true;
  return reader.wrong(
      key, "too-large",
      fmt::format("{} {}s are too many", with_commas(fmt::format("{:.0f}", count)), noun), {},
      fmt::format("at most {}", count_text(most, noun)));
}

std::optional<std::string> word_or_nearest(ObjectReader& reader, std::string_view key,
                                           const Vocabulary& words) {
  auto word = reader.word(key, words);
  const JsonValue* written = reader.raw(key);
  if (word || written == nullptr || !written->is_string()) return word;
  std::string nearest = words.nearest(written->string());
  return nearest.empty() ? std::nullopt : std::optional(std::move(nearest));
}

std::string shown(std::string_view text) {
  return quoted(shortened(text));
}

std::string listed(const std::vector<std::string>& words, std::size_t most) {
  const bool all = words.size() <= most;
  const std::size_t shown = all ? words.size() : most - 1;
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = all && i + 1 == shown;
    text += (i == 0 ? "" : last ? " and " : ", ") + words[i];
  }
  return all ? text : fmt::format("{} and {} more", text, words.size() - shown);
}

Refusal report_wrong(Diagnostics& diagnostics, const JsonValue& value, std::string pointer,
                     std::string code, std::string message, std::string suggestion,
                     std::string hint) {
  return diagnostics.add({std::move(code), std::move(message), value.place, std::move(pointer),
                          std::move(suggestion), std::move(hint)});
}

}  // namespace collsim
