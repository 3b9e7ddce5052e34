// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/validate/nccl_fakes/fake_nccl.hpp"

// Stands for NCCL in tests without a GPU: the same functions, carried out at the end of a group on
// memory of this process, with NCCL's rules: all ranks must make matching calls.
//
// Where ranks are processes, fake_ranks.cpp brings them together.
//
// The environment variable FAKE_NCCL makes trouble, for all or for the rank FAKE_NCCL_RANK:
//   init-fails    there are no communicators
//   refuses       groups end in an error
//   hangs         nothing ever ends
//   async-error   likewise, and NCCL notices
//   wrong-data    the last byte written is wrong
//   slow-launch   launching takes much longer than what is launched
//   dies          the process ends

using namespace collsim::testing;  // NOLINT: it is one program with fake_ranks.cpp

namespace {

int open_groups = 0;
std::vector<Call> group;
int living_communicators = 0;
int aborted_communicators = 0;
std::string algorithm_at_init;
std::string protocol_at_init;
std::vector<std::shared_ptr<std::atomic<bool>>> hanging;  // what keeps streams busy: not released

// `rank`: -1 asks for all ranks at once.
bool is_in_trouble(const char* which, int rank = -1) {
  const char* const trouble = std::getenv("FAKE_NCCL");
  const char* const of_rank = std::getenv("FAKE_NCCL_RANK");
  const bool is_meant = of_rank == nullptr || std::atoi(of_rank) == rank;
  return is_meant && trouble != nullptr && std::strcmp(trouble, which) == 0;
}

// The CUDA that the program has, if any.
template <class Function>
Function* of_cuda(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// When it is its turn in the stream; at once where there is no CUDA.  False: it is refused.
bool put_into(void* stream, std::function<void()> work) {
  using LaunchHostFunction = int(void*, void (*)(void*), void*);
  auto* const launch = of_cuda<LaunchHostFunction>("cudaLaunchHostFunc");
  if (launch == nullptr) {
    work();
    return true;
  }
  // Never freed: a graph may come back to it.
  auto* const kept = new std::function<void()>(std::move(work));
  return launch(
             stream, [](void* function) { (*static_cast<std::function<void()>*>(function))(); },
             kept) == 0;
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

void write(const Call& call, const std::byte* from, std::size_t bytes, std::size_t at = 0) {
  if (bytes == 0 || call.to == nullptr) return;
  std::memmove(call.to + at, from, bytes);
  if (is_in_trouble("wrong-data", call.rank)) call.to[at + bytes - 1] ^= std::byte{1};
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
    inputs.emplace_back(call.from, call.from + bytes_from(call));
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
    const Call& call = calls[rank];
    switch (first.kind) {
      case Kind::all_reduce: write(call, sum.data(), bytes); break;
      case Kind::broadcast: write(call, inputs[root].data(), bytes); break;
      case Kind::reduce:
        if (rank == root) write(call, sum.data(), bytes);
        break;
      case Kind::all_gather:
        for (std::size_t i = 0; i < ranks; ++i) write(call, inputs[i].data(), bytes, i * bytes);
        break;
      case Kind::reduce_scatter: write(call, sum.data() + rank * bytes, bytes); break;
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
      sent[{call.rank, call.peer}].emplace_back(call.from,
                                                call.from + call.count * size_of(call.type));
  for (const Call& call : calls) {
    if (call.kind != Kind::receive) continue;
    std::deque<Block>& queue = sent[{call.peer, call.rank}];
    if (queue.empty() || queue.front().size() != call.count * size_of(call.type))
      return invalid_usage;
    write(call, queue.front().data(), queue.front().size());
    queue.pop_front();
  }
  for (const auto& [ends, queue] : sent)
    if (!queue.empty()) return invalid_usage;
  return success;
}

void hang(const Call& call) {
  const auto released = std::make_shared<std::atomic<bool>>(false);
  hanging.push_back(released);
  static_cast<void>(put_into(call.stream, [released] {
    while (!*released) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }));
}

Result carry_out_group(const std::vector<Call>& calls) {
  if (calls.empty()) return success;
  const Call& first = calls.front();
  const int rank = first.communicator->meeting != nullptr ? first.rank : -1;
  if (is_in_trouble("refuses", rank)) return invalid_usage;
  if (is_in_trouble("dies", rank)) std::_Exit(9);
  if (is_in_trouble("hangs", rank) || is_in_trouble("async-error", rank)) {
    for (const Call& call : calls) hang(call);
    return success;
  }
  const bool is_slow = is_in_trouble("slow-launch", rank);
  if (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  // In the stream of one for all that are here.
  auto result = std::make_shared<Result>(success);
  const bool is_taken = put_into(first.stream, [calls, result, is_slow] {
    if (is_slow) std::this_thread::sleep_for(std::chrono::microseconds(200));
    const bool is_alone = calls.front().communicator->meeting == nullptr;
    *result = is_alone ? carry_out_calls(calls) : carry_out_with_others(calls);
  });
  return is_taken ? *result : system_error;
}

int add(Kind kind, const void* from, void* to, std::size_t count, int type, int reduction, int peer,
        void* communicator, void* stream) {
  const bool is_known = type >= 0 && type <= 9 && reduction >= 0 && reduction <= 4;
  if (communicator == nullptr || stream == nullptr || open_groups != 1 || !is_known)
    return invalid_argument;
  auto* const own = static_cast<Communicator*>(communicator);
  group.push_back({kind, static_cast<const std::byte*>(from), static_cast<std::byte*>(to), count,
                   type, reduction, peer, own->rank, own->ranks, own, stream});
  return success;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int end_of(void* communicator) {
  auto* const own = static_cast<Communicator*>(communicator);
  // What hangs in a stream may still look at one that was aborted.
  if (own->meeting != nullptr && !own->aborted) leave(*own);
  if (!own->aborted) delete own;
  --living_communicators;
  return success;
}

}  // namespace

std::size_t collsim::testing::bytes_from(const Call& call) {
  if (call.kind == Kind::receive) return 0;
  const std::size_t times =
      call.kind == Kind::reduce_scatter ? static_cast<std::size_t>(call.ranks) : 1;
  return times * call.count * size_of(call.type);
}

Result collsim::testing::carry_out_calls(const std::vector<Call>& calls) {
  std::map<int, std::deque<Call>> collectives;
  std::vector<Call> messages;
  for (const Call& call : calls)
    if (call.kind == Kind::send || call.kind == Kind::receive)
      messages.push_back(call);
    else
      collectives[call.rank].push_back(call);
  const Result result = carry_out_messages(messages);
  const int ranks = calls.empty() ? 0 : calls.front().ranks;
  return result == success ? carry_out_collectives(collectives, ranks) : result;
}

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
  for (int i = 0; i < count; ++i) communicators[i] = new Communicator{i, count, nullptr};
  living_communicators += count;
  return success;
}
int ncclGetUniqueId(Id* id) {
  return make_id(*id) ? success : system_error;
}
int ncclCommInitRank(void** communicator, int ranks, Id id, int rank) {
  if (is_in_trouble("init-fails", rank)) return system_error;
  algorithm_at_init = variable("NCCL_ALGO");
  protocol_at_init = variable("NCCL_PROTO");
  *communicator = join(id, ranks, rank);
  if (*communicator == nullptr) return remote;
  ++living_communicators;
  return success;
}
int ncclCommDestroy(void* communicator) {
  return end_of(communicator);
}
int ncclCommAbort(void* communicator) {
  static_cast<Communicator*>(communicator)->aborted = true;
  for (const auto& released : std::exchange(hanging, {})) *released = true;
  ++aborted_communicators;
  return end_of(communicator);
}
int ncclCommGetAsyncError(void* communicator, int* result) {
  const auto& own = *static_cast<Communicator*>(communicator);
  const int rank = own.meeting != nullptr ? own.rank : -1;
  *result = is_in_trouble("async-error", rank) ? remote : success;
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
