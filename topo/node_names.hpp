// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "topo/ids.hpp"

namespace collsim {

// The names of all devices, by NodeId; whoever makes them sees to it that none is there twice.
// Copies share them, because there may be millions and every variant of a network has the same.
class NodeNames {
 public:
  [[nodiscard]] bool empty() const { return list_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return empty() ? 0 : list_->names.size(); }
  [[nodiscard]] const std::string& operator[](std::size_t node) const { return list_->names[node]; }

  // That of the next device.
  void add(std::string name) {
    if (list_.use_count() != 1 || !list_->nodes.empty()) {
      auto own = std::make_shared<List>();
      if (!empty()) own->names = list_->names;
      list_ = std::move(own);
    }
    list_->names.push_back(std::move(name));
  }

  // The first call makes a table of all devices.
  [[nodiscard]] std::optional<NodeId> find(std::string_view name) const {
    if (empty()) return std::nullopt;
    std::call_once(list_->listed, [this] {
      for (std::size_t node = 0; node < list_->names.size(); ++node)
        list_->nodes.emplace(list_->names[node], NodeId(node));
    });
    const auto found = list_->nodes.find(name);
    if (found == list_->nodes.end()) return std::nullopt;
    return found->second;
  }

 private:
  struct List {
    std::vector<std::string> names;
    std::once_flag listed;
    std::unordered_map<std::string_view, NodeId> nodes;  // the inverse, of listed names
  };
  std::shared_ptr<List> list_;
};

}  // namespace collsim
