// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "app/json/value.hpp"

namespace collsim {

// A text that another program wrote and that another command reads.
struct ForeignFile {
  std::string_view what;     // "a topology that NCCL wrote"
  std::string_view hint;     // "collsim topo import FILE reads it"
  bool is_log = false;       // of nccl-tests
  bool is_scenario = false;  // or a part of one: a machine
};

// Tells by a few words what a text is that should be something of ours; nothing: it may well be.
[[nodiscard]] std::optional<ForeignFile> foreign_file(std::string_view text);
// The same of JSON, by its keys: what some command of ours reads or writes.
[[nodiscard]] std::optional<ForeignFile> foreign_json(const JsonValue& document);

}  // namespace collsim
