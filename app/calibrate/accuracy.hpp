// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "app/calibrate/constants_fit.hpp"
#include "app/json/value.hpp"

namespace collsim {

// How far predictions are from what was measured: |predicted / measured - 1|.
struct Accuracy {
  double half = 0,
         most = 0;  // the errors of half of the rows, and of 95% of them, are within these
  std::size_t rows = 0, tables = 0;
};

// A row's error, and what it is counted among.
struct RowError {
  double error = 0;  // predicted / measured - 1
  Bytes size = 0;
  KindsOfCase kinds;
  std::size_t table = 0, owner = 0;
  std::string way = {};  // "ring LL"
  int nodes = 1;
  Operation operation = Operation::all_reduce;
};
[[nodiscard]] Accuracy accuracy_of(const std::vector<RowError>& rows);

// Sizes that behave alike: latency counts, both do, bandwidth does.
struct SizeRange {
  Bytes above = 0, up_to = 0;  // 0: without end
  const char* name = "";
};
inline constexpr std::array size_ranges = {
    SizeRange{0, Bytes{64} << 10, "up to 64 KiB"},
    SizeRange{Bytes{64} << 10, Bytes{16} << 20, "up to 16 MiB"},
    SizeRange{Bytes{16} << 20, 0, "larger"}};

// Machines that are predicted with the same constants: on one node those with the same kind of GPU,
// on several nodes those with the same kind of network.
struct MachineClass {
  bool of_network = false;
  std::string kind;
  auto operator<=>(const MachineClass&) const = default;
};
[[nodiscard]] MachineClass class_of(const KindsOfCase& kinds);

struct ClassAccuracy {
  MachineClass machines;
  Accuracy all;
  std::array<Accuracy, size_ranges.size()> by_size;
};
[[nodiscard]] std::vector<ClassAccuracy> accuracy_of_classes(const std::vector<RowError>& rows);

// "accuracy" of the file of fitted constants:
//
//   { "gpus": { "hopper": [ { "up_to": "64KiB", "half": 0.05, "most": 0.21, "rows": 80,
//                             "tables": 14, "unseen_half": 0.11, "unseen_most": 0.4 }, ... ] },
//     "networks": { "ib": [ ... ] },
//     "tables_of_nodes": { "ib": { "2": 5, "4": 1 } },
//     "most_nodes": [ { "gpu": "hopper", "network": "ib", "all-reduce": 4 }, ... ] }
//
// The last range has no "up_to".  `unseen`: of rows predicted without any table of their owner; may
// be empty.
[[nodiscard]] JsonValue accuracy_value(const std::vector<RowError>& seen,
                                       const std::vector<RowError>& unseen);

}  // namespace collsim
