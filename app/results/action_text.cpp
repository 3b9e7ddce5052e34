// SPDX-License-Identifier: Apache-2.0
#include "app/results/action_text.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace collsim {
namespace {

std::string_view label_word(Label::Kind kind) {
  switch (kind) {
    case Label::Kind::none: return "";
    case Label::Kind::forward: return "forward";
    case Label::Kind::backward: return "backward";
    case Label::Kind::weights: return "weight gradients";
    case Label::Kind::optimizer: return "optimizer";
    case Label::Kind::bucket: return "gradients";
    case Label::Kind::parameters: return "parameters";
    case Label::Kind::buffers: return "buffers";
    case Label::Kind::late: return "late start";
  }
  return "";
}

using Numbers = std::set<std::int32_t>;

// How far they are from each other, if all are equally far; else 0.
std::int32_t stride_of(const Numbers& numbers) {
  const std::int32_t stride = *std::next(numbers.begin()) - *numbers.begin();
  for (auto one = std::next(numbers.begin()); one != numbers.end(); ++one)
    if (*one - *std::prev(one) != stride) return 0;
  return stride;
}

// "layer 3", "layers 1 to 24", "layers 1, 3 ... 23", "5 of layers 1 to 24"
std::string numbered(std::string_view one, std::int32_t first, std::int32_t last,
                     const Numbers& all) {
  if (first == last) return fmt::format("{} {}", one, first);
  const std::string several = fmt::format("{}{}", one, one.ends_with("ch") ? "es" : "s");
  std::string range = fmt::format("{} {} to {}", several, first, last);
  const std::int32_t stride = all.size() < 2 ? 1 : stride_of(all);
  if (stride == 1) return range;
  if (stride == 0) return fmt::format("{} of {}", all.size(), range);
  if (all.size() == 2) return fmt::format("{} {} and {}", several, first, last);
  const std::int32_t second = first < last ? first + stride : first - stride;
  return fmt::format("{} {}, {} {} {}", several, first, second, all.size() == 3 ? "and" : "...",
                     last);
}

std::string label_text(const Label& first, const Label& last, const Numbers& all = {}) {
  std::string text(label_word(first.kind));
  if (first.number > 0) text += " of " + numbered("layer", first.number, last.number, all);
  return text;
}

std::string call_text(const Action& action, const Label& last, const Numbers& all,
                      const Workload& workload) {
  const std::string_view operation = to_string(action.call.operation);
  const Label& label = action.label;
  switch (label.kind) {
    case Label::Kind::none:
      return fmt::format("{} on {}", operation, workload.communicators()[action.communicator].name);
    case Label::Kind::bucket:
      return fmt::format(
          "{} of {}", operation,
          label.number > 0 ? numbered("bucket", label.number, last.number, all) : "gradients");
    case Label::Kind::parameters:
      return fmt::format(
          "{} of {}", operation,
          label.number > 0 ? numbered("layer", label.number, last.number, all) : "parameters");
    case Label::Kind::buffers: return fmt::format("{} of buffers", operation);
    default: break;
  }
  constexpr std::size_t usual = 2;  // of more groups, several may work in a layer
  const std::vector<Communicator>& groups = workload.communicators();
  const std::string group =
      groups.size() > usual ? " on " + groups[action.communicator].name : std::string();
  return fmt::format("{}{}, {}", operation, group, label_text(label, last, all));
}

std::string exchange_text(const Action& action, const Label& last, const Numbers& all) {
  const std::string where = fmt::format(
      "{} rank {}", action.kind == Action::Kind::send ? "to" : "from", action.peer.index());
  return action.label.kind == Label::Kind::none
             ? where
             : fmt::format("{}, {}", label_text(action.label, last, all), where);
}

}  // namespace

std::string action_text(const Action& action, const Workload& workload) {
  return action_text(action, action, {}, workload);
}

std::string action_text(const Action& action, const Action& until, const ActionNumbers& numbers,
                        const Workload& workload) {
  const Label& last = until.label;
  std::string text;
  if (action.label.microbatch > 0)
    text = numbered("microbatch", action.label.microbatch, last.microbatch, numbers.microbatches) +
           ": ";
  switch (action.kind) {
    case Action::Kind::work: {
      if (action.label.kind != Label::Kind::none)
        return text + label_text(action.label, last, numbers.layers);
      const bool launches = workload.stream_names()[action.stream] == "host";
      return text + (launches ? "launches" : "work");
    }
    case Action::Kind::collective: return text + call_text(action, last, numbers.layers, workload);
    case Action::Kind::send:
    case Action::Kind::receive: return text + exchange_text(action, last, numbers.layers);
    case Action::Kind::drain: return text + "sending";
    case Action::Kind::update: return text + "set";
    case Action::Kind::record:
      return fmt::format("signal for {}", workload.stream_names()[action.other]);
    case Action::Kind::wait:
      return fmt::format("waiting for {}", workload.stream_names()[action.other]);
  }
  return text;
}

}  // namespace collsim
