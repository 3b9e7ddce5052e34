// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/read_source.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/json/parse_json.hpp"

namespace collsim {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

// Offset of the first byte that is not UTF-8: RFC 3629, without overlong forms and surrogates.
std::size_t first_bad_byte(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto byte = [&](std::size_t i) {
      return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
    };
    const unsigned lead = byte(0);
    std::size_t length = 1;
    if (lead >= 0x80) length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4) return at;
    for (std::size_t i = 1; i < length; ++i)
      if ((byte(i) & 0xC0U) != 0x80) return at;
    const unsigned second = byte(1);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
      return at;
    at += length;
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
  if (!opened) return errno == ENOENT ? "there is no such file" : std::strerror(errno);
  std::string buffer(std::size_t{1} << 16U, '\0');
  while (text.size() <= most_bytes) {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), opened.get());
    text.append(buffer, 0, count);
    if (count < buffer.size()) return std::ferror(opened.get()) ? std::strerror(errno) : "";
  }
  return "";
}

}  // namespace

std::optional<std::uint32_t> read_source(const std::string& file, Sources& sources,
                                         Diagnostics& diagnostics, const Diagnostic& asked_by,
                                         std::size_t most_bytes) {
  const std::string name = file == "-" ? "<stdin>" : file.empty() ? "\"\"" : file;
  std::string text;
  const std::string problem = read_all(file, text, most_bytes);
  if (!problem.empty()) {
    Diagnostic diagnostic = asked_by;
    diagnostic.code = "cannot-read";
    diagnostic.message = "cannot read " + name + ": " + problem;
    diagnostics.add(std::move(diagnostic));
    return std::nullopt;
  }
  const bool whole = text.size() <= most_bytes;
  const std::size_t bad = whole ? first_bad_byte(text) : text.size();
  const bool is_text = bad == text.size();
  const auto source = sources.add(Sources::Kind::file, name, std::move(text));
  if (is_text) return source;
  const auto at = static_cast<std::uint32_t>(bad);
  diagnostics.add({.code = "not-utf8",
                   .message = "the file is not UTF-8 text",
                   .place = {source, at, at + 1},
                   .pointer = {},
                   .suggestion = {},
                   .hint = "save it in the encoding UTF-8"});
  return std::nullopt;
}

}  // namespace collsim
