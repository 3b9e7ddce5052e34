// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "app/import/imported_machine.hpp"

namespace collsim {

// What came of reading a machine.
struct MachineRead {
  std::optional<ImportedMachine> machine;
  std::string mistakes;  // "3:5: not XML | hint", one a line; without a place "file: ..."
};

inline MachineRead read_machine_text(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const auto source = sources.add(Sources::Kind::file, "machine", text);
  MachineRead read{read_machine(text, source, diagnostics), {}};
  EXPECT_EQ(read.machine.has_value(), diagnostics.empty());
  for (const Diagnostic& mistake : diagnostics.sorted()) {
    const auto at = sources.locate(source, mistake.place.begin);
    const bool whole = mistake.place.begin == 0 && mistake.place.end == 0;
    read.mistakes += (whole ? "file" : fmt::format("{}:{}", at.line, at.column)) + ": " +
                     mistake.message + " | " + mistake.hint + "\n";
  }
  return read;
}

// Devices in one line, then a line for every cable, then notes and assumptions.
inline std::string in_lines(const ImportedMachine& machine) {
  std::string text = machine.format + ": " + (machine.gpu.empty() ? "-" : machine.gpu) + "\n";
  for (const ImportedMachine::Device& device : machine.devices)
    text += device.name +
            (device.network_gbs > 0 ? fmt::format("({:g})", device.network_gbs) : "") +
            (&device == &machine.devices.back() ? "\n" : " ");
  for (const ImportedMachine::Cable& cable : machine.cables)
    text += fmt::format("{} {} {} {:g} x{}{}\n", machine.devices[cable.from].name,
                        machine.devices[cable.to].name, to_string(cable.kind), cable.gbs,
                        cable.lanes, cable.half_duplex ? " half" : "");
  for (const std::string& note : machine.notes) text += "note: " + note + "\n";
  for (const std::string& assumed : machine.assumed) text += "assumed: " + assumed + "\n";
  return text;
}

// A machine that must be right, as it is in the file.
inline std::string machine_in(const std::string& text) {
  const MachineRead read = read_machine_text(text);
  EXPECT_EQ(read.mistakes, "");
  return read.machine ? in_lines(*read.machine) : "";
}

// The same with everything that the user's answers, models and what is common add.
inline std::string completed(const std::string& text, const MachineAnswers& answers = {}) {
  MachineRead read = read_machine_text(text);
  EXPECT_EQ(read.mistakes, "");
  if (!read.machine) return "";
  if (const auto question = complete(*read.machine, answers))
    return question->message + " | " + question->hint + "\n";
  return in_lines(*read.machine);
}

}  // namespace collsim
