// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/program_files.hpp"

#include <utility>

#include "app/import/msccl.hpp"
#include "app/scenario/scenario_folder.hpp"

namespace collsim {
namespace {

class ProgramLoader {
 public:
  ProgramLoader(const std::string& scenario_file, Sources& sources, Diagnostics& diagnostics)
      : scenario_file_(scenario_file), sources_(sources), diagnostics_(diagnostics) {}

  // JSON has a largest depth.
  void visit(JsonValue& value, const std::string& pointer) {
    if (value.is_array())
      for (std::size_t i = 0; i < value.items().size(); ++i)
        visit(value.items()[i], pointer_to(pointer, i));
    if (!value.is_object()) return;
    for (JsonValue::Member& member : value.members()) {
      const std::string inner = pointer_to(pointer, member.key);
      const bool names_file = member.key == "msccl" || member.key.ends_with(".msccl");
      if (names_file && member.value.is_string())
        load(member.value, inner);
      else if (names_file && member.value.is_array())
        for (std::size_t i = 0; i < member.value.items().size(); ++i)
          if (JsonValue& item = member.value.items()[i]; item.is_string())
            load(item, pointer_to(inner, i));
          else
            visit(item, pointer_to(inner, i));
      else
        visit(member.value, inner);
    }
  }

  ProgramFiles files;

 private:
  void load(JsonValue& name, const std::string& pointer) {
    const auto path = named_file(name, pointer, scenario_file_, sources_, diagnostics_);
    if (!path) {
      files.emplace(name.string(), nullptr);  // what is wrong with it is said
      return;
    }
    const SourceRange place = name.place;
    name = *path;
    name.place = place;
    const auto [found, is_new] = files.emplace(*path, nullptr);
    if (!is_new) return;
    Diagnostic asked_by;
    asked_by.place = place;
    asked_by.pointer = pointer;
    const auto source = read_source(*path, sources_, diagnostics_, asked_by, max_msccl_bytes);
    if (!source) return;
    if (auto list = read_msccl(*source, sources_, diagnostics_)) {
      list->file = *path;
      found->second = std::make_shared<const ListedSchedule>(std::move(*list));
    }
  }

  const std::string& scenario_file_;
  Sources& sources_;
  Diagnostics& diagnostics_;
};

}  // namespace

ProgramFiles load_program_files(JsonValue& document, const std::string& scenario_file,
                                Sources& sources, Diagnostics& diagnostics) {
  ProgramLoader loader(scenario_file, sources, diagnostics);
  for (const char* part : {"collective", "sweep", "expect"})
    if (JsonValue* value = document.find(part)) loader.visit(*value, pointer_to("", part));
  return std::move(loader.files);
}

}  // namespace collsim
