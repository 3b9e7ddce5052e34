// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/validate/nccl_fakes/fake_stream.hpp"

// Stands for NCCL in tests without a GPU: the same functions, carried out at the end of a group on
// memory of this process, with NCCL's rules: all ranks must make matching calls.
//
// The environment variable FAKE_NCCL makes trouble:
//   init-fails    there are no communicators
//   refuses       groups end in an error
//   hangs         nothing ever ends
//   async-error   likewise, and NCCL notices
//   wrong-data    the last byte written is wrong

using collsim::testing::FakeStream;

namespace {

enum Result { success = 0, system_error = 2, invalid_argument = 4, invalid_usage = 5, remote = 6 };
enum class Kind { all_reduce, broadcast, reduce, all_gather, reduce_scatter, send, receive };

struct Communicator {
  int rank = 0;
  int ranks = 0;
};

struct Call {
  Kind kind{};
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::size_t count = 0;
  int type = 0;
  int reduction = 0;
  int peer = 0;
  Communicator* communicator = nullptr;
  FakeStream* stream = nullptr;
};

int open_groups = 0;
std::vector<Call> group;
int living_communicators = 0;
int aborted_communicators = 0;
std::string algorithm_at_init;
std::string protocol_at_init;
std::vector<FakeStream*> hanging;

bool is_in_trouble(const char* which) {
  const char* trouble = std::getenv("FAKE_NCCL");
  return trouble != nullptr && std::strcmp(trouble, which) == 0;
}

std::size_t size_of(int type) {
  constexpr std::size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return sizes[type];
}

template <class T>
T combined(int reduction, T a, T b) {
  using Wide = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                           std::type_identity<T>>::type;
  switch (reduction) {
    case 1: return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
    case 2: return std::max(a, b);
    case 3: return std::min(a, b);
    default: return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
  }
}

using Block = std::vector<std::byte>;

// From the last rank to the first: an order unlike ours.
template <class T>
Block reduced(const std::vector<Block>& inputs, int reduction) {
  Block result(inputs[0].size());
  const auto ranks = static_cast<int>(inputs.size());
  for (std::size_t at = 0; at < result.size(); at += sizeof(T)) {
    T sum{};
    for (int rank = ranks - 1; rank >= 0; --rank) {
      T value;
      std::memcpy(&value, inputs[static_cast<std::size_t>(rank)].data() + at, sizeof value);
      if constexpr (std::is_floating_point_v<T>)
        if (reduction == 4) value *= T{1} / static_cast<T>(ranks);
      sum = rank == ranks - 1 ? value : combined(reduction, sum, value);
    }
    if constexpr (std::is_integral_v<T>)
      if (reduction == 4) sum = static_cast<T>(sum / static_cast<T>(ranks));
    std::memcpy(result.data() + at, &sum, sizeof sum);
  }
  return result;
}

// Empty: not a type that this fake can add up.
Block reduced(const std::vector<Block>& inputs, int type, int reduction) {
  switch (type) {
    case 0: return reduced<std::int8_t>(inputs, reduction);
    case 1: return reduced<std::uint8_t>(inputs, reduction);
    case 2: return reduced<std::int32_t>(inputs, reduction);
    case 3: return reduced<std::uint32_t>(inputs, reduction);
    case 4: return reduced<std::int64_t>(inputs, reduction);
    case 5: return reduced<std::uint64_t>(inputs, reduction);
    case 7: return reduced<float>(inputs, reduction);
    case 8: return reduced<double>(inputs, reduction);
    default: return {};
  }
}

void write(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  std::memmove(to, from, bytes);
  if (is_in_trouble("wrong-data")) to[bytes - 1] ^= std::byte{1};
}

// How many elements a rank hands in.
std::size_t elements_from(const Call& call, std::size_t ranks) {
  return call.kind == Kind::reduce_scatter ? call.count * ranks : call.count;
}

// One collective: the calls of all ranks, by rank.
Result carry_out(const std::vector<Call>& calls) {
  const Call& first = calls[0];
  const std::size_t ranks = calls.size();
  std::vector<Block> inputs;
  for (const Call& call : calls) {
    if (call.kind != first.kind || call.count != first.count || call.type != first.type ||
        call.reduction != first.reduction || call.peer != first.peer)
      return invalid_usage;
    inputs.emplace_back(call.from, call.from + elements_from(call, ranks) * size_of(call.type));
  }
  const std::size_t bytes = first.count * size_of(first.type);
  const auto root = static_cast<std::size_t>(first.peer);
  Block sum;
  if (first.kind == Kind::all_reduce || first.kind == Kind::reduce ||
      first.kind == Kind::reduce_scatter) {
    sum = reduced(inputs, first.type, first.reduction);
    if (sum.empty()) return invalid_argument;
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::byte* to = calls[rank].to;
    switch (first.kind) {
      case Kind::all_reduce: write(to, sum.data(), bytes); break;
      case Kind::broadcast: write(to, inputs[root].data(), bytes); break;
      case Kind::reduce:
        if (rank == root) write(to, sum.data(), bytes);
        break;
      case Kind::all_gather:
        for (std::size_t i = 0; i < ranks; ++i) write(to + i * bytes, inputs[i].data(), bytes);
        break;
      case Kind::reduce_scatter: write(to, sum.data() + rank * bytes, bytes); break;
      default: return invalid_usage;
    }
  }
  return success;
}

Result carry_out_collectives(std::map<int, std::deque<Call>>& by_rank, int ranks) {
  while (!by_rank.empty()) {
    if (static_cast<int>(by_rank.size()) != ranks) return invalid_usage;
    std::vector<Call> calls;
    for (auto& [rank, queue] : by_rank) {
      calls.push_back(queue.front());
      queue.pop_front();
    }
    std::erase_if(by_rank, [](const auto& entry) { return entry.second.empty(); });
    if (const Result result = carry_out(calls); result != success) return result;
  }
  return success;
}

Result carry_out_messages(const std::vector<Call>& calls) {
  std::map<std::pair<int, int>, std::deque<Block>> sent;  // from, to
  for (const Call& call : calls)
    if (call.kind == Kind::send)
      sent[{call.communicator->rank, call.peer}].emplace_back(
          call.from, call.from + call.count * size_of(call.type));
  for (const Call& call : calls) {
    if (call.kind != Kind::receive) continue;
    std::deque<Block>& queue = sent[{call.peer, call.communicator->rank}];
    if (queue.empty() || queue.front().size() != call.count * size_of(call.type))
      return invalid_usage;
    write(call.to, queue.front().data(), queue.front().size());
    queue.pop_front();
  }
  for (const auto& [ends, queue] : sent)
    if (!queue.empty()) return invalid_usage;
  return success;
}

Result carry_out_group(const std::vector<Call>& calls) {
  if (is_in_trouble("refuses")) return invalid_usage;
  if (is_in_trouble("hangs") || is_in_trouble("async-error")) {
    for (const Call& call : calls) {
      call.stream->hangs = true;
      hanging.push_back(call.stream);
    }
    return success;
  }
  std::map<int, std::deque<Call>> collectives;
  std::vector<Call> messages;
  int ranks = 0;
  for (const Call& call : calls) {
    ranks = call.communicator->ranks;
    if (call.kind == Kind::send || call.kind == Kind::receive)
      messages.push_back(call);
    else
      collectives[call.communicator->rank].push_back(call);
  }
  const Result result = carry_out_messages(messages);
  return result == success ? carry_out_collectives(collectives, ranks) : result;
}

int add(Kind kind, const void* from, void* to, std::size_t count, int type, int reduction, int peer,
        void* communicator, void* stream) {
  const bool is_known = type >= 0 && type <= 9 && reduction >= 0 && reduction <= 4;
  if (communicator == nullptr || stream == nullptr || open_groups != 1 || !is_known)
    return invalid_argument;
  group.push_back({kind, static_cast<const std::byte*>(from), static_cast<std::byte*>(to), count,
                   type, reduction, peer, static_cast<Communicator*>(communicator),
                   static_cast<FakeStream*>(stream)});
  return success;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int end_of(void* communicator) {
  delete static_cast<Communicator*>(communicator);
  --living_communicators;
  return success;
}

}  // namespace

extern "C" {

// What tests ask.
int fake_nccl_living_communicators() {
  return living_communicators;
}
int fake_nccl_aborted_communicators() {
  return aborted_communicators;
}
const char* fake_nccl_algorithm_at_init() {
  return algorithm_at_init.c_str();
}
const char* fake_nccl_protocol_at_init() {
  return protocol_at_init.c_str();
}
void fake_nccl_forget_group() {
  group.clear();
  open_groups = 0;
}

const char* ncclGetErrorString(int result) {
  return result == remote ? "remote process exited" : "fake error";
}
const char* ncclGetLastError(void*) {
  return is_in_trouble("init-fails") ? "the fake has no network" : "";
}

int ncclCommInitAll(void** communicators, int count, const int* devices) {
  if (is_in_trouble("init-fails")) return system_error;
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < i; ++j)
      if (devices[i] == devices[j]) return invalid_usage;
  algorithm_at_init = variable("NCCL_ALGO");
  protocol_at_init = variable("NCCL_PROTO");
  for (int i = 0; i < count; ++i) communicators[i] = new Communicator{i, count};
  living_communicators += count;
  return success;
}
int ncclCommDestroy(void* communicator) {
  return end_of(communicator);
}
int ncclCommAbort(void* communicator) {
  for (FakeStream* stream : std::exchange(hanging, {})) stream->hangs = false;
  ++aborted_communicators;
  return end_of(communicator);
}
int ncclCommGetAsyncError(void*, int* result) {
  *result = is_in_trouble("async-error") ? remote : success;
  return success;
}

int ncclGroupStart() {
  ++open_groups;
  return success;
}
int ncclGroupEnd() {
  --open_groups;
  return carry_out_group(std::exchange(group, {}));
}

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int reduction,
                  void* communicator, void* stream) {
  return add(Kind::all_reduce, from, to, count, type, reduction, 0, communicator, stream);
}
int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root,
                  void* communicator, void* stream) {
  return add(Kind::broadcast, from, to, count, type, 0, root, communicator, stream);
}
int ncclReduce(const void* from, void* to, std::size_t count, int type, int reduction, int root,
               void* communicator, void* stream) {
  return add(Kind::reduce, from, to, count, type, reduction, root, communicator, stream);
}
int ncclAllGather(const void* from, void* to, std::size_t count, int type, void* communicator,
                  void* stream) {
  return add(Kind::all_gather, from, to, count, type, 0, 0, communicator, stream);
}
int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int reduction,
                      void* communicator, void* stream) {
  return add(Kind::reduce_scatter, from, to, count, type, reduction, 0, communicator, stream);
}
int ncclSend(const void* from, std::size_t count, int type, int peer, void* communicator,
             void* stream) {
  return add(Kind::send, from, nullptr, count, type, 0, peer, communicator, stream);
}
int ncclRecv(void* to, std::size_t count, int type, int peer, void* communicator, void* stream) {
  return add(Kind::receive, nullptr, to, count, type, 0, peer, communicator, stream);
}

}  // extern "C"
