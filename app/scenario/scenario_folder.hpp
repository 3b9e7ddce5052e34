// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/json/value.hpp"

namespace collsim {

// The path without symbolic links, "." and "..", also of a file that is not there.
[[nodiscard]] std::filesystem::path real_path(const std::filesystem::path& path);

// The folder that what a scenario reads must not leave, so that the scenario of a stranger shows
// nothing of other files: that of the scenario or, if it lies below one named "scenarios", that.
class ScenarioFolder {
 public:
  // "-": of standard input, the current folder.
  explicit ScenarioFolder(const std::string& scenario_file);

  // Symbolic links are followed.
  [[nodiscard]] bool holds(const std::filesystem::path& path) const;
  // As the user would write it: "scenarios/", "the current folder".
  [[nodiscard]] std::string shown() const;

 private:
  std::filesystem::path root_;
};

// The path of a file that a value names, such as "calibration": "machine.json".  Relative to
// `from`, the scenario or the file that the value stands in, and inside of its ScenarioFolder;
// what the user names on the command line is wherever they say.  Nothing when it is refused.
[[nodiscard]] std::optional<std::string> named_file(const JsonValue& name,
                                                    const std::string& pointer,
                                                    const std::string& from, const Sources& sources,
                                                    Diagnostics& diagnostics);

}  // namespace collsim
