// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/import/workload/workload_parts.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

// A node's "attrs", by name.
class HostAttributes {
 public:
  explicit HostAttributes(const JsonValue& node) {
    const JsonValue* const list = node.find("attrs");
    if (list == nullptr || !list->is_array()) return;
    for (const JsonValue& one : list->items()) {
      const JsonValue* const name = one.find("name");
      const JsonValue* const value = one.find("value");
      if (name != nullptr && value != nullptr && name->is_string()) values_[name->string()] = value;
    }
  }
  [[nodiscard]] std::string text(const char* name) const {
    const auto found = values_.find(name);
    return found == values_.end() || !found->second->is_string() ? "" : found->second->string();
  }
  [[nodiscard]] std::optional<std::int64_t> whole(const char* name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : found->second->integer();
  }

 private:
  std::map<std::string, const JsonValue*> values_;
};

struct HostCall {
  const JsonValue* node;
  std::int64_t id;
  HostAttributes attributes;
};

std::vector<HostCall> calls_in(const JsonValue& document) {
  std::vector<HostCall> calls;
  for (const JsonValue& node : document.find("nodes")->items()) {
    const JsonValue* const name = node.find("name");
    if (name == nullptr || !name->is_string() || name->string() != "record_param_comms") continue;
    const JsonValue* const id = node.find("id");
    calls.push_back({&node, id == nullptr ? 0 : id->integer().value_or(0), HostAttributes(node)});
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const HostCall& a, const HostCall& b) { return a.id < b.id; });
  return calls;
}

}  // namespace

// Calls of collectives are nodes "record_param_comms"; PyTorch 2.4 and later say in their "attrs"
// what is sent.
std::optional<ImportedWorkload> read_pytorch_host_trace(const JsonValue& document,
                                                        const WorkloadSource& file) {
  ImportedWorkload workload;
  workload.format = "PyTorch execution trace";
  const std::vector<HostCall> calls = calls_in(document);
  std::int64_t largest = 0;
  for (const HostCall& call : calls)
    largest = std::max(largest, call.attributes.whole("pg_size").value_or(0));
  workload.ranks = answered_ranks(file, largest, 0, workload);
  if (workload.ranks > max_workload_ranks)
    return file.refuse("too-large",
                       fmt::format("{} ranks; at most {}", workload.ranks, max_workload_ranks));
  for (const HostCall& call : calls) {
    const std::string name = call.attributes.text("collective_name");
    const SourceRange& place = call.node->place;
    if (name == "wait" || name == "init") continue;
    if (name.empty())
      return file.wrong(place, "no-sizes", "this call does not say what it sends",
                        "PyTorch 2.4 and later write \"collective_name\" and \"in_msg_nelems\"");
    const auto operation = operation_of_pytorch(name);
    if (!operation) return file.refuse_call(place, name);
    const std::int64_t size = call.attributes.whole("pg_size").value_or(0);
    if (size < 1 || size > max_workload_ranks)
      return file.wrong(place, "no-group", "this call has no \"pg_size\"");
    if (size == 1) continue;
    const auto group =
        size == largest
            ? std::optional<std::size_t>(0)
            : workload.group_of(static_cast<int>(std::clamp<std::int64_t>(
                                    call.attributes.whole("global_rank_start").value_or(-1), -1,
                                    max_workload_ranks)),
                                static_cast<int>(std::clamp<std::int64_t>(
                                    call.attributes.whole("global_rank_stride").value_or(0), 0,
                                    max_workload_ranks)),
                                static_cast<int>(size));
    if (!group)
      return file.wrong(place, "odd-group",
                        fmt::format("which of the {} ranks these {} are is not in the file, or "
                                    "others could not form groups alike",
                                    workload.ranks, size));
    const auto type = type_of_pytorch(call.attributes.text("dtype"));
    const auto bytes =
        !type ? std::nullopt
              : collective_bytes(
                    *operation, call.attributes.whole("in_msg_nelems").value_or(-1),
                    call.attributes.whole("out_msg_nelems").value_or(-1), *type,
                    *group == 0 ? static_cast<int>(workload.ranks) : static_cast<int>(size));
    if (!bytes)
      return file.wrong(place, "no-sizes",
                        "this call needs \"dtype\", \"in_msg_nelems\" and \"out_msg_nelems\"");
    ImportedWorkload::Item item;
    item.operation = operation;
    item.bytes = *bytes;
    item.type = *type;
    item.group = *group;
    workload.items.push_back(item);
  }
  if (workload.items.empty())
    return file.refuse("no-collective",
                       fmt::format("the trace has no collective among its {}",
                                   count_text(document.find("nodes")->items().size(), "node")));
  workload.assumed.emplace_back(
      "the collectives come one after the other, with no computing between: the trace has no "
      "times");
  return workload;
}

}  // namespace collsim
