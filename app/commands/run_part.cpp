// SPDX-License-Identifier: Apache-2.0
#include "app/commands/run_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <ostream>

#include "app/commands/interrupts.hpp"
#include "app/commands/launcher.hpp"
#include "app/commands/progress.hpp"
#include "app/json/screen_text.hpp"
#include "app/output/format.hpp"

namespace collsim {
namespace {

namespace fs = std::filesystem;

bool is_folder(const std::string& name) {
  std::error_code ignored;
  return name.ends_with('/') || fs::is_directory(name, ignored);
}

std::string shell_word(const std::string& word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./=:,+@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

// A folder alone asks for no part: most likely it is a file whose name was forgotten.
SweepPart part_of(const RunCommandOptions& options, const Launch& launch) {
  if (!options.part && launch.part) return *launch.part;
  if (!options.part) {
    const std::string& folder =
        *std::find_if(options.outputs.begin(), options.outputs.end(), is_folder);
    throw UsageError(fmt::format(
        "{} is a folder, which is for parts of a sweep (docs/clusters.md): add --part 1/4, or "
        "start this by srun or mpirun; a whole run goes into a file, such as {}",
        quoted(folder), shell_word((fs::path(folder) / "results.json").string())));
  }
  if (const std::optional<SweepPart> part = parse_part(*options.part)) return *part;
  throw UsageError(fmt::format("--part {} is no part: the first of eight is 1/8, the last 8/8",
                               shell_word(*options.part)));
}

std::string folder_of(const RunCommandOptions& options) {
  if (!options.format.empty())
    throw UsageError("--format is for collsim merge: a part has a format of its own");
  if (options.outputs.empty()) throw UsageError("a part is kept for collsim merge: add -o FOLDER/");
  const std::string& folder = options.outputs.front();
  if (options.outputs.size() > 1)
    throw UsageError("a part goes into one folder; other outputs are for collsim merge");
  if (!is_folder(folder) &&
      (folder == "-" || format_of_suffix(folder) || folder.ends_with(".html")))
    throw UsageError(
        fmt::format("with --part -o is a folder, and {} looks like a file; {} is for "
                    "collsim merge",
                    quoted(folder), quoted("-o " + folder)));
  return folder;
}

void make_folder(const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed || !is_folder(folder))
    throw WriteError(fmt::format("cannot make the folder {}: {}", folder,
                                 failed ? failed.message() : "there is a file of that name"));
}

// Else hundreds of parts would look at all values of a range hundreds of times.  What this leaves
// out is found by the part that has it.
constexpr std::size_t checks_of_a_part = 500;

class PartRun {
 public:
  PartRun(const RunCommandOptions& options, Terminal& terminal)
      : options_(options),
        terminal_(terminal),
        launch_(launch_of(process_environment())),
        part_(part_of(options, launch_)),
        folder_(folder_of(options)) {
    make_folder(folder_);
  }

  int take(const std::string& file, int place) {
    if (file == "-") throw UsageError("a part needs a file: collsim merge reads it again");
    Sources sources;
    Diagnostics diagnostics;
    LoadOptions load = load_options_of(options_);
    load.workloads = true;
    load.max_checks = checks_of_a_part;
    const std::optional<Scenario> scenario = load_scenario(file, load, sources, diagnostics);
    if (!scenario) return show_mistakes(diagnostics, sources, terminal_);
    const PartHeader header{
        COLLSIM_VERSION,    file,  options_.set, options_.more_points, scenario->name,
        digest_of(sources), part_, place};
    if (is_done(header)) return exit_fine;

    const std::vector<std::size_t> points = points_of(part_, *scenario);
    const auto simulated = simulate(*scenario, points, diagnostics);
    if (!simulated) return show_mistakes(diagnostics, sources, terminal_);
    if (!simulated->complete) {
      tell("{} was interrupted, and is not kept", name_of(header));
      return exit_interrupted;
    }
    write_file(path_of(header.name, part_), terminal_,
               [&](std::ostream& out) { write_part(out, header, points, *simulated); });
    tell("{}: {} in {}", name_of(header), part_text(points.size(), scenario->points(), "point"),
         path_of(header.name, part_));
    tell_whether_last(header);
    return exit_fine;
  }

 private:
  template <class... Arguments>
  void tell(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (terminal_.quiet) return;
    // At once: others write to the same terminal.
    terminal_.err << printable(fmt::format(text, std::forward<Arguments>(arguments)...)) + '\n';
  }
  [[nodiscard]] std::string path_of(const std::string& name, const SweepPart& part) const {
    return (fs::path(folder_) / part_file_name(name, part)).string();
  }
  [[nodiscard]] static std::string name_of(const PartHeader& header) {
    return fmt::format("part {} of {}", to_text(header.part), header.file);
  }

