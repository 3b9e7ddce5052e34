// SPDX-License-Identifier: Apache-2.0
#include "tests/app/expression/study_fixture.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "app/expression/scenario_facts.hpp"
#include "app/json/parse_json.hpp"

namespace collsim::test {

namespace {

Axis make_axis(const JsonValue::Member& member) {
  Axis axis;
  std::string paths = member.key;
  const std::string zip = "zip: ";
  const bool zipped = paths.starts_with(zip);
  if (zipped) paths.erase(0, zip.size());
  for (std::size_t begin = 0; begin <= paths.size();) {
    const std::size_t comma = std::min(paths.find(", ", begin), paths.size());
    axis.paths.push_back(paths.substr(begin, comma - begin));
    begin = comma + 2;
  }
  for (const JsonValue& point : member.value.items())
    axis.points.push_back(zipped ? point.items() : std::vector<JsonValue>{point});
  return axis;
}

double number(const JsonValue& value, std::string_view path) {
  return comparable(value, path, Operation::broadcast).number;
}

}  // namespace

Scenario make_scenario(std::string_view json, Sources& sources) {
  Diagnostics diagnostics;
  const auto source = sources.add(Sources::Kind::file, "test.json", std::string(json));
  const auto document = parse_json(source, sources, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << to_text(diagnostics, sources);
  Scenario scenario;
  scenario.document = document.value_or(JsonValue::object());
  scenario.resolved = scenario.document;
  if (const JsonValue* sweep = scenario.document.find("sweep"))
    for (const JsonValue::Member& member : sweep->members())
      scenario.axes.push_back(make_axis(member));
  if (const JsonValue* expect = scenario.document.find("expect")) scenario.expect = *expect;
  return scenario;
}

std::string chain_scenario(std::string_view expect) {
  return R"({
  "cluster": {"shape": "chain", "ranks": 8, "link": {"bandwidth": "25GB/s", "overhead": "5us"}},
  "collective": {"op": "broadcast", "algorithm": "chain", "size": "64MiB", "chunks": 1},
  "sweep": {"collective.chunks": [1, 4, 16, 64, 256, 4096]},
  "expect": [)" +
         std::string(expect) + "]\n}\n";
}

CaseResult chain_row(const Scenario& scenario, std::size_t point) {
  CaseResult row;
  row.operation = Operation::broadcast;
  row.algorithm = "chain";
  row.ranks = 8;
  row.size = mebibytes(64);
  row.B = 25e9;
  row.alpha = 5e-6;
  row.L = 0;
  const Grid grid(scenario.axes);
  for (std::size_t axis = 0; axis < scenario.axes.size(); ++axis)
    for (std::size_t i = 0; i < scenario.axes[axis].paths.size(); ++i) {
      const std::string& path = scenario.axes[axis].paths[i];
      const JsonValue& value = scenario.axes[axis].points[grid.coordinate(point, axis)][i];
      row.params.emplace_back(path, value);
      if (path == "collective.chunks") row.chunks = static_cast<int>(number(value, path));
      if (path == "cluster.ranks") row.ranks = static_cast<int>(number(value, path));
      if (path == "collective.size") row.size = static_cast<Bytes>(number(value, path));
      if (path == "collective.algorithm") row.algorithm = value.string();
    }
  const double chunks = row.chunks, bytes = static_cast<double>(row.size);
  const double seconds = (chunks + row.ranks - 2) * (5e-6 + bytes / (chunks * 25e9));
  row.time = from_seconds(seconds);
  row.analytic = ClosedForm{.seconds = seconds};
  row.bound = from_seconds(bytes / 25e9);
  row.bounds.bandwidth = row.bound;
  row.messages = static_cast<std::uint64_t>(row.chunks * (row.ranks - 1));
  row.wire_bytes = row.size * (row.ranks - 1);
  row.bottleneck_bandwidth = 25e9;
  return row;
}

Study::Study(std::string_view json, const std::function<void(CaseResult&, std::size_t)>& change)
    : scenario(make_scenario(json, sources)),
      expectations(Expectations::read(scenario, diagnostics)) {
  const std::size_t points = Grid(scenario.axes).points();
  for (std::size_t point = 0; point < points; ++point) {
    rows.push_back(chain_row(scenario, point));
    change(rows.back(), point);
  }
}

std::string mistake_of(std::string_view expectation) {
  const Study study(chain_scenario(expectation));
  const auto mistakes = study.diagnostics.sorted();
  if (mistakes.empty()) return {};
  return mistakes.size() == 1 ? mistakes.front().message : study.mistakes();
}

}  // namespace collsim::test
