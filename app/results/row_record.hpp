// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/results/case_result.hpp"

namespace collsim {

// A predicted row as JSON that loses nothing (record.hpp), but for its parameters, which follow
// from its point of the sweep.  It must not have been measured.
[[nodiscard]] JsonValue to_record(const CaseResult& row);
[[nodiscard]] bool from_record(const JsonValue& record, CaseResult& row);

}  // namespace collsim
