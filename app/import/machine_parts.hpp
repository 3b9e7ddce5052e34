// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/import/imported_machine.hpp"

// What the readers of machines share.

namespace collsim {

// The text of a file while it is read: finds mistakes their place.
struct MachineText {
  std::string_view text;
  std::uint32_t source;
  Diagnostics* diagnostics;

  // `at`: a piece of `text`.
  // NOLINTNEXTLINE(modernize-use-nodiscard): it is reported whether or not the caller refuses
  Refusal wrong(std::string_view at, std::string code, std::string message,
                std::string hint = {}) const;
  // The same for the whole file.
  // NOLINTNEXTLINE(modernize-use-nodiscard)
  Refusal refuse(std::string code, std::string message, std::string hint = {}) const;
};

// Each reads one format; `looks_like_...` is cheap and tells it from the others.
[[nodiscard]] bool looks_like_xml(std::string_view text);
[[nodiscard]] std::optional<ImportedMachine> read_nccl_topo_xml(const MachineText& file);
[[nodiscard]] bool looks_like_nccl_log(std::string_view text);
[[nodiscard]] std::optional<ImportedMachine> read_nccl_graph_log(const MachineText& file);
[[nodiscard]] bool looks_like_p2p_bandwidth(std::string_view text);
[[nodiscard]] std::optional<ImportedMachine> read_p2p_bandwidth(const MachineText& file);
[[nodiscard]] bool looks_like_amd_tables(std::string_view text);
[[nodiscard]] std::optional<ImportedMachine> read_amd_tables(const MachineText& file);
[[nodiscard]] std::optional<ImportedMachine> read_smi_matrix(const MachineText& file);

// Lines without their ends, as pieces of the text.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);
// Words between blanks, tabs and other control characters; escape sequences of terminals count as
// blanks.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);
// A number of decimal digits, perhaps with a fraction; nothing for anything else.
[[nodiscard]] std::optional<double> decimal(std::string_view word);
[[nodiscard]] std::optional<int> small_number(std::string_view word);
// "GPU12" with the prefix "GPU" is 12.
[[nodiscard]] std::optional<int> number_behind(std::string_view word, std::string_view prefix);
// "a, b and 3 more".
[[nodiscard]] std::string few_of(const std::vector<std::string>& words);

// Takes away CPUs and PCIe switches with nothing below them, and PCIe switches that only pass on
// what comes (one cable up, one down).
void tidy(ImportedMachine& machine);
// What a name lacks to be one of a device becomes '-'; one that is taken gets a number.
[[nodiscard]] std::string free_name(const ImportedMachine& machine, std::string_view wanted);

}  // namespace collsim
