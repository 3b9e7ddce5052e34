// SPDX-License-Identifier: Apache-2.0
#include "app/study/auto_candidates.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "app/study/run_case.hpp"

namespace collsim {
namespace {

Effort effort_in(Case one_case, int chunks) {
  one_case.choice.chunk_size.reset();
  one_case.choice.chunks = chunks;
  return effort_of(one_case, make_schedule(one_case.collective, one_case.choice));
}

Bytes longest_message(const Case& one_case, const Algorithm& algorithm) {
  const Bytes all = one_case.collective.bytes();
  const Bytes whole = algorithm.messages_exceed_a_block ? all : all / one_case.collective.size();
  return whole / one_case.choice.channels / algorithm.lanes;
}

std::set<int> channels_to_try(const Case& asked, const Algorithm& algorithm) {
  if (!asked.open.channels) return {asked.choice.channels};
  const Topology& topology = asked.cluster->topology;
  const std::vector<Rank>& group = asked.collective.group;
  std::set<int> channels{1};
  const int members = members_per_node(topology, group);
  if (members < asked.collective.size()) channels.insert({2, members});
  const std::vector<int> dims =
      asked.open.dims ? natural_dims(algorithm, topology, group) : asked.choice.dims;
  channels.insert(default_channels(algorithm, dims, topology, group));
  return channels;
}

}  // namespace

Case as_chosen(const Case& asked, std::string_view algorithm, int channels, int chunks) {
  Case made = asked;
  made.choose_algorithm(algorithm);
  if (asked.open.chunks) made.choice.chunks = chunks;
  if (asked.open.channels) made.choice.channels = channels;
  made.choice.per_node = 1;
  spread_over_nodes(made.choice, made.cluster->topology, made.collective);
  return made;
}

AutoFamily::AutoFamily(const Case& asked, const Algorithm& algorithm, int channels)
    : algorithm_(&algorithm),
      one_case_(as_chosen(asked, algorithm.name, channels, 1)),
      load_(one_case_.collective, one_case_.choice, one_case_.cluster->topology),
      once_(effort_in(one_case_, 1)),
      twice_(effort_in(one_case_, 2)) {
  const Schedule schedule = make_schedule(one_case_.collective, one_case_.choice);
  links_per_message_ = collsim::links_per_message(one_case_.cluster->topology, schedule);
  ranks_for_each_ = expected_ranks_for_each(one_case_, schedule);
  if (!asked.open.chunks) {
    chunks_ = {0};
    cut_as_asked_ = schedule.chunks();
    return;
  }
  const Bytes longest = longest_message(one_case_, algorithm);
  most_chunks_ =
      static_cast<int>(std::clamp<Bytes>(longest / least_chunk_tried, 1, most_chunks_tried));
  for (int chunks = 1; chunks <= most_chunks_; chunks *= 2) chunks_.push_back(chunks);
}

Case AutoFamily::with_chunks(int chunks) const {
  Case made = one_case_;
  if (chunks > 0) made.choice.chunks = chunks;
  return made;
}

Time AutoFamily::at_least(int chunks) const {
  return load_.at_least(chunks > 0 ? chunks : cut_as_asked_) + one_case_.costs.launch;
}

Time AutoFamily::at_least_on_all_links(int chunks) {
  if (!load_of_all_)
    load_of_all_ =
        LinkLoad::of_all_links(one_case_.collective, one_case_.choice, one_case_.cluster->topology);
  return load_of_all_->at_least(chunks > 0 ? chunks : cut_as_asked_) + one_case_.costs.launch;
}

Effort AutoFamily::effort(int chunks) const {
  const double more = (chunks > 0 ? chunks : cut_as_asked_) - 1;
  const auto of = [&](double Effort::*part) {
    return once_.*part + more * (twice_.*part - once_.*part);
  };
  return {of(&Effort::per_lane), of(&Effort::instructions), of(&Effort::bytes)};
}

std::vector<AutoFamily> auto_families(const Case& asked, std::vector<Error>& reasons) {
  std::vector<AutoFamily> families;
  for (const Algorithm* const algorithm : algorithms(asked.collective.operation)) {
    if (algorithm->for_adding_networks && !asked.cluster->topology.network_adds()) continue;
    for (const int channels : channels_to_try(asked, *algorithm)) {
      try {
        families.emplace_back(asked, *algorithm, channels);
      } catch (const Error& error) {
        reasons.emplace_back(error.code(), std::string(algorithm->name) + ": " + error.what());
      }
    }
  }
  return families;
}

}  // namespace collsim
