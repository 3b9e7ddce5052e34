// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace collsim::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
constexpr bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool is_sanitized = false;
#endif

// How many random cases to judge.  All of them test results, which are the same in every build;
// what a sanitizer looks for is in the first of them, and takes ten times as long.
constexpr int random_cases(int all) {
  return is_sanitized ? all / 8 : all;
}

}  // namespace collsim::testing
