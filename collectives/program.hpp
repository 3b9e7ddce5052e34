// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "collectives/instruction.hpp"
#include "topo/error.hpp"

namespace collsim {

// What an instruction does, and then does again, with its data `stride` elements further on each
// time: `times` times in all.
struct Repeated {
  Instruction instruction;
  std::int64_t stride = 0;
  int times = 0;

  void move_on() {
    instruction.source_offset += stride;
    instruction.destination_offset += stride;
  }
};

// One lane's side of an algorithm, as the textbook writes it: a C++20 coroutine that yields
// instructions.
//
//   Program ring_pass(Group ring, Span data) {
//     co_yield send(ring[ring.me() + 1], data);
//     co_yield receive(ring[ring.me() - 1], data);
//   }
//
// Nothing runs until a LaneProgram pulls, and only one instruction exists at a time, so a schedule
// of a billion messages needs no more memory than one of ten.  What may be yielded:
//
//   an instruction       A message is cut into the S chunks of the schedule, sent one after the
//                        other; what stays within the rank (copy, local_reduce) is done at once.
//   chunk_by_chunk(...)  Several instructions in step: chunk 0 of each, then chunk 1 of each, ...
//                        That is what a pipeline is: a chunk goes on before the next one comes.
//   a vector of them     The same, where their number depends on the ranks.
//   whole(instruction)   Not cut, whatever S is.
//   Repeated{...}        One instruction several times, each time on data further on: cheaper than
//                        yielding it as often.  A variable; running the program changes it.
//   a program            It runs to its end in this one's place; hierarchical algorithms are built
//                        from others like this.  Pulling costs the same at any depth.
//
// Parameters must be taken by value: they live in the coroutine, references would dangle (and do
// not compile).
class [[nodiscard]] Program {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  // What was yielded: `size` instructions, cut together into chunks or not at all; or one that is
  // repeated.  It lives in the suspended coroutine until that is resumed.
  struct Yielded {
    static constexpr int one_repeated = -1;
    const Instruction* instructions = nullptr;
    int size = 0;
    bool cut = false;
  };

