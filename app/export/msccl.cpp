// SPDX-License-Identifier: Apache-2.0
#include "app/export/msccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string_view>
#include <vector>

#include "app/export/thread_blocks.hpp"
#include "app/import/msccl.hpp"

namespace collsim {
namespace {

std::string_view collective_name(Operation operation) {
  switch (operation) {
    case Operation::all_reduce: return "allreduce";
    case Operation::all_gather: return "allgather";
    case Operation::reduce_scatter: return "reduce_scatter";
    case Operation::all_to_all: return "alltoall";
    case Operation::broadcast: return "broadcast";
    case Operation::reduce: return "reduce";
    default: return "custom";
  }
}

std::string_view type_of(const ThreadBlockStep& step) {
  if (!step.op) return "nop";
  switch (*step.op) {
    case Op::send: return "s";
    case Op::receive: return "r";
    case Op::receive_send: return "rcs";
    case Op::receive_reduce: return "rrc";
    case Op::receive_reduce_send: return "rrs";
    case Op::receive_reduce_store_send: return "rrcs";
    case Op::copy: return "cpy";
    case Op::local_reduce: return "re";
    default: break;
  }
  COLLSIM_CHECK(false, "every other instruction was made one of these");
  return "";
}

// The same algorithm on the smallest vector that divides evenly wherever an algorithm cuts one.
Schedule smallest_schedule(Collective collective, AlgorithmChoice choice) {
  choice.chunks = make_schedule(collective, choice).chunks();
  choice.chunk_size.reset();
  // Among ranks that are no power of two, butterflies cut for the next smaller one.
  collective.count =
      collective.size() * std::int64_t{std::bit_floor(static_cast<unsigned>(collective.size()))};
  const Algorithm& algorithm = find_algorithm(collective.operation, choice.name);
  for (const int factor : {choice.chunks, choice.channels, algorithm.lanes})
    collective.count *= factor;
  if (choice.list) collective.count = std::int64_t{choice.list->blocks} * choice.chunks;
  return make_schedule(collective, choice);
}

class Chunks {
 public:
  Chunks(const Schedule& schedule, const std::vector<std::vector<ThreadBlock>>& ranks)
      : chunk_(schedule.collective().count) {
    for (int position = 0; position < schedule.size(); ++position) {
      add(schedule.scratch_count(position));
      add(input_count(schedule.collective(), position));
      add(output_count(schedule.collective(), position));
      for (const ThreadBlock& block : ranks[static_cast<std::size_t>(position)])
        for (const ThreadBlockStep& step : block.steps)
          for (const Span& span : {step.source, step.destination}) {
            add(span.offset);
            add(span.count);
          }
    }
  }

  [[nodiscard]] std::int64_t operator()(std::int64_t elements) const { return elements / chunk_; }

 private:
  void add(std::int64_t elements) { chunk_ = std::gcd(chunk_, elements); }
  std::int64_t chunk_;  // elements
};

char buffer_name(Buffer buffer) {
  return buffer == Buffer::input ? 'i' : buffer == Buffer::output ? 'o' : 's';
}

void write_step(std::string& text, std::size_t number, const ThreadBlockStep& step,
                const Chunks& chunks) {
  const auto count = chunks(step.source.count);
  if (step.op && (count < 1 || count > msccl_count))
    throw_error(ErrorCode::too_large,
                fmt::format("a message would have {} chunks, and a step of MSCCL has 1 to {}",
                            count, msccl_count));
  text += fmt::format(
      "      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" "
      "cnt=\"{}\" depid=\"{}\" deps=\"{}\" hasdep=\"{}\"{}/>\n",
      number, type_of(step), buffer_name(step.source.buffer),
      step.op ? chunks(step.source.offset) : -1, buffer_name(step.destination.buffer),
      step.op ? chunks(step.destination.offset) : -1, count, step.other_block, step.other_step,
      step.is_awaited ? 1 : 0, step.is_half ? " half=\"1\"" : "");
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += static_cast<unsigned char>(c) < ' ' ? '_' : c;
    }
  }
  return safe;
}

std::string header(const Schedule& schedule, const MscclOptions& options, std::int64_t chunks,
                   int channels) {
  const Collective& collective = schedule.collective();
  constexpr std::size_t most_of_name = 63;  // what MSCCL keeps
  const std::string name = options.name.empty() ? schedule.algorithm() : options.name;
  return fmt::format(
      "<algo name=\"{}\" proto=\"{}\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" "
      "coll=\"{}\" inplace=\"{}\" outofplace=\"{}\" minBytes=\"{}\" maxBytes=\"{}\">\n",
      escaped(std::string_view(name).substr(0, most_of_name)), options.protocol, channels, chunks,
      collective.size(), collective_name(collective.operation), collective.in_place ? 1 : 0,
      collective.in_place ? 0 : 1, options.least, options.most);
}

constexpr ThreadBlockLimits limits{msccl_thread_blocks, msccl_steps, msccl_channels};

std::string write(const Schedule& schedule, const MscclOptions& options) {
  const auto ranks = thread_blocks(schedule, limits);
  const Chunks chunks(schedule, ranks);
  const Collective& collective = schedule.collective();
  int channels = 1;
  for (const auto& blocks : ranks)
    for (const ThreadBlock& block : blocks) channels = std::max(channels, block.channel + 1);
  std::string text = header(schedule, options, chunks(collective.count), channels);
  for (int position = 0; position < schedule.size(); ++position) {
    text += fmt::format("  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n",
                        position, chunks(input_count(collective, position)),
                        chunks(output_count(collective, position)),
                        chunks(schedule.scratch_count(position)));
    int id = 0;
    for (const ThreadBlock& block : ranks[static_cast<std::size_t>(position)]) {
      text += fmt::format("    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\" lane=\"{}\">\n",
                          id++, block.send, block.receive, block.channel, block.lane);
      for (std::size_t i = 0; i < block.steps.size(); ++i)
        write_step(text, i, block.steps[i], chunks);
      text += "    </tb>\n";
    }
    text += "  </gpu>\n";
  }
  return text + "</algo>\n";
}

}  // namespace

std::string to_msccl(const Collective& collective, const AlgorithmChoice& choice,
                     const MscclOptions& options) {
  if (collective.operation == Operation::barrier)
    throw_error(ErrorCode::invalid_argument, "MSCCL has no barrier: every step moves data");
  if (collective.size() > max_msccl_gpus)
    throw_error(ErrorCode::too_large, fmt::format("more than {} ranks", max_msccl_gpus));
  const Schedule schedule = smallest_schedule(collective, choice);
  try {
    return write(schedule, options);
  } catch (const Error& error) {
    throw_error(error.code(), fmt::format("{} does not fit into an MSCCL file: {}",
                                          schedule.algorithm(), error.what()));
  }
}

}  // namespace collsim
