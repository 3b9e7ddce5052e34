// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "validate/clock_offset.hpp"
#include "validate/mpi/member.hpp"

namespace collsim {

// All processes, as process 0 sees them.
class Crew {
 public:
  // Waits until all have introduced themselves.  Throws ProcessesLost.
  Crew(Processes& processes, Introduction own);

  // "", or which process was started as something else, and how.
  [[nodiscard]] std::string misfit() const;

  [[nodiscard]] int size() const { return processes_.count(); }
  [[nodiscard]] int hosts() const { return hosts_; }
  [[nodiscard]] std::vector<int> host_of_process() const;     // numbered as they come
  [[nodiscard]] bool is_crowded() const { return crowded_; }  // more processes than cores
  // "process 3 (pid 4711 on node7)".
  [[nodiscard]] std::string name_of(int process) const;
  [[nodiscard]] const std::string& host_of(int process) const;

  void set_idle(Idle idle);

  // All carry it out; with one note each, or none.  Throws ProcessesLost naming the process that
  // has not reported after limit_s, or soon after another got stuck.
  [[nodiscard]] std::vector<Member::Done> carry_out(Order order, double limit_s,
                                                    const std::function<Note(int)>& note_of = {});

  // All carry it out; the outcome of process 0.
  [[nodiscard]] const RunOutcome& carry_out_on_gpus(const GpuWork& work, double limit_s);

  // As carry_out, beginning at one moment everywhere.  A run whose order came too late somewhere is
  // repeated, and from then on there is more time for orders to arrive.
  [[nodiscard]] std::vector<Member::Done> start_together(Order order, double limit_s);
  // How far apart the starts may have been; 0: all processes have one clock.
  [[nodiscard]] double start_uncertainty_s() const { return uncertainty_ns_ * 1e-9; }

  // Ends all others.
  void end(int exit_code);

 private:
  void compare_clocks();
  [[nodiscard]] ClockOffset offset_of_clock(int process);
  [[nodiscard]] bool has_one_clock() const;
  void give(int process, Order order, const Note& note);
  [[nodiscard]] Member::Done report_of(int process, double limit_s);

  Processes& processes_;
  Member own_;
  std::vector<Introduction> members_;
  std::vector<ClockOffset> clocks_;
  std::uint64_t compared_at_ns_ = 0;
  double uncertainty_ns_ = 0;
  std::uint64_t lead_ns_ = 0;  // from giving an order to the start
  int hosts_ = 1;
  bool crowded_ = false;
};

}  // namespace collsim
