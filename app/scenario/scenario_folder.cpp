// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/scenario_folder.hpp"

#include <algorithm>
#include <system_error>

namespace collsim {
namespace {

namespace fs = std::filesystem;

bool is_standard_input(const std::string& file) {
  return file == "-" || file == "<stdin>";
}

fs::path folder_of(const std::string& file) {
  std::error_code ignored;
  return is_standard_input(file) ? fs::current_path(ignored)
                                 : real_path(fs::path(file)).parent_path();
}

}  // namespace

fs::path real_path(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  const fs::path found = fs::weakly_canonical(absolute, error);
  return error ? absolute.lexically_normal() : found;
}

ScenarioFolder::ScenarioFolder(const std::string& scenario_file) : root_(folder_of(scenario_file)) {
  for (fs::path at = root_; at.has_relative_path(); at = at.parent_path())
    if (at.filename() == "scenarios") {
      root_ = at;
      return;
    }
}

bool ScenarioFolder::holds(const fs::path& path) const {
  const fs::path real = real_path(path);
  return std::mismatch(root_.begin(), root_.end(), real.begin(), real.end()).first == root_.end();
}

std::string ScenarioFolder::shown() const {
  std::error_code error;
  const fs::path relative = fs::relative(root_, fs::current_path(error), error);
  if (error || relative.empty()) return root_.string();
  return relative == "." ? "the current folder" : relative.string() + "/";
}

std::optional<std::string> named_file(const JsonValue& name, const std::string& pointer,
                                      const std::string& from, const Sources& sources,
                                      Diagnostics& diagnostics) {
  const std::uint32_t by = name.place.source;
  const bool by_file = by != SourceRange::nowhere && sources.kind(by) == Sources::Kind::file;
  fs::path file = name.string();
  if (!by_file) return file.lexically_normal().string();
  if (file.is_relative() && !is_standard_input(from)) file = fs::path(from).parent_path() / file;
  file = file.lexically_normal();
  const ScenarioFolder folder(from);
  if (!folder.holds(file))
    return diagnostics.add(
        {.code = "outside-folder",
         .message = quoted(name.string()) + " leaves the folder of the scenario",
         .place = name.place,
         .pointer = pointer,
         .hint = "a scenario reads files in " + folder.shown() +
                 "; others only if you name them on the command line with --set"});
  return file.string();
}

}  // namespace collsim
