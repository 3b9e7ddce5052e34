// SPDX-License-Identifier: Apache-2.0
#include "app/measured/nccl_debug.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/measured/log_line.hpp"
#include "app/measured/measured_table.hpp"

namespace collsim {
namespace {

constexpr std::size_t most_choices = 100'000;

// Numbers as in NCCL since 2.19 (src/include/plugin/nccl_tuner.h).
constexpr std::array<std::string_view, 7> algorithm_names = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr std::array<std::string_view, 3> protocol_names = {"LL", "LL128", "Simple"};

// A number, or a name in whatever case.
template <std::size_t n>
std::string name_in(const std::array<std::string_view, n>& names, std::string_view word) {
  const std::optional<std::int64_t> number = integer_in(word);
  if (number && *number >= 0 && *number < static_cast<std::int64_t>(n))
    return std::string(names[static_cast<std::size_t>(*number)]);
  std::string bare = lower(word);
  bare.erase(std::remove(bare.begin(), bare.end(), '_'), bare.end());
  for (const std::string_view name : names)
    if (lower(name) == bare) return std::string(name);
  return std::string(word);
}

}  // namespace

void DebugFacts::take(std::string_view text) {
  ++lines_;
  if (text.find(" version ") != std::string_view::npos) take_version(text);
  if (text.find("anks ") != std::string_view::npos) take_ranks(text);
  if (text.find("Bytes -> Algo") != std::string_view::npos) take_choice(text);
  if (text.find("NET/IB : Using") != std::string_view::npos ||
      text.find("Using network ") != std::string_view::npos)
    take_network(text);
}

// "Using network IB" is said of RoCE, too; the devices tell them apart.
void DebugFacts::take_network(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> signs = {
      {{"/RoCE", "roce"},
       {":1/IB", "ib"},
       {"AWS Libfabric", "efa"},
       {"network Socket", "tcp"},
       {"TCPX", "tcp"},
       {"FasTrak", "tcp"}}};
  for (const auto& [sign, kind] : signs)
    if (text.find(sign) != std::string_view::npos) network_ = kind;
}

void DebugFacts::take_version(std::string_view text) {
  for (const std::string_view name : {"RCCL", "NCCL"}) {
    const std::string key = std::string(name) + " version ";
    std::size_t at = text.find(key);
    if (at == std::string_view::npos || !library_.empty()) continue;
    at += key.size();
    while (at < text.size() && (text[at] == ':' || text[at] == ' ')) ++at;
    std::size_t end = at;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
    if (end > at) library_ = fmt::format("{} {}", name, text.substr(at, end - at));
  }
}

void DebugFacts::take_ranks(std::string_view text) {
  std::optional<std::int64_t> ranks = integer_after(text, "nRanks ");
  if (!ranks) ranks = integer_after(text, "nranks ");
  if (!ranks || *ranks < 1 || (ranks_ && *ranks < *ranks_)) return;
  if (ranks_ != ranks) nodes_.reset();
  ranks_ = ranks;
  if (const std::optional<std::int64_t> nodes = integer_after(text, "nNodes "); nodes && *nodes > 0)
    nodes_ = nodes;
}

void DebugFacts::take_choice(std::string_view text) {
  const std::size_t bytes = text.find(" Bytes -> Algo");
  Words words;
  split_words(text.substr(0, bytes), words);
  const std::optional<std::int64_t> size = words.empty() ? std::nullopt : integer_in(words.back());
  if (!size || choices_.size() >= most_choices) return;
  std::string operation;
  if (words.size() > 1 && words[words.size() - 2].ends_with(':'))
    operation =
        known_operation(words[words.size() - 2].substr(0, words[words.size() - 2].size() - 1));
  split_words(text.substr(bytes + 1), words);  // Bytes -> Algo A proto P ...
  if (words.size() < 6 || words[4] != "proto") return;
  ++choices_[{operation, *size, name_in(algorithm_names, words[3]),
              name_in(protocol_names, words[5])}];
}

std::optional<DebugFacts::Choice> DebugFacts::choice(const std::string& operation,
                                                     Bytes size) const {
  std::size_t most = 0;
  std::optional<Choice> best;
  const auto look = [&](const std::string& name) {
    for (auto at = choices_.lower_bound({name, size, "", ""}); at != choices_.end(); ++at) {
      const auto& [function, bytes, algorithm, protocol] = at->first;
      if (function != name || bytes != size) break;
      if (at->second > most) best = Choice{algorithm, protocol};
      most = std::max(most, at->second);
    }
  };
  look(operation);
  if (!best && !operation.empty()) look("");
  return best;
}

std::string library_of_code(std::int64_t code, std::string_view name) {
  constexpr std::int64_t with_three_digits = 20'000;  // since 2.9: 2 09 06; before: 2 8 4 is 2804
  if (code < 2000 || code > 1'000'000) return {};
  const std::int64_t major = code >= with_three_digits ? code / 10'000 : code / 1000;
  const std::int64_t minor = code >= with_three_digits ? code / 100 % 100 : code / 100 % 10;
  return fmt::format("{} {}.{}.{}", name, major, minor, code % 100);
}

}  // namespace collsim