  // Of this state of the scenario; what is of another, or damaged, is run again.
  bool is_done(const PartHeader& header) {
    refuse_other_cuts(header.name);
    const std::string file = path_of(header.name, part_);
    if (!fs::exists(file)) return false;
    try {
      const PartHeader there = read_part_header(file);
      if (there.part != header.part) {
        tell("{} is part {} under another name: run again", file, to_text(there.part));
        return false;
      }
      const bool same_state = there.is_of_same_state(header);
      if (!(same_state ? names_same_file(there, header) : there.is_of_same_command(header)))
        throw UsageError(there.file == header.file
                             ? fmt::format("{} was made with other --set; use another folder", file)
                             : fmt::format("{} is of {}; use another folder for {}", file,
                                           there.file, header.file));
      if (!same_state) {
        tell("{} is of another state of {}, or another version of collsim: run again", file,
             header.file);
        return false;
      }
      check_part_file(file);
    } catch (const PartFileError& error) {
      tell("{}: run again", error.what());
      return false;
    }
    tell("{} is there: {}", name_of(header), file);
    return true;
  }

  // A scenario that was moved is the same; one that was copied is another.
  [[nodiscard]] static bool names_same_file(const PartHeader& one, const PartHeader& other) {
    std::error_code ignored;
    return one.file == other.file || !fs::exists(one.file, ignored) ||
           fs::equivalent(one.file, other.file, ignored);
  }

  // Parts of 8 and of 16 never become a whole; and an array of some tasks that are submitted again
  // would be parts of fewer.
  void refuse_other_cuts(const std::string& name) const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::optional<SweepPart> there =
          part_of_file_name(name, entry.path().filename().string());
      if (there && there->count != part_.count)
        throw UsageError(
            fmt::format("{} has a part of {}, and this is part {}; give --part i/{} to go on with "
                        "those, or use another folder",
                        folder_, there->count, to_text(part_), there->count));
    }
  }

  std::optional<SimulatedPoints> simulate(const Scenario& scenario,
                                          const std::vector<std::size_t>& points,
                                          Diagnostics& diagnostics) {
    const InterruptWatch watch;
    Progress progress(terminal_);
    StudyOptions study;
    study.jobs = options_.jobs > 0 ? options_.jobs : launch_.threads;
    study.stop = &terminal_.interrupted;
    study.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
    return simulate_points(scenario, points, study, diagnostics);
  }

  // Whether this part is there, and fits to those of `header`.
  [[nodiscard]] bool is_mergeable(const PartHeader& header, int number) const {
    const std::string file = path_of(header.name, {number, part_.count});
    if (!fs::exists(file)) return false;
    try {
      const PartHeader there = read_part_header(file);
      return there.is_of_same_state(header) && there.is_of_same_command(header);
    } catch (const PartFileError&) {
      return false;
    }
  }

  void tell_whether_last(const PartHeader& header) {
    for (int number = 1; number <= part_.count; ++number)
      if (!is_mergeable(header, number)) return;
    tell("all parts of {} are there: collsim merge {}", header.file, shell_word(folder_));
  }

  const RunCommandOptions& options_;
  Terminal& terminal_;
  Launch launch_;
  SweepPart part_;
  std::string folder_;
};

}  // namespace

bool wants_part(const RunCommandOptions& options) {
  return options.part.has_value() ||
         std::any_of(options.outputs.begin(), options.outputs.end(), is_folder);
}

int run_part(const RunCommandOptions& options, Terminal& terminal) {
  PartRun run(options, terminal);
  int worst = exit_fine;
  int place = 0;
  for (const std::string& file : options.files) {
    const int code = run.take(file, place++);
    if (code == exit_interrupted) return code;
    worst = worse_of(worst, code);
  }
  return worst;
}

LoadOptions load_options_of(const PartHeader& header) {
  RunCommandOptions options;
  options.set = header.set;
  options.more_points = header.more_points;
  LoadOptions load = load_options_of(options);
  load.workloads = true;
  return load;
}

std::string command_for(const PartHeader& header, const SweepPart& part,
                        const std::string& folder) {
  std::string command = "collsim run " + shell_word(header.file);
  for (const std::string& set : header.set) command += " --set " + shell_word(set);
  if (header.more_points) command += " --yes";
  return command + " --part " + to_text(part) + " -o " + shell_word(folder);
}

}  // namespace collsim
