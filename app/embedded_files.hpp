// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace collsim {

// Text files that are part of the program.
struct EmbeddedFile {
  std::string_view name;  // without folder and suffix
  std::string_view text;
};

[[nodiscard]] std::span<const EmbeddedFile> embedded_presets();      // scenarios/presets/*.json but
[[nodiscard]] std::span<const EmbeddedFile> embedded_fitted();       // its fitted.json,
[[nodiscard]] std::span<const EmbeddedFile> embedded_devices();      // its devices.json and
[[nodiscard]] std::span<const EmbeddedFile> embedded_nccl_tuners();  // its nccl-*.json
[[nodiscard]] std::span<const EmbeddedFile> embedded_schema();       // scenarios/schema/*.json
[[nodiscard]] std::span<const EmbeddedFile> embedded_report();       // the page of plots/report/

}  // namespace collsim
