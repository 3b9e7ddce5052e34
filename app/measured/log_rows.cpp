// SPDX-License-Identifier: Apache-2.0
#include "app/measured/log_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

using Values = std::span<const std::string_view>;

bool is_time(std::string_view name) {
  return name == "time" || name == "cputime";
}

bool is_not_there(std::string_view word) {
  return word == "N/A" || word == "n/a" || word == "-";
}

bool is_word(std::string_view word) {
  return !word.empty() && ((word.front() >= 'a' && word.front() <= 'z') ||
                           (word.front() >= 'A' && word.front() <= 'Z'));
}

// How far a number with so many digits behind its point may be from what it stands for.
double rounding_of(std::string_view word) {
  const std::size_t exponent = word.find_first_of("eE");
  const std::string_view digits = word.substr(0, exponent);
  const std::size_t point = digits.find('.');
  const double decimals =
      point == std::string_view::npos ? 0 : static_cast<double>(digits.size() - point - 1);
  double half = 0.5 * std::pow(10.0, -decimals);
  if (exponent != std::string_view::npos)
    half *= std::pow(10.0, decimal_in(word.substr(exponent + 1)).value_or(0));
  return half;
}

// Whether the printed algbw can be the printed time's, which is in so many seconds.
bool fits(const LogHalf& half, Bytes size, double unit_s, Values words) {
  if (!(half.time > 0)) return true;
  const double expected = static_cast<double>(size) / (half.time * unit_s) / 1e9;
  const double of_time = std::min(1.0, rounding_of(words[0]) / half.time);
  const double allowed = 1.01 * rounding_of(words[1]) + expected * (0.01 + 1.1 * of_time);
  return std::abs(half.algbw - expected) <= allowed;
}

std::optional<LogHalf> read_half(Values words, const LogHeader& header) {
  if (words.size() < 3) return std::nullopt;
  const std::optional<double> time = decimal_in(words[0]), algbw = decimal_in(words[1]),
                              busbw = decimal_in(words[2]);
  if (!time || !algbw || !busbw || *time < 0 || *algbw < 0 || *busbw < 0) return std::nullopt;
  LogHalf half{*time, *algbw, *busbw, std::nullopt, false};
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::optional<double> value = decimal_in(words[i]);
    if (!value && !is_not_there(words[i])) return std::nullopt;
    const std::string_view name = i < header.half.size() ? header.half[i] : std::string_view();
    const bool checks = name == "#wrong" || name == "error" || name == "res" || name == "wrong";
    if (!checks || !value) continue;
    half.checked = true;
    constexpr double most = 9e18;
    if (header.counts_wrong && *value >= 0 && *value < most)
      half.wrong = static_cast<std::int64_t>(*value);
  }
  return half;
}

struct Assignment {
  bool root;
  std::size_t halves, per_half;
};

// The most likely first: the header's, then what some version prints.
std::vector<Assignment> assignments(const LogHeader& header) {
  std::vector<Assignment> all;
  const std::size_t named = header.half.size();
  const std::size_t halves = header.halves ? 2 : 1;
  all.push_back({header.root, halves, named});
  if (header.seen) {  // fewer words than are named are a row that is cut
    all.push_back({!header.root, halves, named});
    all.push_back({header.root, 1, named});
    all.push_back({!header.root, 1, named});
    return all;
  }
  for (const bool root : {header.root, !header.root})
    for (const std::size_t per_half : {named, std::size_t{4}, std::size_t{3}})
      for (const std::size_t count : {std::size_t{2}, std::size_t{1}})
        all.push_back({root, count, per_half});
  return all;
}

// Of which halves the times and rates must agree.
enum class Fit : std::uint8_t { of_none, of_first, of_both };

