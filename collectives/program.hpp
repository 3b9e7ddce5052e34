// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <utility>

#include "collectives/instruction.hpp"
#include "topo/error.hpp"

namespace collsim {

// One lane's side of an algorithm, as the textbook writes it: a C++20 coroutine that yields
// instructions.
//
//   Program ring_pass(Group ring, Span data) {
//     co_yield send(ring[ring.me + 1], data);
//     co_yield receive(ring[ring.me - 1], data);
//   }
//
// Nothing runs until somebody pulls with next(), and only one instruction exists at a time, so a
// schedule of a billion messages needs no more memory than one of ten.  A program may also yield a
// whole program, which then runs to its end in its place (that is how hierarchical algorithms are
// built); pulling costs the same at any depth.
//
// Parameters must be taken by value: they live in the coroutine, references would dangle.
class [[nodiscard]] Program {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

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

  // The next instruction, valid until the following call; nullptr when the program has ended (and
  // ever after).
  const Instruction* next();

 private:
  explicit Program(Handle handle) : handle_(handle) {}
  void destroy() {
    if (handle_) handle_.destroy();
  }
  Handle handle_;
};

struct Program::promise_type {
  promise_type* root = this;  // the program somebody pulls from
  // Who yielded this program and goes on after it; after the root nobody does, however often asked.
  std::coroutine_handle<> parent = std::noop_coroutine();
  std::coroutine_handle<> running;       // root only: the innermost program, the one to resume
  const Instruction* current = nullptr;  // root only: what was yielded last; null: nothing yet
  bool ended = false;                    // root only

  Program get_return_object() {
    running = Handle::from_promise(*this);
    return Program(Handle::from_promise(*this));
  }
  std::suspend_always initial_suspend() noexcept { return {}; }

  struct ReturnToParent {
    bool await_ready() noexcept { return false; }
    void await_suspend(Handle finished) noexcept {
      promise_type& promise = finished.promise();
      promise.root->current = nullptr;
      promise.root->running = promise.parent;
      promise.ended = true;
    }
    void await_resume() noexcept {}
  };
  ReturnToParent final_suspend() noexcept { return {}; }

  // The instruction lives in the suspended coroutine until it is resumed: no copy.
  std::suspend_always yield_value(const Instruction& instruction) noexcept {
    root->current = &instruction;
    return {};
  }

  struct RunInner {
    Program inner;
    bool await_ready() noexcept { return !inner.handle_; }
    void await_suspend(Handle outer) noexcept {
      promise_type& promise = inner.handle_.promise();
      promise.root = outer.promise().root;
      promise.parent = outer;
      promise.root->current = nullptr;
      promise.root->running = inner.handle_;
    }
    void await_resume() noexcept {}
  };
  RunInner yield_value(Program inner) noexcept { return RunInner{std::move(inner)}; }

  void return_void() noexcept {}
  void unhandled_exception() {
    root->current = nullptr;
    root->running = std::noop_coroutine();
    root->ended = true;
    rethrow_current_exception();
  }
};

inline const Instruction* Program::next() {
  if (!handle_) return nullptr;
  promise_type& root = handle_.promise();
  // A loop, not symmetric transfer: that is a tail call only where the compiler optimises, and deep
  // recursion in debug and sanitizer builds and in WebAssembly.
  do {
    root.running.resume();
  } while (root.current == nullptr && !root.ended);
  return root.current;
}

}  // namespace collsim
