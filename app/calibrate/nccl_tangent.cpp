// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/nccl_tangent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "app/study/nccl.hpp"
#include "app/study/run_case.hpp"

namespace collsim {
namespace {

// Of a constant: 10%.  Where several rings share links the time wavers by some percent with who
// meets whom, so that smaller steps would find any slope.
constexpr double tangent_step = 0.1;
// Slower than the fastest by more than this: no fit makes it the fastest at once.
constexpr double far_behind = 3;

// What a part of a constant's share is multiplied by: of hop by growth, of 1 / rate by per_chunk.
std::size_t companion_of(std::size_t constant) {
  const Constant& one = all_constants()[constant];
  const bool hop = one.quantity == Quantity::hop;
  return index_of({hop ? Quantity::growth : Quantity::per_chunk, one.protocol});
}

// The constant whose companion this is; nothing: it is none.
std::optional<std::size_t> companion_to(std::size_t constant) {
  const Constant& one = all_constants()[constant];
  if (one.quantity == Quantity::growth) return index_of({Quantity::hop, one.protocol});
  if (one.quantity == Quantity::per_chunk) return index_of({Quantity::rate, one.protocol});
  return std::nullopt;
}

bool is_rate(std::size_t constant) {
  return is_rate(all_constants()[constant].quantity);
}

bool is_base(std::size_t constant) {
  return all_constants()[constant].quantity == Quantity::base;
}

bool is_of_host(std::size_t constant) {
  const Quantity quantity = all_constants()[constant].quantity;
  return quantity == Quantity::host || quantity == Quantity::pair;
}

// Simulates the ways of a case with changed constants.
class Simulated {
 public:
  Simulated(const Case& asked, const KindsOfCase& kinds, const MachineConstants& present,
            const MachineConstants& here)
      : asked_(asked), kinds_(kinds), present_(present), here_(here) {}

  [[nodiscard]] std::vector<Case> ways() const { return ways_with(here_); }

  struct Times {
    double kernel_s = 0, host_s = 0;
  };
  [[nodiscard]] static Times times_of(const Case& way) {
    const CaseResult row = run_case(way);
    return {row.kernel.seconds(), row.host.seconds()};
  }
  // Of a way with one constant larger by a small step.
  [[nodiscard]] Times times_with_more(std::size_t way, ConstantPlace place) const {
    MachineConstants more = here_;
    KindConstants& changed = place.of == ConstantPlace::gpu ? more.gpus.at(kinds_.gpu)
                                                            : more.networks.at(kinds_.network);
    *changed[place.constant] *= 1 + tangent_step;
    const Case changed_way = ways_with(more)[way];
    if (is_of_host(place.constant)) return {0, host_time(changed_way).seconds()};
    return times_of(changed_way);
  }
  // Whether a way does not depend on it, or how is known without a simulation.
  [[nodiscard]] static bool is_known(const Case& way, std::size_t constant) {
    const Quantity quantity = all_constants()[constant].quantity;
    return is_base(constant) ||
           (quantity == Quantity::per_peer && way.costs.instruction_overhead == Time{}) ||
           (quantity == Quantity::network_rate && way.protocol != LinkProtocol::simple);
  }
  [[nodiscard]] bool has(ConstantPlace place) const {
    const ConstantsSeen seen = constants_seen(kinds_, here_);
    const KindConstants* const of = place.of == ConstantPlace::gpu ? seen.gpu : seen.network;
    return of != nullptr && (*of)[place.constant] && *(*of)[place.constant] > 0;
  }

 private:
  [[nodiscard]] std::vector<Case> ways_with(const MachineConstants& constants) const {
    return nccl_choices(with_constants(asked_, kinds_, present_, constants));
  }

