// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "validate/backend.hpp"
#include "validate/mpi/gpu_work.hpp"
#include "validate/mpi/message_machine.hpp"
#include "validate/mpi/own_collective.hpp"

namespace collsim {

// What one process does of a run: it carries out orders.
class Member {
 public:
  explicit Member(Processes& processes) : processes_(processes) {}

  // What fails is reported, too.
  struct Done {
    Report report;
    Note note;
  };
  [[nodiscard]] Done carry_out(const Order& order, const Note& note);
  // Process 0, of OrderKind::on_gpus: what comes next; and what came of it, at every process.
  void set_work(const GpuWork& work) { work_ = work; }
  [[nodiscard]] const RunOutcome& outcome() const { return outcome_; }

 private:
  [[nodiscard]] std::string load(const Note& note);
  [[nodiscard]] std::string load_on_gpu(PlanPart part);
  void fill(std::uint64_t seed);
  [[nodiscard]] std::string check() const;
  [[nodiscard]] Note timeline(std::uint64_t start_ns) const;
  void answer(std::uint32_t times, double limit_s) const;
  [[nodiscard]] Report run_own(const Order& order) const;
  [[nodiscard]] std::string check_own() const;
  [[nodiscard]] Done done(const Order& order, const Note& note);

  Processes& processes_;
  std::unique_ptr<MessageMachine> machine_;
  std::unique_ptr<OwnCollective> own_;
  std::vector<std::vector<std::byte>> inputs_;
  std::uint64_t recorded_from_ns_ = 0;
  bool on_gpu_ = false;  // the data of the machine
  std::optional<GpuWork> work_;
  RunOutcome outcome_;
};

// The times of a process's steps: its note for OrderKind::timeline.
struct PartTimes {
  std::uint64_t start_ns = 0;
  std::vector<StepTimes> steps;
};
[[nodiscard]] PartTimes times_from(const Note& note);

// What all processes but the first do, until process 0 ends it: the exit code.
[[nodiscard]] int serve(Processes& processes, const Introduction& introduction);

// Kinds of notes between processes.
inline constexpr int about_introduction = 0, about_order = 1, about_report = 2, about_clock = 3,
                     about_team = 4;

}  // namespace collsim
