// SPDX-License-Identifier: Apache-2.0
#include "validate/in_child.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "validate/backend.hpp"

namespace collsim {
namespace {

// --- the outcome as bytes: both ends are the same program ---------------------------------------

class Packer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    const auto* bytes = reinterpret_cast<const char*>(&value);
    packed_.append(bytes, sizeof value);
  }
  template <class List>
  void put_list(const List& list) {
    put(static_cast<std::uint64_t>(list.size()));
    for (const auto& item : list) put(item);
  }
  void put_texts(const std::vector<std::string>& texts) {
    put(static_cast<std::uint64_t>(texts.size()));
    for (const std::string& text : texts) put_list(text);
  }
  [[nodiscard]] const std::string& packed() const { return packed_; }

 private:
  std::string packed_;
};

class Unpacker {
 public:
  explicit Unpacker(const std::string& packed) : packed_(packed) {}

  template <class T>
  [[nodiscard]] T take() {
    T value{};
    if (packed_.size() - at_ < sizeof value) {
      is_whole_ = false;
      return value;
    }
    std::memcpy(static_cast<void*>(&value), packed_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  template <class List>
  [[nodiscard]] List take_list() {
    List list;
    const auto count = take<std::uint64_t>();
    for (std::uint64_t i = 0; i < count && is_whole_; ++i)
      list.push_back(take<typename List::value_type>());
    return list;
  }
  [[nodiscard]] std::vector<std::string> take_texts() {
    std::vector<std::string> texts;
    const auto count = take<std::uint64_t>();
    for (std::uint64_t i = 0; i < count && is_whole_; ++i)
      texts.push_back(take_list<std::string>());
    return texts;
  }
  [[nodiscard]] bool is_whole() const { return is_whole_ && at_ == packed_.size(); }

 private:
  const std::string& packed_;
  std::size_t at_ = 0;
  bool is_whole_ = true;
};

std::string pack(const RunOutcome& outcome) {
  Packer packer;
  packer.put(static_cast<std::uint64_t>(outcome.index()));
  if (const auto* none = std::get_if<NoMeasurement>(&outcome)) {
    packer.put(none->why);
    packer.put_list(none->reason);
    return packer.packed();
  }
  const auto& measured = std::get<Measurement>(outcome);
  packer.put_list(measured.times_s);
  packer.put(measured.lag_s.has_value());
  packer.put(measured.lag_s.value_or(0));
  packer.put_list(measured.doubt);
  packer.put(measured.data);
  packer.put_list(measured.wrong_data);
  packer.put(measured.timeline.has_value());
  if (measured.timeline) packer.put_list(measured.timeline->steps);
  packer.put_list(measured.device);
  packer.put_texts(measured.notes);
  return packer.packed();
}

std::optional<RunOutcome> unpack(const std::string& packed) {
  Unpacker unpacker(packed);
  if (unpacker.take<std::uint64_t>() == 1) {
    NoMeasurement none;
    none.why = unpacker.take<NoMeasurement::Why>();
    none.reason = unpacker.take_list<std::string>();
    return unpacker.is_whole() ? std::optional<RunOutcome>(none) : std::nullopt;
  }
  Measurement measured;
  measured.times_s = unpacker.take_list<std::vector<double>>();
  const bool has_lag = unpacker.take<bool>();
  const auto lag_s = unpacker.take<double>();
  if (has_lag) measured.lag_s = lag_s;
  measured.doubt = unpacker.take_list<std::string>();
  measured.data = unpacker.take<DataVerdict>();
  measured.wrong_data = unpacker.take_list<std::string>();
  if (unpacker.take<bool>()) measured.timeline = Timeline{unpacker.take_list<std::vector<Step>>()};
  measured.device = unpacker.take_list<std::string>();
  measured.notes = unpacker.take_texts();
  return unpacker.is_whole() ? std::optional<RunOutcome>(std::move(measured)) : std::nullopt;
}

// --- the child ----------------------------------------------------------------------------------

using Measure = std::function<RunOutcome(std::size_t)>;

RunOutcome measured_or_not(const Measure& measure, std::size_t number) {
  try {
    return measure(number);
  } catch (const Error& error) {
    return NoMeasurement{why_of(error.code()), error.what()};
  } catch (const std::bad_alloc&) {
    return NoMeasurement{NoMeasurement::Why::too_large, "not enough memory for this run"};
  } catch (const std::exception& error) {
    return NoMeasurement{NoMeasurement::Why::failed, error.what()};
  }
}

// What it left behind may be in the way of others.
bool ended_badly(const RunOutcome& outcome) {
  const auto* none = std::get_if<NoMeasurement>(&outcome);
  return none != nullptr &&
         (none->why == NoMeasurement::Why::stuck || none->why == NoMeasurement::Why::failed);
}

// How many bytes follow, and they.
std::string in_frame(const std::string& packed) {
  Packer length;
  length.put(static_cast<std::uint64_t>(packed.size()));
  return length.packed() + packed;
}

void write_all(int pipe_end, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(pipe_end, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) _exit(1);
    if (written > 0) at += static_cast<std::size_t>(written);
  }
}

[[noreturn]] void be_the_child(const Measure& measure, std::size_t first, std::size_t count,
                               int pipe_end) {
  std::signal(SIGABRT, SIG_DFL);     // the parent tells
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // an orphan's measurement would be lost
  std::signal(SIGINT, SIG_IGN);      // Ctrl-C is for the parent, who waits for the run to end
  try {
    for (std::size_t number = first; number < count; ++number) {
      const RunOutcome outcome = measured_or_not(measure, number);
      write_all(pipe_end, in_frame(pack(outcome)));
      if (ended_badly(outcome)) break;
    }
  } catch (const std::exception&) {
    _exit(1);  // it must not run on as a second parent
  }
  _exit(0);
}

// --- the parent ---------------------------------------------------------------------------------

NoMeasurement failed(const std::string& reason) {
  return {NoMeasurement::Why::failed, reason};
}

using Deadline = std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>>;

// So many bytes of what the child writes, or fewer where it ends before; nothing when the time is
// over.
std::optional<std::string> read_bytes(int pipe_end, std::size_t bytes, Deadline end,
                                      const std::function<void()>* meanwhile) {
  std::string text;
  char buffer[65536];
  while (text.size() < bytes) {
    const double left =
        std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return std::nullopt;
    pollfd wanted{pipe_end, POLLIN, 0};
    constexpr double at_most_s = 0.5;
    if (poll(&wanted, 1, static_cast<int>(std::min(left, at_most_s) * 1000) + 1) <= 0) {
      if (meanwhile != nullptr) (*meanwhile)();
      continue;
    }
    const ssize_t got = read(pipe_end, buffer, std::min(sizeof buffer, bytes - text.size()));
    if (got == 0) return text;
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return text;
  }
  return text;
}

std::optional<std::string> read_frame(int pipe_end, double limit_s,
                                      const std::function<void()>* meanwhile) {
  const Deadline end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
  std::optional<std::string> length = read_bytes(pipe_end, sizeof(std::uint64_t), end, meanwhile);
  if (!length || length->size() < sizeof(std::uint64_t)) return length;
  return read_bytes(pipe_end, Unpacker(*length).take<std::uint64_t>(), end, meanwhile);
}

// Of a child that ended without it.
RunOutcome outcome_of(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
    return failed("the run was aborted by a bug in collsim; please report the message above");
  if (WIFSIGNALED(status))
    return failed(std::string("the run was killed by a signal: ") + strsignal(WTERMSIG(status)));
  return failed("the run ended without a result");
}

class Child {
 public:
  // Measures from `first` on.  Why not, where it cannot be made.
  static std::variant<Child, NoMeasurement> start(const Measure& measure, std::size_t first,
                                                  std::size_t count) {
    int ends[2];
    if (pipe(ends) != 0) return failed(std::string("cannot make a pipe: ") + std::strerror(errno));
    const pid_t child = fork();
    if (child < 0) {
      close(ends[0]);
      close(ends[1]);
      return failed(std::string("cannot start a process: ") + std::strerror(errno));
    }
    if (child == 0) {
      close(ends[0]);
      be_the_child(measure, first, count, ends[1]);
    }
    close(ends[1]);
    return Child(child, ends[0]);
  }
  Child(Child&& other) noexcept
      : child_(std::exchange(other.child_, -1)), pipe_end_(std::exchange(other.pipe_end_, -1)) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (child_ < 0) return;
    kill(child_, SIGKILL);
    static_cast<void>(end());
  }

