// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/constants_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include "app/calibrate/constants_belief.hpp"
#include "app/calibrate/fit.hpp"
#include "app/calibrate/nccl_tangent.hpp"
#include "app/calibrate/prior_fit.hpp"
#include "app/study/run_case.hpp"

namespace collsim {
namespace {

constexpr int most_tangents = 8;
constexpr double worthwhile_gain = 0.01;  // of the objective
// Of many machines: half of the rows of a good fit are within some percent, and smaller errors say
// nothing; the rows of a table are wrong together, so that ten tell about as much as one that
// stands alone.
constexpr double scale_of_errors = 0.02, weight_of_row = 0.107;
// An owner's rows count together as at least and at most so many, so that neither a laboratory
// that measured everything decides alone nor a few points go unheard.
constexpr double least_of_owner = 30, most_of_owner = 350;

// Calls work(i) for every i below `count`, on several threads.
void for_each_number(std::size_t count, int threads, const std::atomic<bool>* stop,
                     const std::function<void(std::size_t)>& work) {
  if (threads <= 0) threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      if (stop != nullptr && *stop) return;
      work(i);
    }
  };
  std::vector<std::jthread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(run);
  run();
}

// A constant of a kind as a sum of unknowns, all of them logarithms.
struct Slot {
  bool of_network = false;
  std::string kind;
  std::size_t constant = 0;
  double fixed = 0;
  std::vector<std::size_t> unknowns = {};
};

// Which unknowns there are, and what constants they make.
class Unknowns {
 public:
  // `only_between_nodes`: no row is of one node.
  Unknowns(const MachineConstants& present, const ConstantsFitOptions& options,
           bool only_between_nodes)
      : present_(present), options_(options), only_between_nodes_(only_between_nodes) {
    add_kinds(present.gpus, false);
    add_kinds(present.networks, true);
  }

  [[nodiscard]] const std::vector<Unknown>& all() const { return unknowns_; }
  [[nodiscard]] const std::vector<double>& start() const { return start_; }
  [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }
  // The factor that all rates of the network have in common, of one machine.
  [[nodiscard]] std::optional<std::size_t> network_rates() const { return network_rates_; }
  // Null: not fitted.
  [[nodiscard]] const Slot* slot(bool of_network, const std::string& kind,
                                 std::size_t constant) const {
    const auto found = by_place_.find({of_network, kind, constant});
    return found == by_place_.end() ? nullptr : &slots_[found->second];
  }

  [[nodiscard]] MachineConstants constants(const std::vector<double>& unknowns) const {
    MachineConstants made = present_;
    for (const Slot& slot : slots_) {
      double log = slot.fixed;
      for (const std::size_t u : slot.unknowns) log += unknowns[u];
      (slot.of_network ? made.networks : made.gpus).at(slot.kind)[slot.constant] = std::exp(log);
    }
    return made;
  }

 private:
  using Kinds = std::map<std::string, KindConstants>;

  [[nodiscard]] bool is_asked(const std::string& kind) const {
    const auto& kinds = options_.kinds;
    return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  }

  std::size_t add_unknown(Unknown unknown, double start) {
    unknowns_.push_back(unknown);
    start_.push_back(start);
    return unknowns_.size() - 1;
  }

  void add_kinds(const Kinds& kinds, bool of_network) {
    std::map<std::size_t, std::size_t> common;         // by constant
    std::map<std::string, std::size_t> hops_of_kinds;  // of networks
    for (const auto& [kind, constants] : kinds)
      for (std::size_t c = 0; c < constants.size(); ++c) {
        if (!constants[c] || !(*constants[c] > 0) || !is_asked(kind)) continue;
        Slot slot{of_network, kind, c};
        if (options_.within)
          add_within(slot, std::log(*constants[c]));
        else
          add_hierarchy(slot, common, hops_of_kinds);
        if (slot.unknowns.empty()) continue;  // the common one, which is not asked for
        by_place_[{of_network, kind, c}] = slots_.size();
        slots_.push_back(std::move(slot));
      }
  }

  // A slow network is slow under all protocols.
  void add_within(Slot& slot, double log) {
    if (is_rate_of_network(slot)) {
      if (!network_rates_) network_rates_ = add_unknown({0, sigma_of_network}, 0);
      slot.unknowns.push_back(*network_rates_);
    }
    slot.unknowns.push_back(add_unknown({log, sigma_within(slot)}, log));
  }
  static bool is_rate_of_network(const Slot& slot) {
    const Quantity quantity = all_constants()[slot.constant].quantity;
    return quantity == Quantity::network_rate || (slot.of_network && quantity == Quantity::rate);
  }

  // What is slow among several nodes is taken for the network's fault as long as no log of one node
  // shows the GPUs' links: those hardly differ between machines in order.
  [[nodiscard]] double sigma_within(const Slot& slot) const {
    constexpr double of_links_not_seen = 0.25;
    const bool of_network = slot.of_network || is_rate_of_network(slot);
    return std::log(*options_.within) *
           (only_between_nodes_ && !of_network ? of_links_not_seen : 1);
  }

