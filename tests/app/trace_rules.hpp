// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace collsim::testing {

// The rules by which viewers draw a trace (chrome://tracing, Perfetto), which cannot be run in
// tests.  Says what breaks them; an empty list is a good trace.
class TraceRules {
 public:
  static std::vector<std::string> broken_by(const std::string& text) {
    TraceRules rules;
    rules.check(text);
    return rules.broken_;
  }

 private:
  using Json = nlohmann::json;
  using Track = std::pair<long, long>;
  struct Slice {
    long begin, end;  // nanoseconds
  };

  void broken(const std::string& rule, const Json& event) {
    if (broken_.size() < 20) broken_.push_back(rule + ": " + event.dump());
  }

  void check(const std::string& text) {
    const Json trace = Json::parse(text, nullptr, false);
    if (trace.is_discarded()) {
      broken_.emplace_back("it is not JSON");
      return;
    }
    // Older viewers take its value as the unit of the stamps.
    if (trace.contains("displayTimeUnit")) broken_.emplace_back("displayTimeUnit is there");
    if (!trace.contains("traceEvents") || !trace["traceEvents"].is_array()) {
      broken_.emplace_back("no traceEvents");
      return;
    }
    for (const Json& event : trace["traceEvents"]) take(event);
    check_names();
    check_nesting();
    check_pairs();
  }

  void take(const Json& event) {
    const std::string phase = event.value("ph", "");
    if (!event.contains("pid") || !event["pid"].is_number_integer())
      return broken("pid is no number", event);
    const long pid = event["pid"];
    const long tid = event.value("tid", -1L);
    if (phase == "M") return take_name(event, {pid, tid});
    if (tid < 0) return broken("no tid", event);
    if (!event.contains("ts") || !event["ts"].is_number()) return broken("no ts", event);
    if (event["ts"] < 0.0) broken("ts before 0", event);
    if (!event.contains("name") || event["name"].empty()) broken("no name", event);
    used_.insert({pid, tid});
    const long at = nanoseconds(event["ts"], event);
    if (phase == "X")
      take_slice(event, {pid, tid}, at);
    else if (phase == "s" || phase == "f")
      take_arrow(event, {pid, tid}, at);
    else if (phase == "b" || phase == "e")
      take_async(event, at);
    else
      broken("unknown kind of event", event);
  }

  void take_name(const Json& event, Track track) {
    const std::string what = event.value("name", "");
    const Json& arguments = event["args"];
    if (what == "process_name" && !processes_.insert(track.first).second)
      broken("a process named twice", event);
    if (what == "thread_name" && !threads_.insert(track).second)
      broken("a thread named twice", event);
    const bool sorts = what == "process_sort_index" || what == "thread_sort_index";
    if (sorts && !arguments["sort_index"].is_number_integer())
      broken("a sort index that is no number", event);
    if (!sorts && (!arguments["name"].is_string() || arguments["name"].empty()))
      broken("an empty name", event);
  }

  void take_slice(const Json& event, Track track, long at) {
    if (!event.contains("dur") || event["dur"] < 0.0) return broken("no duration", event);
    slices_[track].push_back({at, at + nanoseconds(event["dur"], event)});
  }

  void take_arrow(const Json& event, Track track, long at) {
    const long id = event["id"];
    const bool begins = event["ph"] == "s";
    auto& ends = begins ? arrow_begins_ : arrow_ends_;
    if (!ends.emplace(id, at).second) broken("two arrows with one id", event);
    if (!begins && event.value("bp", "") != "e") broken("an arrow without bp e", event);
    arrows_.push_back({track, at, event});
  }

  void take_async(const Json& event, long at) {
    const auto key = std::make_pair(event.value("cat", std::string()), event["id"].dump());
    if (event["ph"] == "b") {
      if (!open_.emplace(key, at).second) broken("begun twice", event);
    } else {
      const auto begin = open_.find(key);
      if (begin == open_.end()) return broken("ended, never begun", event);
      if (at < begin->second) broken("ended before it began", event);
      open_.erase(begin);
    }
  }

  // Viewers resolve nanoseconds: finer stamps are rounded one by one and no longer nest.
  long nanoseconds(const Json& microseconds, const Json& event) {
    const double exact = microseconds.get<double>() * 1000;
    if (std::abs(exact - std::round(exact)) > 1e-3) broken("finer than a nanosecond", event);
    return std::lround(exact);
  }

  void check_names() {
    for (const Track& track : used_) {
      if (processes_.count(track.first) == 0)
        broken_.push_back("process " + std::to_string(track.first) + " has no name");
      if (threads_.count(track) == 0)
        broken_.push_back("thread " + std::to_string(track.first) + "/" +
                          std::to_string(track.second) + " has no name");
    }
  }

  void check_nesting() {
    for (auto& [track, slices] : slices_) {
      std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
        return a.begin != b.begin ? a.begin < b.begin : false;
      });
      std::vector<Slice> around;
      for (const Slice& slice : slices) {
        while (!around.empty() && around.back().end <= slice.begin) around.pop_back();
        if (!around.empty() && around.back().end < slice.end)
          broken_.push_back("slices overlap on " + std::to_string(track.first) + "/" +
                            std::to_string(track.second) + " at " + std::to_string(slice.begin) +
                            " ns");
        around.push_back(slice);
      }
    }
  }

  void check_pairs() {
    for (const auto& [key, at] : open_) broken_.push_back("never ended: " + key.second);
    for (const auto& [id, at] : arrow_begins_)
      if (arrow_ends_.count(id) == 0) broken_.push_back("an arrow without an end");
    for (const auto& [id, at] : arrow_ends_) {
      const auto begin = arrow_begins_.find(id);
      if (begin == arrow_begins_.end())
        broken_.push_back("an arrow without a beginning");
      else if (at < begin->second)
        broken_.push_back("an arrow that goes back in time");
    }
    for (const Arrow& arrow : arrows_) {
      const auto& slices = slices_[arrow.track];
      const bool enclosed = std::any_of(slices.begin(), slices.end(), [&](const Slice& slice) {
        return slice.begin <= arrow.at && arrow.at <= slice.end;
      });
      if (!enclosed) broken("an arrow outside of all slices", arrow.event);
    }
  }

  struct Arrow {
    Track track;
    long at;
    Json event;
  };
  std::vector<std::string> broken_;
  std::set<long> processes_;
  std::set<Track> threads_, used_;
  std::map<Track, std::vector<Slice>> slices_;
  std::map<long, long> arrow_begins_, arrow_ends_;
  std::vector<Arrow> arrows_;
  std::map<std::pair<std::string, std::string>, long> open_;
};

}  // namespace collsim::testing
