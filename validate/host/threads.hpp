// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace collsim {

// The cores that this process may use: taskset, for one, leaves it fewer than there are.
[[nodiscard]] std::size_t usable_cores();

// Ties the calling thread to the n-th of them (counted around).  Left alone, a system may put two
// lanes that wait for each other on one core while another core idles.
void stay_on_core(std::size_t n);

// "AMD EPYC 7B13", as the system calls it.
[[nodiscard]] std::string processor_name();

// Runs work(team, thread) on a thread each and returns when all have ended.  None begins before all
// are there: they wait for each other, and would wait for ever for one that the system did not
// give.  Then none begins, and there is Error{too_large}.
void run_on_threads(std::size_t teams, int threads_per_team,
                    const std::function<void(std::size_t team, int thread)>& work);

// Sleeps while the word is `seen`, until wake_waiters() is called on it, but a few milliseconds at
// most: callers check the word again in any case (and also whether the run was given up).
void wait_on_word(const std::uint64_t* word, std::uint64_t seen);
void wake_waiters(const std::uint64_t* word);

// Lets this thread's sleeps end when they should, not up to 50 us later.
void ask_for_punctual_sleep();

}  // namespace collsim
