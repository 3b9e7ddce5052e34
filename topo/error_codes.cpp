// SPDX-License-Identifier: Apache-2.0
#include "topo/error.hpp"

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
    case ErrorCode::too_slow: return "too-slow";
  }
  return "unknown";
}

}  // namespace collsim
