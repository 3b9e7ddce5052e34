// SPDX-License-Identifier: Apache-2.0
#include "app/measured/log_line.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

constexpr std::size_t longest_tag = 200;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name_character(char c) {
  return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
}

template <class Predicate>
std::size_t count_while(std::string_view text, std::size_t from, const Predicate& predicate) {
  std::size_t at = from;
  while (at < text.size() && predicate(text[at])) ++at;
  return at - from;
}

// "\x1b[1;31m" and the like, from the escape on.
std::size_t escape_length(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size() || text[at + 1] != '[') return 1;
  const std::size_t inside =
      count_while(text, at + 2, [](char c) { return is_digit(c) || c == ';' || c == '?'; });
  const std::size_t end = at + 2 + inside;
  return end < text.size() && is_letter(text[end]) ? inside + 3 : 2;
}

void blank_tables(std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::size_t first = begin + count_while(text, begin, is_blank);
    if (first < end && text[first] == '|') std::replace(&text[first], &text[end - 1] + 1, '|', ' ');
    begin = end + 1;
  }
}

// "[1,0]<stdout>:", "[1,mpirank:0,algo-1]<stderr>:"; 0: it does not begin so.
std::size_t mpirun_tag(std::string_view line) {
  const std::size_t close = line.substr(0, longest_tag).find("]<std");
  if (line.front() != '[' || close == std::string_view::npos) return 0;
  const std::size_t end = line.substr(0, longest_tag).find(">:", close);
  return end == std::string_view::npos ? 0 : end + 2;
}

std::size_t bracket_tag(std::string_view line) {
  const std::size_t close = line.substr(0, longest_tag).find(']');
  if (line.front() != '[' || close == std::string_view::npos || close < 2) return 0;
  const std::string_view inside = line.substr(1, close - 1);
  const bool number = std::all_of(inside.begin(), inside.end(), is_digit);
  const bool path = is_letter(inside.front()) && inside.find('/') != std::string_view::npos &&
                    inside.find(' ') == std::string_view::npos;
  if (!number && !path) return 0;
  const bool colon = close + 1 < line.size() && line[close + 1] == ':';
  return close + (colon ? 2 : 1);
}

std::size_t time_stamp(std::string_view line) {
  constexpr std::string_view shape = "0000-00-00";
  if (line.size() <= shape.size()) return 0;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == '0' ? !is_digit(line[i]) : line[i] != '-') return 0;
  const std::size_t time = shape.size() + 1;
  const std::size_t length = count_while(line, time, [](char c) { return !is_blank(c); });
  const bool clock = line.substr(time, length).find(':') != std::string_view::npos;
  return clock ? time + length : 0;
}

// "0: " of srun --label; "worker-0: " of pdsh and others, where a row or a comment follows.
std::size_t label(std::string_view line) {
  const std::size_t name = count_while(line, 0, is_name_character);
  if (name == 0 || name + 1 >= line.size() || name > longest_tag || line[name] != ':' ||
      !is_blank(line[name + 1]))
    return 0;
  const bool number =
      std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(name), is_digit);
  const std::string_view rest = trimmed(line.substr(name + 1));
  const bool row = !rest.empty() && (rest.front() == '#' || is_digit(rest.front()));
  return number || row ? name + 1 : 0;
}

// "nccl-launcher-x7k2p mpi-launcher " of stern: a pod, its container, and a row or a comment.
std::size_t stern_tag(std::string_view line) {
  const std::size_t pod = count_while(line, 0, is_name_character);
  const std::size_t gap = count_while(line, pod, is_blank);
  const std::size_t container = count_while(line, pod + gap, is_name_character);
  const std::size_t end = pod + gap + container;
  if (gap == 0 || container == 0 || end > longest_tag || !is_letter(line[pod + gap]) ||
      line.substr(0, pod).find('-') == std::string_view::npos)
    return 0;
  const std::string_view rest = trimmed(line.substr(end));
  const std::size_t digits = count_while(rest, 0, is_digit);
  const bool row = digits > 0 && digits < rest.size() && is_blank(rest[digits]);
  return row || rest.starts_with('#') ? end : 0;
}

std::size_t quote_mark(std::string_view line) {
  return line.front() == '>' && line.size() > 1 && is_blank(line[1]) ? 1 : 0;
}