  void add_hierarchy(Slot& slot, std::map<std::size_t, std::size_t>& common,
                     std::map<std::string, std::size_t>& hops_of_kinds) {
    const Constant& constant = all_constants()[slot.constant];
    const Belief belief = belief_in(constant, slot.of_network);
    if (options_.kinds.empty()) {
      const auto known = common.find(slot.constant);
      if (known == common.end()) {
        const double log = std::log(belief.value);
        common[slot.constant] = add_unknown({log, belief.of_all}, log);
      }
      slot.unknowns.push_back(common[slot.constant]);
    } else {
      slot.fixed = std::log(common_now(slot).value_or(belief.value));
    }
    if (slot.kind == "common") return;
    if (slot.of_network && constant.quantity == Quantity::hop) {
      if (!hops_of_kinds.contains(slot.kind)) {
        const double log = std::log(usual_hops(slot.kind));
        hops_of_kinds[slot.kind] = add_unknown({log, sigma_of_network}, log);
      }
      slot.unknowns.push_back(hops_of_kinds[slot.kind]);
    }
    if (belief.of_kinds == 0) return;
    const double usual = std::log(usual_multiple(slot.kind, constant));
    slot.unknowns.push_back(add_unknown({usual, belief.of_kinds}, usual));
  }

  // What all kinds have in common, as the present constants have it.
  [[nodiscard]] std::optional<double> common_now(const Slot& slot) const {
    const Kinds& kinds = slot.of_network ? present_.networks : present_.gpus;
    const auto found = kinds.find(slot.of_network ? "ib" : "common");
    return found == kinds.end() ? std::nullopt : found->second[slot.constant];
  }

  const MachineConstants& present_;
  const ConstantsFitOptions& options_;
  bool only_between_nodes_;
  std::optional<std::size_t> network_rates_;
  std::vector<Unknown> unknowns_;
  std::vector<double> start_;
  std::vector<Slot> slots_;
  std::map<std::tuple<bool, std::string, std::size_t>, std::size_t> by_place_;
};

using Tangents = std::vector<std::shared_ptr<const NcclTangent>>;

}  // namespace

class ConstantsFitter::Impl {
 public:
  Impl(const std::vector<FitRow>& rows, const MachineConstants& present,
       const ConstantsFitOptions& options)
      : rows_(rows),
        present_(present),
        options_(options),
        unknowns_(present, options, all_between_nodes(rows)) {
    std::map<std::size_t, double> of_owner;
    for (const FitRow& row : rows) of_owner[row.owner] += 1;
    for (const FitRow& row : rows) {
      const double theirs = of_owner[row.owner];
      const double counted = std::clamp(theirs, least_of_owner, most_of_owner);
      weights_.push_back(options.within ? 1 : weight_of_row * counted / theirs);
    }
  }

  ConstantsFit fit() {
    std::vector<double> best = unknowns_.start();
    first_tangents_ = tangents_at(best);
    Tangents tangents = first_tangents_;
    fit_rows(weights_, best, tangents);
    const auto is_between_nodes = [](const FitRow& row) { return !row.kinds.network.empty(); };
    if (unknowns_.network_rates() && std::any_of(rows_.begin(), rows_.end(), is_between_nodes))
      try_slow_networks(best, tangents);
    return result(problem(weights_, tangents), best);
  }

