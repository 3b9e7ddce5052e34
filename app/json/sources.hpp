// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "app/json/value.hpp"

namespace collsim {

class Diagnostics;
struct Diagnostic;

// The texts that values come from, kept for messages.
class Sources {
 public:
  enum class Kind : std::uint8_t {
    file,      // name: its path as the user would write it
    argument,  // name: the option, "--set collective.chunks=x"; the text is what follows the name
    builtin    // name: "preset dgx-h100", "defaults"
  };
  std::uint32_t add(Kind kind, std::string name, std::string text);

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] Kind kind(std::uint32_t source) const { return all_[source].kind; }
  [[nodiscard]] const std::string& name(std::uint32_t source) const { return all_[source].name; }
  [[nodiscard]] const std::string& text(std::uint32_t source) const { return all_[source].text; }

  struct Position {
    int line = 1;                     // from 1
    int column = 1;                   // from 1, in characters (UTF-8 code points), not bytes
    std::string_view line_text = {};  // without its end of line
    std::size_t line_begin = 0;       // byte offset
  };
  [[nodiscard]] Position locate(std::uint32_t source, std::size_t offset) const;
  // "file.json:3:25", "--set collective.chunks=x", "preset dgx-h100", "default".
  [[nodiscard]] std::string describe(const SourceRange& place) const;

 private:
  struct Source {
    Kind kind;
    std::string name, text;
  };
  std::deque<Source> all_;  // names and texts stay where they are
};

// A larger file is refused, so that garbage takes bounded memory.
inline constexpr std::size_t max_json_bytes = 16U << 20U;

// Reads a file ("-": standard input, which is called <stdin>) into the sources, or says why it
// cannot be read, at `asked_by` (the include that names it).  Of what is longer than a scenario may
// be only as much is read as shows that.
[[nodiscard]] std::optional<std::uint32_t> read_source(const std::string& file, Sources& sources,
                                                       Diagnostics& diagnostics);
[[nodiscard]] std::optional<std::uint32_t> read_source(const std::string& file, Sources& sources,
                                                       Diagnostics& diagnostics,
                                                       const Diagnostic& asked_by,
                                                       std::size_t most_bytes = max_json_bytes);

}  // namespace collsim
