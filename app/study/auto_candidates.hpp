// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "app/scenario/scenario.hpp"
#include "collectives/cost/link_load.hpp"
#include "sim/effort.hpp"
#include "topo/error.hpp"

namespace collsim {

// What "auto" chooses from.
//
//   algorithms   all of the operation that work with this many ranks
//   channels     what the scenario says, else 1; among nodes of several GPUs also 2 and one for
//                each of them, and on tori and meshes as many as there are directions, where the
//                algorithm heeds them
//   chunks       what the scenario says, else 1, 2, 4 ... 1024, as long as a chunk of the longest
//                message has 4 KiB at least
inline constexpr int most_chunks_tried = 1024;
inline constexpr Bytes least_chunk_tried = 4096;

// The case as "auto" runs it with one of them; what the scenario says stays as it is.
[[nodiscard]] Case as_chosen(const Case& asked, std::string_view algorithm, int channels,
                             int chunks);

// One algorithm with one number of channels, and what is known of it whatever its chunks are.
class AutoFamily {
 public:
  // Error when the algorithm does not work here.
  AutoFamily(const Case& asked, const Algorithm& algorithm, int channels);

  [[nodiscard]] const Algorithm& algorithm() const { return *algorithm_; }
  // The numbers of chunks to try; one of 0 means that the case says how to cut.
  [[nodiscard]] const std::vector<int>& chunks() const { return chunks_; }
  // The most that refining may try.
  [[nodiscard]] int most_chunks() const { return most_chunks_; }
  [[nodiscard]] Case with_chunks(int chunks) const;
  [[nodiscard]] Time at_least(int chunks) const;
  // By the load of all links; the first call reads all programs, about so many instructions.
  [[nodiscard]] Time at_least_on_all_links(int chunks);
  [[nodiscard]] double instructions_of_all() const {
    return once_.instructions + twice_.instructions;
  }
  [[nodiscard]] Effort effort(int chunks) const;
  [[nodiscard]] double links_per_message() const { return links_per_message_; }
  // For how many ranks each that is simulated may stand.
  [[nodiscard]] double ranks_for_each() const { return ranks_for_each_; }

 private:
  const Algorithm* algorithm_;
  Case one_case_;
  std::vector<int> chunks_;
  int most_chunks_ = 1;
  int cut_as_asked_ = 1;  // into how many chunks at most, where the case says it
  LinkLoad load_;
  std::optional<LinkLoad> load_of_all_;
  Effort once_, twice_;  // in one chunk and in two
  double links_per_message_ = 1;
  double ranks_for_each_ = 1;
};

// All of them, in the order of the table; `reasons` gets why others do not work.
[[nodiscard]] std::vector<AutoFamily> auto_families(const Case& asked, std::vector<Error>& reasons);

}  // namespace collsim
