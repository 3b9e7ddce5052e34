// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/sources.hpp"
#include "app/measured/measured_table.hpp"
#include "app/results/results.hpp"

namespace collsim {

// Stated limit on what is read: a log with the NCCL_DEBUG lines of thousands of ranks.
inline constexpr std::size_t max_log_bytes = std::size_t{256} << 20U;

// Measured tables of a file ("-": standard input), whatever it is: a log of nccl-tests or
// rccl-tests, a measured table, JSON or CSV with named rows.  Reports what cannot be read; then
// there are none.
[[nodiscard]] std::vector<MeasuredTable> read_measurements(const std::string& file,
                                                           Sources& sources,
                                                           Diagnostics& diagnostics);
// The same of a text that has been read.  Nothing, and no complaint, of results of collsim.
[[nodiscard]] std::vector<MeasuredTable> read_measurements(std::uint32_t source,
                                                           const Sources& sources,
                                                           Diagnostics& diagnostics);

// What was measured earlier, perhaps on another machine: results of `collsim validate`
// (--format json), or measured tables as above.
class MeasuredFile {
 public:
  MeasuredFile() = default;
  // One table of a file; `name` is what messages call it.
  MeasuredFile(std::string name, MeasuredTable table);
  MeasuredFile(MeasuredFile&&) = default;
  MeasuredFile& operator=(MeasuredFile&&) = default;
  MeasuredFile(const MeasuredFile&) = delete;
  MeasuredFile& operator=(const MeasuredFile&) = delete;
  ~MeasuredFile() = default;

  // Reports what cannot be read and what holds no measurements.
  [[nodiscard]] static std::optional<MeasuredFile> read(const std::string& file, Sources& sources,
                                                        Diagnostics& diagnostics);

  // Fills CaseResult::measured from the row of the file with the same swept values, operation,
  // algorithm, ranks, size, chunks and channels; what the file predicted does not matter.  Where
  // the file has them, these must be the same too: dtype, reduction, root; in_place and slots of
  // its scenario; and cluster and model of what was paced, which emulates them.  A row that is not
  // there, or was not measured, gets a CaseResult::not_measured.
  //
  // A measured table has operation, ranks and size, and dtype, reduction and root where it says so;
  // whatever algorithm ran.  Of several rows that fit, the median is taken.  A scenario in place is
  // compared with the times in place.
  void fill(Results& results, std::optional<double> max_error) const;

 private:
  // The first part of the file's scenario that is not as ours; empty: all are.
  struct OtherScenario {
    std::string_view collective, machine;
  };
  [[nodiscard]] OtherScenario compare_scenarios(const Results& results) const;
  // Why nothing was filled in.
  std::string fill(CaseResult& row, const OtherScenario& other) const;

  // The same for measured tables.
  void index_tables();
  std::string fill_from_tables(CaseResult& row, bool in_place) const;
  // Says which sizes of the row's operation and ranks there are instead.
  [[nodiscard]] std::string no_such_row(const CaseResult& row) const;
  [[nodiscard]] Comparison how_it_was(std::optional<double> max_error) const;

  struct Entry {
    const MeasuredTable* table;
    const MeasuredTableRow* row;
  };
  std::string file_;
  std::vector<MeasuredTable> tables_;
  std::unordered_map<std::string, std::vector<Entry>> entries_;  // of tables_
  JsonValue document_;
  std::unordered_map<std::string, const JsonValue*> rows_;  // by what they are about
};

}  // namespace collsim
