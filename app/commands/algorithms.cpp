// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/json/value.hpp"
#include "app/output/text_table.hpp"
#include "app/scenario/vocabulary.hpp"

namespace collsim {
namespace {

struct AlgorithmsOptions {
  std::string operation;
  std::string format = "table";
};

bool is_default(const Algorithm& algorithm) {
  return algorithms(algorithm.operation).front() == &algorithm;
}

// The table knows why a count does not work, not which ones do: tried out.
std::string rank_counts(const Algorithm& algorithm) {
  if (algorithm.why_not == nullptr) return "any";
  constexpr int tried = 33;
  constexpr std::size_t shown = 6;
  std::vector<std::string> counts;
  for (int ranks = 1; ranks < tried && counts.size() < shown; ++ranks)
    if (algorithm.works_with(ranks)) counts.push_back(std::to_string(ranks));
  return fmt::format("{}, ...", fmt::join(counts, ", "));
}

// The first two: others spell these out.
std::string other_names(const Algorithm& algorithm) {
  std::vector<std::string_view> names(algorithm.aliases.begin(), algorithm.aliases.end());
  names.resize(std::min<std::size_t>(names.size(), 2));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Operation> chosen_operations(const std::string& name) {
  const auto all = all_operations();
  if (name.empty()) return {all.begin(), all.end()};
  const std::optional<std::string> canonical = operation_words().canonical(name);
  if (!canonical)
    throw UsageError("there is no operation" + did_you_mean(name, operation_words().allowed));
  return {parse_operation(*canonical)};
}

std::string text(const std::vector<Operation>& operations, std::size_t columns) {
  TextTable table;
  for (const char* heading : {"operation", "algorithm", "also called", "ranks"})
    table.add_column(heading, TextTable::Align::left);
  table.add_column("lanes");
  table.add_column("how", TextTable::Align::left);
  for (const Operation operation : operations)
    for (const Algorithm* algorithm : algorithms(operation))
      table.add_row({is_default(*algorithm) ? std::string(to_string(operation)) : "",
                     std::string(algorithm->name), other_names(*algorithm), rank_counts(*algorithm),
                     std::to_string(algorithm->lanes), std::string(algorithm->summary)});
  return table.text("  ", columns) +
         "\nThe first of each operation is its default; \"auto\" simulates all of them and takes "
         "the fastest.\nK: the number of ranks. vector: all data of one rank. block: a K-th of "
         "it. chunk: a piece that is sent\nas one message. root: the rank that has or receives the "
         "data. node: the ranks of one machine. rail: the\nranks with the same index in their "
         "nodes. lanes: programs that a rank runs side by side.\n";
}

JsonValue document(const std::vector<Operation>& operations) {
  JsonValue list = JsonValue::array();
  for (const Operation operation : operations)
    for (const Algorithm* algorithm : algorithms(operation))
      list.items().push_back(JsonValue::object({{"op", to_string(operation)},
                                                {"algorithm", algorithm->name},
                                                {"default", is_default(*algorithm)},
                                                {"aliases", JsonValue::array(algorithm->aliases)},
                                                {"ranks", rank_counts(*algorithm)},
                                                {"lanes", algorithm->lanes},
                                                {"summary", algorithm->summary}}));
  return JsonValue::object({{"algorithms", std::move(list)}});
}

}  // namespace

Action declare_algorithms(Options& command) {
  const auto options = std::make_shared<AlgorithmsOptions>();
  command.value("OP", options->operation, "NAME", "only of this operation");
  command.choice("--format", options->format, {"table", "json"}, "output format (default: table)");
  return [options](Terminal& terminal) {
    const std::vector<Operation> operations = chosen_operations(options->operation);
    if (options->format == "json")
      terminal.out << to_json(document(operations)) << '\n';
    else
      terminal.out << text(operations, terminal.columns);
    return static_cast<int>(exit_fine);
  };
}

}  // namespace collsim
