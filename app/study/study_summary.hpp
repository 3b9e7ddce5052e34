// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/results/record.hpp"
#include "app/results/results.hpp"
#include "app/scenario/scenario.hpp"

namespace collsim {

// What a study remembers of its cases, besides their rows, for the description and the warnings.
// Every thread keeps its own; merged in any order they say the same.
class StudySummary {
 public:
  void add(const Case& one_case, std::size_t point);  // of the sweep
  void merge(const StudySummary& other);

  // What the descriptions of all clusters share: of "chain of 8 ranks, 25 GB/s, 5 us per message"
  // and "chain of 8 ranks, 50 GB/s, 5 us per message" that is "chain of 8 ranks, 5 us per message";
  // for 4 and 8 ranks "chain, 25 GB/s, 5 us per message".  Who is late is said too: "rank 3 starts
  // 500 us late".  Empty when it is nothing.
  [[nodiscard]] std::string cluster() const;
  // How the ranks of all cases lie on the nodes of a preset and who launches: "1 GPU on each of 2
  // nodes, a process for each".  Empty where that differs or goes without saying.
  [[nodiscard]] const std::string& placement() const { return placement_; }
  [[nodiscard]] const std::set<std::string>& presets() const { return presets_; }
  // What had to be assumed about a machine, because its file does not say it.
  [[nodiscard]] const std::set<std::string>& assumed() const { return assumed_; }
  // Sentences of slow_links.hpp: about links far slower than their like, and too narrow to be used.
  [[nodiscard]] const std::set<std::string>& slow_links() const { return slow_links_; }
  [[nodiscard]] const std::set<std::string>& narrow_links() const { return narrow_links_; }
  // Keys of "override" that change something of a preset: "nic.latency".
  [[nodiscard]] const std::set<std::string>& preset_changes() const { return preset_changes_; }
  // Ranks that are late in some case in which they take no part.
  [[nodiscard]] const std::set<std::size_t>& late_outsiders() const { return late_outsiders_; }
  // Programs from files, and a collective that they carried out; of what differs only in size, one.
  struct ListedUse {
    std::shared_ptr<const ListedSchedule> list;
    Collective collective;
    std::size_t point = 0;  // the first of these
  };
  [[nodiscard]] const std::map<std::string, ListedUse>& listed() const { return listed_; }
  // The number of ranks of the machine when it is the same everywhere, else 0.
  [[nodiscard]] std::size_t machine_ranks() const { return ranks_; }

  // For record.hpp: all but listed(), which whoever reads it back adds from the cases at
  // listed_points().
  template <class Of>
  requires RecordOf<Of, StudySummary>
  friend auto members_of(Of& summary) {
    return std::tie(summary.any_, summary.phrases_, summary.name_, summary.ranks_,
                    summary.placement_, summary.presets_, summary.assumed_, summary.slow_links_,
                    summary.narrow_links_, summary.preset_changes_, summary.late_outsiders_);
  }
  [[nodiscard]] std::vector<std::size_t> listed_points() const;

 private:
  void add_listed(const std::string& key, const ListedUse& use);
  void add_cluster(const Cluster& cluster);
  void intersect(const std::vector<std::string>& phrases, const std::string& name,
                 std::size_t ranks);

  std::shared_ptr<const Cluster> last_;
  bool any_ = false;
  int looked_for_narrow_links_ = 0;
  std::vector<std::string> phrases_;
  std::string name_;
  std::size_t ranks_ = 0;
  std::string placement_;
  std::set<std::string> presets_;
  std::set<std::string> assumed_;
  std::set<std::string> slow_links_;
  std::set<std::string> narrow_links_;
  std::set<std::string> preset_changes_;
  std::set<std::size_t> late_outsiders_;
  std::map<std::string, ListedUse> listed_;  // by name and what makes a difference
};

// "chain broadcast of 64 MiB; chain of 8 ranks, 25 GB/s, 5 us per message": what all rows share.
[[nodiscard]] std::string description_of(const Results& results, const StudySummary& summary);

// What a user should know about these results, each thing once, in plain words, with what to do
// about it.  Everything in `results` but its warnings must be there.
[[nodiscard]] std::vector<Warning> warnings_about(const Scenario& scenario, const Results& results,
                                                  const StudySummary& summary);

}  // namespace collsim
