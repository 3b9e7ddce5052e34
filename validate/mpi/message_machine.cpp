// SPDX-License-Identifier: Apache-2.0
#include "validate/mpi/message_machine.hpp"

#include <algorithm>
#include <climits>
#include <utility>

#include "collectives/execute.hpp"

namespace collsim {
namespace {

// The requests of a wire: one of a message out, one of a slot that was freed, then the window.
constexpr std::size_t request_out = 0, request_freed = 1, request_in = 2;

int tag_of_message(std::uint32_t wire) {
  return static_cast<int>(2 * wire);
}
int tag_of_freed_slot(std::uint32_t wire) {
  return static_cast<int>(2 * wire + 1);
}

std::uint64_t most_wires() {
  void* limit = nullptr;
  int known = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&limit), &known);
  constexpr int least = 32767;
  return static_cast<std::uint64_t>(known != 0 ? *static_cast<int*>(limit) : least) / 2;
}

}  // namespace

MessageMachine::MessageMachine(PlanPart part, const Processes& processes,
                               std::unique_ptr<LaneMemory> memory)
    : part_(std::move(part)), processes_(processes), memory_(std::move(memory)) {
  if (part_.wires.size() > most_wires())
    throw_error(ErrorCode::too_large,
                "this MPI can tell " + std::to_string(most_wires()) + " connections apart, not " +
                    std::to_string(part_.wires.size()) + ": use fewer ranks or channels");
  ranks_.resize(part_.memory.size());
  for (std::size_t position = 0; position < ranks_.size(); ++position)
    if (is_here(position)) ranks_[position] = memory_->allocate(part_.memory[position].bytes);
  set_up_wires();
  for (std::size_t number = 0; number < part_.lanes.size(); ++number)
    if (is_here(part_.lanes[number].position)) {
      LaneState& lane = lanes_.emplace_back();
      lane.plan = &part_.lanes[number];
      lane.number = static_cast<std::uint32_t>(number);
    }
  memory_->expect_lanes(lanes_.size());
}

MessageMachine::~MessageMachine() {
  if (runs_) memory_->abandon();
}

bool MessageMachine::is_here(std::size_t position) const {
  return process_of(position, part_.memory.size(), part_.processes) == processes_.me();
}

void MessageMachine::set_up_wires() {
  wires_.resize(part_.wires.size());
  outgoing_of_.resize(part_.memory.size());
  for (std::uint32_t number = 0; number < wires_.size(); ++number) {
    const PlannedWire& planned = part_.wires[number];
    WireState& wire = wires_[number];
    wire.sender = part_.lanes[planned.sender].position;
    wire.receiver = part_.lanes[planned.receiver].position;
    wire.slots = planned.slots;
    if (planned.slots == 0) continue;
    wire.sends = is_here(wire.sender);
    wire.receives = is_here(wire.receiver);
    if (!wire.sends && !wire.receives) continue;
    if (planned.slot_bytes > INT_MAX)
      throw_error(ErrorCode::too_large,
                  "a message of MPI is limited to 2 GiB: use more chunks or a smaller size");
    wire.requests = requests_.size();
    requests_.resize(requests_.size() + request_in + window, MPI_REQUEST_NULL);
    wire_of_.resize(requests_.size(), number);
    if (wire.sends) {
      outgoing_of_[wire.sender].push_back(number);
      wire.outgoing.resize(wire.slots);
      wire.staging = memory_->allocate_slots(wire.slots * planned.slot_bytes);
    }
    if (wire.receives) {
      wire.has_come.resize(wire.slots);
      wire.in = memory_->allocate_slots(wire.slots * planned.slot_bytes);
    }
  }
  completed_.resize(requests_.size());
}

void MessageMachine::fill(std::span<const std::vector<std::byte>> inputs) {
  for (std::size_t position = 0; position < ranks_.size(); ++position) {
    if (ranks_[position] == nullptr) continue;
    const PlannedMemory& rank = part_.memory[position];
    memory_->fill(ranks_[position], poison, rank.bytes);
    if (!inputs[position].empty()) memory_->write(ranks_[position] + rank.input, inputs[position]);
  }
}

std::vector<std::byte> MessageMachine::output(std::size_t position) const {
  const PlannedMemory& rank = part_.memory[position];
  return memory_->read(ranks_[position] + rank.output, rank.output_bytes);
}

// --- a run --------------------------------------------------------------------------------------

void MessageMachine::begin_run() {
  for (std::uint32_t number = 0; number < wires_.size(); ++number) {
    WireState& wire = wires_[number];
    wire.given = wire.left = wire.freed = wire.posted = wire.taken = wire.signals = 0;
    std::fill(wire.has_come.begin(), wire.has_come.end(), false);
    if (wire.receives) post(number);
    if (wire.sends && is_limited(wire, number))
      MPI_Irecv(nullptr, 0, MPI_BYTE,
                process_of(wire.receiver, part_.memory.size(), part_.processes),
                tag_of_freed_slot(number), processes_.for_messages(),
                &requests_[wire.requests + request_freed]);
  }
  for (LaneState& lane : lanes_) lane.next = 0;
}

