// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

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
template <class Integer>
constexpr Integer random_cases(Integer all) {
  return is_sanitized ? all / 8 : all;
}

// The same for cases that are listed: with a sanitizer only those without which code would not run.
template <class T>
std::vector<T> listed_cases(std::vector<T> needed, const std::vector<T>& others) {
  if (!is_sanitized) needed.insert(needed.end(), others.begin(), others.end());
  return needed;
}

}  // namespace collsim::testing
