// SPDX-License-Identifier: Apache-2.0
#include "app/report/report_page.hpp"

#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "app/embedded_files.hpp"
#include "app/json/write_json.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

constexpr std::string_view mark = "@DATA@";

// "<" could end the element that the data stand in.
std::string without_tags(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json)
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  return text;
}

}  // namespace

void write_report(std::ostream& out, std::vector<Value> results) {
  const std::string_view page = embedded_report().front().text;
  const std::size_t place = page.find(mark);
  COLLSIM_CHECK(place != std::string_view::npos, "the page has no place for data");
  Value data = Value::object();
  data.set("collsim", COLLSIM_VERSION);
  data.set("results", Value::Array(std::move(results)));
  out << page.substr(0, place) << without_tags(to_json(data, -1))
      << page.substr(place + mark.size());
}

}  // namespace collsim