std::optional<LogRow> assigned(LogRow row, Values words, const Assignment& how,
                               const LogHeader& header, Fit must_fit) {
  const std::size_t from = how.root ? 1 : 0;
  if (words.size() != from + how.halves * how.per_half || how.per_half < 3) return std::nullopt;
  if (how.root) {
    const std::optional<std::int64_t> root = integer_in(words[0]);
    if (!root || *root < -1 || *root > std::numeric_limits<int>::max()) return std::nullopt;
    row.has_root = true;
    row.root = static_cast<int>(*root);
  }
  const Values out = words.subspan(from, how.per_half);
  const std::optional<LogHalf> half = read_half(out, header);
  if (!half) return std::nullopt;
  row.out = *half;
  row.fits_us = fits(*half, row.size, 1e-6, out);
  row.fits_ms = fits(*half, row.size, 1e-3, out);
  if (must_fit != Fit::of_none && !row.fits_us && !row.fits_ms) return std::nullopt;
  if (how.halves == 1) return row;
  const Values in = words.subspan(from + how.per_half, how.per_half);
  row.in_place = read_half(in, header);
  if (must_fit == Fit::of_both && row.in_place && !fits(*row.in_place, row.size, 1e-6, in) &&
      !fits(*row.in_place, row.size, 1e-3, in))
    return std::nullopt;
  const bool nothing = std::all_of(in.begin(), in.end(), is_not_there);
  if (!row.in_place && !nothing) return std::nullopt;
  return row;
}

}  // namespace

std::optional<LogHeader> read_log_header(const Words& words) {
  std::vector<std::string> names;
  for (const std::string_view word : words)
    if (word != "#") names.push_back(lower(word));
  if (names.size() < 5) return std::nullopt;
  if (names.front().starts_with('#')) names.front().erase(0, 1);
  const auto first = std::find_if(names.begin(), names.end(),
                                  [](const std::string& name) { return is_time(name); });
  const bool begins = names.front() == "size" || names.front() == "bytes";
  if (!begins || first == names.end() || names.end() - first < 3) return std::nullopt;
  const auto second =
      std::find_if(first + 1, names.end(), [](const std::string& name) { return is_time(name); });
  LogHeader header;
  header.seen = true;
  header.of_2017 = names.front() == "bytes";
  const auto has = [&](std::string_view name) {
    return std::find(names.begin(), first, name) != first;
  };
  header.reduction = has("redop") || has("op");
  header.root = has("root");
  header.halves = second != names.end();
  header.half.assign(first, second);
  header.counts_wrong = std::any_of(header.half.begin(), header.half.end(), [](const auto& name) {
    return name.find("wrong") != std::string::npos;
  });
  return header;
}

std::optional<RowHead> read_row_head(const Words& words) {
  if (words.size() < 3) return std::nullopt;
  const std::optional<std::int64_t> size = integer_in(words[0]), count = integer_in(words[1]);
  if (!size || !count || *size < 0 || *count < 0 || !is_word(words[2]) || is_not_there(words[2]))
    return std::nullopt;
  RowHead head;
  head.row.size = *size;
  head.row.count = *count;
  head.row.type = words[2];
  head.words = 3;
  if (words.size() > 3 && is_word(words[3]) && !is_not_there(words[3])) {
    head.row.reduction = words[3];
    head.words = 4;
  }
  return head;
}

std::optional<LogRow> finish_row(LogRow head, const Words& words, const LogHeader& header) {
  const Values values(words);
  for (const Assignment& how : assignments(header))
    if (std::optional<LogRow> row = assigned(head, values, how, header, Fit::of_first)) return row;
  // With the columns that the header names, the numbers are what is printed, right or not.
  if (!header.seen) return std::nullopt;
  return assigned(std::move(head), values, assignments(header).front(), header, Fit::of_none);
}

std::optional<LogRow> finish_cut_row(const LogRow& head, const Words& words,
                                     const LogHeader& header) {
  for (const Assignment& how : assignments(header))
    if (std::optional<LogRow> row = assigned(head, Values(words), how, header, Fit::of_both))
      return row;
  return std::nullopt;
}

bool are_values(const Words& words) {
  return !words.empty() && std::all_of(words.begin(), words.end(), [](std::string_view word) {
    return decimal_in(word) || is_not_there(word);
  });
}

}  // namespace collsim
