// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/json/sources.hpp"
#include "app/study/run_study.hpp"
#include "app/study/sweep_part.hpp"

namespace collsim {

// The file that `collsim run --part` leaves for `collsim merge`.  JSON, a line each:
//
//   {"collsim-part": 2, "version": ..., "scenario": ..., ...}   PartHeader
//   [12, [...]]                          a point and its row (row_record.hpp)
//   ...
//   [[...], [...]]                       the summary, and the points at which it lists programs
//   {"checksum": "..."}                  of all lines before
struct PartHeader {
  std::string version;           // of collsim
  std::string file;              // of the scenario, as it was written on the command line
  std::vector<std::string> set;  // --set
  bool more_points = false;      // --yes
  std::string name;              // of the scenario
  std::string digest;            // of all that was read for it: digest_of()
  SweepPart part;
  int place = 0;  // of the file among those of the command

  [[nodiscard]] bool is_of_same_command(const PartHeader& other) const {
    return file == other.file && set == other.set;
  }
  // Whether both are made of the same texts by the same program.
  [[nodiscard]] bool is_of_same_state(const PartHeader& other) const {
    return digest == other.digest && version == other.version;
  }
};

// Of the texts of files and arguments that a scenario was made of.
[[nodiscard]] std::string digest_of(const Sources& sources);

// "big.3-of-8.part", and back; nothing: the file is no part of this scenario.
[[nodiscard]] std::string part_file_name(const std::string& scenario, const SweepPart& part);
[[nodiscard]] std::optional<SweepPart> part_of_file_name(const std::string& scenario,
                                                         std::string_view file);
inline constexpr const char* part_file_suffix = ".part";

void write_part(std::ostream& out, const PartHeader& header, const std::vector<std::size_t>& points,
                const SimulatedPoints& simulated);

// Says what is wrong with a file: "x.part is no part of a sweep", "x.part is damaged".
class PartFileError : public std::runtime_error {
 public:
  PartFileError(std::string file, const std::string& what)
      : std::runtime_error(file + " " + what), file_(std::move(file)) {}
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  std::string file_;
};

// These throw PartFileError.
[[nodiscard]] PartHeader read_part_header(const std::string& file);
void check_part_file(const std::string& file);  // that it is whole

// Puts the rows of all parts, which are of this scenario and complete, into the order of the sweep.
// Throws PartFileError.
[[nodiscard]] SimulatedPoints merge_parts(const Scenario& scenario,
                                          const std::vector<std::string>& files);

}  // namespace collsim
