// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

#include "app/import/workload/workload_parts.hpp"

namespace collsim {
namespace {

const JsonValue* member_of(const JsonValue& node, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const JsonValue* const value = node.find(name)) return value;
  return nullptr;
}

std::optional<std::int64_t> whole_of(const JsonValue* value) {
  if (value != nullptr && value->is_boolean()) return value->boolean() ? 1 : 0;
  return value == nullptr ? std::nullopt : value->integer();
}

bool add_dependencies(const JsonValue* list, std::vector<std::int64_t>& after) {
  if (list == nullptr) return true;
  if (!list->is_array()) return false;
  for (const JsonValue& item : list->items()) {
    const auto id = item.integer();
    if (!id) return false;
    after.push_back(*id);
  }
  return true;
}

}  // namespace

// {"workload_graph": [{"Id": 216, "Name": "...", "NodeType": 4, "ctrlDeps": [3], "data_deps": [],
//                      "runtime": 318, "is_cpu_op": true}]}
std::optional<ImportedWorkload> read_chakra_json(const JsonValue& document,
                                                 const WorkloadSource& file) {
  std::vector<ChakraNode> nodes;
  for (const JsonValue& written : document.find("workload_graph")->items()) {
    ChakraNode node;
    node.place = written.place;
    const auto id = whole_of(member_of(written, {"Id", "id"}));
    const auto kind = whole_of(member_of(written, {"NodeType", "type"}));
    if (!id || !kind)
      return file.wrong(written.place, "wrong-node", "a node needs \"Id\" and \"NodeType\"");
    node.id = *id;
    node.kind = *kind;
    if (const JsonValue* const name = member_of(written, {"Name", "name"});
        name != nullptr && name->is_string())
      node.name = name->string();
    if (!add_dependencies(member_of(written, {"ctrlDeps", "ctrl_deps"}), node.after) ||
        !add_dependencies(member_of(written, {"data_deps", "dataDeps"}), node.after))
      return file.wrong(written.place, "wrong-node", "dependencies are a list of numbers of nodes");
    if (const JsonValue* const time = member_of(written, {"runtime", "duration_micros"})) {
      if (!time->is_number() || !(time->number() >= 0) || time->number() > 1e12)
        return file.wrong(time->place, "wrong-node", "this is no time in us");
      node.us = time->number();
    }
    node.on_host = whole_of(written.find("is_cpu_op")).value_or(0) != 0;
    node.collective = whole_of(written.find("comm_type"));
    node.bytes = whole_of(written.find("comm_size"));
    node.operations = whole_of(written.find("num_ops"));
    if (const JsonValue* const group = written.find("pg_name");
        group != nullptr && group->is_string())
      node.group = group->string();
    nodes.push_back(std::move(node));
  }
  return workload_of(std::move(nodes), file);
}

}  // namespace collsim
