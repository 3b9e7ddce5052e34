// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "app/scenario/make_case.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// One point of a scenario, made again with other values at some paths: what --set would make of it,
// with every default that follows from them (dims and channels of another algorithm).
class Variations {
 public:
  // Of the point of the scenario, which must outlive this.
  Variations(const Scenario& scenario, std::size_t point);

  // Throws Error{invalid_argument} where that makes no sense, in the words of the first mistake.
  [[nodiscard]] Case with(const Params& changes);
  // Whether "cluster.link" alone says what all links have.
  [[nodiscard]] bool has_one_link() const { return has_one_link_; }
  // What is written or known there, or nothing: "workload.device.skew".
  [[nodiscard]] const JsonValue* said(std::string_view path) const;
  // Whether that is there and not empty: "cluster.links_override".
  [[nodiscard]] bool says(std::string_view path) const;

 private:
  Scenario point_;  // each of its values an axis of one point
  ClusterCache clusters_;
  JsonValue said_;
  bool has_one_link_ = false;
};

}  // namespace collsim
