// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/cluster/names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/json/screen_text.hpp"
#include "app/scenario/cluster/machine.hpp"

namespace collsim {

namespace {

// Without leading zeros, up to 8 digits: more are not a device's number.
std::optional<std::uint32_t> parse_number(std::string_view text) {
  constexpr std::size_t most_digits = 8;
  if (text.empty() || text.size() > most_digits || (text.size() > 1 && text.front() == '0'))
    return std::nullopt;
  return number_in<std::uint32_t>(text);
}

// "2-3" or "7".
std::optional<std::pair<std::uint32_t, std::uint32_t>> parse_span(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_number(text.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return std::pair(*first, *last);
}

// A run of devices that differ in the number at the end only.
struct Run {
  std::string prefix;
  std::uint32_t first = 0, last = 0;
  bool numbered = false;
  [[nodiscard]] std::string text() const {
    if (!numbered) return prefix;
    if (first == last) return fmt::format("{}{}", prefix, first);
    return fmt::format("{}[{}-{}]", prefix, first, last);
  }
};

Run run_of(const std::string& name) {
  std::size_t digits = name.size();
  while (digits > 0 && is_digit(name[digits - 1])) --digits;
  const auto number = parse_number(std::string_view(name).substr(digits));
  if (!number) return {.prefix = name};
  return {.prefix = name.substr(0, digits), .first = *number, .last = *number, .numbered = true};
}

class Runs {
 public:
  void add(const std::string& name) {
    Run next = run_of(name);
    if (!runs_.empty() && next.numbered && runs_.back().numbered &&
        runs_.back().prefix == next.prefix && runs_.back().last + 1 == next.first)
      runs_.back().last = next.last;
    else
      runs_.push_back(std::move(next));
  }
  [[nodiscard]] const std::vector<Run>& all() const { return runs_; }
  [[nodiscard]] bool many() const { return runs_.size() > most; }
  [[nodiscard]] std::string text() const {
    std::vector<std::string> words;
    for (const Run& run : runs_) words.push_back(run.text());
    if (!many()) return listed(words);
    words.resize(most);
    words.emplace_back("...");
    return fmt::format("{}", fmt::join(words, ", "));
  }

 private:
  static constexpr std::size_t most = 10;
  std::vector<Run> runs_;
};

}  // namespace

DeviceNames::Parsed DeviceNames::parse(std::string_view text) {
  DeviceNames names;
  const std::size_t open = text.find('[');
  names.prefix_ = text.substr(0, open);
  const auto no_list = [&](std::string_view why) {
    return Parsed{.message = fmt::format("{} is not a list of devices: {}", shown(text), why),
                  .hint = "write \"gpu[0-3]\" for gpu0 to gpu3, or \"gpu[0,2-3]\""};
  };
  if (open == std::string_view::npos) return {.names = std::move(names)};
  if (text.back() != ']') return no_list("it must end with ]");
  names.size_ = 0;
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (true) {
    const std::size_t comma = rest.find(',');
    const auto span = parse_span(rest.substr(0, comma));
    if (!span) return no_list("numbers and ranges of numbers stand between [ and ]");
    const bool increases = names.spans_.empty() || span->first > names.spans_.back().second;
    if (!increases || span->first > span->second) return no_list("the numbers must increase");
    names.size_ += span->second - span->first + 1;
    names.spans_.push_back(*span);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (names.size_ > static_cast<std::size_t>(max_cluster_devices))
    return {.message = fmt::format("{} names too many devices", shown(text)),
            .hint = fmt::format("at most {}", count_text(max_cluster_devices, "device"))};
  return {.names = std::move(names)};
}

std::vector<std::string> DeviceNames::expanded() const {
  if (!is_range()) return {prefix_};
  std::vector<std::string> all;
  all.reserve(size_);
  for (const auto& [first, last] : spans_)
    for (std::uint32_t number = first; number <= last; ++number)
      all.push_back(prefix_ + std::to_string(number));
  return all;
}

bool is_device_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.' || c == ':';
  });
}

std::string nearest_device(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::size_t worth_searching = 1000;
  if (names.size() > worth_searching) return {};
  Runs runs;
  for (const std::string& known : names) runs.add(known);
  for (const Run& run : runs.all())
    if (run.numbered && run.prefix == name) return run.text();
  std::string nearest = Vocabulary{.what = "device", .allowed = names}.nearest(name);
  // gpu9 is not a typing error for gpu0: the machine has fewer.
  if (!nearest.empty() && run_of(nearest).prefix == run_of(std::string(name)).prefix) return {};
  return nearest;
}

std::string in_words(const std::vector<std::string>& names) {
  Runs runs;
  for (const std::string& name : names) {
    runs.add(name);
    if (runs.many()) break;
  }
  return runs.text();
}

std::string devices_in_words(const Topology& topology) {
  Runs runs;
  for (std::size_t node = 0; node < topology.node_count() && !runs.many(); ++node)
    runs.add(topology.name(NodeId(node)));
  return runs.text();
}

}  // namespace collsim
