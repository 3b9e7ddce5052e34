// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/include.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/json/parse_json.hpp"
#include "app/json/value.hpp"
#include "app/scenario/foreign_file.hpp"
#include "app/scenario/scenario_folder.hpp"

namespace collsim {
namespace {

namespace fs = std::filesystem;

class IncludeReader {
 public:
  IncludeReader(const std::string& file, Sources& sources, Diagnostics& diagnostics, Document what)
      : sources_(&sources), diagnostics_(&diagnostics), what_(what), folder_(file) {}

  std::optional<JsonValue> read(const std::string& file, const Diagnostic& asked_by = {}) {
    ++files_;
    const std::optional<std::uint32_t> source =
        read_source(file, *sources_, *diagnostics_, asked_by);
    if (!source) return std::nullopt;
    const auto refuse = [&](const ForeignFile& foreign) {
      return diagnostics_->add(
          {.code = "not-a-scenario",
           .message = fmt::format("this is {}, not {}", foreign.what, what_in_words()),
           .place = {*source, 0, 0},
           .hint = std::string(foreign.hint)});
    };
    if (const auto foreign = foreign_file(sources_->text(*source))) return refuse(*foreign);
    std::optional<JsonValue> document = parse_json(*source, *sources_, *diagnostics_);
    if (!document) return std::nullopt;
    if (const auto foreign = foreign_json(*document); foreign && !foreign->is_scenario)
      return refuse(*foreign);
    if (!document->is_object())
      return diagnostics_->add(
          {.code = "wrong-type",
           .message = "a scenario is an object, not " + std::string(document->kind_name()),
           .place = document->place,
           .hint = "begin with {\"scenario\": 1, \"cluster\": ...}"});
    const bool is_scenario = stack_.empty() && what_ == Document::scenario;
    if (!check_version(*document, is_scenario, *diagnostics_)) return std::nullopt;
    stack_.push_back(file == "-" ? fs::path("-") : real_path(fs::path(file)));
    std::optional<JsonValue> whole = with_includes(std::move(*document), file);
    stack_.pop_back();
    return whole;
  }

 private:
  std::optional<JsonValue> with_includes(JsonValue document, const std::string& file) {
    const JsonValue* include = document.find("include");
    if (include == nullptr) return document;
    if (!include->is_array())
      return wrong(*include, "/include", "wrong-type",
                   "\"include\" is a list of files, not " + std::string(include->kind_name()),
                   "write \"include\": [\"common/links.json\"]");
    const JsonValue::Array names = include->items();
    document.erase("include");
    const fs::path folder = file == "-" ? fs::path() : fs::path(file).parent_path();
    JsonValue under = JsonValue::object();
    bool complete = true;
    for (std::size_t i = 0; i < names.size() && files_ <= max_files; ++i) {
      std::optional<JsonValue> part = read_included(names[i], pointer_to("/include", i), folder);
      if (!part) complete = false;
      if (part) part->erase("measured");  // what a machine was fitted to, kept in its file
      if (part) under = merged(std::move(*part), std::move(under));
    }
    if (!complete || files_ > max_files) return std::nullopt;
    return merged(std::move(document), std::move(under));
  }

