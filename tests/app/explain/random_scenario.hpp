// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/collective.hpp"

namespace collsim::testing {

// The text of a small scenario: any shape, operation, algorithm and cost.  Some make no sense.
class RandomScenario {
 public:
  explicit RandomScenario(unsigned seed) : random_(seed) {}

  std::string text() {
    const std::string cluster = this->cluster();
    const std::string op = one_of({"all-reduce", "all-gather", "reduce-scatter", "broadcast",
                                   "reduce", "all-to-all", "gather"});
    std::string collective = fmt::format(R"("op": "{}", "size": "{}B")", op, 4 * whole(1, 60'000));
    const std::vector<const Algorithm*>& all = algorithms(parse_operation(op));
    if (chance(0.8))
      collective += fmt::format(R"(, "algorithm": "{}")",
                                chance(0.1) ? "auto" : all[whole(0, all.size() - 1)]->name);
    if (chance(0.4)) collective += fmt::format(R"(, "chunks": {})", whole(1, 9));
    if (chance(0.2)) collective += fmt::format(R"(, "channels": {})", whole(1, 4));
    if (chance(0.1)) collective += fmt::format(R"(, "slots": {})", whole(1, 3));
    std::string model;
    if (chance(0.3)) model += fmt::format(R"("reduce_bandwidth": "{}MB/s")", whole(500, 90'000));
    if (chance(0.2))
      model += fmt::format(R"({}"instruction_overhead": "{}ns")", model.empty() ? "" : ", ",
                           whole(1, 900));
    return fmt::format(R"({{"scenario": 1, "cluster": {{{}}}, "model": {{{}}}, )"
                       R"("collective": {{{}}}}})",
                       cluster, model, collective);
  }

 private:
  std::string cluster() {
    std::string text;
    switch (whole(0, 5)) {
      case 0:
        text = fmt::format(R"("shape": "{}", "ranks": {}, {})",
                           one_of({"ring", "chain", "switch", "fully-connected"}), whole(2, 9),
                           link("link"));
        break;
      case 1:
        text = fmt::format(R"("shape": "torus", "dims": [{}, {}], {})", whole(2, 3), whole(2, 4),
                           link("link"));
        break;
      case 2: text = fmt::format(R"("shape": "hypercube", "ranks": 8, {})", link("link")); break;
      case 3:
        text = fmt::format(R"("shape": "nodes", "nodes": {}, "gpus_per_node": {}, )"
                           R"("intra": {{"shape": "{}", {}}}, "inter": {{"shape": "switch", {}}})",
                           whole(2, 4), whole(2, 3), one_of({"switch", "ring", "fully-connected"}),
                           link("link"), link("link"));
        break;
      case 4:
        text = fmt::format(R"("shape": "leaf-spine", "leaves": 2, "ranks_per_leaf": {}, )"
                           R"("spines": {}, {})",
                           whole(2, 4), whole(1, 3), link("link"));
        break;
      default: text = fmt::format(R"("preset": "dgx-h100", "nodes": {})", whole(1, 2));
    }
    if (chance(0.15)) text += fmt::format(R"(, "late": {{"1": "{}us"}})", whole(1, 90));
    return text;
  }

  std::string link(const char* key) {
    return fmt::format(
        R"("{}": {{"bandwidth": "{}MB/s", "overhead": "{}ns", "latency": "{}ns"{}}})", key,
        whole(800, 60'000), chance(0.3) ? 0 : whole(1, 5000), chance(0.3) ? 0 : whole(1, 3000),
        chance(0.4) ? R"(, "sharing": "fair")" : "");
  }

  std::size_t whole(std::size_t low, std::size_t high) {
    return low + random_() % (high - low + 1);
  }
  bool chance(double part) { return static_cast<double>(random_() % 1000) < 1000 * part; }
  std::string one_of(const std::vector<std::string>& words) {
    return words[whole(0, words.size() - 1)];
  }
  std::mt19937 random_;
};

}  // namespace collsim::testing
