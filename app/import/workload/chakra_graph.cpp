// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "app/import/workload/workload_parts.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

using Kind = ChakraNode::Kind;

constexpr std::array<Operation, 10> chakra_operations = {
    Operation::all_reduce, Operation::reduce,         Operation::all_gather,
    Operation::gather,     Operation::scatter,        Operation::broadcast,
    Operation::all_to_all, Operation::reduce_scatter, Operation::reduce_scatter,
    Operation::barrier};

class ChakraGraph {
 public:
  ChakraGraph(std::vector<ChakraNode> nodes, const WorkloadSource& file)
      : nodes_(std::move(nodes)), file_(file) {}

  std::optional<ImportedWorkload> read() {
    workload_.format = "Chakra execution trace";
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (!index_.emplace(nodes_[i].id, i).second)
        return file_.wrong(nodes_[i].place, "repeated",
                           fmt::format("there are two nodes with the number {}", nodes_[i].id));
    for (const ChakraNode& node : nodes_)
      if (!check(node)) return std::nullopt;
    if (collectives_ == 0)
      return file_.refuse("no-collective",
                          fmt::format("the trace has no collective: none of its {} is one",
                                      count_text(nodes_.size(), "node")));
    if (!find_group() || !sort() || !make()) return std::nullopt;
    tell();
    return std::move(workload_);
  }

 private:
  bool wrong(const ChakraNode& node, std::string code, const std::string& what,
             std::string hint = {}) {
    return file_.wrong(
        node.place, std::move(code),
        fmt::format("node {}, {}, {}", node.id, quoted(shortened(printable(node.name), 40)), what),
        std::move(hint));
  }

  // Host operations of a collective only launch it.
  [[nodiscard]] static bool is_call(const ChakraNode& node) {
    return node.kind == static_cast<std::int64_t>(Kind::collective) && !node.on_host;
  }

  bool check(const ChakraNode& node) {
    if (node.kind == static_cast<std::int64_t>(Kind::send) ||
        node.kind == static_cast<std::int64_t>(Kind::receive))
      return wrong(node, "not-collective",
                   "is a message between two ranks, and the file of one rank does not say what "
                   "the other does",
                   "a collective made of messages is an algorithm: import the MSCCL file that it "
                   "was made of");
    if (node.kind < 1 || node.kind > static_cast<std::int64_t>(Kind::collective))
      return wrong(node, "unknown-kind", fmt::format("is of the unknown kind {}", node.kind));
    if (node.us == 0 && node.operations.value_or(0) > 0)
      return wrong(node, "no-time", "has a number of operations and no time",
                   "trace it on a GPU, or write the layers as a \"model\" with a \"device\"");
    if (!is_call(node)) return true;
    ++collectives_;
    if (!node.collective || !node.bytes)
      return wrong(node, "no-sizes", "is a collective that says neither its kind nor its size",
                   "\"comm_type\" and \"comm_size\" are what it needs");
    if (*node.collective < 0 || std::cmp_greater_equal(*node.collective, chakra_operations.size()))
      return wrong(node, "unknown-kind",
                   fmt::format("has the unknown comm_type {}", *node.collective));
    if (*node.bytes < 0 || *node.bytes > std::int64_t{1} << 50U)
      return wrong(node, "no-sizes", fmt::format("has a comm_size of {}", *node.bytes));
    if (node.some_dimensions)
      return wrong(node, "odd-group",
                   "is in some dimensions of a network that is not in this file (involved_dim)");
    groups_.insert(node.group);
    return true;
  }

  bool find_group() {
    if (groups_.size() > 1)
      return file_.refuse("odd-group",
                          fmt::format("the collectives are of {} process groups, and which ranks "
                                      "these have is not in the file",
                                      groups_.size()),
                          "import the trace of PyTorch's profiler, or its execution trace: these "
                          "have the ranks");
    workload_.ranks = file_.answers->ranks;
    if (workload_.ranks > max_workload_ranks)
      return file_.refuse("too-large",
                          fmt::format("{} ranks; at most {}", workload_.ranks, max_workload_ranks));
    if (workload_.ranks == 0)
      workload_.questions.emplace_back("the file does not say how many ranks there are: --ranks N");
    return true;
  }

