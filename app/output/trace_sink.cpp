// SPDX-License-Identifier: Apache-2.0
#include "app/output/trace_sink.hpp"

#include <fmt/format.h>

#include "app/json/value.hpp"

namespace collsim {

namespace {

constexpr std::int64_t ps_per_ns = 1'000;
constexpr std::int64_t ps_per_us = 1'000'000;

// A whole number of 1/unit, without superfluous zeros: 12.5, 3.
std::string decimal(std::int64_t number, std::int64_t unit, int digits) {
  std::string text = fmt::format("{}.{:0{}}", number / unit, number % unit, digits);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::int64_t whole_ns(Time time) {
  return time.ps() / ps_per_ns;
}

std::string stamp(std::int64_t ns) {
  return decimal(ns, ps_per_us / ps_per_ns, 3);
}

}  // namespace

void TraceArguments::add_raw(std::string_view key, std::string_view json) {
  members_ += fmt::format("{}{}:{}", members_.empty() ? "" : ",", quoted(key), json);
}

TraceArguments& TraceArguments::add(std::string_view key, std::string_view text) {
  add_raw(key, quoted(text));
  return *this;
}

TraceArguments& TraceArguments::add(std::string_view key, std::int64_t number) {
  add_raw(key, std::to_string(number));
  return *this;
}

TraceArguments& TraceArguments::add(std::string_view key, Time time) {
  add_raw(key, decimal(time.ps(), ps_per_us, 6));
  return *this;
}

TraceSink::TraceSink(std::ostream& out) : out_(out) {
  out_ << "{\"traceEvents\":[";
}

void TraceSink::event(std::string_view json) {
  out_ << (first_ ? "\n" : ",\n") << json;
  first_ = false;
}

void TraceSink::name_process(std::uint32_t process, std::string_view name,
                             std::int64_t sort_index) {
  event(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", process,
                    quoted(name)));
  event(
      fmt::format(R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})",
                  process, sort_index));
}

void TraceSink::name_thread(Track track, std::string_view name, std::int64_t sort_index) {
  event(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
                    track.process, track.thread, quoted(name)));
  event(fmt::format(
      R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
      track.process, track.thread, sort_index));
}

void TraceSink::slice(Track track, Time begin, Time end, std::string_view name,
                      std::string_view category, const TraceArguments& arguments) {
  event(fmt::format(
      R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":{},"args":{}}})",
      track.process, track.thread, stamp(whole_ns(begin)), stamp(whole_ns(end) - whole_ns(begin)),
      quoted(name), quoted(category), arguments.json()));
}

void TraceSink::async_slice(Track track, Time begin, Time end, std::string_view name,
                            std::string_view category, std::uint64_t id,
                            const TraceArguments& arguments) {
  event(
      fmt::format(R"({{"ph":"b","pid":{},"tid":{},"ts":{},"id":{},"name":{},"cat":{},"args":{}}})",
                  track.process, track.thread, stamp(whole_ns(begin)), id, quoted(name),
                  quoted(category), arguments.json()));
  event(fmt::format(R"({{"ph":"e","pid":{},"tid":{},"ts":{},"id":{},"name":{},"cat":{}}})",
                    track.process, track.thread, stamp(whole_ns(end)), id, quoted(name),
                    quoted(category)));
}

void TraceSink::arrow_begins(Track track, Time at, std::string_view name, std::uint64_t id) {
  event(fmt::format(R"({{"ph":"s","pid":{},"tid":{},"ts":{},"id":{},"name":{},"cat":"flow"}})",
                    track.process, track.thread, stamp(whole_ns(at)), id, quoted(name)));
}

void TraceSink::arrow_ends(Track track, Time at, std::string_view name, std::uint64_t id) {
  event(fmt::format(
      R"({{"ph":"f","bp":"e","pid":{},"tid":{},"ts":{},"id":{},"name":{},"cat":"flow"}})",
      track.process, track.thread, stamp(whole_ns(at)), id, quoted(name)));
}

void TraceSink::finish(const TraceArguments& distributed_info, const TraceArguments& other_data) {
  out_ << "\n],\n\"distributedInfo\":" << distributed_info.json()
       << ",\n\"otherData\":" << other_data.json() << "}\n";
}

}  // namespace collsim