// Behind text that a debug line cut off: "float  sum  -1[1,0]<stderr>:" and "-1[0] ".
std::string_view without_tag_behind(std::string_view text) {
  text = trimmed(text);
  if (text.ends_with(">:")) {
    const std::size_t open = text.rfind('[');
    return open == std::string_view::npos ? text : trimmed(text.substr(0, open));
  }
  if (text.empty() || text.back() != ']') return text;
  const std::size_t open = text.rfind('[');
  if (open == std::string_view::npos || open + 2 >= text.size()) return text;
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  const bool number = std::all_of(inside.begin(), inside.end(), is_digit);
  return number ? trimmed(text.substr(0, open)) : text;
}

// The last word before `end`, when it is HOST:PID:TID.
std::string_view prefix_before(std::string_view line, std::size_t end) {
  const std::string_view until = trimmed(line.substr(0, end));
  const std::size_t blank = until.find_last_of(" \t>]");
  const std::size_t begin = blank == std::string_view::npos ? 0 : blank + 1;
  std::string_view word = until.substr(begin);
  if (word.starts_with(':')) word.remove_prefix(1);  // of "[1,0]<stdout>:"
  const auto colons = std::count(word.begin(), word.end(), ':');
  return colons >= 2 ? word : std::string_view();
}

}  // namespace

std::string plain_log(std::string_view text) {
  std::string plain(text);
  for (std::size_t at = 0; at < plain.size(); ++at) {
    const auto byte = static_cast<unsigned char>(plain[at]);
    if (byte == 0x1B) {
      const std::size_t length = escape_length(plain, at);
      std::fill_n(plain.begin() + static_cast<std::ptrdiff_t>(at), length, ' ');
    } else if (byte == 0xC2 && at + 1 < plain.size() &&
               static_cast<unsigned char>(plain[at + 1]) == 0xA0) {
      plain[at] = plain[at + 1] = ' ';
    } else if (byte < 0x20 && byte != '\n') {
      plain[at] = ' ';
    }
  }
  blank_tables(plain);
  return plain;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view without_tags(std::string_view line) {
  constexpr std::array tags = {mpirun_tag, bracket_tag, time_stamp, label, stern_tag, quote_mark};
  constexpr int most_tags = 4;
  line = trimmed(line);
  for (int i = 0; i < most_tags; ++i) {
    std::size_t length = 0;
    for (const auto& tag : tags)
      if (length == 0 && !line.empty()) length = tag(line);
    if (length == 0) break;
    line = trimmed(line.substr(length));
  }
  return line;
}

void split_words(std::string_view line, Words& words) {
  words.clear();
  std::size_t at = 0;
  while (words.size() < most_words) {
    at += count_while(line, at, is_blank);
    if (at >= line.size()) return;
    const std::size_t length = count_while(line, at, [](char c) { return !is_blank(c); });
    words.push_back(line.substr(at, length));
    at += length;
  }
}

std::optional<double> decimal_in(std::string_view word) {
  const std::optional<double> number = number_in<double>(word);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::int64_t> integer_in(std::string_view word) {
  return number_in<std::int64_t>(word);
}

std::optional<std::int64_t> integer_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = trimmed(text.substr(at + key.size()));
  const std::size_t length =
      count_while(rest, rest.starts_with('-') ? 1 : 0, is_digit) + (rest.starts_with('-') ? 1 : 0);
  return integer_in(rest.substr(0, length));
}

std::optional<DebugLine> find_debug_line(std::string_view line) {
  std::size_t at = line.find("NCCL ");
  for (; at != std::string_view::npos; at = line.find("NCCL ", at + 1)) {
    const std::string_view behind = line.substr(at + 5);
    const bool level = behind.starts_with("INFO") || behind.starts_with("WARN") ||
                       behind.starts_with("TRACE") || behind.starts_with("ABORT");
    if (level && (at == 0 || is_blank(line[at - 1]) || line[at - 1] == ']')) break;
  }
  if (at == std::string_view::npos) return std::nullopt;
  DebugLine found;
  found.text = trimmed(line.substr(std::min(line.size(), line.find_first_of(" \t", at + 5))));
  std::size_t end = trimmed(line.substr(0, at)).size();
  const std::size_t open = line.substr(0, end).rfind('[');  // of "[0]", the device
  if (end > 0 && line[end - 1] == ']' && open != std::string_view::npos) end = open;
  found.prefix = prefix_before(line, end);
  if (!found.prefix.empty()) end = static_cast<std::size_t>(found.prefix.data() - line.data());
  found.before = without_tag_behind(line.substr(0, end));
  return found;
}

}  // namespace collsim
