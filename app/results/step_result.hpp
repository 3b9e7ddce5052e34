// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace collsim {

// How the ranks spent a training step, in seconds.
//
//   compute   at least one of a rank's streams works; what its host launches counts only where
//             nothing else is under way
//   hidden    a collective is under way on it meanwhile
//   exposed   one is under way, and no stream works
//   bubble    the share of the step that is neither: waiting for messages, or finished early
//
// A step is computing, exposed communication and bubble, on every rank; these are the means.
struct StepResult {
  std::string scheme;
  double compute_s = 0;
  double hidden_s = 0;
  double exposed_s = 0;
  double bubble = 0;
  // The work that is asked for, whatever slows it down (collectives/workload_bounds.hpp).
  struct Phases {
    double forward_s = 0, backward_s = 0, other_s = 0;
  };
  Phases phases = {};
  std::optional<int> buckets;
  std::optional<int> microbatches;
  std::vector<int> activations;  // TrainingStep::activations
  // Of a model whose FLOP are known: what share of the devices' peak the model's FLOP are, and all
  // that are computed.
  struct Work {
    double mfu = 0, hfu = 0, tokens_per_s = 0;
  };
  std::optional<Work> work = {};
  // Bytes of a rank of each stage, of a program of each rank; where they are known.
  struct Memory {
    std::vector<double> bytes;
    std::int64_t device = 0;    // that a device has; 0: unknown
    std::string runs_out = {};  // "at forward of layer 7"; empty: it fits
    [[nodiscard]] double most() const { return *std::max_element(bytes.begin(), bytes.end()); }
  };
  std::optional<Memory> memory = {};
  struct Communicator {
    std::string name;
    double hidden_s = 0, exposed_s = 0;  // means over the ranks
  };
  std::vector<Communicator> communicators;
  struct OfRank {
    double compute_s = 0, hidden_s = 0, exposed_s = 0, idle_s = 0;
    double end_s = 0;
    double longest_call_s = 0;           // of a collective, from when this rank came to it
    std::optional<double> gives_up_s{};  // at the time-out of the workload
  };
  std::vector<OfRank> ranks;
  std::optional<double> timeout_s;
  // A long job of such steps whose machines fail.
  struct Job {
    double useful = 0;                      // the share of its time
    std::optional<double> time_s = {};      // of the whole job, where its steps are known
    std::optional<double> interval_s = {};  // of work between checkpoints, with random failures
    std::optional<double> best_interval_s = {};
    double checkpoints = 0;  // the share of those that are finished
    // With given ones, as what follows.
    std::optional<std::int64_t> steps_done_twice = {};
    std::int64_t steps = 0;
    double restarts = 0, lost = 0;  // their shares
    struct Fewer {                  // ranks that go on after one of them
      int ranks = 0;
      double step_s = 0;
    };
    std::vector<Fewer> go_on = {};
  };
  std::optional<Job> job;
  // Each rank has room on its device, as far as that is known.
  [[nodiscard]] bool fits() const { return !memory || memory->runs_out.empty(); }
  // The rank that gives up first, if any does.
  [[nodiscard]] std::optional<std::size_t> first_to_give_up() const {
    std::optional<std::size_t> first;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      if (ranks[rank].gives_up_s && (!first || *ranks[rank].gives_up_s < *ranks[*first].gives_up_s))
        first = rank;
    return first;
  }
  // The least time-out with which no rank gives up.
  [[nodiscard]] double least_timeout_s() const {
    double longest = 0;
    for (const OfRank& rank : ranks) longest = std::max(longest, rank.longest_call_s);
    return longest;
  }
};

// Of a step that does not fit, the stage or rank that needs most: "stage 0 needs 91.2 GB on each
// rank, of which a device has 80 GB; it runs out at forward of layer 7".
[[nodiscard]] std::string shortage_text(const StepResult& step);

}  // namespace collsim
