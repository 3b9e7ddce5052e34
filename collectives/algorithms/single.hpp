// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/program.hpp"

namespace collsim {

// The programs of ranks that have only one thing to do.  Each instruction is a statement of its
// own before it is yielded: g++ keeps every temporary of an expression that yields in the
// coroutine's frame, and there may be a million frames.

[[nodiscard]] inline Program send_chunks(Endpoint to, Span source, int chunks) {
  for (int c = 0; c < chunks; ++c) {
    const Instruction step = send(to, source.piece(c, chunks));
    co_yield step;
  }
}

[[nodiscard]] inline Program receive_chunks(Endpoint from, Span result, int chunks) {
  for (int c = 0; c < chunks; ++c) {
    const Instruction step = receive(from, result.piece(c, chunks));
    co_yield step;
  }
}

// A group of one: what it brings is the result.
[[nodiscard]] inline Program copy_alone(Span source, Span result) {
  if (source != result) co_yield copy(source, result);
}

}  // namespace collsim
