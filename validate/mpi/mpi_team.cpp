// SPDX-License-Identifier: Apache-2.0
#include "validate/mpi/mpi_team.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "topo/error.hpp"
#include "validate/mpi/member.hpp"

namespace collsim {
namespace {

// What goes wrong in `work`, as a reason.
std::optional<NoMeasurement> problem_of(const std::function<RunOutcome()>& work,
                                        RunOutcome& outcome) {
  try {
    outcome = work();
    return std::nullopt;
  } catch (const NoMeasurement& none) {
    return none;
  } catch (const std::bad_alloc&) {
    return NoMeasurement{NoMeasurement::Why::too_large, "there is not enough memory of the host"};
  } catch (const Error& error) {
    return NoMeasurement{why_of(error.code()), error.what()};
  }
}

}  // namespace

MpiTeam::MpiTeam(const Processes& processes, std::vector<TeamMember> all, int size)
    : processes_(processes), all_(std::move(all)), size_(size) {}

const std::string& MpiTeam::host_of(int process) const {
  return all_[static_cast<std::size_t>(process)].host;
}

int MpiTeam::on_this_host() const {
  const auto is_here = [&](const TeamMember& one) { return one.host == host_of(me()); };
  return static_cast<int>(std::count_if(all_.begin(), all_.end(), is_here));
}

int MpiTeam::place_on_host() const {
  const auto is_here = [&](const TeamMember& one) { return one.host == host_of(me()); };
  return static_cast<int>(std::count_if(all_.begin(), all_.begin() + me(), is_here));
}

void MpiTeam::must_come_within(double limit_s, const char* meanwhile) {
  watchdog_.reset();
  watchdog_.emplace(meanwhile, limit_s);
}

std::vector<Note> MpiTeam::exchange(const Note& own, double limit_s) {
  const std::vector<Given> all = give({false, {}, own}, limit_s);
  if ((over_ = first_that_gave_up(all))) throw NoMeasurement(*over_);
  std::vector<Note> notes;
  for (const Given& given : all) notes.push_back(given.note);
  return notes;
}

RunOutcome MpiTeam::carry_out(const std::function<RunOutcome()>& work, double grace_s) {
  RunOutcome outcome;
  std::optional<NoMeasurement> problem = problem_of(work, outcome);
  if (over_) return *over_;
  Given own;
  if (problem) own = {true, problem->why, note_of_text(problem->reason)};
  constexpr double to_end_s = 60;
  try {
    over_ = first_that_gave_up(give(own, problem ? grace_s : to_end_s));
  } catch (const ProcessesLost&) {
    if (!problem) throw;
    throw ProcessesLost(problem->reason);
  }
  return over_ ? RunOutcome(*over_) : std::move(outcome);
}

std::vector<MpiTeam::Given> MpiTeam::give(const Given& own, double limit_s) {
  watchdog_.reset();
  // After process 0 has waited for the last.
  constexpr double longest_s = 30;
  const double to_hear_s = std::min(longest_s, limit_s / 2);
  if (me() == 0) {
    const std::vector<Given> all = gather(own, limit_s);
    for (int process = 1; process < size_; ++process) send(process, all, to_hear_s);
    return all;
  }
  send(0, {own}, limit_s);
  return receive(0, limit_s + to_hear_s);
}

std::vector<MpiTeam::Given> MpiTeam::gather(const Given& own, double limit_s) const {
  const std::uint64_t begin = host_time_ns();
  std::vector<Given> all{own};
  for (int process = 1; process < size_; ++process) {
    const double gone_s = static_cast<double>(host_time_ns() - begin) * 1e-9;
    try {
      all.push_back(receive(process, std::max(1.0, limit_s - gone_s)).front());
    } catch (const ProcessesLost&) {
      throw ProcessesLost(all_[static_cast<std::size_t>(process)].name +
                          " has not come as far as the others within " +
                          std::to_string(static_cast<int>(limit_s)) + " s: it hangs");
    }
  }
  return all;
}

void MpiTeam::send(int process, const std::vector<Given>& all, double limit_s) const {
  NoteWriter writer;
  writer.put(static_cast<std::uint64_t>(all.size()));
  for (const Given& given : all) {
    writer.put(given.gave_up);
    writer.put(given.why);
    writer.put_all(given.note);
  }
  const Note note = writer.take();
  const auto bytes = static_cast<std::uint64_t>(note.size());
  processes_.send(process, about_team, &bytes, sizeof bytes, limit_s);
  processes_.send_note(process, about_team, note, limit_s);
}

std::vector<MpiTeam::Given> MpiTeam::receive(int process, double limit_s) const {
  std::uint64_t bytes = 0;
  processes_.receive(process, about_team, &bytes, sizeof bytes, limit_s);
  const Note note = processes_.receive_note(process, about_team, bytes, limit_s);
  NoteReader reader(note);
  std::vector<Given> all(reader.get<std::uint64_t>());
  for (Given& given : all) {
    given.gave_up = reader.get<bool>();
    given.why = reader.get<NoMeasurement::Why>();
    given.note = reader.get_all<std::byte>();
  }
  return all;
}

// One that failed first: who waited for it got stuck.
std::optional<NoMeasurement> MpiTeam::first_that_gave_up(const std::vector<Given>& all) const {
  const auto gave_up = [](const Given& one) { return one.gave_up; };
  const auto is_cause = [](const Given& one) {
    return one.gave_up && one.why != NoMeasurement::Why::stuck;
  };
  auto first = std::find_if(all.begin(), all.end(), is_cause);
  if (first == all.end()) first = std::find_if(all.begin(), all.end(), gave_up);
  if (first == all.end()) return std::nullopt;
  const bool is_alike = std::all_of(all.begin(), all.end(), [&](const Given& one) {
    return one.gave_up && one.note == first->note;
  });
  std::string reason = NoteReader(first->note).get_text();
  // Lanes that got stuck say which they are.
  if (!is_alike && first->why != NoMeasurement::Why::stuck)
    reason = all_[static_cast<std::size_t>(first - all.begin())].name + ": " + reason;
  return NoMeasurement{first->why, std::move(reason)};
}

}  // namespace collsim
