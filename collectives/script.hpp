// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>
#include <optional>
#include <utility>

#include "collectives/algorithms.hpp"
#include "collectives/program.hpp"

namespace collsim {

// A collective that some ranks run among other things: as in Collective, without the ranks.
struct Call {
  Operation operation = Operation::all_reduce;
  std::int64_t count = 0;
  ElementType type = ElementType::f32;
  Reduction reduction = Reduction::sum;
  int root = 0;  // position in the communicator
  bool in_place = true;
  const AlgorithmChoice* choice = nullptr;  // outlives the script; null: the operation's default

  bool operator==(const Call&) const = default;
  auto operator<=>(const Call&) const = default;
};

// What a line is for, in the words of training; readers of a run see it, nothing else does.
struct Label {
  enum class Kind : std::uint8_t {
    none,
    forward,
    backward,
    weights,  // the weights' gradients, where they are computed apart
    optimizer,
    bucket,      // of gradients
    parameters,  // of a layer or all, and their gradients
    buffers,     // of the model: what is no parameter
    late         // no work: the rank has not begun its step
  };
  Kind kind = Kind::none;
  std::int32_t number = 0;      // of the layer or bucket, from 1; 0: of all layers
  std::int32_t microbatch = 0;  // from 1; 0: there is one only

  bool operator==(const Label&) const = default;
};

// One line of what a rank asks for, and on which of its streams it happens.  As with CUDA, asking
// takes no time: a stream carries out what was asked of it in order, each when the one before has
// ended.
struct Action {
  enum class Kind : std::uint8_t {
    work,        // computes for `amount` picoseconds
    collective,  // `call`, with the other members of the communicator; on this rank it has ended
                 // when its last instruction has and its last message has left
    send,        // posts a message of `amount` bytes to stream `other` of `peer`
    receive,     // until the next message from stream `other` of `peer` is there
    drain,       // until all that the stream has sent has left: send and drain is a blocking send
    record,      // an event for stream `other` of this rank
    update,      // new contents of memory (workload_data.hpp), in no time
    wait         // until stream `other` has come to its latest record for this stream, or, where
                 // `amount` is not 0, to its amount-th
  };
  Kind kind = Kind::work;
  std::uint16_t stream = 0;
  std::uint16_t other = 0;
  std::uint16_t communicator = 0;
  Rank peer{};
  std::int64_t amount = 0;
  std::optional<ElementType> type;  // of a message, where its author says
  std::uint32_t place = 0;          // where its author wrote it, as they count
  Label label{};
  Call call{};
};

// What a rank asks for, in order: the training loop as its author wrote it.  A coroutine, like
// Program: `co_yield work(compute, layer.forward)`.
class [[nodiscard]] Script {
 public:
  struct promise_type {
    const Action* latest = nullptr;

    Script get_return_object() { return Script(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept {
      latest = nullptr;
      return {};
    }
    std::suspend_always yield_value(const Action& action) noexcept {
      latest = &action;
      return {};
    }
    void return_void() noexcept {}
    void unhandled_exception() { rethrow_current_exception(); }
  };
  using Handle = std::coroutine_handle<promise_type>;

  Script(Script&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Script& operator=(Script&&) = delete;
  ~Script() {
    if (handle_) handle_.destroy();
  }

  // The next line, valid until the following call; nullptr at the end.
  const Action* next() {
    if (handle_.done()) return nullptr;
    handle_.resume();
    return handle_.promise().latest;
  }

 private:
  explicit Script(Handle handle) : handle_(handle) {}
  Handle handle_;
};

// --- the vocabulary of scripts -------------------------------------------------------------------

[[nodiscard]] inline Action work(int stream, Time duration) {
  Action action;
  action.stream = static_cast<std::uint16_t>(stream);
  action.amount = duration.ps();
  return action;
}
[[nodiscard]] inline Action collective(int stream, int communicator, const Call& call) {
  Action action;
  action.kind = Action::Kind::collective;
  action.stream = static_cast<std::uint16_t>(stream);
  action.communicator = static_cast<std::uint16_t>(communicator);
  action.call = call;
  return action;
}
[[nodiscard]] inline Action action_on(Action::Kind kind, int stream, int other, Rank peer = {},
                                      std::int64_t amount = 0) {
  Action action;
  action.kind = kind;
  action.stream = static_cast<std::uint16_t>(stream);
  action.other = static_cast<std::uint16_t>(other);
  action.peer = peer;
  action.amount = amount;
  return action;
}
[[nodiscard]] inline Action send(int stream, Rank to, Bytes bytes, int their_stream) {
  return action_on(Action::Kind::send, stream, their_stream, to, bytes);
}
[[nodiscard]] inline Action receive(int stream, Rank from, Bytes bytes, int their_stream) {
  return action_on(Action::Kind::receive, stream, their_stream, from, bytes);
}
[[nodiscard]] inline Action drain(int stream) {
  return action_on(Action::Kind::drain, stream, stream);
}
[[nodiscard]] inline Action update(int stream) {
  return action_on(Action::Kind::update, stream, stream);
}
[[nodiscard]] inline Action record(int stream, int for_stream) {
  return action_on(Action::Kind::record, stream, for_stream);
}
[[nodiscard]] inline Action labelled(Action action, const Label& label) {
  action.label = label;
  return action;
}
// For its n-th record; 0: the latest.
[[nodiscard]] inline Action wait(int stream, int for_stream, std::int64_t n = 0) {
  return action_on(Action::Kind::wait, stream, for_stream, {}, n);
}

}  // namespace collsim

template <class... Parameters>
struct std::coroutine_traits<collsim::Script, Parameters...> {
  static_assert((collsim::may_be_kept<Parameters>() && ...),
                "a script outlives the call that makes it: take its parameters by value");
  using promise_type = collsim::Script::promise_type;
};
