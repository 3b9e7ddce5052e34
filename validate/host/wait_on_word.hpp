// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace collsim {

// Sleeps while the word is `seen`, until wake_waiters() is called on it, or for some milliseconds:
// the waiter must check again in any case (also whether the run was aborted).
void wait_on_word(const std::uint64_t* word, std::uint64_t seen);
void wake_waiters(const std::uint64_t* word);

// Lets this thread's sleeps end when they should, not up to 50 us later.
void ask_for_punctual_sleep();

}  // namespace collsim
