// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "collectives/script.hpp"
#include "collectives/workloads/model.hpp"

namespace collsim {

// A pass of a layer, which the host launches, and again what is computed again: the host, a stream
// of its own, is ahead of the device wherever it is faster, and no pass ends before it has been
// launched.  Without Model::launch the host takes no part.
[[nodiscard]] inline std::vector<Action> launched_pass(const Model& model, const Layer& layer,
                                                       const Label& label, int compute, int host) {
  const bool is_forward = label.kind == Label::Kind::forward;
  const Action pass = labelled(work(compute, is_forward ? layer.forward : layer.backward), label);
  if (model.launch == Time{}) return {pass};
  const std::int64_t launches = !is_forward && layer.again > Time{} ? 2 : 1;
  return {work(host, Time(model.launch.ps() * launches)), pass, record(host, compute),
          wait(compute, host)};
}

}  // namespace collsim
