// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
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

// How the rows were measured, and how far a prediction may be off (collsim validate).
struct Comparison {
  std::string backend;  // host, cuda, nccl; empty: from a file
  std::string file;
  Protocol protocol = Protocol::simple;
  bool paced = false;
  int iterations = 0;
  int warmup = 0;
  std::optional<double> max_error;  // 0.15 for 15%; nothing: it may be off by anything
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
  std::optional<Comparison> comparison;  // when rows were measured, or should have been
  std::vector<ExpectationOutcome> expect;
  std::vector<Warning> warnings;
};

}  // namespace collsim
