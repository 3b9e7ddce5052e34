// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "app/import/msccl.hpp"

namespace collsim {

// A number that was reported as wrong.  What leans on it is passed over, so that one mistake in a
// file is one message.
inline constexpr int unclear = -2;

// A file as it stands, every number checked by itself.
struct MscclStep {
  std::string_view type;  // empty: reported as wrong
  Buffer source_buffer = Buffer::input;
  Buffer destination_buffer = Buffer::input;
  int source = 0, destination = 0, count = 0;
  int other_block = -1, other_step = -1;  // depid, deps
  bool is_awaited = false;                // hasdep
  bool is_half = false;                   // half
  int line = 0;
  SourceRange place;
};
struct MscclBlock {
  int send = -1, receive = -1, channel = -1;
  int lane = -1;  // -1: of its own
  std::vector<MscclStep> steps;
  SourceRange place;
};
struct MscclGpu {
  int scratch = 0;
  std::vector<MscclBlock> blocks;
  // What was read without a mistake; nothing of a gpu that is missing.
  bool is_sound = false;     // all of it
  bool has_numbers = false;  // the numbers of its thread blocks and steps
  bool has_peers = false;    // where its thread blocks send to and receive from
  SourceRange place;
};

// What a type of step does; null: there is no such type.
struct MscclOperation {
  std::string_view type;
  std::optional<Op> op;  // none: nop
};
[[nodiscard]] const MscclOperation* find_msccl_operation(std::string_view type);

// Makes lanes of thread blocks: `programs` and `lanes` of the list.  Reports what is wrong between
// steps, and between gpus, also where reading them has reported something before; then there are no
// programs.
void make_msccl_lanes(const std::vector<MscclGpu>& gpus, ListedSchedule& list,
                      Diagnostics& diagnostics);

}  // namespace collsim
