// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/cluster_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/json/write_json.hpp"

namespace collsim {

bool within_limit(ObjectReader& reader, std::string_view key, double count, std::string_view noun) {
  const std::int64_t most = noun == "link"     ? max_cluster_links
                            : noun == "device" ? max_cluster_devices
                                               : max_cluster_ranks;
  if (count <= static_cast<double>(most)) return true;
  reader.wrong(key, "too-large",
               fmt::format("{} {}s are too many", with_commas(fmt::format("{:.0f}", count)), noun),
               {}, fmt::format("at most {}", count_text(most, noun)));
  return false;
}

std::optional<std::string> word_or_nearest(ObjectReader& reader, std::string_view key,
                                           const Vocabulary& words) {
  auto word = reader.word(key, words);
  const Value* written = reader.raw(key);
  if (word || written == nullptr || !written->is_string()) return word;
  std::string nearest = words.nearest(written->string());
  return nearest.empty() ? std::nullopt : std::optional(std::move(nearest));
}

std::string shown(std::string_view text) {
  return quoted(shortened(text));
}

std::string count_text(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", with_commas(count), noun, count == 1 ? "" : "s");
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

void report_wrong(Diagnostics& diagnostics, const Value& value, std::string pointer,
                  std::string code, std::string message, std::string suggestion, std::string hint) {
  diagnostics.add({.code = std::move(code),
                   .message = std::move(message),
                   .place = value.place,
                   .pointer = std::move(pointer),
                   .suggestion = std::move(suggestion),
                   .hint = std::move(hint)});
}

}  // namespace collsim
