// SPDX-License-Identifier: Apache-2.0
#include "app/commands/process.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <optional>

#include "app/commands/interrupts.hpp"
#include "app/commands/output_file.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

// For messages of last resort; made before anything can go wrong.
std::string program = "collsim";
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
  std::cerr << program << ": this is a bug in collsim, please report it.\n" << what << '\n';
  say(what_was_run.c_str());
  return exit_bug;
}

// Text that goes into a file or a pipe is as wide everywhere.
std::size_t columns_of_terminal() {
  if (::isatty(STDOUT_FILENO) == 0) return 0;
  const char* const asked = std::getenv("COLUMNS");
  if (const auto columns = number_in<std::size_t>(asked == nullptr ? "" : asked)) return *columns;
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int run(const std::function<int(Terminal&)>& command_line, std::ostream& out) {
  Terminal terminal{
      out,   std::cerr, ::isatty(STDOUT_FILENO) != 0, ::isatty(STDERR_FILENO) != 0, false,
      false, false,     interrupted_flag(),           columns_of_terminal()};
  try {
    return command_line(terminal);
  } catch (const std::bad_alloc&) {
    std::cerr << program << ": there is not enough memory for this\n";
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

}  // namespace

void prepare_process() {
  occupy_closed_descriptors();
  handle(SIGABRT, on_abort);
  handle(SIGPIPE, SIG_IGN);
}

int run_process(const std::string& command_line_text,
                const std::function<int(Terminal&)>& command_line) {
  program = command_line_text.substr(0, command_line_text.find(' '));
  what_was_run = "what was run: " + command_line_text + "\n";
  DescriptorBuffer buffer(STDOUT_FILENO);
  std::ostream out(&buffer);
  const int code = run(command_line, out);
  out.flush();
  // Cases may still be under way, which nobody waits for.
  if (const int signal = interrupting_signal(); signal != 0 && buffer.error() == 0) {
    std::cerr.flush();
    std::quick_exit(128 + signal);
  }
  if (buffer.error() == 0) return code;
  if (buffer.error() == EPIPE) return end_by_broken_pipe();
  std::cerr << program << ": cannot write the output: " << reason_of(buffer.error()) << '\n';
  return exit_usage;
}

}  // namespace collsim
