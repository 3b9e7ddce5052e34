// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/script.hpp"
#include "collectives/workloads/model.hpp"

namespace collsim {

// A pass of a layer, which the host launches, and again what is computed again: the host, a stream
// of its own, is ahead of the device wherever it is faster, and no pass ends before it has been
// launched.  Without Model::launch the host takes no part.
//
//   for (int i = 0; i < pass.lines(); ++i) co_yield pass.line(i);
class LaunchedPass {
 public:
  LaunchedPass(const Model& model, const Layer& layer, const Label& label, int compute, int host)
      : label_(label), compute_(compute), host_(host) {
    const bool is_forward = label.kind == Label::Kind::forward;
    time_ = is_forward ? layer.forward : layer.backward;
    launch_ = Time(model.launch.ps() * (!is_forward && layer.again > Time{} ? 2 : 1));
  }

  [[nodiscard]] int lines() const { return launch_ == Time{} ? 1 : 4; }
  [[nodiscard]] Action line(int number) const {
    switch (lines() == 1 ? 1 : number) {
      case 0: return work(host_, launch_);
      case 1: return labelled(work(compute_, time_), label_);
      case 2: return record(host_, compute_);
      default: return wait(compute_, host_);
    }
  }

 private:
  Label label_;
  int compute_, host_;
  Time time_{}, launch_{};
};

}  // namespace collsim
