// SPDX-License-Identifier: Apache-2.0
#include "validate/mpi/member.hpp"

#include <new>
#include <utility>

#include "collectives/execute.hpp"
#include "validate/data_check.hpp"

namespace collsim {
namespace {

constexpr double limit_of_a_note_s = 30;
constexpr double limit_of_copies_s = 120;

}  // namespace

PartTimes times_from(const Note& note) {
  NoteReader reader(note);
  PartTimes times;
  times.start_ns = reader.get<std::uint64_t>();
  times.steps = reader.get_all<StepTimes>();
  return times;
}

Member::Done Member::carry_out(const Order& order, const Note& note) {
  NoMeasurement none;
  try {
    return done(order, note);
  } catch (const std::bad_alloc&) {
    none = {NoMeasurement::Why::too_large, "there is not enough memory"};
  } catch (const Error& error) {
    none = {why_of(error.code()), error.what()};
  } catch (const NoMeasurement& why) {
    none = why;
  }
  Done failed;
  failed.report.outcome = Outcome::failed;
  // Later the others wait for what this one does no more, and all is over.
  if (order.kind == OrderKind::load) failed.report.why = none.why;
  failed.note = note_of_text(none.reason);
  return failed;
}

Member::Done Member::done(const Order& order, const Note& note) {
  Done done;
  std::optional<Watchdog> watchdog;
  if (on_gpu_ && (order.kind == OrderKind::fill || order.kind == OrderKind::check))
    watchdog.emplace("copying to or from a GPU", limit_of_copies_s);
  switch (order.kind) {
    case OrderKind::load: done.note = note_of_text(load(note)); break;
    case OrderKind::fill: fill(order.seed); break;
    case OrderKind::run:
      recorded_from_ns_ = order.start_ns;
      done.report = machine_->run(order);
      break;
    case OrderKind::check: done.note = note_of_text(check()); break;
    case OrderKind::timeline: done.note = timeline(recorded_from_ns_); break;
    case OrderKind::answer: answer(order.answers, limit_of_a_note_s); break;
    case OrderKind::own: done.report = run_own(order); break;
    case OrderKind::check_own: done.note = note_of_text(check_own()); break;
    case OrderKind::on_gpus:
      outcome_ = collsim::carry_out(work_ ? *work_ : gpu_work_from(note), processes_);
      break;
    case OrderKind::end: break;
  }
  return done;
}

std::string Member::load(const Note& note) {
  own_.reset();
  machine_.reset();
  PlanPart part = part_from(note);
  const std::size_t ranks = part.memory.size();
  const bool on_gpus = !part.on_gpus.empty();
  on_gpu_ = on_gpus && static_cast<std::size_t>(processes_.me()) < ranks;
  if (on_gpu_) return load_on_gpu(std::move(part));
  const int processes = part.processes;
  const Collective collective = part.collective;
  machine_ = std::make_unique<MessageMachine>(std::move(part), processes_, make_host_lane_memory());
  if (on_gpus || static_cast<std::size_t>(processes) != ranks ||
      OwnCollective::name_of(collective).empty())
    return "";
  const Watchdog watchdog("MPI_Comm_split", limit_of_a_note_s);
  const MPI_Comm of_ranks = processes_.first(processes);
  if (of_ranks != MPI_COMM_NULL) own_ = std::make_unique<OwnCollective>(collective, of_ranks);
  return "";
}

// All processes that have a rank call it at once, and fail alike.
std::string Member::load_on_gpu(PlanPart part) {
  MpiTeam team(processes_, part.on_gpus, static_cast<int>(part.memory.size()));
  std::string names;
  const RunOutcome outcome = team.carry_out(
      [&]() -> RunOutcome {
        LaneMemoryOnGpu gpu = make_gpu_lane_memory(team, mpi_reaches_gpu_memory());
        names = std::move(gpu.names);
        machine_ =
            std::make_unique<MessageMachine>(std::move(part), processes_, std::move(gpu.memory));
        return Measurement{};
      },
      limit_of_a_note_s);
  if (const auto* const none = std::get_if<NoMeasurement>(&outcome)) throw NoMeasurement(*none);
  return names;
}

void Member::fill(std::uint64_t seed) {
  inputs_ = make_test_inputs(machine_->part().collective, seed);
  machine_->fill(inputs_);
  if (own_) own_->fill(inputs_[static_cast<std::size_t>(processes_.me())]);
}

std::string Member::check() const {
  const Collective& collective = machine_->part().collective;
  for (int position = 0; position < collective.size(); ++position) {
    const auto at = static_cast<std::size_t>(position);
    if (!machine_->is_here(at)) continue;
    const auto output = finished_output(collective, position, machine_->output(at));
    if (std::string wrong = first_difference(collective, inputs_, position, output); !wrong.empty())
      return wrong;
  }
  return "";
}

std::string Member::check_own() const {
  if (!own_) return "";
  return first_difference(machine_->part().collective, inputs_, processes_.me(), own_->output());
}

Note Member::timeline(std::uint64_t start_ns) const {
  NoteWriter writer;
  writer.put(start_ns);
  writer.put_all(machine_->step_times());
  return writer.take();
}

void Member::answer(std::uint32_t times, double limit_s) const {
  for (std::uint32_t i = 0; i < times; ++i) {
    std::uint64_t now = 0;
    processes_.receive(0, about_clock, &now, sizeof now, limit_s);
    now = host_time_ns();
    processes_.send(0, about_clock, &now, sizeof now, limit_s);
  }
}

Report Member::run_own(const Order& order) const {
  Report report;
  const std::uint64_t now = host_time_ns();
  if (now > order.start_ns) report.late_ns = now - order.start_ns;
  if (!own_) return report;
  constexpr double least_s = 10, waits = 10;
  const Watchdog watchdog("the collective of MPI itself",
                          least_s + waits * 1e-9 * static_cast<double>(order.patience_ns));
  for (Pause pause(order.idle); host_time_ns() < order.start_ns;) pause.take();
  own_->run();
  report.took_ns = host_time_ns() - order.start_ns;
  return report;
}

int serve(Processes& processes, const Introduction& introduction) {
  constexpr double longest_prediction_s = 3600;
  const Note greeting = note_of(introduction);
  const auto bytes = static_cast<std::uint64_t>(greeting.size());
  processes.send(0, about_introduction, &bytes, sizeof bytes, limit_of_a_note_s);
  processes.send_note(0, about_introduction, greeting, limit_of_a_note_s);
  Member member(processes);
  for (;;) {
    Order order;
    processes.receive(0, about_order, &order, sizeof order, longest_prediction_s);
    processes.set_idle(order.idle);
    if (order.kind == OrderKind::end) return order.exit_code;
    const Note note = processes.receive_note(0, about_order, order.note_bytes, limit_of_a_note_s);
    Member::Done done = member.carry_out(order, note);
    done.report.note_bytes = done.note.size();
    processes.send(0, about_report, &done.report, sizeof done.report, limit_of_a_note_s);
    processes.send_note(0, about_report, done.note, limit_of_a_note_s);
  }
}

}  // namespace collsim
