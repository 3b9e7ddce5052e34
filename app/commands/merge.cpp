// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "app/commands/results_writer.hpp"
#include "app/commands/run_part.hpp"

namespace collsim {
namespace {

namespace fs = std::filesystem;

std::string folder_of(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  return folder.empty() ? "." : folder.string();
}

struct PartFile {
  std::string file;
  PartHeader header;

  [[nodiscard]] std::string folder() const { return folder_of(file); }
  [[nodiscard]] std::string command() const { return command_for(header, header.part, folder()); }
};

// The parts of one sweep.
using Group = std::vector<PartFile>;

std::vector<std::string> parts_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == part_file_suffix) files.push_back(entry.path().string());
  if (files.empty())
    throw UsageError(
        fmt::format("{} has no parts (files that end in {}); collsim run FILE --part "
                    "1/8 -o {} makes one",
                    folder, part_file_suffix, folder));
  std::sort(files.begin(), files.end());
  return files;
}

// Each once, by whatever names it is given.
std::vector<std::string> files_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  std::set<fs::path> known;
  const auto add = [&](const std::string& file) {
    std::error_code ignored;
    if (known.insert(fs::weakly_canonical(file, ignored)).second) files.push_back(file);
  };
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    if (!fs::is_directory(argument, ignored)) {
      add(argument);
      continue;
    }
    for (const std::string& file : parts_in(argument)) add(file);
  }
  return files;
}

// What to do about a file whose own header cannot be read, from those of the same scenario.
std::string remedy(const PartFileError& error, const std::vector<Group>& groups) {
  const fs::path file = error.file();
  std::error_code ignored;
  if (file.extension() != part_file_suffix || !fs::exists(file, ignored)) return {};
  for (const Group& group : groups) {
    const PartHeader& header = group.front().header;
    if (const auto part = part_of_file_name(header.name, file.filename().string()))
      return "; run it again: " + command_for(header, *part, folder_of(error.file()));
  }
  return "; remove it, and run that part again";
}

[[noreturn]] void refuse(const std::vector<PartFileError>& unreadable,
                         const std::vector<Group>& groups) {
  std::string all;
  for (const PartFileError& error : unreadable)
    all += (all.empty() ? "" : "\n  ") + std::string(error.what()) + remedy(error, groups);
  throw UsageError(all);
}

std::vector<Group> groups_of(const std::vector<std::string>& files) {
  std::vector<Group> groups;
  std::vector<PartFileError> unreadable;
  for (const std::string& file : files) {
    PartFile part{file, {}};
    try {
      part.header = read_part_header(file);
    } catch (const PartFileError& error) {
      unreadable.push_back(error);
      continue;
    }
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.front().header.is_of_same_command(part.header);
    });
    if (known == groups.end())
      groups.push_back({std::move(part)});
    else
      known->push_back(std::move(part));
  }
  if (!unreadable.empty()) refuse(unreadable, groups);
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return a.front().header.place < b.front().header.place;
  });
  for (Group& group : groups)
    std::stable_sort(group.begin(), group.end(), [](const PartFile& a, const PartFile& b) {
      return a.header.part.number < b.header.part.number;
    });
  return groups;
}

// Whether parts are all there, once, and of this state of their scenario.
class Inspection {
 public:
  Inspection(const Group& group, std::string digest, Diagnostics& diagnostics)
      : group_(group), digest_(std::move(digest)), diagnostics_(diagnostics) {}

  void run() {
    if (!are_of_one_cut()) return;
    for (const PartFile& part : group_) look_at(part);
    const PartHeader& any = group_.front().header;
    for (int number = 1; number <= any.part.count; ++number) {
      const SweepPart part{number, any.part.count};
      const auto files = found_.find(number);
      if (files == found_.end())
        wrong("missing-part", fmt::format("part {} of {} is missing", to_text(part), any.file),
              command_for(any, part, group_.front().folder()));
      else if (files->second.size() > 1)
        wrong("double-part",
              fmt::format("part {} of {} is there twice: {} and {}", to_text(part), any.file,
                          files->second[0], files->second[1]),
              "give merge one of them");
    }
  }

