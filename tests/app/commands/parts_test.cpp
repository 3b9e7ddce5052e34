// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "app/commands/launcher.hpp"
#include "tests/app/commands/running.hpp"
#include "tests/contains.hpp"

namespace collsim {
namespace {

// Variables of launchers, as the program sees them; those of the shell that runs the tests go.
class LauncherEnvironment {
 public:
  explicit LauncherEnvironment(const std::map<std::string, std::string>& variables = {}) {
    for (const char* const one :
         {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID",
          "SLURM_STEP_NUM_TASKS", "SLURM_ARRAY_TASK_ID"})
      ::unsetenv(one);
    for (const auto& [name, value] : variables) {
      ::setenv(name.c_str(), value.c_str(), 1);
      set_.push_back(name);
    }
  }
  LauncherEnvironment(const LauncherEnvironment&) = delete;
  LauncherEnvironment& operator=(const LauncherEnvironment&) = delete;
  ~LauncherEnvironment() {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }

 private:
  std::vector<std::string> set_;
};

std::string scenario_of(const std::string& name) {
  return std::string(COLLSIM_SOURCE_DIR) + "/scenarios/" + name;
}

std::string sweep_scenario() {
  return chain_scenario(R"x(, "sweep": {"collective.chunks": [1, 2, 4, 8, 16]},
    "expect": [{"id": "best", "metric": "argmin(time, chunks)", "equals": 4}])x");
}

void run_parts(const std::vector<std::string>& scenario, int count, const std::string& folder) {
  for (int number = 1; number <= count; ++number) {
    std::vector<std::string> arguments{"run"};
    arguments.insert(arguments.end(), scenario.begin(), scenario.end());
    const std::string part = std::to_string(number) + "/" + std::to_string(count);
    arguments.insert(arguments.end(), {"--part", part, "-o", folder});
    const Ran ran = run_collsim(arguments);
    ASSERT_EQ(ran.code, exit_fine) << ran.err;
  }
}

// --- merged, parts are what one run gives ---

class MergedParts : public ::testing::TestWithParam<const char*> {};

TEST_P(MergedParts, AreTheBytesOfOneRunInEveryFormat) {
  const LauncherEnvironment none;
  const Folder folder;
  const std::string file = scenario_of(GetParam());
  run_parts({file}, 3, folder.path("parts"));
  for (const char* const format : {"table", "json", "jsonl", "csv", "markdown", "nccl-tests"}) {
    const Ran whole = run_collsim({"run", file, "--format", format});
    const Ran merged = run_collsim({"merge", folder.path("parts"), "--format", format});
    EXPECT_EQ(merged.out, whole.out) << format;
    EXPECT_EQ(merged.err, whole.err) << format;
    EXPECT_EQ(merged.code, whole.code) << format;
  }
  const auto page = [&](std::vector<std::string> arguments, const char* name) {
    arguments.insert(arguments.end(), {"--quiet", "-o", folder.path(name)});
    static_cast<void>(run_collsim(arguments));
    return folder.read(name);
  };
  EXPECT_EQ(page({"merge", folder.path("parts")}, "a.html"), page({"run", file}, "b.html"));
}

// Collectives and steps; "auto", presets, NCCL, graphs, files of algorithms, jobs that fail;
// formulas, warnings and expectations of each kind.
INSTANTIATE_TEST_SUITE_P(Scenarios, MergedParts,
                         ::testing::Values("lecture/ring-broadcast.json",
                                           "architect/pcie-shared-uplink.json",
                                           "tuner/ring-or-tree-on-two-dgx-h100.json",
                                           "tuner/msccl-file.json", "tuner/four-gpu-box.json",
                                           "training/fully-sharded.json", "training/jitter.json",
                                           "training/checkpoints.json", "training/older-gpus.json",
                                           "lecture/one-late-rank.json"));

TEST(Parts, MergedExpectationsDecideTheExitCode) {
  const LauncherEnvironment none;
  const Folder folder;
  const std::string file =
      folder.write("a.json", chain_scenario(R"x(, "sweep": {"collective.chunks": [1, 2, 4]},
        "expect": [{"id": "best", "metric": "argmin(time, chunks)", "equals": 1}])x"));
  run_parts({file}, 2, folder.path("out"));
  const Ran merged = run_collsim({"merge", folder.path("out")});
  EXPECT_EQ(merged.code, exit_failed);
  EXPECT_EQ(merged.out, run_collsim({"run", file}).out);
}

TEST(Parts, SetAndMorePartsThanPointsAreKept) {
  const LauncherEnvironment none;
  const Folder folder;
  const std::string file = folder.write("a.json", sweep_scenario());
  const std::vector<std::string> scenario{file, "--set", "collective.size=2 MiB"};
  run_parts(scenario, 9, folder.path("out"));
  EXPECT_EQ(run_collsim({"merge", folder.path("out"), "--format", "csv"}).out,
            run_collsim({"run", file, "--set", "collective.size=2 MiB", "--format", "csv"}).out);
}

TEST(Parts, AMistakeInAListIsReportedByEveryPart) {
  const LauncherEnvironment none;
  const Folder folder;
  std::string sizes;
  for (int i = 1; i <= 2000; ++i)
    sizes += (i > 1 ? ", \"" : "\"") + std::to_string(i == 778 ? 3113 : 4 * i) + "B\"";
  const std::string file =
      folder.write("a.json", chain_scenario(R"(, "sweep": {"collective.size": [)" + sizes + "]}"));
  for (const char* const part : {"1/8", "5/8", "8/8"}) {
    const Ran ran = run_collsim({"run", file, "--part", part, "-o", folder.path("out")});
    EXPECT_EQ(ran.code, exit_usage) << ran.err;
    expect_contains(ran.err, "3113");
  }
}

TEST(Parts, TheLastOneSaysThatAllAreThere) {
  const LauncherEnvironment none;
  const Folder folder;
  const std::string file = folder.write("a.json", sweep_scenario());
  const auto said = [&](const std::string& part) {
    return run_collsim({"run", file, "--part", part, "-o", folder.path("out")}).err;
  };
  expect_lacks(said("1/2"), "all parts");
  expect_contains(said("2/2"), "all parts");
  folder.write("a.json", sweep_scenario() + "\n");
  expect_lacks(said("1/2"), "all parts");  // the other is of another state
  expect_contains(said("2/2"), "all parts");
}

TEST(Parts, SeveralScenariosInAFolderAreMergedOneAfterTheOther) {
  const LauncherEnvironment none;
  const Folder folder;
  const std::string a = folder.write("a.json", sweep_scenario());
  const std::string b = folder.write("b.json", chain_scenario());
  // In the order of the command.
  run_parts({b, a}, 2, folder.path("out"));
  EXPECT_EQ(run_collsim({"merge", folder.path("out")}).out, run_collsim({"run", b, a}).out);
}

// --- going on where it stopped ---

TEST(Parts, AnInterruptedPartLeavesNothingAndIsRunAgainAlone) {
  const LauncherEnvironment none;
  const Folder folder;
  const std::string file = folder.write("a.json", sweep_scenario());
  run_parts({file}, 2, folder.path("out"));
  const std::string first = folder.path("out/a.1-of-2.part");
  const std::string second = folder.path("out/a.2-of-2.part");
  std::filesystem::remove(second);
  const std::vector<std::string> again{"run", file, "--part", "2/2", "-o", folder.path("out")};
  const Ran interrupted = run_collsim(again, true);
  EXPECT_EQ(interrupted.code, exit_interrupted);
  EXPECT_FALSE(std::filesystem::exists(second));

  const auto written = std::filesystem::last_write_time(first);
  run_parts({file}, 2, folder.path("out"));
  EXPECT_TRUE(std::filesystem::exists(second));
  EXPECT_EQ(std::filesystem::last_write_time(first), written);
  expect_contains(run_collsim(again).err, "part 2/2 of " + file + " is there");
}

TEST(Parts, AfterAChangeOrDamageAPartIsRunAgain) {
  const LauncherEnvironment none;
  const Folder folder;
  const std::string file = folder.write("a.json", sweep_scenario());
  const std::string out = folder.path("out");
  run_parts({file}, 2, out);
  folder.write("a.json", sweep_scenario() + " ");
  const Ran stale = run_collsim({"merge", out});
  EXPECT_EQ(stale.code, exit_usage);
  expect_contains(stale.err, "a.1-of-2.part was run before " + file);
  expect_contains(stale.err, "collsim run " + file + " --part 1/2 -o " + out);
  expect_contains(run_collsim({"run", file, "--part", "1/2", "-o", out}).err,
                  "is of another state of " + file);

  std::string text = folder.read("out/a.1-of-2.part");
  text[text.size() / 2] = text[text.size() / 2] == '1' ? '2' : '1';
  folder.write("out/a.1-of-2.part", text);
  const Ran again = run_collsim({"run", file, "--part", "1/2", "-o", out});
  expect_contains(again.err, "a.1-of-2.part is damaged: run again");
  folder.write("out/a.2-of-2.part", folder.read("out/a.1-of-2.part"));
  expect_contains(run_collsim({"run", file, "--part", "2/2", "-o", out}).err,
                  "a.2-of-2.part is part 1/2 under another name: run again");
  expect_contains(
      run_collsim({"run", file, "--part", "2/2", "-o", out, "--set", "cluster.ranks=3"}).err,
      "a.2-of-2.part was made with other --set; use another folder");
  run_parts({file}, 2, out);
  EXPECT_EQ(run_collsim({"merge", out}).code, exit_fine);
}

// --- what merge refuses ---

class RefusedMerge : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = folder_.write("a.json", sweep_scenario());
    run_parts({file_}, 3, folder_.path("out"));
  }
  [[nodiscard]] std::string refusal(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"merge", folder_.path("out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = run_collsim(arguments);
    EXPECT_EQ(ran.code, exit_usage);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  }
  [[nodiscard]] std::string part(int number) const {
    return "out/a." + std::to_string(number) + "-of-3.part";
  }
  void replace(int number, const std::string& what, const std::string& by) const {
    std::string text = folder_.read(part(number));
    text.replace(text.find(what), what.size(), by);
    folder_.write(part(number), text);
  }

  LauncherEnvironment none_;
  Folder folder_;
  std::string file_;
};

TEST_F(RefusedMerge, NamesMissingPartsWithTheirCommands) {
  std::filesystem::remove(folder_.path(part(1)));
  std::filesystem::remove(folder_.path(part(3)));
  const std::string text = refusal();
  expect_contains(text, "part 1/3 of " + file_ + " is missing");
  expect_contains(text, "collsim run " + file_ + " --part 3/3 -o " + folder_.path("out"));
  expect_lacks(text, "part 2/3");
}

TEST_F(RefusedMerge, NamesWhatIsThereTwice) {
  folder_.write("copy.part", folder_.read(part(2)));
  expect_contains(refusal({folder_.path("copy.part")}), "part 2/3 of " + file_ + " is there twice");
  // The same file by two names is one.
  EXPECT_EQ(run_collsim({"merge", folder_.path("out"), folder_.path(part(2))}).code, exit_fine);
}

TEST_F(RefusedMerge, NamesPartsOfAnotherNumber) {
  run_parts({file_}, 2, folder_.path("other"));
  expect_contains(refusal({folder_.path("other")}), "is a part of 3, and ");
}

TEST_F(RefusedMerge, NamesOtherVersions) {
  replace(2, R"("version":")", R"("version":"9)");
  expect_contains(refusal(), "a.2-of-3.part was written by collsim 9");
}

TEST_F(RefusedMerge, NamesDamagedParts) {
  std::string text = folder_.read(part(2));
  folder_.write(part(2), text.substr(0, text.size() - 20));
  const std::string damaged = refusal();
  expect_contains(damaged, "a.2-of-3.part is damaged");
  expect_contains(damaged, "--part 2/3");
  folder_.write(part(2), "");
  const std::string again = "run it again: collsim run " + file_ + " --part 2/3 -o ";
  expect_contains(refusal(), "is no part of a sweep; " + again + folder_.path("out"));
  folder_.write(part(2), text.substr(0, 40));
  expect_contains(refusal(), "is damaged; " + again);
}

TEST_F(RefusedMerge, SaysWhatToDoWhenNoHeaderCanBeRead) {
  for (int number = 1; number <= 3; ++number) folder_.write(part(number), "");
  expect_contains(refusal(), "is no part of a sweep; remove it, and run that part again");
}

// Whatever is cut off or changed is noticed, and nothing ends the program.
TEST_F(RefusedMerge, NoticesEveryCutAndEveryChangedByte) {
  const std::string text = folder_.read(part(2));
  for (std::size_t at = 0; at < text.size(); at += 7) {
    folder_.write(part(2), text.substr(0, at));
    EXPECT_EQ(run_collsim({"merge", folder_.path("out")}).code, exit_usage) << at;
    std::string changed = text;
    changed[at] = changed[at] == '3' ? '4' : '3';
    folder_.write(part(2), changed);
    EXPECT_EQ(run_collsim({"merge", folder_.path("out")}).code, exit_usage) << at;
  }
}

TEST_F(RefusedMerge, SaysWhereTheScenarioIsToBe) {
  std::filesystem::remove(file_);
  expect_contains(refusal(), "which is not there");
}

TEST_F(RefusedMerge, NeverWritesOverAPart) {
  expect_contains(refusal({"--format", "csv", "-o", folder_.path(part(1))}), "would overwrite");
}

TEST_F(RefusedMerge, SaysWhatAFolderWithoutPartsLacks) {
  std::filesystem::create_directory(folder_.path("empty"));
  const Ran ran = run_collsim({"merge", folder_.path("empty")});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "has no parts");
}

// --- usage ---

TEST(Parts, WrongUsageIsExplained) {
  const LauncherEnvironment none;
  const Folder folder;
  const std::string file = folder.write("a.json", sweep_scenario());
  const auto mistake = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", file});
    const Ran ran = run_collsim(more);
    EXPECT_EQ(ran.code, exit_usage);
    return ran.err;
  };
  for (const char* const part : {"", "0/8", "9/8", "3", "3/", "a/b", "1/0", "1/8x", "-1/8"})
    expect_contains(mistake({"--part", part, "-o", folder.path("out/")}), "is no part");
  expect_contains(mistake({"--part", "1/8"}), "add -o FOLDER/");
  expect_contains(mistake({"--part", "1/8", "-o", "x.json"}), "looks like a file");
  expect_contains(mistake({"--part", "1/8", "-o", folder.path("out"), "--format", "csv"}),
                  "--format is for collsim merge");
  expect_contains(mistake({"--part", "1/8", "--print-resolved"}), "do not go together");
}

