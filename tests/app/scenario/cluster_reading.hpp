// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "app/json/parse_json.hpp"
#include "app/json/value.hpp"
#include "app/scenario/cluster/cluster.hpp"

namespace collsim {

// A cluster as it stands in a file, and what came of reading it.
struct ReadCluster {
  std::optional<Cluster> cluster;
  JsonValue resolved;
  // One line per mistake: "/cluster/ranks: 0 is too small | nearest | hint"
  std::string mistakes;
};

inline ReadCluster read_cluster_text(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const auto source = sources.add(Sources::Kind::file, "test.json", text);
  const auto value = parse_json(source, sources, diagnostics);
  ReadCluster read;
  if (value) read.cluster = read_cluster(*value, "/cluster", diagnostics, read.resolved);
  for (const Diagnostic& mistake : diagnostics.sorted())
    read.mistakes += mistake.pointer + ": " + mistake.message + " | " + mistake.suggestion + " | " +
                     mistake.hint + "\n";
  return read;
}

// The only mistake of a cluster, as above without the end of line.
inline std::string mistake_of(const std::string& text) {
  const ReadCluster read = read_cluster_text(text);
  EXPECT_FALSE(read.cluster.has_value()) << text;
  std::string line = read.mistakes;
  if (!line.empty()) line.pop_back();
  return line;
}

inline Cluster cluster_of(const std::string& text) {
  ReadCluster read = read_cluster_text(text);
  EXPECT_EQ(read.mistakes, "") << text;
  if (!read.cluster) throw std::runtime_error("not read: " + text);
  return std::move(*read.cluster);
}

}  // namespace collsim
