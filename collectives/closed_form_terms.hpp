// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "collectives/algorithms.hpp"
#include "collectives/uniform_network.hpp"

namespace collsim {

// What formulas are made of; closed_forms.hpp explains the symbols.  Only gamma is the reciprocal of
// that symbol, seconds per byte, so that adding for free is 0.
struct Terms {
  using Kind = UniformNetwork::Kind;

  const Collective& collective;
  const AlgorithmChoice& choice;
  Kind kind;
  bool in_order;  // position i is rank i
  double alpha, B, L, gamma;
  int ranks = collective.size();
  int chunks = choice.chunks;
  double K = ranks;
  double N = static_cast<double>(collective.bytes());
  double S = chunks;

  [[nodiscard]] bool on(Kind other) const { return kind == other; }
  [[nodiscard]] bool on_ports() const { return kind == Kind::ports; }
  [[nodiscard]] bool power_of_two() const {
    return std::has_single_bit(static_cast<unsigned>(ranks));
  }
  [[nodiscard]] int ceil_log() const {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
  }
  [[nodiscard]] int floor_log() const {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1;
  }
  // Everything but the occupation of links is free: then a port that is never idle decides.
  [[nodiscard]] bool only_links_cost() const { return L == 0 && gamma == 0; }
  // The messages reach the root of a switch in the order in which it takes them.
  [[nodiscard]] bool root_takes_in_order() const { return collective.root == 0 && in_order; }

  [[nodiscard]] double tau(double n) const { return alpha + n / B; }
  [[nodiscard]] double pass(double n) const { return S * tau(n / S) + L; }
  // `messages` of n bytes each, one after the other over one link, each added when it has arrived.
  [[nodiscard]] double train(double messages, double n) const {
    return tau(n) + L + (messages - 1) * std::max(tau(n), gamma * n) + gamma * n;
  }
  [[nodiscard]] double step(double n) const { return train(S, n / S); }
};

// A ring of `ranks` on which a vector of n bytes travels in as many blocks, in S chunks each.  A
// step begins when the chunk before has left the link and when the same chunk of the step before
// has come and, while blocks are summed, has been added.
struct RingTerms {
  double ranks, t, g, L, S;
  bool adds_fast;  // the formulas hold: a chunk is added before the next one comes

  RingTerms(const Terms& terms, double on_ranks, double n)
      : ranks(on_ranks),
        t(terms.tau(n / (on_ranks * terms.S))),
        g(terms.gamma * n / (on_ranks * terms.S)),
        L(terms.L),
        S(terms.S),
        adds_fast(terms.chunks == 1 || g <= t) {}

  [[nodiscard]] double passing() const { return std::max(S * t, t + L); }
  [[nodiscard]] double adding() const { return std::max(S * t, t + L + g); }
  [[nodiscard]] double all_gather() const { return (ranks - 2) * passing() + S * t + L; }
  [[nodiscard]] double reduce_scatter() const { return (ranks - 2) * adding() + S * t + L + g; }
  [[nodiscard]] double all_reduce() const {
    return (ranks - 1) * adding() + (ranks - 2) * passing() + S * t + L;
  }
};

// One line of knowledge.
struct FormulaRow {
  Operation operation;
  std::string_view algorithm;
  unsigned networks;                // bits of Terms::Kind
  bool (*holds)(const Terms&);      // besides; null: always
  double (*seconds)(const Terms&);  // for K > 1
  std::string_view formula;
  std::string_view reference;
  std::int64_t (*pieces)(const Terms&);  // into how many the vector must divide evenly to be exact
  double (*best_chunks)(const Terms&) = nullptr;
};

// Table by table, the first row that matches and holds is the answer.
[[nodiscard]] std::span<const std::span<const FormulaRow>> formula_tables();

}  // namespace collsim
