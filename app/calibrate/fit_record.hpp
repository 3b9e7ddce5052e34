// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/calibrate/tables_fit.hpp"

namespace collsim {

// A fit to measured tables, for readers.

// For terminals: every constant with its interval, what the tables say nothing about, the tables,
// the errors that are left.
[[nodiscard]] std::string fit_text(const TablesFit& fit);

// The same as a page of Markdown: docs/measurements/published.md.
[[nodiscard]] std::string fit_page(const TablesFit& fit, const std::string& version);

// What a machine's logs say about its constants, beside what is usual for its class.
[[nodiscard]] std::string machine_fit_text(const TablesFit& fit, const MachineConstants& usual);

}  // namespace collsim
