// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/expression/expectation.hpp"
#include "app/json/value.hpp"
#include "app/study/row.hpp"

namespace collsim {

// Something a user should know about the run, in plain words, with what to do about it.
struct Warning {
  std::string code;  // sweep-changes-nothing, small-chunks, ...
  std::string message;
  Place place;
};

// The answer to a scenario.  Every output (table, JSON, CSV, report, plots) is made from this alone.
struct Results {
  std::string file, name, title;
  std::string description;        // "chain broadcast, 64 MiB, 8 ranks, ...": what all rows share
  Value scenario;                 // resolved
  std::vector<std::string> axes;  // paths of the sweep, zipped ones too
  bool complete = true;           // false: interrupted, some points are missing
  std::size_t points = 0;         // of the scenario; rows.size() when complete
  std::vector<Row> rows;          // in the order of the sweep
  std::vector<ExpectationOutcome> expect;
  std::vector<Warning> warnings;
};

}  // namespace collsim
