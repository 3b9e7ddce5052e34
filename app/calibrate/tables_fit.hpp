// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/calibrate/accuracy.hpp"
#include "app/calibrate/constants_fit.hpp"
#include "app/json/value.hpp"
#include "app/measured/measured_table.hpp"

namespace collsim {

// A table that constants were fitted to, or why it was not.
struct TableOfFit {
  std::string id, owner;
  KindsOfCase kinds = {};
  std::string why_not = {};
  Accuracy accuracy = {};
};

// Constants fitted to measured tables, and how well they then predict these tables.
struct TablesFit {
  ConstantsFit fit;     // with its constants as they are written: rounded
  JsonValue constants;  // the file of fitted constants, "accuracy" included
  std::vector<TableOfFit> tables;
  std::vector<std::string> owners;  // by number
  std::vector<RowError> errors;     // of all rows
  // Of all rows, each predicted with constants that were fitted without any table of its owner;
  // empty: not asked for.
  std::vector<RowError> unseen;
};
struct TablesFitOptions {
  ConstantsFitOptions fit;
  bool leave_out_owners = false;
};
// `document`: the file of fitted constants with which presets are made (fitted_constants()).
// Tables without an id are called by their source, those without an owner each have one of their
// own.
[[nodiscard]] TablesFit fit_tables(const std::vector<MeasuredTable>& tables,
                                   const JsonValue& document, const TablesFitOptions& options);

// By owner: how the rows in `unseen` fare.
struct OwnerAccuracy {
  std::string owner;
  Accuracy accuracy;
};
[[nodiscard]] std::vector<OwnerAccuracy> accuracy_of_owners(const TablesFit& fit);
// What half of the owners' medians are within: a laboratory counts once, however much it measured.
[[nodiscard]] double median_of_medians(const std::vector<OwnerAccuracy>& owners);

}  // namespace collsim