  [[nodiscard]] MachineConstants fit_without(std::size_t owner) const {
    std::vector<double> weights = weights_;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i].owner == owner) weights[i] = 0;
    return unknowns_.constants(prior_fit(problem(weights, first_tangents_), unknowns_.start()));
  }

 private:
  [[nodiscard]] bool stopped() const { return options_.stop != nullptr && *options_.stop; }

  static bool all_between_nodes(const std::vector<FitRow>& rows) {
    return std::all_of(rows.begin(), rows.end(),
                       [](const FitRow& row) { return !row.kinds.network.empty(); });
  }

  // A network that does not limit while it is in order has no slope that leads to a slow one.
  void try_slow_networks(std::vector<double>& best, Tangents& tangents) const {
    double reached = objective(problem(weights_, tangents), best);
    for (const double part : {0.5, 0.25}) {
      std::vector<double> unknowns = unknowns_.start();
      unknowns[*unknowns_.network_rates()] += std::log(part);
      Tangents there = tangents_at(unknowns);
      fit_rows(weights_, unknowns, there);
      if (stopped()) return;
      const double other = objective(problem(weights_, there), unknowns);
      if (!(other < reached)) continue;
      reached = other;
      best = std::move(unknowns);
      tangents = std::move(there);
    }
  }

  // The tangents are those at `unknowns`, before and after.
  void fit_rows(const std::vector<double>& weights, std::vector<double>& unknowns,
                Tangents& tangents) const {
    if (stopped()) return;
    double reached = objective(problem(weights, tangents), unknowns);
    for (int round = 0; round < most_tangents && !stopped(); ++round) {
      const std::vector<double> next = prior_fit(problem(weights, tangents), unknowns);
      Tangents there = tangents_at(next);
      if (stopped()) return;
      const double gain = reached - objective(problem(weights, there), next);
      if (!(gain > 0)) return;
      unknowns = next;
      tangents = std::move(there);
      reached -= gain;
      if (gain < worthwhile_gain * reached) return;
    }
  }

  [[nodiscard]] Tangents tangents_at(const std::vector<double>& unknowns) const {
    const MachineConstants here = unknowns_.constants(unknowns);
    Tangents tangents(rows_.size());
    std::mutex telling;
    std::size_t done = 0;
    for_each_number(rows_.size(), options_.threads, options_.stop, [&](std::size_t i) {
      tangents[i] =
          std::make_shared<NcclTangent>(rows_[i].measured.asked, rows_[i].kinds, present_, here);
      const std::lock_guard lock(telling);
      ++done;
      if (options_.progress) options_.progress(done, rows_.size());
    });
    return tangents;
  }

  [[nodiscard]] PriorFitProblem problem(const std::vector<double>& weights,
                                        const Tangents& tangents) const {
    PriorFitProblem problem{.unknowns = unknowns_.all(), .weights = weights};
    if (!options_.within) problem.scale = scale_of_errors;
    for (const FitRow& row : rows_) problem.groups.push_back(row.table);
    problem.errors = [this, &tangents](const std::vector<double>& unknowns) {
      const MachineConstants constants = unknowns_.constants(unknowns);
      std::vector<FitError> errors;
      errors.reserve(rows_.size());
      for (std::size_t i = 0; i < rows_.size(); ++i)
        errors.push_back(error_of(rows_[i], *tangents[i], constants));
      return errors;
    };
    return problem;
  }

  [[nodiscard]] FitError error_of(const FitRow& row, const NcclTangent& tangent,
                                  const MachineConstants& constants) const {
    const NcclTangent::Value value = tangent.at(constants_seen(row.kinds, constants));
    FitError error{std::log(value.time_s / row.measured.measured_s)};
    for (const NcclTangent::Slope& slope : value.slopes) {
      const bool of_network = slope.place.of == ConstantPlace::network;
      const Slot* const slot = unknowns_.slot(
          of_network, of_network ? row.kinds.network : row.kinds.gpu, slope.place.constant);
      if (slot == nullptr) continue;
      for (const std::size_t u : slot->unknowns) error.slopes.emplace_back(u, slope.slope);
    }
    return error;
  }

  [[nodiscard]] ConstantsFit result(const PriorFitProblem& problem,
                                    const std::vector<double>& unknowns) const {
    ConstantsFit made{unknowns_.constants(unknowns), {}, unknowns.size(), 0};
    if (stopped()) return made;
    const Certainty certainty(problem, unknowns);
    made.degrees_of_freedom = certainty.degrees_of_freedom();
    for (const Slot& slot : unknowns_.slots()) {
      const KindConstants& kind =
          (slot.of_network ? made.constants.networks : made.constants.gpus).at(slot.kind);
      const double value = *kind[slot.constant];
      const double factor = std::exp(confidence * certainty.standard_error(slot.unknowns));
      double told = certainty.told(slot.unknowns.back());
      if (options_.within)
        for (const std::size_t u : slot.unknowns) told = std::max(told, certainty.told(u));
      made.fitted.push_back({slot.kind, slot.of_network, all_constants()[slot.constant], value,
                             value / factor, value * factor, told});
    }
    return made;
  }

  const std::vector<FitRow>& rows_;
  const MachineConstants& present_;
  const ConstantsFitOptions& options_;
  const Unknowns unknowns_;
  std::vector<double> weights_;
  Tangents first_tangents_;  // those at the start
};

ConstantsFitter::ConstantsFitter(const std::vector<FitRow>& rows, const MachineConstants& present,
                                 const ConstantsFitOptions& options)
    : impl_(std::make_unique<Impl>(rows, present, options)) {}
ConstantsFitter::~ConstantsFitter() = default;

ConstantsFit ConstantsFitter::fit() {
  return impl_->fit();
}
MachineConstants ConstantsFitter::fit_without(std::size_t owner) const {
  return impl_->fit_without(owner);
}

std::string interval_text(const FittedConstant& one) {
  return text_of(one.constant, one.low) + " .. " + text_of(one.constant, one.high);
}

std::vector<RowPrediction> predict_rows(const std::vector<FitRow>& rows,
                                        const MachineConstants& present,
                                        const MachineConstants& constants, int threads) {
  std::vector<RowPrediction> predicted(rows.size());
  for_each_number(rows.size(), threads, nullptr, [&](std::size_t i) {
    const CaseResult row =
        run_case(with_constants(rows[i].measured.asked, rows[i].kinds, present, constants));
    predicted[i] = {row.time_s(), row.algorithm_text()};
  });
  return predicted;
}

}  // namespace collsim
