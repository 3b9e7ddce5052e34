// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "app/commands/command.hpp"
#include "app/embedded_files.hpp"

namespace collsim {

Action declare_schema(Options&) {
  return [](Terminal& terminal) {
    for (const EmbeddedFile& file : embedded_schema()) terminal.out << file.text;
    return static_cast<int>(exit_fine);
  };
}

}  // namespace collsim
