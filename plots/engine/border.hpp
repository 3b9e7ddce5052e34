// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plots/engine/setting.hpp"

// What all that JavaScript calls has in common.

#define COLLSIM_EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace collsim {

// Where a text or a column is.
struct View {
  const void* data = nullptr;
  std::uint32_t count = 0;
};
inline View view_of(const std::string& of) {
  return {of.data(), static_cast<std::uint32_t>(of.size())};
}
template <class T>
View view_of(const std::vector<T>& of) {
  return {of.data(), static_cast<std::uint32_t>(of.size())};
}

// What JavaScript has written.
[[nodiscard]] const Setting& setting_of_page();

}  // namespace collsim
