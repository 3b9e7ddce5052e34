// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace collsim {

// Where a strict JSON parser had got to when it could not go on.
struct ParserState {
  enum class After { nothing, object_begin, array_begin, key, value };
  After after = After::nothing;    // the last token that was right, separators not counted
  std::size_t offset = 0;          // its end
  bool in_container = false;       // what is being read is not the outermost value
  bool in_object = false;          // ... but a member of an object (else an item of an array)
  std::size_t container_line = 0;  // where that object or array begins
};

struct SyntaxMistake {
  std::size_t begin = 0, end = 0;  // bytes
  std::string message;
  std::string hint = {};
};

// Says in words what is wrong with a text that is not JSON.
[[nodiscard]] SyntaxMistake find_syntax_mistake(std::string_view text, const ParserState& state);

// Ends of tokens that begin at an offset.  A string without an end reaches to the end of the text; a
// number ends where JSON's grammar says so ("01" is two numbers).
[[nodiscard]] std::size_t end_of_string(std::string_view text, std::size_t begin);
[[nodiscard]] std::size_t end_of_number(std::string_view text, std::size_t begin);
[[nodiscard]] std::size_t skip_blanks(std::string_view text, std::size_t offset);

}  // namespace collsim