  // So that one after the other could run; of those that could, the least number first.
  bool sort() {
    std::vector<std::size_t> left(nodes_.size());
    std::vector<std::vector<std::size_t>> then(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (const std::int64_t id : nodes_[i].after) {
        const auto found = index_.find(id);
        if (found == index_.end()) {
          ++missing_;
          continue;
        }
        ++left[i];
        then[found->second].push_back(i);
      }
    std::priority_queue<std::pair<std::int64_t, std::size_t>,
                        std::vector<std::pair<std::int64_t, std::size_t>>, std::greater<>>
        ready;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (left[i] == 0) ready.emplace(nodes_[i].id, i);
    while (!ready.empty()) {
      const std::size_t i = ready.top().second;
      ready.pop();
      order_.push_back(i);
      for (const std::size_t next : then[i])
        if (--left[next] == 0) ready.emplace(nodes_[next].id, next);
    }
    if (order_.size() == nodes_.size()) return true;
    const auto stuck = std::find_if(left.begin(), left.end(), [](std::size_t n) { return n > 0; });
    return wrong(nodes_[static_cast<std::size_t>(stuck - left.begin())], "cycle",
                 "waits for itself, by way of its dependencies");
  }

  // Items of those before a node that take no time stand for the node.
  bool make() {
    std::vector<std::vector<std::size_t>> stands_for(nodes_.size());
    for (const std::size_t i : order_) {
      const ChakraNode& node = nodes_[i];
      std::set<std::size_t> after;
      for (const std::int64_t id : node.after)
        if (const auto found = index_.find(id); found != index_.end())
          after.insert(stands_for[found->second].begin(), stands_for[found->second].end());
      if (after.size() > max_workload_items)
        return wrong(node, "too-large", "has too many dependencies");
      if (!is_call(node) && node.us == 0) {
        stands_for[i].assign(after.begin(), after.end());
        continue;
      }
      stands_for[i] = {workload_.items.size()};
      workload_.items.push_back(item_of(node));
      workload_.items.back().after.assign(after.begin(), after.end());
    }
    return true;
  }

  ImportedWorkload::Item item_of(const ChakraNode& node) {
    ImportedWorkload::Item item;
    item.us = node.us;
    if (node.on_host) item.stream = workload_.stream_named("host");
    if (!is_call(node)) return item;
    item.stream = workload_.stream_named("communication");
    item.operation = chakra_operations[static_cast<std::size_t>(*node.collective)];
    item.type = ElementType::u8;
    item.bytes = *node.bytes;
    const bool gathers =
        item.operation == Operation::all_gather || item.operation == Operation::gather;
    if (gathers) item.bytes *= std::max<std::int64_t>(workload_.ranks, 1);
    has_gathers_ = has_gathers_ || gathers;
    return item;
  }

  void tell() {
    workload_.notes.emplace_back("the trace is of one rank; all do the same");
    if (missing_ > 0)
      workload_.notes.push_back(fmt::format("left out: {} that {} not in the file",
                                            count_text(missing_, "dependency"),
                                            missing_ == 1 ? "is" : "are"));
    if (has_gathers_)
      workload_.assumed.emplace_back("the comm_size of a gather is what one rank puts in");
    workload_.assumed.emplace_back("the collectives are of all ranks");
  }

  std::vector<ChakraNode> nodes_;
  const WorkloadSource& file_;
  ImportedWorkload workload_;
  std::map<std::int64_t, std::size_t> index_;  // by number
  std::set<std::string> groups_;
  std::vector<std::size_t> order_;
  std::size_t collectives_ = 0, missing_ = 0;
  bool has_gathers_ = false;
};

}  // namespace

std::optional<ImportedWorkload> workload_of(std::vector<ChakraNode> nodes,
                                            const WorkloadSource& file) {
  return ChakraGraph(std::move(nodes), file).read();
}

}  // namespace collsim
