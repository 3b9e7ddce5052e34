// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topo/topology.hpp"

namespace collsim {

// One device or a range of them, as users write them: "cpu", "gpu[0-3]", "gpu[0,2-3]".
class DeviceNames {
 public:
  struct Parsed;
  [[nodiscard]] static Parsed parse(std::string_view text);

  [[nodiscard]] bool is_range() const { return !spans_.empty(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  // All of them; only when there are not too many.
  [[nodiscard]] std::vector<std::string> expanded() const;

 private:
  std::string prefix_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> spans_;  // first and last number
  std::size_t size_ = 1;
};
struct DeviceNames::Parsed {
  std::optional<DeviceNames> names = {};
  std::string message = {}, hint = {};  // what is wrong, when there are no names
};

// Letters, digits, '-', '_', '.' and ':'; at least one.
[[nodiscard]] bool is_device_name(std::string_view name);

// The device that was probably meant by a name that does not exist, or the range of devices whose
// numbers it lacks ("gpu" -> "gpu[0-3]"); empty when none is near.
[[nodiscard]] std::string nearest_device(std::string_view name,
                                         const std::vector<std::string>& names);

// The inverse, for messages: "gpu[0-7], nvswitch and nic[0-7]"; beyond the limit "...".
[[nodiscard]] std::string in_words(const std::vector<std::string>& names);
[[nodiscard]] std::string devices_in_words(const Topology& topology);

}  // namespace collsim
