// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "app/commands/command.hpp"
#include "app/json/write_json.hpp"

namespace collsim {

int show_mistakes(const Diagnostics& diagnostics, const Sources& sources, Terminal& terminal,
                  bool as_json) {
  if (as_json)
    terminal.out << to_json(to_value(diagnostics, sources)) << '\n';
  else
    terminal.err << to_text(diagnostics, sources, terminal.err_colour);
  return exit_usage;
}

}  // namespace collsim
