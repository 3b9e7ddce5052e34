// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "app/import/workload/workload_parts.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

const JsonValue* string_in(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.find(key);
  return value != nullptr && value->is_string() ? value : nullptr;
}
std::optional<std::int64_t> whole_in(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.find(key);
  return value == nullptr ? std::nullopt : value->integer();
}
std::optional<double> number_at(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.find(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->number();
}

// "[0, 1]" or [0, 1]; nothing of a list that is cut: "[0, 1, ..., 63]".
std::vector<int> ranks_in(const JsonValue* list) {
  std::vector<int> ranks;
  const auto add = [&](std::int64_t rank) {
    if (rank >= 0 && rank < max_workload_ranks) ranks.push_back(static_cast<int>(rank));
  };
  if (list != nullptr && list->is_array())
    for (const JsonValue& item : list->items()) add(item.integer().value_or(-1));
  if (list == nullptr || !list->is_string()) return ranks;
  std::string text = list->string();
  if (text.find("..") != std::string::npos) return {};
  for (char& c : text)
    if (!is_digit(c)) c = ' ';
  for (const std::string_view word : words_of(text)) add(small_number(word).value_or(-1));
  return ranks;
}

bool is_of_nccl(const std::string& name) {
  return name.starts_with("nccl") || name.find("ncclDevKernel") != std::string::npos ||
         name.find("ncclKernel") != std::string::npos;
}

// An event of the GPU.
struct GpuEvent {
  const JsonValue* event;
  const JsonValue* details;  // "args"; null: there are none
  double begin_us = 0, end_us = 0;
  std::int64_t stream = 0, device = 0;
  std::optional<double> launched_us;  // by the host
  bool is_kernel = false, is_nccl = false;
};

class KinetoReader {
 public:
  KinetoReader(const JsonValue& document, const WorkloadSource& file)
      : document_(document), file_(file) {}

  std::optional<ImportedWorkload> read() {
    workload_.format = "PyTorch profiler trace";
    read_head();
    read_launches();
    read_events();
    if (!file_.diagnostics->empty()) return std::nullopt;
    keep_one_device();
    const auto is_nccl = [](const GpuEvent& event) { return event.is_nccl; };
    if (std::none_of(events_.begin(), events_.end(), is_nccl)) return refuse_silent();
    find_ranks();
    make();
    if (!file_.diagnostics->empty()) return std::nullopt;
    if (workload_.items.empty())
      return file_.refuse("no-collective", "every collective of this trace is on one rank alone");
    return std::move(workload_);
  }

 private:
  [[nodiscard]] const JsonValue::Array& all() const {
    return document_.find("traceEvents")->items();
  }

  void read_head() {
    if (const JsonValue* const devices = document_.find("deviceProperties");
        devices != nullptr && devices->is_array())
      for (const JsonValue& device : devices->items())
        if (const JsonValue* const name = string_in(device, "name"))
          if (workload_.gpus.empty()) workload_.gpus.push_back(name->string());
    if (const JsonValue* const job = document_.find("distributedInfo")) {
      world_ = whole_in(*job, "world_size").value_or(0);
      if (const auto rank = whole_in(*job, "rank"))
        workload_.notes.push_back(fmt::format("the trace is of rank {}; all do the same", *rank));
    }
  }

  // When the host launched what, by correlation.
  void read_launches() {
    for (const JsonValue& event : all()) {
      const JsonValue* const category = string_in(event, "cat");
      const JsonValue* const name = string_in(event, "name");
      if (name != nullptr && name->string().starts_with("ProfilerStep#")) ++steps_;
      if (name != nullptr && name->string().starts_with("nccl:")) ++calls_;
      if (category == nullptr || !category->string().starts_with("cuda")) continue;
      const JsonValue* const details = event.find("args");
      const auto at = number_at(event, "ts");
      const auto id = details == nullptr ? std::nullopt : whole_in(*details, "correlation");
      if (id && at) launches_[*id] = *at;
    }
  }

  void read_events() {
    for (const JsonValue& event : all()) {
      const JsonValue* const category = string_in(event, "cat");
      const JsonValue* const name = string_in(event, "name");
      if (category == nullptr || name == nullptr) continue;
      std::string word = lower(category->string());
      if (word != "kernel" && !word.starts_with("gpu_mem")) continue;
      const auto begin = number_at(event, "ts"), length = number_at(event, "dur");
      if (!begin || !length || !std::isfinite(*begin + *length) || *length < 0) {
        file_.wrong(event.place, "no-time",
                    begin && length ? "the \"ts\" and \"dur\" of this kernel are no time in us"
                                    : "this kernel has no \"ts\" and \"dur\"");
        return;
      }
      GpuEvent found{&event, event.find("args"), *begin, *begin + *length, 0, 0, {}};
      found.is_kernel = word == "kernel";
      found.is_nccl = found.is_kernel && is_of_nccl(name->string());
      found.stream = whole_in(event, "tid").value_or(0);
      found.device = whole_in(event, "pid").value_or(0);
      if (found.details != nullptr) {
        found.stream = whole_in(*found.details, "stream").value_or(found.stream);
        found.device = whole_in(*found.details, "device").value_or(found.device);
        const auto launch = launches_.find(whole_in(*found.details, "correlation").value_or(-1));
        if (launch != launches_.end()) found.launched_us = launch->second;
      }
      events_.push_back(found);
    }
  }

  // A process with several GPUs has a timeline for each.
  void keep_one_device() {
    std::set<std::int64_t> devices;
    std::optional<std::int64_t> first;
    for (const GpuEvent& event : events_) {
      devices.insert(event.device);
      if (event.is_nccl && !first) first = event.device;
    }
    if (devices.size() < 2 || !first) return;
    std::erase_if(events_, [&](const GpuEvent& event) { return event.device != *first; });
    workload_.notes.push_back(
        fmt::format("the trace has {} GPUs; this is GPU {} alone", devices.size(), *first));
  }

  std::optional<ImportedWorkload> refuse_silent() {
    const std::string hint =
        "profile a distributed job with ProfilerActivity.CUDA, on PyTorch 2.3 or later";
    if (events_.empty() && calls_ > 0)
      return file_.refuse("no-kernel",
                          fmt::format("the trace has {} of NCCL on the host and no kernel on a "
                                      "GPU, which would say how much is sent",
                                      count_text(calls_, "call")),
                          hint);
    if (events_.empty()) return file_.refuse("no-kernel", "the trace has no kernel of a GPU", hint);
    return file_.refuse(
        "no-collective",
        fmt::format("the trace has no collective: none of its {} is one of NCCL or RCCL",
                    count_text(std::count_if(events_.begin(), events_.end(),
                                             [](const GpuEvent& event) { return event.is_kernel; }),
                               "kernel")),
        hint);
  }

  void find_ranks() {
    std::int64_t largest = 0;
    for (const GpuEvent& event : events_)
      if (event.is_nccl && event.details != nullptr)
        largest = std::max(largest, whole_in(*event.details, "Group size").value_or(0));
    workload_.ranks = answered_ranks(file_, world_, largest, workload_);
    if (workload_.ranks > max_workload_ranks) {
      file_.refuse("too-large",
                   fmt::format("{} ranks; at most {}", workload_.ranks, max_workload_ranks));
      workload_.ranks = 0;
    }
  }

  std::optional<std::size_t> group_of(const GpuEvent& event, std::int64_t size) {
    const JsonValue& details = *event.details;
    if (size == workload_.ranks || size == largest_group()) return 0;
    if (const auto members = ranks_in(details.find("Process Group Ranks"));
        std::cmp_equal(members.size(), size))
      return workload_.group_of(members);
    const auto first = whole_in(details, "Global rank start");
    const auto stride = whole_in(details, "Global rank stride");
    if (!first || !stride || *stride > max_workload_ranks || *first >= max_workload_ranks)
      return std::nullopt;
    return workload_.group_of(static_cast<int>(*first), static_cast<int>(*stride),
                              static_cast<int>(size));
  }
  // That of the trace, when the user has put other ranks in its place.
  [[nodiscard]] std::int64_t largest_group() const {
    return file_.answers->ranks > 0 && world_ > 0 ? world_ : workload_.ranks;
  }

  // Nothing after a mistake, and of a collective of one rank.
  std::optional<TracedCollective> collective(const GpuEvent& event) {
    const std::string& kernel = string_in(*event.event, "name")->string();
    const SourceRange& place = event.event->place;
    const JsonValue* const name =
        event.details == nullptr ? nullptr : string_in(*event.details, "Collective name");
    if (name == nullptr)
      return file_.wrong(place, "no-sizes",
                         fmt::format("this kernel of NCCL, {}, does not say what it sends",
                                     shortened(printable(kernel), 40)),
                         "PyTorch 2.3 and later write \"Collective name\" and \"In msg nelems\"");
    const auto operation = operation_of_pytorch(name->string());
    if (!operation) return file_.refuse_call(name->place, name->string());
    const std::int64_t size = whole_in(*event.details, "Group size").value_or(0);
    if (size < 1 || size > max_workload_ranks)
      return file_.wrong(place, "no-group", "this collective has no \"Group size\"");
    if (size == 1) return ++alone_, std::nullopt;
    return sized(event, *operation, static_cast<int>(size));
  }

  std::optional<TracedCollective> sized(const GpuEvent& event, Operation operation, int size) {
    const JsonValue& details = *event.details;
    const JsonValue* const dtype = string_in(details, "dtype");
    const auto type = dtype == nullptr ? std::nullopt : type_of_pytorch(dtype->string());
    if (!type)
      return file_.wrong((dtype == nullptr ? event.event : dtype)->place, "no-type",
                         dtype == nullptr
                             ? std::string("this collective has no \"dtype\"")
                             : fmt::format("there is no element type {}", quoted(dtype->string())));
    const auto in = whole_in(details, "In msg nelems"), out = whole_in(details, "Out msg nelems");
    const auto group = group_of(event, size);
    // One of all ranks grows with them.
    const int members = group == std::size_t{0} ? static_cast<int>(workload_.ranks) : size;
    auto bytes = collective_bytes(operation, in.value_or(-1), out.value_or(-1), *type, members);
    if (!bytes)
      return file_.wrong(event.event->place, "no-sizes",
                         "this collective does not say how many elements it has",
                         "\"In msg nelems\" and \"Out msg nelems\" are what it needs");
    if (!group)
      return file_.wrong(
          event.event->place, "odd-group",
          fmt::format("the trace does not say which of the {} ranks these {} are, or others "
                      "could not form groups alike",
                      workload_.ranks, size));
    TracedCollective found{
        event.begin_us, event.end_us, event.begin_us, static_cast<int>(event.stream), {}};
    found.item.stream = stream_of(event.stream);
    found.item.operation = operation;
    found.item.bytes = *bytes;
    found.item.type = *type;
    found.item.group = *group;
    return found;
  }

  std::size_t stream_of(std::int64_t stream) {
    return workload_.stream_named(fmt::format("stream{}", stream));
  }

  // When all computing was done that the host had launched before.
  [[nodiscard]] std::vector<std::pair<double, double>> done_by_launch(
      const std::set<std::int64_t>& computing) const {
    std::vector<std::pair<double, double>> done;
    for (const GpuEvent& event : events_)
      if (!event.is_nccl && event.launched_us && computing.contains(event.stream))
        done.emplace_back(*event.launched_us, event.end_us);
    std::sort(done.begin(), done.end());
    for (std::size_t i = 1; i < done.size(); ++i)
      done[i].second = std::max(done[i].second, done[i - 1].second);
    return done;
  }

  void make() {
    std::set<std::int64_t> computing;  // streams; others only copy, beside computing
    for (const GpuEvent& event : events_)
      if (event.is_kernel && !event.is_nccl) computing.insert(event.stream);
    const auto done = done_by_launch(computing);
    std::vector<TracedKernel> kernels;
    std::vector<TracedCollective> collectives;
    for (const GpuEvent& event : events_) {
      if (!event.is_nccl) {
        if (computing.contains(event.stream)) kernels.push_back({event.begin_us, event.end_us});
        continue;
      }
      auto found = collective(event);
      if (!file_.diagnostics->empty()) return;  // the others most likely lack the same
      if (!found) continue;
      if (event.launched_us && !done.empty()) {
        const auto behind =
            std::lower_bound(done.begin(), done.end(), std::pair(*event.launched_us, 0.0));
        found->ready_us = *event.launched_us;
        if (behind != done.begin())
          found->ready_us = std::max(found->ready_us, std::prev(behind)->second);
        found->ready_us = std::min(found->ready_us, event.begin_us);
      }
      collectives.push_back(std::move(*found));
    }
    tell(kernels.empty(), done.empty());
    replay(std::move(kernels), std::move(collectives), workload_);
  }

  void tell(bool no_kernels, bool no_launches) {
    if (steps_ > 1)
      workload_.notes.push_back(
          fmt::format("the trace has {} steps of the profiler, one after the other", steps_));
    if (alone_ > 0)
      workload_.notes.push_back(
          fmt::format("left out: {} of one rank alone", count_text(alone_, "collective")));
    if (no_kernels)
      workload_.assumed.emplace_back(
          "the time between collectives is computing that needs their results; the trace has no "
          "other kernels");
    else if (no_launches)
      workload_.assumed.emplace_back(
          "a collective could not have begun before it did; the trace does not say when the host "
          "launched it");
    if (world_ == 0 && file_.answers->ranks == 0)
      workload_.assumed.push_back(
          fmt::format("{}: as many as the largest group has; --ranks says another number",
                      count_text(workload_.ranks, "rank")));
  }

  const JsonValue& document_;
  const WorkloadSource& file_;
  ImportedWorkload workload_;
  std::map<std::int64_t, double> launches_;
  std::vector<GpuEvent> events_;
  std::int64_t world_ = 0, steps_ = 0, calls_ = 0, alone_ = 0;
};

}  // namespace

std::optional<ImportedWorkload> read_kineto_trace(const JsonValue& document,
                                                  const WorkloadSource& file) {
  return KinetoReader(document, file).read();
}

}  // namespace collsim