TEST(Parts, AnotherCutIntoTheSameFolderIsRefused) {
  const LauncherEnvironment none;
  const Folder folder;
  const std::string file = folder.write("a.json", sweep_scenario());
  run_parts({file}, 3, folder.path("out"));
  const Ran ran = run_collsim({"run", file, "--part", "1/2", "-o", folder.path("out")});
  EXPECT_EQ(ran.code, exit_usage);
  expect_contains(ran.err, "give --part i/3");
}

// Most likely it is a file whose name was forgotten.
TEST(Parts, AFolderWithoutAPartIsRefusedAndStaysEmpty) {
  const LauncherEnvironment none;
  const Folder folder;
  const std::string file = folder.write("a.json", chain_scenario());
  std::filesystem::create_directory(folder.path("out"));
  for (const std::string& output : {folder.path("out"), folder.path("out/")}) {
    const Ran ran = run_collsim({"run", file, "-q", "-o", output});
    EXPECT_EQ(ran.code, exit_usage);
    expect_contains(ran.err, "is a folder, which is for parts of a sweep (docs/clusters.md)");
    expect_contains(ran.err, "out/results.json");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("out")));
}

// --- launchers ---

TEST(Parts, LaunchedProcessesTakeTheirPartsByThemselves) {
  const Folder folder;
  const std::string file = folder.write("a.json", sweep_scenario());
  for (const char* const rank : {"0", "1", "2"}) {
    const LauncherEnvironment slurm({{"SLURM_PROCID", rank}, {"SLURM_STEP_NUM_TASKS", "3"}});
    ASSERT_EQ(run_collsim({"run", file, "-o", folder.path("out/")}).code, exit_fine);
  }
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/a.3-of-3.part")));
  EXPECT_EQ(run_collsim({"merge", folder.path("out")}).out, run_collsim({"run", file}).out);
}