Report MessageMachine::run(const Order& order) {
  recording_ = order.record != 0;
  step_times_.assign(recording_ ? part_.steps.size() : 0, {});
  runs_ = true;
  begin_run();
  Report report;
  std::uint64_t now = host_time_ns();
  if (now > order.start_ns) report.late_ns = now - order.start_ns;
  for (Pause pause(order.idle); host_time_ns() < order.start_ns;) pause.take();
  for (LaneState& lane : lanes_) lane.reached = host_time_ns();
  std::uint64_t moved_at = order.start_ns;
  bool lanes_have_ended = false;
  Pause pause(order.idle);
  for (;;) {
    const bool lanes_moved = advance_lanes();
    const bool moved = advance_messages() || lanes_moved;
    now = moved || !lanes_have_ended ? host_time_ns() : now;
    if (!lanes_have_ended && std::all_of(lanes_.begin(), lanes_.end(),
                                         [](const LaneState& lane) { return lane.has_ended(); })) {
      lanes_have_ended = true;
      report.took_ns = now - std::min(now, order.start_ns);
    }
    if (has_ended()) return runs_ = false, report;
    if (moved) {
      moved_at = now;
      pause = Pause(order.idle);
      continue;
    }
    pause.take();
    if (host_time_ns() > moved_at + order.patience_ns) return stuck();
  }
}

bool MessageMachine::advance_lanes() {
  bool moved = false;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    LaneState& lane = lanes_[i];
    while (!lane.has_ended()) {
      const std::uint32_t number = lane.plan->first_step + lane.next;
      const LaneStep& step = part_.steps[number];
      if (!lane.works) {
        if (!may_begin(lane, step)) break;
        lane.began = recording_ ? host_time_ns() : 0;
        begin(i, step);
        lane.works = moved = true;
      }
      if (!memory_->has_ended(i)) break;
      end(lane, step);
      if (recording_) {
        const std::uint64_t now = host_time_ns();
        step_times_[number] = {lane.reached, lane.began, now, 0, 0, 0};
        lane.reached = now;
      }
      lane.works = false;
      ++lane.next;
      moved = true;
    }
  }
  return moved;
}

bool MessageMachine::advance_messages() {
  if (requests_.empty()) return false;
  int count = 0;
  MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, completed_.data(),
               MPI_STATUSES_IGNORE);
  if (count == MPI_UNDEFINED || count == 0) return false;
  for (int i = 0; i < count; ++i)
    ended(static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]));
  return true;
}

void MessageMachine::ended(std::size_t request) {
  const std::uint32_t number = wire_of_[request];
  WireState& wire = wires_[number];
  const std::size_t which = request - wire.requests;
  if (which == request_out) {
    wire.under_way = false;
    ++wire.left;
    push(number);
  } else if (which == request_freed) {
    ++wire.freed;
    if (wire.freed + wire.slots < part_.wires[number].messages)
      MPI_Irecv(nullptr, 0, MPI_BYTE,
                process_of(wire.receiver, part_.memory.size(), part_.processes),
                tag_of_freed_slot(number), processes_.for_messages(),
                &requests_[wire.requests + request_freed]);
  } else {
    std::optional<std::uint32_t>& expected = wire.expected[which - request_in];
    wire.has_come[*expected % wire.slots] = true;
    expected.reset();
    post(number);
  }
}

bool MessageMachine::may_begin(const LaneState& lane, const LaneStep& step) const {
  if (step.op == Op::wait) return wires_[step.from].signals > step.from_message;
  if (step.op == Op::signal) return true;
  if (step.from != no_wire) {
    const WireState& wire = wires_[step.from];
    if (!wire.has_come[step.from_message % wire.slots]) return false;
  }
  if (step.to != no_wire) {
    const WireState& wire = wires_[step.to];
    if (wire.given >= wire.slots + wire.freed) return false;
    if (wire.given >= wire.left + wire.slots) return false;
  }
  if (!stores(step.op)) return true;
  const std::size_t position = lane.plan->position;
  return !is_leaving(position, ranks_[position] + step.destination, step.bytes);
}

bool MessageMachine::is_leaving(std::size_t position, const std::byte* at,
                                std::uint64_t bytes) const {
  for (const std::uint32_t number : outgoing_of_[position]) {
    const WireState& wire = wires_[number];
    for (std::uint32_t message = wire.left; message < wire.given; ++message) {
      const Outgoing& outgoing = wire.outgoing[message % wire.slots];
      if (outgoing.from < at + bytes && at < outgoing.from + outgoing.bytes) return true;
    }
  }
  return false;
}

std::byte* MessageMachine::slot(std::byte* slots, std::uint32_t wire, std::uint32_t message) const {
  return slots + (message % wires_[wire].slots) * part_.wires[wire].slot_bytes;
}

