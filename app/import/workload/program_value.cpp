// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "app/import/workload/imported_workload.hpp"

namespace collsim {
namespace {

using WorkItem = ImportedWorkload::Item;

constexpr std::size_t never = static_cast<std::size_t>(-1);

// To the picosecond.
std::string time_in_us(double us) {
  std::string digits = fmt::format("{:.6f}", us);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits == "0" ? "0us" : digits + "us";
}

// Streams that run beside each other must not share a buffer.
std::string buffer_of(const ImportedWorkload& workload, const WorkItem& item) {
  return fmt::format("{}_{}", workload.streams[item.stream], to_string(item.type));
}

class ProgramText {
 public:
  explicit ProgramText(const ImportedWorkload& workload) : workload_(workload) { find_waits(); }

  JsonValue program() {
    for (std::size_t i = 0; i < workload_.items.size(); ++i) {
      for (const std::size_t other : waits_[i])
        add(workload_.items[i].stream, JsonValue::object({{"wait", event_[other]}}));
      add(workload_.items[i].stream, value_of(workload_.items[i]));
      if (event_.contains(i))
        add(workload_.items[i].stream, JsonValue::object({{"record", event_[i]}}));
    }
    end_stretch();
    JsonValue block = JsonValue::object({{"on", "all"}});
    block.set("do", std::move(body_));
    JsonValue list = JsonValue::array();
    list.items().push_back(std::move(block));
    return list;
  }

 private:
  // A stream that has waited for an item has waited for all before it on that item's stream.
  void find_waits() {
    waits_.resize(workload_.items.size());
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> seen;  // by stream and other stream
    for (std::size_t i = 0; i < workload_.items.size(); ++i) {
      const WorkItem& item = workload_.items[i];
      std::map<std::size_t, std::size_t> last;  // by other stream
      for (const std::size_t other : item.after) {
        const std::size_t stream = workload_.items[other].stream;
        if (stream == item.stream) continue;
        const auto [at, is_new] = last.emplace(stream, other);
        if (!is_new) at->second = std::max(at->second, other);
      }
      for (const auto& [stream, other] : last) {
        const auto [at, is_new] = seen.emplace(std::pair(item.stream, stream), never);
        if (!is_new && at->second >= other) continue;
        at->second = other;
        waits_[i].push_back(other);
        event_.emplace(other, "");
      }
    }
    std::size_t number = 0;
    for (auto& [item, name] : event_) name = fmt::format("e{}", ++number);
  }

  [[nodiscard]] JsonValue value_of(const WorkItem& item) const {
    if (!item.operation) return JsonValue::object({{"work", time_in_us(item.us)}});
    JsonValue call = JsonValue::object();
    const std::string operation(to_string(*item.operation));
    if (*item.operation == Operation::barrier) {
      call.set(operation, true);
    } else {
      call.set(operation, buffer_of(workload_, item));
      call.set("size", fmt::format("{}B", item.bytes));
    }
    if (item.group != 0) call.set("group", workload_.groups[item.group].name);
    return call;
  }

  void add(std::size_t stream, JsonValue op) {
    if (stream != stream_) end_stretch();
    stream_ = stream;
    stretch_.items().push_back(std::move(op));
  }
  void end_stretch() {
    JsonValue stretch = std::exchange(stretch_, JsonValue::array());
    if (stretch.items().empty()) return;
    if (stream_ == 0) {
      for (JsonValue& op : stretch.items()) body_.items().push_back(std::move(op));
      return;
    }
    JsonValue on_stream = JsonValue::object({{"stream", workload_.streams[stream_]}});
    on_stream.set("do", std::move(stretch));
    body_.items().push_back(std::move(on_stream));
  }

  const ImportedWorkload& workload_;
  std::vector<std::vector<std::size_t>> waits_;  // by item: for which others
  std::map<std::size_t, std::string> event_;     // by the item that records it
  std::size_t stream_ = 0;
  JsonValue stretch_ = JsonValue::array(), body_ = JsonValue::array();
};

JsonValue groups_value(const ImportedWorkload& workload) {
  JsonValue groups = JsonValue::object();
  for (const ImportedWorkload::Group& group : workload.groups)
    if (!group.ranks.empty())
      groups.set(group.name, JsonValue::array(group.ranks, [](const std::vector<int>& ranks) {
                   return JsonValue::array(ranks);
                 }));
  return groups;
}

// Every call says its size; what is declared is the type.
JsonValue buffers_value(const ImportedWorkload& workload) {
  JsonValue data = JsonValue::object();
  for (const WorkItem& item : workload.items)
    if (item.operation && *item.operation != Operation::barrier)
      data.set(buffer_of(workload, item),
               JsonValue::object({{"dtype", to_string(item.type)}, {"size", "0B"}}));
  return data;
}

}  // namespace

JsonValue scenario_value(const ImportedWorkload& workload, const std::string& file) {
  JsonValue notes = JsonValue::array();
  notes.items().emplace_back(fmt::format("imported from {} ({})", file, workload.format));
  for (const std::string& note : workload.notes) notes.items().emplace_back(note);
  for (const std::string& assumed : workload.assumed)
    notes.items().emplace_back("assumed: " + assumed);
  notes.items().emplace_back("assumed: the cluster; put yours in its place");
  JsonValue link = JsonValue::object({{"bandwidth", "25GB/s"}, {"overhead", "5us"}});
  JsonValue cluster = JsonValue::object({{"shape", "switch"}, {"ranks", workload.ranks}});
  cluster.set("link", std::move(link));
  JsonValue step = JsonValue::object();
  if (JsonValue groups = groups_value(workload); !groups.members().empty())
    step.set("groups", std::move(groups));
  if (JsonValue data = buffers_value(workload); !data.members().empty())
    step.set("data", std::move(data));
  step.set("program", ProgramText(workload).program());
  JsonValue document = JsonValue::object({{"scenario", 1}});
  document.set("notes", std::move(notes));
  document.set("cluster", std::move(cluster));
  document.set("workload", std::move(step));
  return document;
}

}  // namespace collsim
