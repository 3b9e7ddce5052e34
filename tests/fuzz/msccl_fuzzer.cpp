// SPDX-License-Identifier: Apache-2.0
//
// Throws bytes at the reader of MSCCL files.  Whatever comes in, there must be a schedule or a
// diagnostic; a schedule must be provable or refused, and written and read again it must be one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "app/export/msccl.hpp"
#include "app/import/msccl.hpp"
#include "collectives/checker.hpp"

using namespace collsim;

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

std::optional<ListedSchedule> read(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  auto list = read_msccl(sources.add(Sources::Kind::file, "fuzz.xml", text), sources, diagnostics);
  must(list.has_value() == diagnostics.empty());
  (void)to_text(diagnostics, sources);
  return list;
}

void write_again(const Collective& collective, const std::shared_ptr<const ListedSchedule>& list) {
  AlgorithmChoice choice;
  choice.name = std::string(listed_prefix) + list->file;
  choice.list = list;
  try {
    must(read(to_msccl(collective, choice)).has_value());
  } catch (const Error&) {
    return;  // beyond a limit, or without matching sends
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto read_list = read(std::string(data, data + size));
  if (!read_list || !read_list->operation) return 0;
  Collective collective;
  collective.operation = *read_list->operation;
  collective.group = first_ranks(static_cast<std::size_t>(read_list->positions));
  collective.in_place = !read_list->out_of_place;
  if (collective.in_place && collective.operation == Operation::all_to_all) return 0;
  const auto list = std::make_shared<const ListedSchedule>(std::move(*read_list));
  const CheckReport report = check_in_blocks(*list, collective);
  if (report.fault) (void)fault_in_file(*list, collective, *report.fault);
  if (report.ok) write_again(collective, list);
  return 0;
}