// As LaneRunner does, but that a message need not be written to a slot first.
MessageMachine::Places MessageMachine::places_of(const LaneState& lane,
                                                 const LaneStep& step) const {
  std::byte* const memory = ranks_[lane.plan->position];
  std::byte* const source = memory + step.source;
  std::byte* const destination = stores(step.op) ? memory + step.destination : nullptr;
  const bool receives = step.from != no_wire;
  Places places;
  places.from = receives ? slot(wires_[step.from].in, step.from, step.from_message) : source;
  places.source = source;
  if (step.op == Op::local_reduce) places.from = destination;
  std::byte* out = nullptr;
  const bool passes_through = destination == nullptr && receives;
  if (step.to != no_wire && (passes_through || memory_->sends_from_slots()))
    out = slot(wires_[step.to].staging, step.to, step.to_message);
  places.to = destination != nullptr ? destination : out;
  places.also_to = destination != nullptr ? out : nullptr;
  places.leaves = out != nullptr ? out : destination != nullptr ? destination : source;
  return places;
}

void MessageMachine::begin(std::size_t lane, const LaneStep& step) {
  if (orders_lanes(step.op)) return;
  const Places places = places_of(lanes_[lane], step);
  if (reduces(step.op))
    memory_->combine(lane, step, places.from, places.source, places.to, places.also_to);
  else if (places.to != nullptr)
    memory_->move(lane, step, places.from, places.to, places.also_to);
}

void MessageMachine::end(const LaneState& lane, const LaneStep& step) {
  if (step.op == Op::wait) return;
  if (step.op == Op::signal) {
    ++wires_[step.to].signals;
    return;
  }
  if (step.to != no_wire) send(step, places_of(lane, step).leaves);
  if (step.from != no_wire) take_out(step);
}

void MessageMachine::send(const LaneStep& step, const std::byte* from) {
  WireState& wire = wires_[step.to];
  wire.outgoing[wire.given % wire.slots] = {from, step.bytes};
  ++wire.given;
  push(step.to);
}

void MessageMachine::push(std::uint32_t number) {
  WireState& wire = wires_[number];
  if (wire.under_way || wire.left == wire.given) return;
  const Outgoing& next = wire.outgoing[wire.left % wire.slots];
  wire.under_way = true;
  MPI_Isend(next.from, static_cast<int>(next.bytes), MPI_BYTE,
            process_of(wire.receiver, part_.memory.size(), part_.processes), tag_of_message(number),
            processes_.for_messages(), &requests_[wire.requests + request_out]);
}

void MessageMachine::take_out(const LaneStep& step) {
  WireState& wire = wires_[step.from];
  wire.has_come[step.from_message % wire.slots] = false;
  ++wire.taken;
  if (step.from_message + wire.slots < part_.wires[step.from].messages) {
    MPI_Request told = MPI_REQUEST_NULL;
    MPI_Isend(nullptr, 0, MPI_BYTE, process_of(wire.sender, part_.memory.size(), part_.processes),
              tag_of_freed_slot(step.from), processes_.for_messages(), &told);
    MPI_Request_free(&told);
  }
  post(step.from);
}

void MessageMachine::post(std::uint32_t number) {
  WireState& wire = wires_[number];
  const PlannedWire& planned = part_.wires[number];
  while (wire.posted < planned.messages && wire.posted < wire.taken + wire.slots) {
    const std::size_t place = wire.posted % window;
    if (wire.expected[place]) return;
    wire.expected[place] = wire.posted;
    MPI_Irecv(slot(wire.in, number, wire.posted), static_cast<int>(planned.slot_bytes), MPI_BYTE,
              process_of(wire.sender, part_.memory.size(), part_.processes), tag_of_message(number),
              processes_.for_messages(), &requests_[wire.requests + request_in + place]);
    ++wire.posted;
  }
}

bool MessageMachine::has_ended() const {
  return std::all_of(lanes_.begin(), lanes_.end(),
                     [](const LaneState& lane) { return lane.has_ended(); }) &&
         std::all_of(wires_.begin(), wires_.end(),
                     [](const WireState& wire) { return wire.left == wire.given; });
}

Report MessageMachine::stuck() const {
  Report report;
  report.outcome = Outcome::stuck;
  for (const LaneState& lane : lanes_) {
    if (lane.has_ended()) continue;
    const LaneStep& step = part_.steps[lane.plan->first_step + lane.next];
    Trouble& trouble = report.trouble;
    trouble.lane = lane.number;
    trouble.step = lane.next;
    if (lane.works) {
      trouble.kind = WaitKind::gpu;
      break;
    }
    const bool has_message =
        step.from == no_wire || step.op == Op::wait ||
        wires_[step.from].has_come[step.from_message % wires_[step.from].slots];
    if (!has_message) {
      trouble.kind = WaitKind::message;
      trouble.wire = step.from;
      trouble.wanted = step.from_message + 1U;
      trouble.seen = step.from_message;
    } else if (step.op == Op::wait) {
      trouble.kind = WaitKind::signal;
      trouble.wire = step.from;
      trouble.wanted = step.from_message + 1U;
      trouble.seen = wires_[step.from].signals;
    } else if (step.to != no_wire) {
      trouble.kind = WaitKind::slot;
      trouble.wire = step.to;
      trouble.wanted = step.to_message + 1U - wires_[step.to].slots;
      trouble.seen = wires_[step.to].freed;
    }
    if (trouble.kind == WaitKind::message) break;  // tells the most
  }
  return report;
}

}  // namespace collsim
