// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace collsim {

// A folder of real files that do not belong to the repository: in $COLLSIM_SHARED, or beside the
// checkout.  Nothing when it is not there; tests then skip with no_samples.
inline constexpr const char* no_samples = "no ../shared/samples";
[[nodiscard]] inline std::optional<std::filesystem::path> shared_samples(const std::string& kind) {
  const char* given = std::getenv("COLLSIM_SHARED");
  const std::filesystem::path shared =
      given != nullptr ? given : std::filesystem::path(COLLSIM_SOURCE_DIR) / ".." / "shared";
  const std::filesystem::path folder = shared / "samples" / kind;
  return std::filesystem::is_directory(folder) ? std::optional(folder) : std::nullopt;
}

}  // namespace collsim
