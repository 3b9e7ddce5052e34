// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace collsim {

// Text, characters and numbers in one string, for messages:
// concat("at most ", max_ranks, " ranks").
template <class... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::string text;
  const auto append = [&text](const auto& part) {
    using Part = std::decay_t<decltype(part)>;
    if constexpr (std::is_arithmetic_v<Part> && !std::is_same_v<Part, char>)
      text += std::to_string(part);
    else
      text += part;
  };
  (append(parts), ...);
  return text;
}

// Two kinds of error, never mixed:
//
// * The user's input is wrong: throw_error(code, message).  The message names the value, what is
//   allowed and, where it helps, the fix.  The code lets a program (or a test) tell errors apart
//   without parsing text.
// * collsim itself is wrong: COLLSIM_CHECK(condition, message).  Always on; prints file, line and
//   values and aborts, because results after a broken invariant are meaningless.
enum class ErrorCode {
  invalid_argument,       // a number or a combination that makes no sense
  too_large,              // more ranks, chunks, bytes or steps than the stated limit
  unknown_name,           // no such operation, algorithm, element type, link, node ...
  unsupported_ranks,      // the algorithm does not exist for this number of ranks
  no_route,               // two ranks that must talk are not connected
  overflow,               // a time or a size beyond 64 bits
  bad_schedule,           // programs that do not match: sizes, peers, lanes, buffers
  deadlock,               // programs that wait for each other
  engine_not_applicable,  // the forced engine cannot simulate this case exactly
  too_slow                // it takes longer than asked for
};

[[nodiscard]] std::string_view to_string(ErrorCode code);

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// The only two places where the core raises an exception: builds without exceptions (WebAssembly)
// replace error.cpp and nothing else.
[[noreturn]] void throw_error(ErrorCode code, const std::string& message);
template <class First, class Second, class... More>
[[noreturn]] void throw_error(ErrorCode code, const First& first, const Second& second,
                              const More&... more) {
  throw_error(code, concat(first, second, more...));
}
[[noreturn]] void rethrow_current_exception();

[[noreturn]] void report_broken_invariant(const char* file, int line, const char* condition,
                                          const std::string& message);

}  // namespace collsim

#define COLLSIM_CHECK(condition, message)                                          \
  do {                                                                             \
    if (!(condition)) [[unlikely]]                                                 \
      ::collsim::report_broken_invariant(__FILE__, __LINE__, #condition, message); \
  } while (false)
