// SPDX-License-Identifier: Apache-2.0
#include "app/results/row_record.hpp"

#include "app/results/record.hpp"
#include "topo/error.hpp"

namespace collsim {

template <class Of>
requires RecordOf<Of, StepResult::Work>
auto members_of(Of& work) {
  auto& [mfu, hfu, tokens] = work;
  return std::tie(mfu, hfu, tokens);
}

template <class Of>
requires RecordOf<Of, StepResult::Memory>
auto members_of(Of& memory) {
  auto& [bytes, device, runs_out] = memory;
  return std::tie(bytes, device, runs_out);
}

template <class Of>
requires RecordOf<Of, StepResult::Communicator>
auto members_of(Of& communicator) {
  auto& [name, hidden, exposed] = communicator;
  return std::tie(name, hidden, exposed);
}

template <class Of>
requires RecordOf<Of, StepResult::OfRank>
auto members_of(Of& rank) {
  auto& [compute, hidden, exposed, idle, end, longest_call, gives_up] = rank;
  return std::tie(compute, hidden, exposed, idle, end, longest_call, gives_up);
}

template <class Of>
requires RecordOf<Of, StepResult::Job::Fewer>
auto members_of(Of& fewer) {
  auto& [ranks, step] = fewer;
  return std::tie(ranks, step);
}

template <class Of>
requires RecordOf<Of, StepResult::Job>
auto members_of(Of& job) {
  auto& [useful, time, interval, best_interval, checkpoints, done_twice, steps, restarts, lost,
         go_on] = job;
  return std::tie(useful, time, interval, best_interval, checkpoints, done_twice, steps, restarts,
                  lost, go_on);
}

template <class Of>
requires RecordOf<Of, StepResult::Phases>
auto members_of(Of& phases) {
  auto& [forward, backward, other] = phases;
  return std::tie(forward, backward, other);
}

template <class Of>
requires RecordOf<Of, StepResult>
auto members_of(Of& step) {
  auto& [scheme, compute, hidden, exposed, bubble, phases, buckets, microbatches, activations, work,
         memory, communicators, ranks, timeout, job] = step;
  return std::tie(scheme, compute, hidden, exposed, bubble, phases, buckets, microbatches,
                  activations, work, memory, communicators, ranks, timeout, job);
}

template <class Of>
requires RecordOf<Of, Search>
auto members_of(Of& search) {
  auto& [candidates, simulated, ruled_out, formulas, unpromising, too_large] = search;
  return std::tie(candidates, simulated, ruled_out, formulas, unpromising, too_large);
}

template <class Of>
requires RecordOf<Of, ErrorClass>
auto members_of(Of& error_class) {
  auto& [machines, above, up_to, half, most, rows, tables, unseen_half, unseen_most, between_nodes,
         forced, outside, own_logs] = error_class;
  return std::tie(machines, above, up_to, half, most, rows, tables, unseen_half, unseen_most,
                  between_nodes, forced, outside, own_logs);
}

template <class Of>
requires RecordOf<Of, FormulaSymbols>
auto members_of(Of& symbols) {
  auto& [K, N, S, C, k, A, alpha, B, L, gamma] = symbols;
  return std::tie(K, N, S, C, k, A, alpha, B, L, gamma);
}

template <class Of>
requires RecordOf<Of, ClosedForm>
auto members_of(Of& form) {
  auto& [seconds, formula, in_words, by_levels, symbols, reference, exact, best_chunks] = form;
  return std::tie(seconds, formula, in_words, by_levels, symbols, reference, exact, best_chunks);
}

template <class Of>
requires RecordOf<Of, LowerBounds>
auto members_of(Of& bounds) {
  auto& [bandwidth, latency, compute, startup, flight, first_startup, first_flight] = bounds;
  return std::tie(bandwidth, latency, compute, startup, flight, first_startup, first_flight);
}

template <class Of>
requires RecordOf<Of, IdleLinks>
auto members_of(Of& links) {
  auto& [busy, alike, idle] = links;
  return std::tie(busy, alike, idle);
}

template <class Of>
requires RecordOf<Of, CaseResult>
auto members_of(Of& row) {
  auto& [params, step, operation, algorithm, search, ranks, size, type, reduction, root, chunks,
         channels, radix, aggregation, protocol, nccl, error_class, calibrated, kernel, host, time,
         analytic, bounds, evened, bound, bound_cut, messages, wire_bytes, engine, fingerprint,
         bottleneck_bandwidth, idle_links, alpha, B, L, gamma, measured, not_measured] = row;
  COLLSIM_CHECK(!measured && !not_measured, "only what is predicted is recorded");
  return std::tie(step, operation, algorithm, search, ranks, size, type, reduction, root, chunks,
                  channels, radix, aggregation, protocol, nccl, error_class, calibrated, kernel,
                  host, time, analytic, bounds, evened, bound, bound_cut, messages, wire_bytes,
                  engine, fingerprint, bottleneck_bandwidth, idle_links, alpha, B, L, gamma);
}

JsonValue to_record(const CaseResult& row) {
  return to_record<CaseResult>(row);
}

bool from_record(const JsonValue& record, CaseResult& row) {
  return from_record<CaseResult>(record, row);
}

}  // namespace collsim
