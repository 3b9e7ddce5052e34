// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/calibrate/fit.hpp"
#include "app/json/value.hpp"
#include "topo/units.hpp"
#include "validate/backend.hpp"

namespace collsim {

// Measures what a machine's lanes can do, by running small schedules on a backend, and finds the
// numbers with which the simulator predicts these runs.
//
// The model: a message costs no wire, because lanes copy it themselves through memory that both can
// reach.  An instruction costs `overhead` and its bytes at the copy or reduction rate, which
// depends on how much memory is in play, and on how many lanes share it; what one lane did the
// other sees `latency` later.
//
// The fit minimises the sum over probes of ln(predicted / measured)^2 and, so that noise at one
// size does not run away with a rate, the sum over neighbouring sizes of (0.15 ln(rate / next
// rate))^2.
//
// The probes are pairs of ranks that do one kind of instruction, and a barrier.  No collective that
// moves data takes part, so predictions of them are predictions.
struct CalibrateOptions {
  const Backend* backend = nullptr;
  int ranks = 2;
  int lanes = 1;  // of a rank; more than one also shows what many lanes do to each other
  Protocol protocol = Protocol::simple;
  Bytes smallest = 32 << 10;  // that one rank has for another
  Bytes largest = 64 << 20;
  int iterations = 11;
  int rounds = 3;  // how often all probes run: disturbances of the machine come and go
  double patience_s = 10;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::size_t done, std::size_t total)> progress = {};
  std::function<void()> meanwhile = {};  // see RunOptions
};

// One run that was measured, and what the fitted model says of it.
struct Probe {
  std::string name;  // "copy in 4 chunks"
  Bytes working_set = 0;
  Summary measured;
  double fitted_s = 0;
};

struct CalibratedMachine {
  std::string backend, device;
  Protocol protocol = Protocol::simple;
  std::vector<std::string> notes;  // of the backend, each once
  int ranks = 2;
  Fitted latency_s, overhead_s;
  struct Row {
    Bytes working_set = 0;
    Fitted copy_bytes_per_s, reduce_bytes_per_s, second_write_bytes_per_s;  // of a lane alone
    Fitted lanes_at_full_speed;
  };
  std::vector<Row> rows;  // by size
  // Latency between single pairs, where there are more than one: [i][j], seconds; a relative guess
  // from empty messages.
  std::vector<std::vector<double>> pair_latency_s;
  // Bytes per second that one pair, and that all pairs together, move at the largest size.
  double one_pair_bytes_per_s = 0, all_pairs_bytes_per_s = 0;
  std::vector<Probe> probes;
  double median_error = 0, worst_error = 0;  // of the fit, relative
};

// NoMeasurement when the machine cannot do it, or when it was interrupted.
[[nodiscard]] std::variant<CalibratedMachine, NoMeasurement> calibrate(
    const CalibrateOptions& options);

// A calibrated machine as a file that scenarios can use: "cluster" and "model" of a scenario, with
// the raw points and where they come from.
[[nodiscard]] JsonValue machine_value(const CalibratedMachine& machine, const std::string& version,
                                      const std::string& date);

// The date that machine files carry: "2026-11-23", in UTC.
[[nodiscard]] std::string today();

}  // namespace collsim
