// SPDX-License-Identifier: Apache-2.0
#include "app/commands/params_text.hpp"

#include "app/json/screen_text.hpp"
#include "app/json/write_json.hpp"

namespace collsim {

std::string value_text(const Value& value) {
  return value.is_string() ? printable(value.string()) : to_json(value, -1);
}

std::string params_text(const Params& params) {
  std::string text;
  for (const auto& [path, value] : params)
    text += (text.empty() ? "" : ", ") + path + " = " + value_text(value);
  return text;
}

}  // namespace collsim
