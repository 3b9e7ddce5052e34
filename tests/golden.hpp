// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

// Texts that must stay as they are to the byte.  With UPDATE_GOLDEN=1 in the environment the tests
// write them anew instead: look at the difference before you commit it.  Where COLLSIM_NO_SKIPS is
// set, as in continuous integration, writing is a failure.
namespace collsim {

namespace golden {

inline bool updating() {
  if (std::getenv("UPDATE_GOLDEN") == nullptr) return false;
  EXPECT_EQ(std::getenv("COLLSIM_NO_SKIPS"), nullptr) << "UPDATE_GOLDEN judges nothing";
  return true;
}

inline std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A string in a source: literals with nothing but white space between them are one.
struct Literal {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string value;
  std::string raw_opening{};  // R"( or R"x(, unless there are escapes
};

// What the escape means whose letter is source[at]; those of Unicode are left as they stand, so
// that texts with them are not found.
inline std::string escaped(const std::string& source, std::size_t& at) {
  static const std::string letters = "nrt\"\\'", meant = "\n\r\t\"\\'";
  const char letter = source[at];
  const bool hex = letter == 'x';
  if (!hex && (letter < '0' || letter > '7')) {
    ++at;
    const auto i = letters.find(letter);
    return i != std::string::npos ? std::string{meant[i]} : std::string{'\\', letter};
  }
  at += hex ? 1 : 0;
  std::size_t digits = 0;
  const int code = std::stoi(source.substr(at, hex ? 2 : 3), &digits, hex ? 16 : 8);
  at += digits;
  return {static_cast<char>(code)};
}

inline Literal literal_at(const std::string& source, std::size_t begin) {
  Literal found{begin, begin, ""};
  if (source[begin] == 'R') {
    const std::size_t open = source.find('(', begin);
    const std::string close = ")" + source.substr(begin + 2, open - begin - 2) + "\"";
    const std::size_t end = source.find(close, open);
    return {begin, end + close.size(), source.substr(open + 1, end - open - 1),
            source.substr(begin, open + 1 - begin)};
  }
  for (found.end = begin + 1; source[found.end] != '"';) {
    const char c = source[found.end++];
    found.value += c == '\\' ? escaped(source, found.end) : std::string{c};
  }
  ++found.end;
  return found;
}

inline std::vector<Literal> literals_of(const std::string& source) {
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::vector<Literal> all;
  for (std::size_t at = 1; at < source.size(); ++at) {
    if (source.compare(at, 2, "//") == 0) {
      at = source.find('\n', at);
    } else if (source[at] == '\'' && !is_name(source[at - 1])) {
      at = source.find('\'', at + (source[at + 1] == '\\' ? 3 : 2));
    } else if (source[at] == '"' ||
               (source.compare(at, 2, "R\"") == 0 && !is_name(source[at - 1]))) {
      Literal next = literal_at(source, at);
      at = next.end - 1;
      if (!all.empty() && std::all_of(source.begin() + static_cast<long>(all.back().end),
                                      source.begin() + static_cast<long>(next.begin),
                                      [](unsigned char c) { return std::isspace(c) != 0; })) {
        all.back().end = next.end;
        all.back().value += next.value;
        all.back().raw_opening.clear();
      } else {
        all.push_back(std::move(next));
      }
    }
  }
  return all;
}

// As a literal of the same kind, raw or with a line of its own for each line.
inline std::string as_literal(const std::string& text, const std::string& raw_opening) {
  if (!raw_opening.empty())
    return raw_opening + text + ")" + raw_opening.substr(2, raw_opening.size() - 3) + "\"";
  std::string quoted;
  for (std::size_t at = 0; at < text.size(); ++at) {
    constexpr const char* digits = "01234567";
    const auto byte = static_cast<unsigned char>(text[at]);
    if (text[at] == '"' || text[at] == '\\')
      quoted += std::string{'\\', text[at]};
    else if (text[at] == '\n')
      quoted += at + 1 == text.size() ? "\\n" : "\\n\"\n\"";
    else if (byte >= ' ' && byte != 127)
      quoted += text[at];
    else
      quoted += std::string{'\\', digits[byte / 64], digits[byte / 8 % 8], digits[byte % 8]};
  }
  return "\"" + quoted + "\"";
}

// Whether the source has `before`, which is `after` now.  Tests of one file may run side by side.
inline bool rewrite(const std::string& file, const std::string& before, const std::string& after) {
  const std::string tests = "tests/";  // a compiler cache may have made the path a relative one
  const std::string path =
      (std::filesystem::path(COLLSIM_SOURCE_DIR) / file.substr(file.rfind("/" + tests) + 1))
          .string();
  const int lock = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  (void)::flock(lock, LOCK_EX);
  std::string source = read(path);
  const std::vector<Literal> literals = literals_of(source);
  bool found = false;
  for (auto literal = literals.rbegin(); literal != literals.rend(); ++literal)
    if (literal->value == before) {
      source.replace(literal->begin, literal->end - literal->begin,
                     as_literal(after, literal->raw_opening));
      found = true;
    }
  if (found) std::ofstream(path) << source;
  (void)::close(lock);
  return found;
}

// "line 12 was ... and is ...": where two texts of several lines begin to differ.
inline std::string first_difference(const std::string& before, const std::string& after) {
  std::istringstream old_text(before), new_text(after);
  std::string was, is;
  for (int line = 1;; ++line) {
    const bool more = static_cast<bool>(std::getline(old_text, was));
    if (!std::getline(new_text, is)) is = "the end";
    if (!more) was = "the end";
    if (was != is || !more)
      return "line " + std::to_string(line) + " was\n  " + was + "\nand is\n  " + is;
  }
}

}  // namespace golden

// The text is the content of a file in tests/data.
inline void expect_golden(const std::string& found, const std::string& path) {
  if (golden::updating()) {
    std::ofstream(path) << found;
    return;
  }
  const std::string expected = golden::read(path);
  EXPECT_TRUE(found == expected) << path << ", " << golden::first_difference(expected, found)
                                 << "\nif it was meant to change: UPDATE_GOLDEN=1";
}

// The text is what the test's source says: a string literal, wherever it stands in the file of the
// caller.  ./dev format breaks lines that have become too long.
inline void expect_text(const std::string& found, const std::string& expected,
                        const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (found == expected || (golden::updating() && golden::rewrite(file, expected, found))) return;
  const ::testing::ScopedTrace caller(file, line, "if it was meant to change: UPDATE_GOLDEN=1");
  EXPECT_EQ(found, expected);
}

}  // namespace collsim
