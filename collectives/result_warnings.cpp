// SPDX-License-Identifier: Apache-2.0
#include "collectives/result_warnings.hpp"

#include <cmath>
#include <limits>

namespace collsim {
namespace {

constexpr double small_message = 4096;
constexpr double message_that_hides_start_up = 65536;

// Elements of the longest message before it is cut.
double elements_to_cut(const RunFacts& ran) {
  const int parts = ran.algorithm->messages_exceed_a_block ? 1 : ran.ranks;
  return static_cast<double>(ran.elements) / ran.channels / parts;
}

}  // namespace

double average_message(const RunFacts& ran) {
  return ran.messages == 0
             ? std::numeric_limits<double>::infinity()
             : static_cast<double>(ran.wire_bytes) / static_cast<double>(ran.messages);
}

bool applies(ResultWarning warning, const RunFacts& ran) {
  if (ran.ranks <= 1) return false;
  switch (warning) {
    case ResultWarning::chunks_above_elements:
      return ran.algorithm->operation != Operation::barrier && ran.chunks > 1 &&
             ran.chunks > elements_to_cut(ran);
    case ResultWarning::channels_above_elements:
      return ran.algorithm->operation != Operation::barrier && ran.channels > 1 &&
             ran.elements > 0 && ran.channels > ran.elements;
    case ResultWarning::small_chunks:
      return ran.chunks > 1 && ran.chunks <= elements_to_cut(ran) &&
             average_message(ran) < small_message;
    case ResultWarning::free_messages:
      return ran.links_are_free &&
             (ran.time == Time{} ||
              (ran.wire_bytes > 0 && average_message(ran) < message_that_hides_start_up));
  }
  return false;
}

std::string to_text(ResultWarning warning, const RunFacts& ran) {
  switch (warning) {
    case ResultWarning::chunks_above_elements:
      return concat(
          "there are more chunks than elements to cut (such as ", ran.chunks, " chunks for ",
          static_cast<std::int64_t>(elements_to_cut(ran)),
          " elements), so some messages are empty; they are sent and cost their startup; use "
          "fewer chunks or a larger size");
    case ResultWarning::channels_above_elements:
      return concat(
          "there are more channels than elements (such as ", ran.channels, " channels for ",
          ran.elements, " element", ran.elements == 1 ? "" : "s",
          "), so most channels carry nothing; their messages are sent and cost their startup; use "
          "fewer channels or a larger size");
    case ResultWarning::small_chunks:
      return "a message has less than 4 KiB on average (down to " +
             bytes_to_text(static_cast<Bytes>(average_message(ran))) +
             "): most of the time is then startup on real networks; use fewer chunks";
    case ResultWarning::free_messages:
      return "messages are short and the link has neither overhead nor latency, so they cost next "
             "to nothing, unlike on any real network; set cluster.link.overhead or "
             "cluster.link.latency";
  }
  return {};
}

}  // namespace collsim
