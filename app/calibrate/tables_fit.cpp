// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/tables_fit.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace collsim {
namespace {

// "intervals" of the file of fitted constants; of kinds that were not fitted they stay.
JsonValue intervals_value(const JsonValue& document, const std::vector<FittedConstant>& fitted) {
  const JsonValue* const before = document.find("intervals");
  JsonValue all = before != nullptr ? *before : JsonValue::object();
  for (const FittedConstant& one : fitted) {
    const char* const kinds = one.of_network ? "networks" : "gpus";
    if (all.find(kinds) == nullptr) all.set(kinds, JsonValue::object());
    JsonValue& of_kinds = *all.find(kinds);
    if (of_kinds.find(one.kind) == nullptr) of_kinds.set(one.kind, JsonValue::object());
    of_kinds.find(one.kind)->set(name_of(one.constant), interval_text(one));
  }
  return all;
}

class FitOfTables {
 public:
  FitOfTables(const std::vector<MeasuredTable>& tables, const JsonValue& document,
              const TablesFitOptions& options)
      : document_(document), options_(options), present_(MachineConstants::read(document)) {
    for (const MeasuredTable& table : tables) add(table);
  }

  TablesFit run() {
    if (rows_.empty()) return std::move(made_);
    ConstantsFitter fitter(rows_, present_, options_.fit);
    made_.fit = fitter.fit();
    if (stopped()) return std::move(made_);
    made_.constants = made_.fit.constants.written_into(document_);
    made_.fit.constants = MachineConstants::read(made_.constants);
    made_.errors = errors_with(made_.fit.constants, rows_);
    judge_tables();
    if (options_.leave_out_owners) leave_out_owners(fitter);
    made_.constants.set("intervals", intervals_value(document_, made_.fit.fitted));
    made_.constants.set("tables", tables_value());
    made_.constants.set("accuracy", accuracy_value(made_.errors, made_.unseen));
    return std::move(made_);
  }

 private:
  [[nodiscard]] bool stopped() const { return options_.fit.stop != nullptr && *options_.fit.stop; }

  std::size_t number_of(const std::string& owner) {
    const auto known = std::find(made_.owners.begin(), made_.owners.end(), owner);
    if (known == made_.owners.end()) made_.owners.push_back(owner);
    return static_cast<std::size_t>(std::find(made_.owners.begin(), made_.owners.end(), owner) -
                                    made_.owners.begin());
  }

  void add(const MeasuredTable& table) {
    TableOfFit one{table.id.empty() ? table.source : table.id, table.owner};
    if (one.owner.empty()) one.owner = one.id;
    MeasuredCases cases = cases_of(table);
    one.kinds = cases.kinds;
    one.why_not = std::move(cases.why_not);
    if (one.why_not.empty() && !is_asked(one.kinds)) one.why_not = "another kind of machine";
    if (one.why_not.empty()) {
      const std::size_t owner = number_of(one.owner);
      for (MeasuredCase& row : cases.rows)
        rows_.push_back({std::move(row), one.kinds, made_.tables.size(), owner});
    }
    made_.tables.push_back(std::move(one));
  }

  [[nodiscard]] bool is_asked(const KindsOfCase& kinds) const {
    const std::vector<std::string>& asked = options_.fit.kinds;
    const auto names = [&](const std::string& kind) {
      return std::find(asked.begin(), asked.end(), kind) != asked.end();
    };
    return asked.empty() || names(kinds.gpu) || (!kinds.network.empty() && names(kinds.network));
  }

  [[nodiscard]] std::vector<RowError> errors_with(const MachineConstants& constants,
                                                  const std::vector<FitRow>& rows) const {
    const std::vector<RowPrediction> predicted =
        predict_rows(rows, present_, constants, options_.fit.threads);
    std::vector<RowError> errors;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Case& asked = rows[i].measured.asked;
      const Collective& collective = asked.collective;
      const int members = members_per_node(asked.cluster->topology, collective.group);
      errors.push_back({predicted[i].time_s / rows[i].measured.measured_s - 1, collective.bytes(),
                        rows[i].kinds, rows[i].table, rows[i].owner, predicted[i].way,
                        collective.size() / members, collective.operation});
    }
    return errors;
  }

  void judge_tables() {
    std::map<std::size_t, std::vector<RowError>> of_table;
    for (const RowError& row : made_.errors) of_table[row.table].push_back(row);
    for (const auto& [table, errors] : of_table) made_.tables[table].accuracy = accuracy_of(errors);
  }

  void leave_out_owners(const ConstantsFitter& fitter) {
    for (std::size_t owner = 0; owner < made_.owners.size(); ++owner) {
      std::vector<FitRow> theirs;
      for (const FitRow& row : rows_)
        if (row.owner == owner) theirs.push_back(row);
      const MachineConstants without = fitter.fit_without(owner);
      if (stopped()) return;
      for (RowError& error : errors_with(without, theirs)) made_.unseen.push_back(std::move(error));
    }
  }

  [[nodiscard]] JsonValue tables_value() const {
    JsonValue tables = JsonValue::array();
    for (const TableOfFit& table : made_.tables)
      if (table.why_not.empty())
        tables.items().push_back(JsonValue::object({{"id", table.id}, {"owner", table.owner}}));
    return tables;
  }

  const JsonValue& document_;
  const TablesFitOptions& options_;
  const MachineConstants present_;
  std::vector<FitRow> rows_;
  TablesFit made_;
};

}  // namespace

TablesFit fit_tables(const std::vector<MeasuredTable>& tables, const JsonValue& document,
                     const TablesFitOptions& options) {
  return FitOfTables(tables, document, options).run();
}

std::vector<OwnerAccuracy> accuracy_of_owners(const TablesFit& fit) {
  std::vector<OwnerAccuracy> all;
  for (std::size_t owner = 0; owner < fit.owners.size(); ++owner) {
    std::vector<RowError> theirs;
    for (const RowError& row : fit.unseen)
      if (row.owner == owner) theirs.push_back(row);
    if (!theirs.empty()) all.push_back({fit.owners[owner], accuracy_of(theirs)});
  }
  return all;
}

double median_of_medians(const std::vector<OwnerAccuracy>& owners) {
  std::vector<RowError> medians;
  medians.reserve(owners.size());
  for (const OwnerAccuracy& owner : owners) medians.push_back({owner.accuracy.half});
  return accuracy_of(medians).half;
}

}  // namespace collsim
