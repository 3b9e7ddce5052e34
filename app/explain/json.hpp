// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/explain/explanation.hpp"
#include "app/json/value.hpp"

namespace collsim {

// An explanation as data.  SI units; null where something is not known.
//
//   question, algorithm_summary          sentences
//   operation, algorithm, chosen_automatically, ranks, size_bytes, chunks, channels, machine
//   time_s, algbw_bytes_per_s, busbw_bytes_per_s, busbw_factor
//   algorithms      [{algorithm, time_s, why_not}], the fastest first
//   formula         {applies, why_not, formula, reference, exact, seconds, difference_s,
//                    best_chunks, comparison (a sentence), definitions: [...],
//                    symbols: [{symbol, value, unit, meaning}],
//                    terms and calls: [{text, with_values, seconds}],
//                    parts: [{name, seconds}], parts_add_up}; seconds null: there is none
//   breakdown       {every_step_recorded, instructions, launch_s, waiting_for_others_s, messages,
//                    start_s, startup_s, wire_s, sharing_s, flight_s, queue_s, reduction_s, copy_s,
//                    instructions_s, busiest_link: {name, messages, bytes, busy_s, fill_s, gaps_s,
//                    drain_s, equally_busy}}; the kinds add up to time_s, as do fill, busy, gaps and
//                    drain
//   critical_path   [{shape, ranks, count, period, from_s, to_s, smallest_bytes, largest_bytes,
//                    text}]
//   knobs           [{name, now, then, by_degrees, time_s, saves_s, time_20_percent_s,
//                    saves_20_percent_s, why_not}], the one that saves most first
//   best_chunks     {by_formula, best, time_s, tried: [{chunks, time_s}]}
//   bound           {bound_s, bandwidth_s, latency_s, compute_s, binding, ratio, text}
[[nodiscard]] Value to_value(const Explanation& explanation);

}  // namespace collsim
