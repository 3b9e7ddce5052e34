// SPDX-License-Identifier: Apache-2.0
#include "validate/in_child.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

RunOutcome measured_or_not(const std::function<RunOutcome()>& measure) {
  try {
    return measure();
  } catch (const Error& error) {
    return NoMeasurement{why_of(error.code()), error.what()};
  } catch (const std::bad_alloc&) {
    return NoMeasurement{NoMeasurement::Why::too_large, "not enough memory for this run"};
  } catch (const std::exception& error) {
    return NoMeasurement{NoMeasurement::Why::failed, error.what()};
  }
}

[[noreturn]] void be_the_child(const std::function<RunOutcome()>& measure, int pipe_end) {
  std::signal(SIGABRT, SIG_DFL);     // the parent tells
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // an orphan's measurement would be lost
  std::signal(SIGINT, SIG_IGN);      // Ctrl-C is for the parent, who waits for the run to end
  std::string packed;
  try {
    packed = pack(measured_or_not(measure));
  } catch (const std::exception&) {
    _exit(1);  // it must not run on as a second parent
  }
  for (std::size_t at = 0; at < packed.size();) {
    const ssize_t written = write(pipe_end, packed.data() + at, packed.size() - at);
    if (written < 0 && errno != EINTR) _exit(1);
    if (written > 0) at += static_cast<std::size_t>(written);
  }
  _exit(0);
}

// --- the parent ---------------------------------------------------------------------------------

NoMeasurement failed(const std::string& reason) {
  return {NoMeasurement::Why::failed, reason};
}

// Everything the child writes; nothing when the time is over.
std::optional<std::string> read_all(int pipe_end, double limit_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
  std::string text;
  char buffer[65536];
  for (;;) {
    const double left =
        std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return std::nullopt;
    pollfd wanted{pipe_end, POLLIN, 0};
    constexpr double at_most_s = 1;
    if (poll(&wanted, 1, static_cast<int>(std::min(left, at_most_s) * 1000) + 1) <= 0) continue;
    const ssize_t got = read(pipe_end, buffer, sizeof buffer);
    if (got == 0) return text;
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return text;
  }
}

RunOutcome outcome_of(const std::optional<std::string>& packed, int status, double limit_s) {
  if (!packed)
    return failed("the run took longer than " + std::to_string(static_cast<int>(limit_s)) +
                  " s and was killed");
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
    return failed("the run was aborted by a bug in collsim; please report the message above");
  if (WIFSIGNALED(status))
    return failed(std::string("the run was killed by a signal: ") + strsignal(WTERMSIG(status)));
  if (auto outcome = unpack(*packed)) return std::move(*outcome);
  return failed("the run ended without a result");
}

}  // namespace

NoMeasurement::Why why_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_schedule:
    case ErrorCode::deadlock: return NoMeasurement::Why::bad_schedule;
    case ErrorCode::too_large: return NoMeasurement::Why::too_large;
    default: return NoMeasurement::Why::unavailable;
  }
}

RunOutcome run_in_child(const std::function<RunOutcome()>& measure, double limit_s) {
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
    be_the_child(measure, ends[1]);
  }
  close(ends[1]);
  const std::optional<std::string> packed = read_all(ends[0], limit_s);
  close(ends[0]);
  if (!packed) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return outcome_of(packed, status, limit_s);
}

}  // namespace collsim
