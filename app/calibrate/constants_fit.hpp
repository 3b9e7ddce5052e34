// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/calibrate/constants.hpp"
#include "app/calibrate/measured_cases.hpp"

namespace collsim {

// A row of a table, as a fit needs it.
struct FitRow {
  MeasuredCase measured;
  KindsOfCase kinds;
  std::size_t table = 0, owner = 0;  // by number
};

// What is fitted.  Every constant of a kind of machine is, as a logarithm, the sum of what all
// kinds have in common and what this kind has of its own.  The former is believed to be near what
// was published before, the latter near 0 (constants_belief.hpp), so that a constant about which
// tables say nothing is the common one.  The hops of a network have a factor in common besides:
// some networks are slower than others whatever the protocol.
//
// Of the kinds that are asked for only; the others stay as they are.
struct ConstantsFitOptions {
  std::vector<std::string> kinds;  // "hopper", "ib"; empty: all, and what is common
  // Instead: what these kinds are already is believed, each constant to within this factor; of the
  // network's rates all together to much less.
  std::optional<double> within;
  int threads = 0;  // 0: one per core
  const std::atomic<bool>* stop = nullptr;
  // Rows of a round of simulations; from one thread at a time.
  std::function<void(std::size_t done, std::size_t total)> progress = {};
};

struct FittedConstant {
  std::string kind;  // of GPU or network
  bool of_network = false;
  Constant constant;
  double value = 0, low = 0, high = 0;  // 95%
  double told = 0;                      // 0: the tables do not move it
};

[[nodiscard]] std::string interval_text(const FittedConstant& one);  // "0.9 us .. 2.06 us"

struct ConstantsFit {
  MachineConstants constants;
  std::vector<FittedConstant> fitted;
  std::size_t free_constants = 0;
  double degrees_of_freedom = 0;
};

// Fits constants to rows.  A time is what the simulator gives; between simulations it is continued
// by its tangent (nccl_tangent.hpp), and simulated again where that led, until nothing is gained.
class ConstantsFitter {
 public:
  // `present`: the constants with which the rows' cases were made.  All must outlive this.
  ConstantsFitter(const std::vector<FitRow>& rows, const MachineConstants& present,
                  const ConstantsFitOptions& options);
  ConstantsFitter(const ConstantsFitter&) = delete;
  ConstantsFitter& operator=(const ConstantsFitter&) = delete;
  ~ConstantsFitter();

  // To all rows.
  [[nodiscard]] ConstantsFit fit();
  // To those of all owners but one, from the beginning and with no simulation that another fit has
  // led to: by the tangents at what was believed, so fit() must have been called.
  [[nodiscard]] MachineConstants fit_without(std::size_t owner) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Times that the product predicts with these constants, of every row.
struct RowPrediction {
  double time_s = 0;
  std::string way;  // "ring LL"
};
[[nodiscard]] std::vector<RowPrediction> predict_rows(const std::vector<FitRow>& rows,
                                                      const MachineConstants& present,
                                                      const MachineConstants& constants,
                                                      int threads = 0);

}  // namespace collsim