  // Of its next run.
  RunOutcome next(double limit_s, const std::function<void()>* meanwhile) {
    const std::optional<std::string> packed = read_frame(pipe_end_, limit_s, meanwhile);
    if (!packed) {
      kill(child_, SIGKILL);
      static_cast<void>(end());
      return failed("the run took longer than " + std::to_string(static_cast<int>(limit_s)) +
                    " s and was killed");
    }
    if (auto outcome = unpack(*packed)) return std::move(*outcome);
    return outcome_of(end());
  }

 private:
  Child(pid_t child, int pipe_end) : child_(child), pipe_end_(pipe_end) {}

  // Waits for it; its status.
  int end() {
    close(pipe_end_);
    int status = 0;
    while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    return status;
  }

  pid_t child_;
  int pipe_end_;
};

}  // namespace

NoMeasurement::Why why_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_schedule:
    case ErrorCode::deadlock: return NoMeasurement::Why::bad_schedule;
    case ErrorCode::too_large: return NoMeasurement::Why::too_large;
    default: return NoMeasurement::Why::unavailable;
  }
}

RunOutcome run_in_child(const std::function<RunOutcome()>& measure, double limit_s,
                        const std::function<void()>* meanwhile) {
  RunOutcome outcome;
  run_in_children(
      1, [&](std::size_t) { return measure(); }, [&](std::size_t) { return limit_s; },
      [&](std::size_t, RunOutcome of_it) {
        outcome = std::move(of_it);
        return true;
      },
      meanwhile);
  return outcome;
}

void run_in_children(std::size_t count, const std::function<RunOutcome(std::size_t)>& measure,
                     const std::function<double(std::size_t)>& limit_s,
                     const std::function<bool(std::size_t, RunOutcome)>& take,
                     const std::function<void()>* meanwhile) {
  for (std::size_t number = 0; number < count;) {
    auto started = Child::start(measure, number, count);
    bool goes_on = true;
    while (goes_on && number < count) {
      auto* const child = std::get_if<Child>(&started);
      RunOutcome outcome = child ? child->next(limit_s(number), meanwhile)
                                 : RunOutcome(std::get<NoMeasurement>(started));
      goes_on = !ended_badly(outcome);
      if (!take(number++, std::move(outcome))) return;
    }
  }
}

}  // namespace collsim
