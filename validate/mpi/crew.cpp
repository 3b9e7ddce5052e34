// SPDX-License-Identifier: Apache-2.0
#include "validate/mpi/crew.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "topo/error.hpp"

namespace collsim {
namespace {

constexpr double to_introduce_s = 60;
constexpr double to_take_a_note_s = 30;
constexpr std::uint64_t clocks_are_good_for_ns = 500'000'000;
constexpr std::uint32_t pings = 40;

}  // namespace

Crew::Crew(Processes& processes, Introduction own) : processes_(processes), own_(processes) {
  members_.push_back(std::move(own));
  for (int process = 1; process < size(); ++process) {
    std::uint64_t bytes = 0;
    processes_.receive(process, about_introduction, &bytes, sizeof bytes, to_introduce_s);
    members_.push_back(introduction_from(
        processes_.receive_note(process, about_introduction, bytes, to_introduce_s)));
  }
  std::map<std::string, std::uint64_t> processes_on;
  std::set<std::string> hosts;
  for (const Introduction& member : members_) {
    hosts.insert(member.host);
    crowded_ = crowded_ || ++processes_on[member.clock] > member.cores;
  }
  hosts_ = static_cast<int>(hosts.size());
  clocks_.resize(members_.size());
  constexpr std::uint64_t least_ns = 200'000, each_ns = 5'000, to_wake_up_ns = 1'000'000;
  lead_ns_ = least_ns + each_ns * members_.size() + (crowded_ ? to_wake_up_ns : 0);
}

std::string Crew::misfit() const {
  for (int process = 1; process < size(); ++process) {
    const std::string& other = members_[static_cast<std::size_t>(process)].program;
    if (other != members_.front().program)
      return name_of(process) + " was started as \"" + other + "\", process 0 as \"" +
             members_.front().program + "\": start all of them alike";
  }
  return "";
}

std::vector<int> Crew::host_of_process() const {
  std::map<std::string, int> numbers;
  std::vector<int> hosts;
  for (const Introduction& member : members_)
    hosts.push_back(
        numbers.try_emplace(member.host, static_cast<int>(numbers.size())).first->second);
  return hosts;
}

std::string Crew::name_of(int process) const {
  const Introduction& member = members_[static_cast<std::size_t>(process)];
  return "process " + std::to_string(process) + " (pid " + std::to_string(member.pid) + " on " +
         member.host + ")";
}

const std::string& Crew::host_of(int process) const {
  return members_[static_cast<std::size_t>(process)].host;
}

void Crew::set_idle(Idle idle) {
  processes_.set_idle(idle);
}

void Crew::give(int process, Order order, const Note& note) {
  order.idle = processes_.idle();
  order.note_bytes = note.size();
  processes_.send(process, about_order, &order, sizeof order, to_take_a_note_s);
  processes_.send_note(process, about_order, note, to_take_a_note_s);
}

Member::Done Crew::report_of(int process, double limit_s) {
  Member::Done done;
  try {
    processes_.receive(process, about_report, &done.report, sizeof done.report, limit_s);
    done.note =
        processes_.receive_note(process, about_report, done.report.note_bytes, to_take_a_note_s);
  } catch (const ProcessesLost& lost) {
    const std::string number = "process " + std::to_string(process);
    throw ProcessesLost(name_of(process) + std::string(lost.what()).substr(number.size()));
  }
  return done;
}

std::vector<Member::Done> Crew::carry_out(Order order, double limit_s,
                                          const std::function<Note(int)>& note_of) {
  const std::uint64_t start = order.start_ns;
  const bool starts = order.kind == OrderKind::run || order.kind == OrderKind::own;
  for (int process = 1; process < size(); ++process) {
    const double ahead = clocks_[static_cast<std::size_t>(process)].ahead_ns;
    if (starts) order.start_ns = start + static_cast<std::uint64_t>(std::llround(ahead));
    give(process, order, note_of ? note_of(process) : Note());
  }
  order.start_ns = start;
  order.idle = processes_.idle();
  std::vector<Member::Done> all;
  all.push_back(own_.carry_out(order, note_of ? note_of(0) : Note()));
  // Once one is stuck the others give up soon, if they can.
  const double soon_s = 2 + 2e-9 * static_cast<double>(order.patience_ns);
  for (int process = 1; process < size(); ++process) {
    if (all.back().report.outcome == Outcome::stuck) limit_s = std::min(limit_s, soon_s);
    all.push_back(report_of(process, limit_s));
  }
  return all;
}

const RunOutcome& Crew::carry_out_on_gpus(const GpuWork& work, double limit_s) {
  Order order;
  order.kind = OrderKind::on_gpus;
  const Note note = note_of(work);
  own_.set_work(work);
  static_cast<void>(
      carry_out(order, limit_s, [&](int process) { return process == 0 ? Note() : note; }));
  return own_.outcome();
}

std::vector<Member::Done> Crew::start_together(Order order, double limit_s) {
  constexpr int most_tries = 12;
  constexpr std::uint64_t most_lead_ns = 50'000'000;
  for (int tries = 1;; ++tries) {
    if (!has_one_clock() && host_time_ns() > compared_at_ns_ + clocks_are_good_for_ns)
      compare_clocks();
    order.start_ns = host_time_ns() + lead_ns_;
    std::vector<Member::Done> all = carry_out(order, limit_s);
    const bool late = std::any_of(all.begin(), all.end(),
                                  [](const auto& done) { return done.report.late_ns > 0; });
    const bool well = std::all_of(all.begin(), all.end(), [](const auto& done) {
      return done.report.outcome == Outcome::done;
    });
    if (!late || !well || tries == most_tries) return all;
    lead_ns_ = std::min(2 * lead_ns_, most_lead_ns);
  }
}

bool Crew::has_one_clock() const {
  return std::all_of(members_.begin(), members_.end(), [this](const Introduction& member) {
    return member.clock == members_.front().clock;
  });
}

void Crew::compare_clocks() {
  uncertainty_ns_ = 0;
  for (int process = 1; process < size(); ++process) {
    const auto at = static_cast<std::size_t>(process);
    if (members_[at].clock != members_.front().clock) clocks_[at] = offset_of_clock(process);
    uncertainty_ns_ = std::max(uncertainty_ns_, clocks_[at].uncertainty_ns);
  }
  compared_at_ns_ = host_time_ns();
}

ClockOffset Crew::offset_of_clock(int process) {
  Order order;
  order.kind = OrderKind::answer;
  order.answers = pings;
  give(process, order, {});
  std::vector<PingTimes> times(pings);
  for (PingTimes& ping : times) {
    ping.sent = host_time_ns();
    processes_.send(process, about_clock, &ping.sent, sizeof ping.sent, to_take_a_note_s);
    processes_.receive(process, about_clock, &ping.answered, sizeof ping.answered,
                       to_take_a_note_s);
    ping.back = host_time_ns();
  }
  static_cast<void>(report_of(process, to_take_a_note_s));
  const std::optional<ClockOffset> offset = offset_of(times);
  COLLSIM_CHECK(offset.has_value(), "every note was answered, and took its time");
  return *offset;
}

void Crew::end(int exit_code) {
  Order order;
  order.kind = OrderKind::end;
  order.exit_code = exit_code;
  for (int process = 1; process < size(); ++process) give(process, order, {});
}

}  // namespace collsim
