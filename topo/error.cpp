// SPDX-License-Identifier: Apache-2.0
#include "topo/error.hpp"

#include <cstdio>
#include <cstdlib>

namespace collsim {

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
