// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace collsim {

// The data in a page that `report` wrote, as text.
inline std::string data_text(const std::string& page) {
  const std::string mark = R"(id="data">)";
  const std::size_t begin = page.find(mark) + mark.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

// What the page was given about each of its results.
inline nlohmann::json data_of(const std::string& page) {
  return nlohmann::json::parse(data_text(page)).at("results");
}

}  // namespace collsim
