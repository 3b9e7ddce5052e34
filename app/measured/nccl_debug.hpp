// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "topo/units.hpp"

namespace collsim {

// What lines of NCCL_DEBUG=INFO say about a run.
class DebugFacts {
 public:
  // What follows "NCCL INFO", or a line that only has a version.
  void take(std::string_view text);

  struct Choice {
    std::string algorithm, protocol;  // "Ring", "LL128"
  };
  // What the tuner took for this operation at this size: the most frequent of several, nothing for
  // none.  Lines of NCCL before 2.23 do not name the operation.
  [[nodiscard]] std::optional<Choice> choice(const std::string& operation, Bytes size) const;

  [[nodiscard]] const std::string& library() const { return library_; }  // "NCCL 2.20.5"
  // Of the largest communicator.
  [[nodiscard]] std::optional<std::int64_t> ranks() const { return ranks_; }
  [[nodiscard]] std::optional<std::int64_t> nodes() const { return nodes_; }
  // What joins the nodes: "ib", "roce", "efa", "tcp"; empty: not said.
  [[nodiscard]] const std::string& network() const { return network_; }
  [[nodiscard]] std::size_t lines() const { return lines_; }

 private:
  void take_version(std::string_view text);
  void take_ranks(std::string_view text);
  void take_choice(std::string_view text);
  void take_network(std::string_view text);

  std::string library_, network_;
  std::optional<std::int64_t> ranks_, nodes_;
  std::map<std::tuple<std::string, Bytes, std::string, std::string>, std::size_t> choices_;
  std::size_t lines_ = 0;
};

// "22602" of "nccl-library=22602" is "NCCL 2.26.2"; nothing for what is no such number.
[[nodiscard]] std::string library_of_code(std::int64_t code, std::string_view name = "NCCL");

}  // namespace collsim
