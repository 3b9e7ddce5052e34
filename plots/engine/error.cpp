// SPDX-License-Identifier: Apache-2.0
//
// Takes the place of topo/error.cpp: WebAssembly has no exceptions here, so errors are handed to
// JavaScript, which throws.  That leaves this module's memory as it happened to be: code that
// catches the error must throw the module away and start a new one.
#include "topo/error.hpp"

#include <cstddef>

extern "C" {
// Neither returns.
[[noreturn]] __attribute__((import_module("collsim"), import_name("error"))) void collsim_error(
    const char* code, std::size_t code_bytes, const char* message, std::size_t message_bytes);
[[noreturn]] __attribute__((import_module("collsim"), import_name("bug"))) void collsim_bug(
    const char* message, std::size_t message_bytes);
}

namespace collsim {

void throw_error(ErrorCode code, const std::string& message) {
  const std::string_view name = to_string(code);
  collsim_error(name.data(), name.size(), message.data(), message.size());
}

void rethrow_current_exception() {
  report_broken_invariant(__FILE__, __LINE__, "false", "there are no exceptions here");
}

void report_broken_invariant(const char* file, int line, const char* condition,
                             const std::string& message) {
  const std::string text = std::string(file) + ":" + std::to_string(line) + ": " + condition +
                           " does not hold: " + message;
  collsim_bug(text.data(), text.size());
}

}  // namespace collsim
