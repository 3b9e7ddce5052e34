// SPDX-License-Identifier: Apache-2.0
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

// Takes the place of the system's function in programs on fakes: a process is on the host
// FAKE_HOST, where the environment has that.
extern "C" int gethostname(char* name, std::size_t size) noexcept {
  utsname here{};
  ::uname(&here);
  const char* const other = std::getenv("FAKE_HOST");
  std::strncpy(name, other == nullptr ? here.nodename : other, size);
  return 0;
}
