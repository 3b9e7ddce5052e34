// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "validate/mpi/processes.hpp"
#include "validate/process_team.hpp"

namespace collsim {

// Who a process of the job is, for the others.
struct TeamMember {
  std::string name;  // "process 3 (pid 4711 on node7)"
  std::string host;
};

// The first `size` of the processes that mpirun started.  Process 0 gathers what they give.
class MpiTeam : public ProcessTeam {
 public:
  MpiTeam(const Processes& processes, std::vector<TeamMember> all, int size);

  [[nodiscard]] int me() const override { return processes_.me(); }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int on_this_host() const override;
  [[nodiscard]] int place_on_host() const override;
  [[nodiscard]] const std::string& host_of(int process) const override;
  [[nodiscard]] std::vector<Note> exchange(const Note& own, double limit_s) override;
  void must_come_within(double limit_s, const char* meanwhile) override;

  // What `work` gives, or the NoMeasurement that one of the processes threw: at all of them the
  // same.  When it is this one, the others get `grace_s` to hear of it; throws ProcessesLost with
  // the reason when they do not.
  [[nodiscard]] RunOutcome carry_out(const std::function<RunOutcome()>& work, double grace_s);

 private:
  struct Given {
    bool gave_up = false;
    NoMeasurement::Why why{};
    Note note;  // or the reason
  };
  [[nodiscard]] std::vector<Given> give(const Given& own, double limit_s);
  [[nodiscard]] std::vector<Given> gather(const Given& own, double limit_s) const;
  void send(int process, const std::vector<Given>& all, double limit_s) const;
  [[nodiscard]] std::vector<Given> receive(int process, double limit_s) const;
  [[nodiscard]] std::optional<NoMeasurement> first_that_gave_up(
      const std::vector<Given>& all) const;

  const Processes& processes_;
  const std::vector<TeamMember> all_;
  const int size_;
  std::optional<Watchdog> watchdog_;
  std::optional<NoMeasurement> over_;  // why the team has ended its work
};

}  // namespace collsim
