// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/fit_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/json/screen_text.hpp"
#include "app/output/text_table.hpp"
#include "app/results/results.hpp"

namespace collsim {
namespace {

// Of what is known of a constant the tables tell less than this part: they do not move it.
constexpr double hardly_told = 0.1;
// A constant that differs from what is usual by more than its interval and by this part is unlike
// its class.
constexpr double unlike = 0.1;

using Align = TextTable::Align;

std::string percent(double part) {
  return fmt::format("{:.1f}%", 100 * part);
}

std::string name_of_kind(const TablesFit& fit, const MachineClass& machines) {
  const JsonValue* const kinds = fit.constants.find(machines.of_network ? "networks" : "gpus");
  const JsonValue* const kind = kinds == nullptr ? nullptr : kinds->find(machines.kind);
  const JsonValue* const title = kind == nullptr ? nullptr : kind->find("title");
  const std::string name = title == nullptr ? machines.kind : title->string();
  return machines.of_network ? "several nodes, " + name : name;
}

TextTable accuracy_table(const char* heading) {
  TextTable table;
  table.add_column(heading, Align::left);
  for (const char* column : {"rows", "tables", "median", "95%"}) table.add_column(column);
  return table;
}

void add_accuracy(TextTable& table, const std::string& name, const Accuracy& one) {
  if (one.rows == 0) return;
  table.add_row({name, std::to_string(one.rows), std::to_string(one.tables), percent(one.half),
                 percent(one.most)});
}

TextTable classes_table(const TablesFit& fit, const std::vector<RowError>& errors) {
  TextTable table = accuracy_table("machines, sizes");
  add_accuracy(table, "all", accuracy_of(errors));
  for (std::size_t r = 0; r < size_ranges.size(); ++r) {
    std::vector<RowError> in_range;
    for (const RowError& row : errors)
      if (row.size > size_ranges[r].above &&
          (size_ranges[r].up_to == 0 || row.size <= size_ranges[r].up_to))
        in_range.push_back(row);
    add_accuracy(table, fmt::format("all, {}", size_ranges[r].name), accuracy_of(in_range));
  }
  for (const ClassAccuracy& one : accuracy_of_classes(errors)) {
    const std::string name = name_of_kind(fit, one.machines);
    add_accuracy(table, name, one.all);
    for (std::size_t r = 0; r < size_ranges.size(); ++r)
      add_accuracy(table, fmt::format("{}, {}", name, size_ranges[r].name), one.by_size[r]);
  }
  return table;
}

TextTable tables_table(const TablesFit& fit) {
  TextTable table;
  for (const char* column : {"table", "owner"}) table.add_column(column, Align::left);
  for (const char* column : {"rows", "median", "95%"}) table.add_column(column);
  for (const TableOfFit& one : fit.tables)
    if (one.why_not.empty())
      table.add_row({one.id, one.owner, std::to_string(one.accuracy.rows),
                     percent(one.accuracy.half), percent(one.accuracy.most)});
  return table;
}

TextTable owners_table(const TablesFit& fit) {
  TextTable table = accuracy_table("owner left out");
  for (const OwnerAccuracy& one : accuracy_of_owners(fit))
    add_accuracy(table, one.owner, one.accuracy);
  return table;
}

TextTable constants_table(const TablesFit& fit) {
  TextTable table;
  for (const char* column : {"machines", "constant"}) table.add_column(column, Align::left);
  for (const char* column : {"value", "95%"}) table.add_column(column);
  table.add_column("told by the tables");
  for (const FittedConstant& one : fit.fit.fitted) {
    table.add_row({one.kind, name_of(one.constant), text_of(one.constant, one.value),
                   interval_text(one), fmt::format("{:.0f}%", 100 * one.told)});
    if (one.told < hardly_told) table.add_remark("tables do not move it");
  }
  return table;
}

std::string freedom_text(const TablesFit& fit) {
  const auto unmoved =
      std::count_if(fit.fit.fitted.begin(), fit.fit.fitted.end(),
                    [](const FittedConstant& one) { return one.told < hardly_told; });
  return fmt::format(
      "{} free numbers, {:.0f} effective degrees of freedom (trace of the hat matrix); {} of {} "
      "constants are\nwhat other kinds of machines have, because no table moves them",
      fit.fit.free_constants, fit.fit.degrees_of_freedom, unmoved, fit.fit.fitted.size());
}

std::string left_out_text(const TablesFit& fit) {
  std::string text;
  for (const TableOfFit& one : fit.tables)
    if (!one.why_not.empty()) text += fmt::format("left out: {} ({})\n", one.id, one.why_not);
  return text;
}

std::string unseen_text(const TablesFit& fit) {
  const Accuracy all = accuracy_of(fit.unseen);
  return fmt::format(
      "Each owner's rows predicted with constants fitted to the tables of all others: median {}, "
      "95% {}\nover all rows; the median of the owners' medians is {}.  Each of these fits starts "
      "from what was believed before\nany table was read, and continues the times simulated there "
      "by their derivatives; the errors are those of\nsimulations with the constants that it ends "
      "with.  Some of these beliefs are round numbers from an earlier fit\nto most of the tables, "
      "so that no machine is wholly unseen.",
      percent(all.half), percent(all.most), percent(median_of_medians(accuracy_of_owners(fit))));
}

std::size_t fitted_tables(const TablesFit& fit) {
  return static_cast<std::size_t>(
      std::count_if(fit.tables.begin(), fit.tables.end(),
                    [](const TableOfFit& one) { return one.why_not.empty(); }));
}

}  // namespace

std::string fit_text(const TablesFit& fit) {
  const Accuracy all = accuracy_of(fit.errors);
  std::string text = constants_table(fit).text() + "\n" + freedom_text(fit) + "\n\n" +
                     tables_table(fit).text() + left_out_text(fit) + "\n" +
                     classes_table(fit, fit.errors).text();
  text +=
      fmt::format("\n{} rows of {} tables of {} owners: median error {}, 95% within {}\n", all.rows,
                  all.tables, fit.owners.size(), percent(all.half), percent(all.most));
  if (!fit.unseen.empty()) text += "\n" + owners_table(fit).text() + unseen_text(fit) + "\n";
  return text;
}

std::string fit_page(const TablesFit& fit, const std::string& version) {
  std::string text = fmt::format(
      "# Published measurements\n\n"
      "How far predictions are from {} tables of nccl-tests and the like that {} owners of "
      "machines "
      "have published.\nThe constants of NCCL's time in `scenarios/presets/fitted.json` were "
      "fitted to "
      "these tables, so look at the part\non owners left out, too. Written by `./dev accuracy`; "
      "collsim {}. The tables are not part of this repository;\ntheir names say whose they are.\n\n"
      "An error is |predicted / measured - 1| of a row, out of place; the prediction is that of "
      "`collsim predict`.\nMedian: half of the rows are within it; 95%: so many are. Rows that "
      "their "
      "publisher or a neighbour shows to be\ndisturbed are left out.\n\n"
      "## By machine and size\n\n",
      fitted_tables(fit), fit.owners.size(), version);
  text += classes_table(fit, fit.errors).markdown();
  if (!fit.unseen.empty())
    text += "\n## Machines that the fit has not seen\n\n" + unseen_text(fit) + "\n\n" +
            owners_table(fit).markdown() + "\n" + classes_table(fit, fit.unseen).markdown();
  text += "\n## By table\n\n" + tables_table(fit).markdown();
  if (const std::string left_out = left_out_text(fit); !left_out.empty())
    text += "\n```\n" + left_out + "```\n";
  text += "\n## Constants\n\n" + freedom_text(fit) +
          ".\n`told`: how much of what is known of a constant comes from the tables, the rest from "
          "what "
          "kinds of machines\nhave in common.\n\n" +
          constants_table(fit).markdown();
  return text;
}

std::string machine_fit_text(const TablesFit& fit, const MachineConstants& usual) {
  TextTable table;
  table.add_column("constant", Align::left);
  for (const char* column : {"of this machine", "95%", "usual", "told by the logs"})
    table.add_column(column);
  for (const FittedConstant& one : fit.fit.fitted) {
    const KindConstants& kind = (one.of_network ? usual.networks : usual.gpus).at(one.kind);
    const double before = kind[index_of(one.constant)].value_or(one.value);
    table.add_row({fmt::format("{}{}", one.of_network ? "network " : "", name_of(one.constant)),
                   text_of(one.constant, one.value), interval_text(one),
                   text_of(one.constant, before), fmt::format("{:.0f}%", 100 * one.told)});
    if (one.told < hardly_told)
      table.add_remark("the logs cannot tell");
    else if ((before < one.low || before > one.high) &&
             std::abs(std::log(one.value / before)) > unlike)
      table.add_remark("unlike its class");
  }
  const Accuracy all = accuracy_of(fit.errors);
  double worst = 0;
  for (const RowError& row : fit.errors) worst = std::max(worst, std::abs(row.error));
  return table.text() + left_out_text(fit) +
         fmt::format("\n{}: median error {}, {}\n", count_text(all.rows, "row"), percent(all.half),
                     all.rows < least_rows_for_percentiles ? "worst " + percent(worst)
                                                           : "95% within " + percent(all.most));
}

}  // namespace collsim
