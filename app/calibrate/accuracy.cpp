// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "app/scenario/quantities.hpp"

namespace collsim {
namespace {

// Of sorted numbers, with straight lines between them.
double quantile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// More digits would only say which rows there are.
double part_rounded(double part) {
  return std::round(part * 1000) / 1000;
}

JsonValue range_value(const SizeRange& range, const Accuracy& seen, const Accuracy* unseen) {
  JsonValue value = JsonValue::object();
  if (range.up_to > 0) value.set("up_to", exact_size(range.up_to));
  value.set("half", part_rounded(seen.half));
  value.set("most", part_rounded(seen.most));
  value.set("rows", seen.rows);
  value.set("tables", seen.tables);
  if (unseen != nullptr && unseen->rows > 0) {
    value.set("unseen_half", part_rounded(unseen->half));
    value.set("unseen_most", part_rounded(unseen->most));
  }
  return value;
}

// What there are tables of, so that predictions of anything else can say so.
JsonValue most_nodes_value(const std::vector<RowError>& rows) {
  std::map<std::pair<std::string, std::string>, std::map<Operation, int>> most;
  for (const RowError& row : rows) {
    int& nodes = most[{row.kinds.gpu, row.kinds.network}][row.operation];
    nodes = std::max(nodes, row.nodes);
  }
  JsonValue all = JsonValue::array();
  for (const auto& [machines, operations] : most) {
    JsonValue one = JsonValue::object({{"gpu", machines.first}});
    if (!machines.second.empty()) one.set("network", machines.second);
    for (const auto& [operation, nodes] : operations) one.set(to_string(operation), nodes);
    all.items().push_back(std::move(one));
  }
  return all;
}

// How many tables of how many nodes each: most are of two.
JsonValue tables_of_nodes_value(const std::vector<RowError>& rows) {
  std::map<std::string, std::map<int, std::set<std::size_t>>> tables;
  for (const RowError& row : rows)
    if (!row.kinds.network.empty()) tables[row.kinds.network][row.nodes].insert(row.table);
  JsonValue all = JsonValue::object();
  for (const auto& [network, by_nodes] : tables) {
    JsonValue counts = JsonValue::object();
    for (const auto& [nodes, of_these] : by_nodes)
      counts.set(std::to_string(nodes), of_these.size());
    all.set(network, std::move(counts));
  }
  return all;
}

}  // namespace

Accuracy accuracy_of(const std::vector<RowError>& rows) {
  std::vector<double> errors;
  std::set<std::size_t> tables;
  for (const RowError& row : rows) {
    errors.push_back(std::abs(row.error));
    tables.insert(row.table);
  }
  std::sort(errors.begin(), errors.end());
  return {quantile(errors, 0.5), quantile(errors, 0.95), rows.size(), tables.size()};
}

MachineClass class_of(const KindsOfCase& kinds) {
  return kinds.network.empty() ? MachineClass{false, kinds.gpu} : MachineClass{true, kinds.network};
}

std::vector<ClassAccuracy> accuracy_of_classes(const std::vector<RowError>& rows) {
  std::map<MachineClass, std::vector<RowError>> classes;
  for (const RowError& row : rows) classes[class_of(row.kinds)].push_back(row);
  std::vector<ClassAccuracy> all;
  for (const auto& [machines, of_class] : classes) {
    ClassAccuracy one{machines, accuracy_of(of_class), {}};
    for (std::size_t r = 0; r < size_ranges.size(); ++r) {
      const SizeRange& range = size_ranges[r];
      std::vector<RowError> in_range;
      for (const RowError& row : of_class)
        if (row.size > range.above && (range.up_to == 0 || row.size <= range.up_to))
          in_range.push_back(row);
      one.by_size[r] = accuracy_of(in_range);
    }
    all.push_back(std::move(one));
  }
  return all;
}

JsonValue accuracy_value(const std::vector<RowError>& seen_rows,
                         const std::vector<RowError>& unseen_rows) {
  const std::vector<ClassAccuracy> seen = accuracy_of_classes(seen_rows),
                                   unseen = accuracy_of_classes(unseen_rows);
  JsonValue gpus = JsonValue::object(), networks = JsonValue::object();
  for (const ClassAccuracy& one : seen) {
    const auto other = std::find_if(unseen.begin(), unseen.end(), [&](const ClassAccuracy& u) {
      return u.machines == one.machines;
    });
    JsonValue ranges = JsonValue::array();
    for (std::size_t r = 0; r < size_ranges.size(); ++r)
      if (one.by_size[r].rows > 0)
        ranges.items().push_back(range_value(size_ranges[r], one.by_size[r],
                                             other == unseen.end() ? nullptr : &other->by_size[r]));
    (one.machines.of_network ? networks : gpus).set(one.machines.kind, std::move(ranges));
  }
  return JsonValue::object({{"gpus", std::move(gpus)},
                            {"networks", std::move(networks)},
                            {"tables_of_nodes", tables_of_nodes_value(seen_rows)},
                            {"most_nodes", most_nodes_value(seen_rows)}});
}

}  // namespace collsim