  Program() = default;
  Program(Program&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Program& operator=(Program&& other) noexcept {
    if (this != &other) {
      destroy();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~Program() { destroy(); }

  // What it yields next, valid until the following call; nullptr when the program has ended (and
  // ever after).
  const Yielded* next();
  // The latest; and, if that is one_repeated, all of it.
  [[nodiscard]] const Yielded& latest() const;
  [[nodiscard]] Repeated& latest_repeated() const;

 private:
  explicit Program(Handle handle) : handle_(handle) {}
  void destroy() {
    if (handle_) handle_.destroy();
  }
  Handle handle_;
};

struct [[nodiscard]] Whole {
  Instruction instruction;
};
[[nodiscard]] constexpr Whole whole(const Instruction& instruction) {
  return {instruction};
}

// At most N instructions that advance together, chunk by chunk; one more is a bug.  Signals and
// waits among them are repeated for every chunk.
template <std::size_t N = 4>
struct [[nodiscard]] ChunkByChunk {
  std::array<Instruction, N> instructions{};
  int size = 0;

  constexpr void add(const Instruction& instruction) {
    COLLSIM_CHECK(size < static_cast<int>(N), "more instructions than there is room for");
    instructions[static_cast<std::size_t>(size++)] = instruction;
  }
};
template <class... Instructions>
[[nodiscard]] constexpr ChunkByChunk<sizeof...(Instructions)> chunk_by_chunk(
    const Instructions&... instructions) {
  return {{instructions...}, static_cast<int>(sizeof...(instructions))};
}

struct Program::promise_type {
  promise_type* root = this;  // the program that is pulled from
  // The program that yielded this one and goes on after it; the root has none.
  std::coroutine_handle<> parent = std::noop_coroutine();
  std::coroutine_handle<> running;  // root only: the innermost program, the one to resume
  Yielded latest;                   // root only: what was yielded last; size 0: nothing yet
  bool ended = false;               // root only
  Repeated* repeated = nullptr;     // root only: what was yielded last, if it is one_repeated

  Program get_return_object() {
    running = Handle::from_promise(*this);
    return Program(Handle::from_promise(*this));
  }
  std::suspend_always initial_suspend() noexcept { return {}; }

  struct ReturnToParent {
    bool await_ready() noexcept { return false; }
    void await_suspend(Handle finished) noexcept {
      promise_type& promise = finished.promise();
      promise.root->latest.size = 0;
      promise.root->running = promise.parent;
      promise.ended = true;
    }
    void await_resume() noexcept {}
  };
  ReturnToParent final_suspend() noexcept { return {}; }

  // What is yielded is not copied.
  std::suspend_always yield_value(const Instruction& instruction) noexcept {
    root->latest = {&instruction, 1, exchanges(instruction.op)};
    return {};
  }
  std::suspend_always yield_value(const Whole& yielded) noexcept {
    root->latest = {&yielded.instruction, 1, false};
    return {};
  }
  std::suspend_always yield_value(Repeated& yielded) noexcept {
    root->latest = {&yielded.instruction, yielded.times > 0 ? Yielded::one_repeated : 0, true};
    root->repeated = &yielded;
    return {};
  }
  template <std::size_t N>
  std::suspend_always yield_value(const ChunkByChunk<N>& yielded) noexcept {
    root->latest = {yielded.instructions.data(), yielded.size, true};
    return {};
  }
  std::suspend_always yield_value(const std::vector<Instruction>& yielded) noexcept {
    root->latest = {yielded.data(), static_cast<int>(yielded.size()), true};
    return {};
  }

  struct RunInner {
    Program inner;
    bool await_ready() noexcept { return !inner.handle_; }
    void await_suspend(Handle outer) noexcept {
      promise_type& promise = inner.handle_.promise();
      promise.root = outer.promise().root;
      promise.parent = outer;
      promise.root->latest.size = 0;
      promise.root->running = inner.handle_;
    }
    void await_resume() noexcept {}
  };
  RunInner yield_value(Program inner) noexcept { return RunInner{std::move(inner)}; }

  void return_void() noexcept {}
  void unhandled_exception() {
    root->latest.size = 0;
    root->running = std::noop_coroutine();
    root->ended = true;
    rethrow_current_exception();
  }
};

inline const Program::Yielded* Program::next() {
  if (!handle_) return nullptr;
  promise_type& root = handle_.promise();
  // A loop, not symmetric transfer: that is a tail call only where the compiler optimises, and deep
  // recursion in debug and sanitizer builds and in WebAssembly.
  do {
    root.running.resume();
  } while (root.latest.size == 0 && !root.ended);
  return root.latest.size == 0 ? nullptr : &root.latest;
}

inline const Program::Yielded& Program::latest() const {
  return handle_.promise().latest;
}

inline Repeated& Program::latest_repeated() const {
  return *handle_.promise().repeated;
}

// Lambdas that capture nothing pass themselves by reference, which does no harm; g++ does not know
// them yet at this point.
template <class Parameter>
[[nodiscard]] consteval bool may_be_kept() {
  using Kept = std::remove_reference_t<Parameter>;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): asks only whether the type is complete
  if constexpr (std::is_reference_v<Parameter> && requires { sizeof(Kept); })
    return std::is_empty_v<Kept>;
  else
    return true;
}

}  // namespace collsim

template <class... Parameters>
struct std::coroutine_traits<collsim::Program, Parameters...> {
  static_assert((collsim::may_be_kept<Parameters>() && ...),
                "a program outlives the call that makes it: take its parameters by value");
  using promise_type = collsim::Program::promise_type;
};

namespace collsim {

// A lane's program as it is run: its messages cut into `chunks` pieces.
class [[nodiscard]] LaneProgram {
 public:
  LaneProgram() = default;
  LaneProgram(Program program, int chunks = 1) : program_(std::move(program)), chunks_(chunks) {}
  LaneProgram(LaneProgram&& other) noexcept { *this = std::move(other); }
  LaneProgram& operator=(LaneProgram&& other) noexcept {
    program_ = std::move(other.program_);
    pieces_ = std::move(other.pieces_);
    chunks_ = other.chunks_;
    left_ = std::exchange(other.left_, 0);
    alike_ = std::exchange(other.alike_, 0);
    return *this;
  }
  ~LaneProgram() = default;

