// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "app/results/case_result.hpp"

namespace collsim {

void Search::add(const Search& other) {
  candidates += other.candidates;
  simulated += other.simulated;
  ruled_out += other.ruled_out;
  formulas += other.formulas;
  unpromising += other.unpromising;
  for (const std::string& name : other.too_large)
    if (std::find(too_large.begin(), too_large.end(), name) == too_large.end())
      too_large.push_back(name);
}

std::string to_text(const Search& search) {
  std::string text =
      fmt::format("chosen from {} candidate{} (algorithm, channels, chunks): {} simulated",
                  search.candidates, search.candidates == 1 ? "" : "s", search.simulated);
  const auto say = [&](int count, const char* what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  say(search.ruled_out, "ruled out by lower bounds");
  say(search.formulas, "by exact formulas");
  say(search.unpromising, "not worth the work: they could win next to nothing");
  if (search.too_large.empty()) return text;
  // Those that are named may stand for several numbers of chunks each.
  const int counted = search.simulated + search.ruled_out + search.formulas + search.unpromising;
  text += fmt::format("; {} too large to simulate, though they may be faster: ",
                      search.candidates - counted);
  for (std::size_t i = 0; i < search.too_large.size(); ++i)
    text += (i == 0 ? "" : ", ") + search.too_large[i];
  return text;
}

}  // namespace collsim
