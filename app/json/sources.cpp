// SPDX-License-Identifier: Apache-2.0
#include "app/json/sources.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "app/json/diagnostics.hpp"
#include "app/json/screen_text.hpp"
#include "app/json/source_bytes.hpp"

namespace collsim {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

std::size_t first_bad_byte(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (!point.valid) return at;
    at += point.bytes;
  }
  return text.size();
}

// Why it could not be read; empty: it was.
std::string read_all(const std::string& file, std::string& text, std::size_t most_bytes) {
  if (file != "-") {
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored)) return "it is a folder";
  }
  const OpenFile opened(file == "-" ? stdin : std::fopen(file.c_str(), "rb"));
  if (!opened) return errno == ENOENT ? "no such file" : std::strerror(errno);
  std::string buffer(std::size_t{1} << 16U, '\0');
  while (text.size() <= most_bytes) {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), opened.get());
    text.append(buffer, 0, count);
    if (count < buffer.size()) return std::ferror(opened.get()) ? std::strerror(errno) : "";
  }
  return "";
}

// UTF-16 with its mark, which PowerShell's > writes, as UTF-8; other texts as they are.
std::string without_utf16(std::string text) {
  constexpr std::string_view low_first = "\xFF\xFE", high_first = "\xFE\xFF";
  const bool swapped = text.starts_with(high_first);
  if (!swapped && !text.starts_with(low_first)) return text;
  const auto unit = [&](std::size_t at) {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
    };
    return swapped ? byte(at) << 8U | byte(at + 1) : byte(at + 1) << 8U | byte(at);
  };
  std::string plain;
  for (std::size_t at = 2; at + 1 < text.size(); at += 2) {
    std::uint32_t code = unit(at);
    const bool high = code >= 0xD800 && code < 0xDC00;
    if (high && at + 3 < text.size()) {
      const std::uint32_t low = unit(at + 2);
      if (low < 0xDC00 || low > 0xDFFF) return text;
      code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
      at += 2;
    } else if (code >= 0xD800 && code <= 0xDFFF) {
      return text;
    }
    append_utf8(plain, code);
  }
  return plain;
}

}  // namespace

// A byte order mark, which Excel and others put before the text of a file, is no part of it.
std::uint32_t Sources::add(Kind kind, std::string name, std::string text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (kind == Kind::file && text.starts_with(byte_order_mark))
    text.erase(0, byte_order_mark.size());
  all_.push_back({kind, std::move(name), std::move(text)});
  return static_cast<std::uint32_t>(all_.size() - 1);
}

Sources::Position Sources::locate(std::uint32_t source, std::size_t offset) const {
  const std::string_view text = all_[source].text;
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const std::size_t last_end = before.rfind('\n');

  Position position;
  position.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  if (last_end != std::string_view::npos) position.line_begin = last_end + 1;
  position.line_text = text.substr(position.line_begin);
  position.line_text = position.line_text.substr(0, position.line_text.find('\n'));
  if (position.line_text.ends_with('\r')) position.line_text.remove_suffix(1);
  if (offset > position.line_begin) {
    const std::string_view left = before.substr(position.line_begin);
    const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) >> 6U) == 2; };
    position.column += static_cast<int>(static_cast<std::ptrdiff_t>(left.size()) -
                                        std::count_if(left.begin(), left.end(), continues));
  }
  return position;
}

std::string Sources::describe(const SourceRange& place) const {
  if (place.source == SourceRange::nowhere) return "default";
  if (kind(place.source) != Kind::file) return name(place.source);
  const Position position = locate(place.source, place.begin);
  return name(place.source) + ":" + std::to_string(position.line) + ":" +
         std::to_string(position.column);
}

std::optional<std::uint32_t> read_source(const std::string& file, Sources& sources,
                                         Diagnostics& diagnostics) {
  return read_source(file, sources, diagnostics, Diagnostic{});
}

std::optional<std::uint32_t> read_source(const std::string& file, Sources& sources,
                                         Diagnostics& diagnostics, const Diagnostic& asked_by,
                                         std::size_t most_bytes) {
  const auto source = read_bytes(file, sources, diagnostics, asked_by, most_bytes);
  if (!source || !is_text(*source, sources, diagnostics, most_bytes)) return std::nullopt;
  return source;
}

std::optional<std::uint32_t> read_bytes(const std::string& file, Sources& sources,
                                        Diagnostics& diagnostics, const Diagnostic& asked_by,
                                        std::size_t most_bytes) {
  const std::string name = file == "-" ? "<stdin>" : file.empty() ? "\"\"" : file;
  std::string text;
  const std::string problem = read_all(file, text, most_bytes);
  if (!problem.empty()) {
    Diagnostic diagnostic = asked_by;
    diagnostic.code = "cannot-read";
    diagnostic.message = "cannot read " + name + ": " + problem;
    return diagnostics.add(std::move(diagnostic));
  }
  if (text.size() <= most_bytes) text = without_utf16(std::move(text));
  return sources.add(Sources::Kind::file, name, std::move(text));
}

bool is_text(std::uint32_t source, const Sources& sources, Diagnostics& diagnostics,
             std::size_t most_bytes) {
  const std::string& text = sources.text(source);
  if (text.size() > most_bytes) return true;  // cut, perhaps within a character
  const std::size_t bad = first_bad_byte(text);
  if (bad == text.size()) return true;
  const auto at = static_cast<std::uint32_t>(bad);
  return diagnostics.add({.code = "not-utf8",
                          .message = "the file is not UTF-8 text",
                          .place = {source, at, at + 1},
                          .hint = "save it as UTF-8"});
}

}  // namespace collsim
