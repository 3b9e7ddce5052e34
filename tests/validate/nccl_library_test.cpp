// SPDX-License-Identifier: Apache-2.0
#include "validate/cuda/nccl_library.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace collsim {
namespace {

namespace fs = std::filesystem;

std::string fake(const std::string& name) {
  return std::string(COLLSIM_FAKE_NCCL) + "/" + name + ".so";
}

// An environment variable for as long as this object lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// An empty folder that goes away again.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "collsim-nccl-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // A link to a fake NCCL, under the name and in the folder where one looks for NCCL.
  [[nodiscard]] std::string install(const std::string& name, const fs::path& below) const {
    fs::create_directories(path_ / below);
    const fs::path at = path_ / below / "libnccl.so.2";
    fs::create_symlink(fake(name), at);
    return at.string();
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(NcclLibrary, VersionsReadAsNvidiaWritesThem) {
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(nccl_version_text(21805), "2.18.5");
  EXPECT_EQ(nccl_version_text(23003), "2.30.3");
  EXPECT_EQ(nccl_version_text(2708), "2.7.8");
}

TEST(NcclLibrary, TheRightOneIsLoadedWithAllItsFunctions) {
  const NcclSearch search = load_nccl({fake("fake_nccl")});
  ASSERT_TRUE(search.library) << search.problem;
  EXPECT_EQ(search.library->version, 22809);
  EXPECT_EQ(search.library->path, fake("fake_nccl"));
  EXPECT_TRUE(search.problem.empty());
  const NcclFunctions& nccl = search.library->call;
  EXPECT_STREQ(nccl.error_string(0), "fake error");
  EXPECT_NE(nccl.group_simulate_end, nullptr);
  EXPECT_NE(nccl.receive, nullptr);
}

TEST(NcclLibrary, AnEstimateIsOptional) {
  const NcclSearch search = load_nccl({fake("fake_nccl_2_18")});
  ASSERT_TRUE(search.library) << search.problem;
  EXPECT_EQ(search.library->version, 21805);
  EXPECT_EQ(search.library->call.group_simulate_end, nullptr);
}

TEST(NcclLibrary, AnOldOneIsRefused) {
  const NcclSearch search = load_nccl({fake("fake_nccl_2_17")});
  EXPECT_FALSE(search.library);
  EXPECT_TRUE(mentions(search.problem, "is NCCL 2.17.1, and 2.18.0 or newer is needed"))
      << search.problem;
}

TEST(NcclLibrary, AnIncompleteOneIsRefusedByTheNameOfWhatIsMissing) {
  const NcclSearch search = load_nccl({fake("fake_nccl_incomplete")});
  EXPECT_FALSE(search.library);
  EXPECT_TRUE(
      mentions(search.problem, "calls itself NCCL 2.28.9 but has no function ncclGetErrorString"))
      << search.problem;
}

TEST(NcclLibrary, AnotherLibraryIsNotNccl) {
  const NcclSearch search = load_nccl({"libm.so.6"});
  EXPECT_FALSE(search.library);
  EXPECT_TRUE(mentions(search.problem, "libm.so.6 is not NCCL")) << search.problem;
}

TEST(NcclLibrary, WithoutAnyTheMessageSaysWhatWasTriedAndWhatHelps) {
  const NcclSearch search = load_nccl({"/nowhere/libnccl.so.2", fake("fake_nccl_2_17")});
  EXPECT_FALSE(search.library);
  EXPECT_TRUE(mentions(search.problem, "/nowhere/libnccl.so.2 cannot be loaded")) << search.problem;
  EXPECT_TRUE(mentions(search.problem, "2.17.1")) << search.problem;
  EXPECT_TRUE(mentions(search.problem, "Set COLLSIM_NCCL")) << search.problem;
  EXPECT_TRUE(mentions(load_nccl({}).problem, "nothing to try"));
}

TEST(NcclLibrary, TheFirstThatServesIsTaken) {
  const NcclSearch search = load_nccl(
      {"/nowhere/libnccl.so.2", fake("fake_nccl_2_17"), fake("fake_nccl_2_18"), fake("fake_nccl")});
  ASSERT_TRUE(search.library) << search.problem;
  EXPECT_EQ(search.library->version, 21805);
}

TEST(NcclPlaces, ANamedFileIsTheOnlyPlace) {
  const Variable named("COLLSIM_NCCL", fake("fake_nccl"));
  EXPECT_EQ(nccl_places(), std::vector<std::string>{fake("fake_nccl")});
  const NcclSearch search = load_nccl();
  ASSERT_TRUE(search.library) << search.problem;
  EXPECT_EQ(search.library->path, fake("fake_nccl"));
}

TEST(NcclPlaces, AWrongNameIsNotReplacedByAnotherNccl) {
  const Variable named("COLLSIM_NCCL", "/nowhere/libnccl.so.2");
  const NcclSearch search = load_nccl();
  EXPECT_FALSE(search.library);
  EXPECT_TRUE(mentions(search.problem, "/nowhere/libnccl.so.2")) << search.problem;
}

TEST(NcclPlaces, ANamedFolderMayBeThatOfAPythonPackage) {
  for (const char* below : {"", "lib", "nccl/lib", "nvidia/nccl/lib"}) {
    const Folder folder;
    const std::string library = folder.install("fake_nccl", below);
    const Variable named("COLLSIM_NCCL", folder.path());
    const auto places = nccl_places();
    ASSERT_EQ(places.size(), 1U) << below;
    EXPECT_TRUE(fs::equivalent(places[0], library)) << places[0];
    EXPECT_TRUE(load_nccl().library) << below;
  }
}

TEST(NcclPlaces, AnEmptyFolderIsNamedInTheMessage) {
  const Folder folder;
  const Variable named("COLLSIM_NCCL", folder.path());
  EXPECT_TRUE(mentions(load_nccl().problem, folder.path())) << load_nccl().problem;
}

TEST(NcclPlaces, WhereTheSystemLooksComesFirstAndPythonsBesidePathLast) {
  const Folder folder;
  const std::string wheel =
      folder.install("fake_nccl", "lib/python3.11/site-packages/nvidia/nccl/lib");
  const Variable named("COLLSIM_NCCL", "");
  // A relative folder, an empty one and one that does not exist do no harm.
  const Variable path("PATH",
                      "bin::/nowhere/bin:" + folder.path() + "/bin/:" + folder.path() + "/bin");
  const auto places = nccl_places();
  EXPECT_EQ(places.front(), "libnccl.so.2");
  EXPECT_EQ(places.back(), wheel);
  EXPECT_EQ(std::count(places.begin(), places.end(), wheel), 1);
}

TEST(NcclPlaces, CondaIsLookedInto) {
  const Folder folder;
  const std::string library = folder.install("fake_nccl", "lib");
  const Variable named("COLLSIM_NCCL", "");
  const Variable path("PATH", "");
  const Variable conda("CONDA_PREFIX", folder.path());
  EXPECT_EQ(nccl_places().back(), library);
}

}  // namespace
}  // namespace collsim
