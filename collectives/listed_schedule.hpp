// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/checker.hpp"
#include "collectives/schedule.hpp"

namespace collsim {

// A schedule that somebody else wrote down: every lane's instructions as a list, read from a file
// (app/import/).  It serves any size, because its data is in blocks: the collective's vector, what
// Collective::count counts, is cut into `blocks` equal ones.
//
// One instruction.  `from` and `to` have positions in place of ranks; a signal and a wait name the
// other lane of their own position.
struct ListedInstruction {
  Op op = Op::copy;
  Buffer source_buffer = Buffer::input;
  Buffer destination_buffer = Buffer::input;
  int source = 0;       // first block
  int destination = 0;  // likewise
  int count = 0;        // blocks
  Endpoint from{};
  Endpoint to{};
  int line = 0;  // of the file
  // What the file calls the place: lanes of ours need not be numbered like those of the file.
  int block_of_threads = 0;
  int step = 0;
};

struct ListedSchedule {
  std::string file;   // as the user wrote it
  std::string title;  // what it calls itself
  std::string protocol;
  std::optional<Operation> operation;  // none: it does not say
  int positions = 0;
  int blocks = 1;
  int lanes = 1;
  int channels = 1;
  std::vector<std::vector<ListedInstruction>> programs;  // [position * lanes + lane]
  std::vector<int> scratch;                              // blocks, by position
  bool in_place = false;                                 // which forms it is for
  bool out_of_place = true;
  Bytes least = 0;  // the sizes for which its runtime takes it
  Bytes most = 0;

  [[nodiscard]] const std::vector<ListedInstruction>& program(int position, Lane lane) const {
    return programs[static_cast<std::size_t>(position * lanes) + lane.index()];
  }
};

// AlgorithmChoice::name of a listed schedule is this and its file.
inline constexpr std::string_view listed_prefix = "msccl:";
[[nodiscard]] inline bool is_listed(std::string_view algorithm) {
  return algorithm.starts_with(listed_prefix);
}
// What find_algorithm() returns for it: a row of no list, without knobs and costs.
[[nodiscard]] const Algorithm& listed_algorithm(Operation operation);

// What make_schedule() returns for it.  Every instruction is one message, whole; with `chunks` S >
// 1
// all lanes run their lists S times, each time on one S-th of every block, as MSCCL's runtime does
// with large data.  That needs no more slots than one run, because the runs may follow each other.
//
// Error{unsupported_ranks} when the group has another size; {invalid_argument} when the operation
// or
// the in-place form is another, or the vector is not a multiple of `blocks` elements.
[[nodiscard]] Schedule make_listed_schedule(const Collective& collective,
                                            const AlgorithmChoice& choice);

// The same proof as check() in the file's own terms: a block is one element, so the numbers in the
// texts are those of the file.  The collective's count does not matter.
[[nodiscard]] CheckReport check_in_blocks(const ListedSchedule& list, Collective collective);

// "allreduce_ring" for 8 ranks, LL128, 64 blocks, 8 lanes: for people.
[[nodiscard]] std::string describe(const ListedSchedule& list);

// The fault that it found, with the place in the file: "gpu 3, thread block 1, step 4 (line 57):
// ...".
[[nodiscard]] std::string fault_in_file(const ListedSchedule& list, const Collective& collective,
                                        const Fault& fault);

}  // namespace collsim
