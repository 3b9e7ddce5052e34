// SPDX-License-Identifier: Apache-2.0
#include "app/commands/machine_option.hpp"

#include "app/scenario/include.hpp"

namespace collsim {

std::optional<JsonValue> read_machine_file(const std::string& file, Sources& sources,
                                           Diagnostics& diagnostics) {
  std::optional<JsonValue> machine =
      read_with_includes(file, sources, diagnostics, Document::fragment);
  if (machine && machine->find("cluster") == nullptr)
    return diagnostics.add(
        {.code = "no-machine",
         .message = file + " is not a machine file: it has no \"cluster\"",
         .place = machine->place,
         .hint = "give a file with a \"cluster\" and optionally a \"model\": a scenario, or what "
                 "collsim calibrate or topo import wrote"});
  return machine;
}

Option& word_option(Options& command, const char* names, std::string& variable,
                    const Vocabulary& words, const char* help) {
  Option& option = command.choice(names, variable, words.allowed, help);
  option.take = [take = option.take, &words](const std::string& word) {
    take(words.canonical(word).value_or(word));
  };
  return option;
}

void put_machine(JsonValue& scenario, const JsonValue& machine) {
  for (const char* part : {"cluster", "model"})
    if (const JsonValue* const value = machine.find(part)) scenario.set(part, *value);
}

}  // namespace collsim
