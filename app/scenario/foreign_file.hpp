// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace collsim {

// A text that another program wrote and that another command reads.
struct ForeignFile {
  std::string_view what;  // "a topology that NCCL wrote"
  std::string_view hint;  // "collsim topo import FILE reads it"
  bool is_log = false;    // of nccl-tests
};

// Tells by a few words what a text is that should be something of ours; nothing: it may well be.
[[nodiscard]] std::optional<ForeignFile> foreign_file(std::string_view text);

}  // namespace collsim
