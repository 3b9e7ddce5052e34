// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "app/commands/command.hpp"
#include "app/commands/command_line.hpp"
#include "app/commands/interrupts.hpp"
#include "app/commands/output_file.hpp"

namespace collsim {
namespace {

// For the report of a bug; made before anything can go wrong.
std::string what_was_run;

// All that a signal handler may do with text.
void say(const char* text) {
  const ssize_t ignored = ::write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(ignored);
}

// A broken invariant has said what it found.
extern "C" void on_abort(int) {
  say(what_was_run.c_str());
  remove_unfinished_file();
  ::_exit(exit_bug);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

// A file opened later would otherwise become the closed standard output, and get what is written
// there.
void occupy_closed_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF)
      static_cast<void>(::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

int report_bug(const char* what) {
  std::cerr << "collsim: this is a bug in collsim, please report it.\n" << what << '\n';
  say(what_was_run.c_str());
  return exit_bug;
}

int run(const std::vector<std::string>& arguments, std::ostream& out) {
  Terminal terminal{out,
                    std::cerr,
                    ::isatty(STDOUT_FILENO) != 0,
                    ::isatty(STDERR_FILENO) != 0,
                    false,
                    false,
                    false,
                    interrupted_flag()};
  try {
    return run_command_line(arguments, terminal);
  } catch (const std::bad_alloc&) {
    std::cerr << "collsim: there is not enough memory for this\n";
    return exit_usage;
  } catch (const std::exception& error) {
    return report_bug(error.what());
  } catch (...) {
    return report_bug("an exception of an unknown kind");
  }
}

// As if the write to a closed pipe had ended the program, which is what the shell expects.
int end_by_broken_pipe() {
  handle(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  return 128 + SIGPIPE;
}

int run_program(const std::vector<std::string>& arguments) {
  what_was_run = "what was run: collsim";
  for (const std::string& argument : arguments) what_was_run += " " + argument;
  what_was_run += "\n";

  DescriptorBuffer buffer(STDOUT_FILENO);
  std::ostream out(&buffer);
  const int code = run(arguments, out);
  out.flush();
  if (buffer.error() == 0) return code;
  if (buffer.error() == EPIPE) return end_by_broken_pipe();
  std::cerr << "collsim: cannot write the output: " << reason_of(buffer.error()) << '\n';
  return exit_usage;
}

}  // namespace
}  // namespace collsim

int main(int argument_count, char** arguments) {
  collsim::occupy_closed_descriptors();
  collsim::handle(SIGABRT, collsim::on_abort);
  collsim::handle(SIGPIPE, SIG_IGN);
  return collsim::run_program({arguments + 1, arguments + argument_count});
}