  const Case& asked_;
  const KindsOfCase& kinds_;
  const MachineConstants& present_;
  const MachineConstants& here_;
};

// What a way under a protocol may depend on.
std::vector<ConstantPlace> places_for(LinkProtocol protocol) {
  std::vector<ConstantPlace> places;
  for (std::size_t constant = 0; constant < all_constants().size(); ++constant) {
    const std::optional<LinkProtocol>& of = all_constants()[constant].protocol;
    if (of && *of != protocol) continue;
    places.push_back({ConstantPlace::gpu, constant});
    if (of) places.push_back({ConstantPlace::network, constant});
  }
  return places;
}

double with_launches(double kernel_s, double host_s) {
  return with_launches(from_seconds(kernel_s), from_seconds(host_s)).seconds();
}

}  // namespace

double ConstantsSeen::at(ConstantPlace place) const {
  const KindConstants* const of = place.of == ConstantPlace::gpu ? gpu : network;
  return of == nullptr ? 0 : (*of)[place.constant].value_or(0);
}

ConstantsSeen constants_seen(const KindsOfCase& kinds, const MachineConstants& constants) {
  ConstantsSeen seen{&constants.gpus.at(kinds.gpu), nullptr};
  if (!kinds.network.empty()) seen.network = &constants.networks.at(kinds.network);
  return seen;
}

NcclTangent::NcclTangent(const Case& asked, const KindsOfCase& kinds,
                         const MachineConstants& present, const MachineConstants& here) {
  const Simulated simulated(asked, kinds, present, here);
  const ConstantsSeen seen = constants_seen(kinds, here);
  const std::vector<Case> cases = simulated.ways();
  std::vector<Simulated::Times> times;
  double fastest = std::numeric_limits<double>::infinity();
  for (const Case& way : cases) {
    times.push_back(Simulated::times_of(way));
    fastest = std::min(fastest, with_launches(times.back().kernel_s, times.back().host_s));
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (with_launches(times[i].kernel_s, times[i].host_s) > far_behind * fastest) continue;
    Way way{cases[i].choice.name + " " + to_string(*cases[i].protocol), times[i].kernel_s, {}, {}};
    for (const ConstantPlace place : places_for(*cases[i].protocol)) {
      if (!simulated.has(place)) continue;
      if (is_base(place.constant)) {  // every rank starts so much later
        way.kernel.push_back({place, false, false, 1});
        way.fixed_s -= seen.at(place);
      }
      if (Simulated::is_known(cases[i], place.constant)) continue;
      const Simulated::Times more = simulated.times_with_more(i, place);
      const bool of_host = is_of_host(place.constant);
      const double change =
          of_host ? more.host_s - times[i].host_s : more.kernel_s - times[i].kernel_s;
      const double part =
          change / (is_rate(place.constant) ? 1 / (1 + tangent_step) - 1 : tangent_step);
      if (part < 1e-12) continue;
      const std::optional<std::size_t> main = companion_to(place.constant);
      Term term{{place.of, main.value_or(place.constant)},
                is_rate(main.value_or(place.constant)),
                main.has_value(),
                1};
      term.c = part / value_of(term, seen);
      (of_host ? way.host : way.kernel).push_back(term);
      if (!of_host && !term.with_companion) way.fixed_s -= part;
    }
    // hop changed both hop and hop * growth: the second is no part of the first.
    for (Term& alone : way.kernel)
      for (const Term& both : way.kernel)
        if (both.with_companion && !alone.with_companion && alone.a == both.a)
          alone.c *= 1 - value_of(both, seen) / value_of(alone, seen);
    if (way.fixed_s < 0) {  // wavering counted something twice
      const double all = times[i].kernel_s - way.fixed_s;
      for (Term& term : way.kernel) term.c *= times[i].kernel_s / all;
      way.fixed_s = 0;
    }
    ways_.push_back(std::move(way));
  }
}

double NcclTangent::value_of(const Term& term, const ConstantsSeen& constants) {
  const double a = constants.at(term.a);
  const double alone = term.c * (term.inverse ? 1 / a : a);
  if (!term.with_companion) return alone;
  return alone * constants.at({term.a.of, companion_of(term.a.constant)});
}

double NcclTangent::time_of(const Way& way, const ConstantsSeen& constants) {
  double kernel = way.fixed_s, host = 0;
  for (const Term& term : way.kernel) kernel += value_of(term, constants);
  for (const Term& term : way.host) host += value_of(term, constants);
  return with_launches(std::max(kernel, 1e-12), host);
}

NcclTangent::Value NcclTangent::at(const ConstantsSeen& constants) const {
  const Way* fastest = nullptr;
  Value value;
  for (const Way& way : ways_) {
    const double time = time_of(way, constants);
    if (fastest != nullptr && time >= value.time_s) continue;
    fastest = &way;
    value.time_s = time;
  }
  if (fastest == nullptr) return value;
  value.way = fastest->name;
  double kernel = fastest->fixed_s, host = 0;
  for (const Term& term : fastest->kernel) kernel += value_of(term, constants);
  for (const Term& term : fastest->host) host += value_of(term, constants);
  kernel = std::max(kernel, 1e-12);
  const auto add = [&](const Term& term, double outer) {
    const double part = outer * value_of(term, constants) / value.time_s;
    value.slopes.push_back({term.a, term.inverse ? -part : part});
    if (term.with_companion)
      value.slopes.push_back({{term.a.of, companion_of(term.a.constant)}, part});
  };
  constexpr double step = 1e-4;
  const double by_kernel =
      (with_launches(kernel * (1 + step), host) - value.time_s) / (kernel * step);
  const double by_host =
      host > 0 ? (with_launches(kernel, host * (1 + step)) - value.time_s) / (host * step) : 0;
  for (const Term& term : fastest->kernel) add(term, by_kernel);
  for (const Term& term : fastest->host) add(term, by_host);
  return value;
}

}  // namespace collsim
