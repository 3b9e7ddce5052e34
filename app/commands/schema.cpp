// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/embedded_files.hpp"

namespace collsim {

Action declare_schema(Options& command) {
  const auto what = std::make_shared<std::string>("scenario");
  command.choice("WHAT", *what, {"scenario", "results"}, "of what (default: scenario)");
  return [what](Terminal& terminal) {
    for (const EmbeddedFile& file : embedded_schema())
      if (file.name.starts_with(*what)) terminal.out << file.text;
    return static_cast<int>(exit_fine);
  };
}

}  // namespace collsim