  // The next instruction, valid until the following call; nullptr when the program has ended.
  const Instruction* next() {
    if (left_ > 0) return next_alike() ? &moving().instruction : next_piece();
    const Program::Yielded* const yielded = program_.next();
    if (yielded == nullptr) return nullptr;
    if (yielded->size == 1 && (chunks_ == 1 || !yielded->cut)) return yielded->instructions;
    return first_piece(*yielded);
  }
  // If the next instruction differs from the latest only in where its data lie, makes the latest
  // that one.
  bool next_alike() {
    if (alike_ == 0) return false;
    --alike_;
    --left_;
    moving().move_on();
    return true;
  }

 private:
  // Where messages are cut: the latest piece, and of those that advance in step the next one.
  struct Pieces {
    Repeated latest = {};
    int step = 0;
    int chunk = 0;
    std::int64_t elements = 0;  // that were cut last
    EvenPieces of_elements{0, 1};
  };

  // The latest, and how much further on the data of those like it lie.
  [[nodiscard]] Repeated& moving() const {
    return chunks_ > 1 ? pieces_->latest : program_.latest_repeated();
  }
  const Instruction* first_piece(const Program::Yielded& yielded);
  const Instruction* next_piece();
  // Most messages are equally long: they are divided once.  Not in line, for the others' sake.
  [[gnu::noinline]] const Instruction* next_in_step(const Program::Yielded& yielded) {
    Pieces& at = *pieces_;
    const Instruction& message = yielded.instructions[at.step];
    if (message.count != at.elements && message.count > 0) {
      at.elements = message.count;
      at.of_elements = EvenPieces(message.count, chunks_);
    }
    at.latest.instruction = message.count > 0 ? message.piece(at.chunk, at.of_elements) : message;
    if (++at.step == yielded.size) {
      at.step = 0;
      ++at.chunk;
    }
    return &at.latest.instruction;
  }
  const Instruction* next_chunk(const Instruction& message, int index);
  const Instruction* next_repeated();

  Program program_;
  std::unique_ptr<Pieces> pieces_;  // none yet: most of a million lanes never cut anything
  std::int64_t left_ = 0;           // pieces of what was yielded last, still to come
  int chunks_ = 1;
  int alike_ = 0;  // the next pieces that differ from the latest only in their offsets
};

inline const Instruction* LaneProgram::first_piece(const Program::Yielded& yielded) {
  if (chunks_ > 1 && !pieces_) pieces_ = std::make_unique<Pieces>();
  if (pieces_) pieces_->step = pieces_->chunk = 0;
  left_ = std::int64_t{chunks_} * (yielded.size == Program::Yielded::one_repeated
                                       ? program_.latest_repeated().times
                                       : yielded.size);
  return next_piece();
}

inline const Instruction* LaneProgram::next_piece() {
  const Program::Yielded& yielded = program_.latest();
  if (yielded.size == Program::Yielded::one_repeated) return next_repeated();
  const int index = chunks_ * yielded.size - static_cast<int>(left_--);
  if (chunks_ == 1) return yielded.instructions + index;
  return yielded.size == 1 ? next_chunk(*yielded.instructions, index) : next_in_step(yielded);
}

inline const Instruction* LaneProgram::next_chunk(const Instruction& message, int index) {
  const EvenPieces pieces(message.count, chunks_);
  Repeated& latest = pieces_->latest;
  latest.instruction = message.piece(index, pieces);
  latest.stride = latest.instruction.count;
  alike_ = (index < pieces.longer ? static_cast<int>(pieces.longer) : chunks_) - index - 1;
  return &latest.instruction;
}

inline const Instruction* LaneProgram::next_repeated() {
  Repeated& repeated = program_.latest_repeated();
  const std::int64_t left = left_--;
  if (chunks_ == 1) {
    alike_ = static_cast<int>(left_);
    return &repeated.instruction;
  }
  const auto index = static_cast<int>((chunks_ - left % chunks_) % chunks_);
  if (index == 0 && left < std::int64_t{chunks_} * repeated.times) repeated.move_on();
  return next_chunk(repeated.instruction, index);
}

}  // namespace collsim
