// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "topo/units.hpp"

namespace collsim {

// Where a slice is drawn: a thread of a process, in the words of the trace-event format.
struct Track {
  std::uint32_t process = 0;
  std::uint64_t thread = 0;
};

// The "args" of an event: {"bytes": 1024, ...}.
class TraceArguments {
 public:
  TraceArguments& add(std::string_view key, std::string_view text);
  TraceArguments& add(std::string_view key, const char* text) {
    return add(key, std::string_view(text));
  }
  TraceArguments& add(std::string_view key, std::int64_t number);
  TraceArguments& add(std::string_view key, Time time);  // in microseconds, exact
  [[nodiscard]] std::string json() const { return "{" + members_ + "}"; }

 private:
  void add_raw(std::string_view key, std::string_view json);
  std::string members_;
};

// Writes trace events in the JSON form that chrome://tracing and Perfetto read, one after the
// other; nothing is kept.
//
// Time stamps are microseconds with three decimals, both ends of a slice rounded down to the
// nanosecond: that is all that viewers resolve, and so slices that touch or nest still do however a
// viewer rounds.  Exact durations belong into the arguments.
class TraceSink {
 public:
  explicit TraceSink(std::ostream& out);

  void name_process(std::uint32_t process, std::string_view name, std::int64_t sort_index);
  void name_thread(Track track, std::string_view name, std::int64_t sort_index);
  void slice(Track track, Time begin, Time end, std::string_view name, std::string_view category,
             const TraceArguments& arguments);
  // Of things that overlap: a pair of events with an id of their own.
  void async_slice(Track track, Time begin, Time end, std::string_view name,
                   std::string_view category, std::uint64_t id, const TraceArguments& arguments);
  // An arrow from the slice that encloses `begin` to the one that encloses `end`.
  void arrow_begins(Track track, Time at, std::string_view name, std::uint64_t id);
  void arrow_ends(Track track, Time at, std::string_view name, std::uint64_t id);

  // The members of the document behind the events.
  void finish(const TraceArguments& distributed_info, const TraceArguments& other_data);

 private:
  void event(std::string_view json);
  std::ostream& out_;
  bool first_ = true;
};

}  // namespace collsim
