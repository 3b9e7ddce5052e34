// SPDX-License-Identifier: Apache-2.0
#include "topo/error.hpp"

#include <cstdio>
#include <cstdlib>

namespace collsim {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid-argument";
    case ErrorCode::too_large: return "too-large";
    case ErrorCode::unknown_name: return "unknown-name";
    case ErrorCode::unsupported_ranks: return "unsupported-ranks";
    case ErrorCode::no_route: return "no-route";
    case ErrorCode::overflow: return "overflow";
    case ErrorCode::bad_schedule: return "bad-schedule";
    case ErrorCode::deadlock: return "deadlock";
    case ErrorCode::engine_not_applicable: return "engine-not-applicable";
  }
  return "unknown";
}

void throw_error(ErrorCode code, const std::string& message) {
  throw Error(code, message);
}

void rethrow_current_exception() {
  throw;
}

void report_broken_invariant(const char* file, int line, const char* condition,
                             const std::string& message) {
  std::fprintf(
      stderr, "collsim: this is a bug in collsim, please report it.\n%s:%d: %s does not hold: %s\n",
      file, line, condition, message.c_str());
  std::abort();
}

}  // namespace collsim