  std::optional<JsonValue> read_included(const JsonValue& name, const std::string& pointer,
                                         const fs::path& folder) {
    const auto refused = [&](std::string code, std::string message, std::string hint = {}) {
      return wrong(name, pointer, std::move(code), std::move(message), std::move(hint));
    };
    if (!name.is_string() || name.string().empty() || name.string().find('\0') != std::string::npos)
      return refused("wrong-type", "an include is the name of a file");
    const fs::path written(name.string());
    if (written.is_absolute())
      return refused("bad-include", "an include must not be an absolute path",
                     "write it relative to this file, so that the scenario works elsewhere too");
    const fs::path path = (folder / written).lexically_normal();
    if (!folder_.holds(path))
      return refused("bad-include",
                     "include " + collsim::quoted(name.string()) + " leaves the scenarios",
                     "included files must lie in " + folder_.shown());
    const fs::path real = real_path(path);
    if (const auto cycle = std::find(stack_.begin(), stack_.end(), real); cycle != stack_.end())
      return refused("include-cycle", "include " + collsim::quoted(name.string()) + " is circular",
                     circle(cycle - stack_.begin()));
    if (stack_.size() > max_include_depth)
      return refused("too-large",
                     "includes are more than " + std::to_string(max_include_depth) + " deep");
    if (files_ >= max_files) {
      ++files_;
      return refused("too-large", "more than " + std::to_string(max_files) + " files are included");
    }
    std::error_code ignored;
    if (fs::exists(real, ignored) && !fs::is_regular_file(real, ignored) &&
        !fs::is_directory(real, ignored))
      return refused("cannot-read", "include " + collsim::quoted(name.string()) + " is not a file");
    return read(path.string(), {.code = {},
                                .message = {},
                                .place = name.place,
                                .pointer = pointer,
                                .hint = "an include is relative to the file that names it"});
  }

  [[nodiscard]] std::string circle(std::ptrdiff_t first) const {
    std::string text;
    for (auto at = stack_.begin() + first; at != stack_.end(); ++at)
      text += at->filename().string() + " includes ";
    return text + stack_[static_cast<std::size_t>(first)].filename().string();
  }

  Refusal wrong(const JsonValue& value, const std::string& pointer, std::string code,
                std::string message, std::string hint) {
    return diagnostics_->add(
        {std::move(code), std::move(message), value.place, pointer, {}, std::move(hint)});
  }

  [[nodiscard]] std::string_view what_in_words() const {
    return stack_.empty() && what_ == Document::scenario ? "a scenario" : "a part of a scenario";
  }

  Sources* sources_;
  Diagnostics* diagnostics_;
  Document what_;
  ScenarioFolder folder_;
  std::vector<fs::path> stack_;
  std::size_t files_ = 0;
};

}  // namespace

std::optional<JsonValue> read_with_includes(const std::string& file, Sources& sources,
                                            Diagnostics& diagnostics, Document what) {
  return IncludeReader(file, sources, diagnostics, what).read(file);
}

JsonValue merged(JsonValue over, JsonValue under) {
  if (!over.is_object() || !under.is_object()) return over;
  std::vector<std::pair<std::string_view, std::size_t>> keys;
  for (std::size_t i = 0; i < over.members().size(); ++i)
    keys.emplace_back(over.members()[i].key, i);
  std::sort(keys.begin(), keys.end());
  JsonValue::Object added;
  for (JsonValue::Member& member : under.members()) {
    const auto found = std::lower_bound(keys.begin(), keys.end(),
                                        std::pair(std::string_view(member.key), std::size_t{0}));
    if (found == keys.end() || found->first != member.key) {
      added.push_back(std::move(member));
      continue;
    }
    JsonValue& own = over.members()[found->second].value;
    own = merged(std::move(own), std::move(member.value));
  }
  for (JsonValue::Member& member : added) over.members().push_back(std::move(member));
  return over;
}

bool check_version(const JsonValue& document, bool required, Diagnostics& diagnostics) {
  const JsonValue* version = document.find("scenario");
  if (version == nullptr) {
    if (required)
      diagnostics.add(
          {.code = "missing-key",
           .message = "the key \"scenario\" is missing",
           .place = {document.place.source, document.place.begin, document.place.begin + 1},
           .hint = "write \"scenario\": 1, the version of the format"});
    return true;
  }
  if (version->integer() == 1) return true;
  const bool other = version->is_number();
  diagnostics.add({.code = other ? "unknown-version" : "wrong-type",
                   .message = other ? "unknown format version " + to_json(*version, -1)
                                    : "\"scenario\" is the version of the format, a number, not " +
                                          std::string(version->kind_name()),
                   .place = version->place,
                   .pointer = "/scenario",
                   .hint = "this program reads version 1: write \"scenario\": 1"});
  return !other;
}

}  // namespace collsim