 private:
  void wrong(const char* code, std::string message, std::string hint) {
    diagnostics_.add({.code = code, .message = std::move(message), .hint = std::move(hint)});
  }

  bool are_of_one_cut() {
    const PartFile& first = group_.front();
    for (const PartFile& part : group_) {
      if (part.header.part.count == first.header.part.count) continue;
      wrong("other-part",
            fmt::format("{} is a part of {}, and {} is one of {}", first.file,
                        first.header.part.count, part.file, part.header.part.count),
            "parts of one number make a whole: remove the others, or keep them in another folder");
      return false;
    }
    return true;
  }

  void look_at(const PartFile& part) {
    found_[part.header.part.number].push_back(part.file);
    if (part.header.version != COLLSIM_VERSION)
      wrong("other-version",
            fmt::format("{} was written by collsim {}, and this is {}", part.file,
                        part.header.version, COLLSIM_VERSION),
            part.command());
    else if (part.header.digest != digest_)
      wrong("other-scenario",
            fmt::format("{} was run before {}, or a file that it includes, was changed", part.file,
                        part.header.file),
            part.command());
  }

  const Group& group_;
  std::string digest_;
  Diagnostics& diagnostics_;
  std::map<int, std::vector<std::string>> found_;  // by number
};

class Merge {
 public:
  Merge(RunCommandOptions options, const std::vector<std::string>& arguments)
      : options_(std::move(options)), groups_(groups_of(files_of(arguments))) {
    for (const Group& group : groups_) options_.files.push_back(group.front().header.file);
    for (const std::string& output : options_.outputs)
      for (const Group& group : groups_)
        for (const PartFile& part : group) refuse_overwriting(output, {part.file});
  }

  int run(Terminal& terminal) {
    RunHooks hooks;
    hooks.load = [this](const std::string& file, Sources& sources, Diagnostics& diagnostics) {
      return load(file, sources, diagnostics);
    };
    hooks.study = [this](const Scenario& scenario, const StudyOptions&, Diagnostics& diagnostics) {
      return study(scenario, diagnostics);
    };
    return run_files(options_, hooks, terminal);
  }

 private:
  // Files come in the order of the groups.
  std::optional<Scenario> load(const std::string& file, Sources& sources,
                               Diagnostics& diagnostics) {
    group_ = &groups_[next_++];
    const PartHeader& header = group_->front().header;
    std::error_code ignored;
    if (!fs::exists(file, ignored)) {
      diagnostics.add({.code = "no-scenario",
                       .message = fmt::format("{} is a part of {}, which is not there",
                                              group_->front().file, header.file),
                       .hint = "run merge in the folder in which the parts were run"});
      return std::nullopt;
    }
    std::optional<Scenario> scenario =
        load_scenario(file, load_options_of(header), sources, diagnostics);
    if (!scenario) return std::nullopt;
    Inspection(*group_, digest_of(sources), diagnostics).run();
    return diagnostics.empty() ? std::move(scenario) : std::nullopt;
  }

  std::optional<Results> study(const Scenario& scenario, Diagnostics& diagnostics) {
    std::vector<std::string> files;
    for (const PartFile& part : *group_) files.push_back(part.file);
    try {
      return finish_study(scenario, merge_parts(scenario, files));
    } catch (const PartFileError& error) {
      const auto part = std::find_if(group_->begin(), group_->end(),
                                     [&](const PartFile& one) { return one.file == error.file(); });
      diagnostics.add({.code = "damaged-part",
                       .message = error.what(),
                       .hint = part == group_->end() ? "" : part->command()});
      return std::nullopt;
    }
  }

  RunCommandOptions options_;
  std::vector<Group> groups_;
  const Group* group_ = nullptr;
  std::size_t next_ = 0;
};

}  // namespace

Action declare_merge(Options& command) {
  struct Asked {
    RunCommandOptions run;
    std::vector<std::string> parts;
  };
  const auto asked = std::make_shared<Asked>();
  command
      .value("PARTS", asked->parts, "PARTS",
             "files that collsim run --part wrote, or folders with such files")
      .required = true;
  add_output_options(command, asked->run.format, asked->run.outputs);
  return [asked](Terminal& terminal) { return Merge(asked->run, asked->parts).run(terminal); };
}

}  // namespace collsim