std::string launched_as(const std::map<std::string, std::string>& variables) {
  const Launch launch = launch_of([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
  return launch.part ? to_text(*launch.part) : "alone";
}

TEST(Launcher, IsReadFromItsVariables) {
  EXPECT_EQ(launched_as({}), "alone");
  EXPECT_EQ(launched_as({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}}), "4/8");
  EXPECT_EQ(launched_as({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), "1/2");
  EXPECT_EQ(launched_as({{"SLURM_PROCID", "63"}, {"SLURM_STEP_NUM_TASKS", "64"}}), "64/64");
  EXPECT_EQ(launched_as({{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}}), "alone");
}

// As salloc, sbatch and `srun --pty bash` set them.
TEST(Launcher, ShellsAndBatchScriptsOfAnAllocationAreAlone) {
  EXPECT_EQ(launched_as({{"SLURM_NTASKS", "64"}, {"SLURM_NPROCS", "64"}}), "alone");
  EXPECT_EQ(launched_as({{"SLURM_NTASKS", "64"}, {"SLURM_PROCID", "0"}}), "alone");
  EXPECT_EQ(
      launched_as({{"SLURM_NTASKS", "64"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}),
      "alone");
}

// As it does where mpirun starts its daemons by srun.
TEST(Launcher, OfSeveralTheInnermostCounts) {
  EXPECT_EQ(launched_as({{"OMPI_COMM_WORLD_RANK", "5"},
                         {"OMPI_COMM_WORLD_SIZE", "8"},
                         {"SLURM_PROCID", "1"},
                         {"SLURM_STEP_NUM_TASKS", "2"}}),
            "6/8");
}

TEST(Launcher, TasksOfAnArrayArePartsFromTheFirstOn) {
  const auto task = [](const char* id, const char* first, const char* last, const char* count,
                       const char* step = "1") {
    return std::map<std::string, std::string>{{"SLURM_ARRAY_TASK_ID", id},
                                              {"SLURM_ARRAY_TASK_MIN", first},
                                              {"SLURM_ARRAY_TASK_MAX", last},
                                              {"SLURM_ARRAY_TASK_COUNT", count},
                                              {"SLURM_ARRAY_TASK_STEP", step},
                                              {"SLURM_PROCID", "0"},
                                              {"SLURM_NTASKS", "1"}};
  };
  EXPECT_EQ(launched_as(task("1", "1", "16", "16")), "1/16");
  EXPECT_EQ(launched_as(task("0", "0", "15", "16")), "1/16");
  EXPECT_EQ(launched_as(task("4", "0", "6", "4", "2")), "3/4");  // 0-6:2
  EXPECT_EQ(launched_as(task("7", "7", "7", "1")), "1/1");
  EXPECT_THROW(static_cast<void>(launched_as(task("3", "1", "7", "3"))), UsageError);
  EXPECT_THROW(static_cast<void>(launched_as(task("9", "1", "9", "3"))), UsageError);

  auto with_srun = task("2", "1", "3", "3");
  with_srun["SLURM_PROCID"] = "1";
  with_srun["SLURM_STEP_NUM_TASKS"] = "4";
  EXPECT_EQ(launched_as(with_srun), "6/12");
}

}  // namespace
}  // namespace collsim
