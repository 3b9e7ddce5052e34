// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "collectives/listed_schedule.hpp"

namespace collsim {

// What MSCCL takes at most (microsoft/msccl, src/include/msccl.h); more is refused here too.
inline constexpr int msccl_thread_blocks = 216;  // of a gpu
inline constexpr int msccl_steps = 256;          // of a thread block
inline constexpr int msccl_count = 71;           // chunks of a step
inline constexpr int msccl_channels = 32;        // of NCCL when MSCCL was made of it
// What is read at all.
inline constexpr std::size_t max_msccl_bytes = 64U << 20U;
inline constexpr int max_msccl_gpus = 1024;
inline constexpr int max_msccl_chunks = 1 << 20;  // of a buffer

// Reads an algorithm in the XML of MSCCL (MSCCL_XML_FILES), as msccl-tools, RCCL and
// `collsim export` write it.  MSCCL's words and ours:
//
//   chunk          block: nchunksperloop of them are the collective's vector
//   thread block   lane, of the same number: in order, one peer to send to, one to receive from
//   s r rcs        send, receive, receive_send
//   rrc rrs rrcs   receive_reduce, receive_reduce_send, receive_reduce_store_send
//   cpy re         copy, local_reduce
//   nop            nothing; it waits
//   depid, deps    a wait for that thread block, which signals after that step.  A wait that
//                  follows from an earlier one is left out, so that signals and waits come in
//                  pairs.
//   chan           which of the queues between two gpus: one sender and one receiver each
//
// Attributes that nobody knows are passed over, as MSCCL does.  Two that `collsim export` writes
// mean something here: thread blocks with the same `lane` are one lane, which had to be cut up
// because it has several peers, and their dependencies must order all their steps; a "cpy" with
// half="1" and the "s" behind it are one copy_send.
//
// Reports everything that MSCCL would refuse or wait for forever, all of it at once, except what
// only running it shows (check() of collectives/checker.hpp); of a file that is no XML, where that
// begins, and of one that is cut off, where it ends.
[[nodiscard]] std::optional<ListedSchedule> read_msccl(std::uint32_t source, const Sources& sources,
                                                       Diagnostics& diagnostics);

}  // namespace collsim
