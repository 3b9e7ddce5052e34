// SPDX-License-Identifier: Apache-2.0
#include "app/commands/output_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

#include "tests/app/commands/running.hpp"
#include "tests/golden.hpp"

namespace collsim {
namespace {

class OutputFile : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    write_file(file, terminal_, [&](std::ostream& out) { out << text; });
  }
  std::string mistake(const std::string& file, const std::string& text = "text") {
    try {
      write(file, text);
    } catch (const WriteError& error) {
      return error.what();
    }
    return "none";
  }

  Folder folder_;
  std::ostringstream out_, err_;
  std::atomic<bool> interrupted_{false};
  Terminal terminal_{out_, err_, false, false, false, false, false, interrupted_};
};

TEST_F(OutputFile, IsWrittenWhole) {
  const std::string text(1'000'000, 'x');
  write(folder_.path("a"), text);
  EXPECT_EQ(folder_.read("a"), text);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"a"});
}

TEST_F(OutputFile, WhatCannotBeWrittenIsToldBeforehand) {
  const auto told = [&](const std::string& file) -> std::string {
    try {
      check_writable(file);
    } catch (const WriteError& error) {
      return error.what();
    }
    return "none";
  };
  folder_.write("old", "old");
  for (const std::string& file : {std::string("-"), folder_.path("new"), folder_.path("old"),
                                  std::string("/dev/stdout"), std::string("/dev/null")})
    EXPECT_EQ(told(file), "none");
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"old"}) << "looking makes nothing";
  for (const std::string& file : {std::string(), folder_.path("no/such"), folder_.path("")}) {
    EXPECT_NE(told(file), "none");
    EXPECT_EQ(told(file), mistake(file));
  }
}

TEST_F(OutputFile, DashIsStandardOutput) {
  write("-", "text");
  EXPECT_EQ(out_.str(), "text");
}

TEST_F(OutputFile, AnInterruptedWriteLeavesTheOldFileAndNoOther) {
  folder_.write("a", "old");
  const auto writer = [](std::ostream& out) {
    out << "half";
    throw std::runtime_error("stop");
  };
  EXPECT_THROW(write_file(folder_.path("a"), terminal_, writer), std::runtime_error);
  EXPECT_EQ(folder_.read("a"), "old");
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"a"});
}

TEST_F(OutputFile, ReplacedFilesKeepTheirPermissionsAndLinksTheirTarget) {
  folder_.write("a", "old");
  ::chmod(folder_.path("a").c_str(), 0640);
  std::filesystem::create_symlink("a", folder_.path("link"));
  write(folder_.path("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_.path("link")));
  EXPECT_EQ(folder_.read("a"), "new");
  struct stat status {};
  ASSERT_EQ(::stat(folder_.path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_F(OutputFile, LinksToNothingYetAreWrittenThrough) {
  std::filesystem::create_symlink("a", folder_.path("link"));
  write(folder_.path("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_.path("link")));
  EXPECT_EQ(folder_.read("a"), "new");
}

TEST_F(OutputFile, WhereNoNewFileIsAllowedTheOldOneIsWrittenInPlace) {
  folder_.write("a", "old and long");
  ::chmod(folder_.path("a").c_str(), 0666);
  ::chmod(folder_.path("").c_str(), 0555);
  const uid_t user = ::geteuid();
  constexpr uid_t nobody = 65534;
  // Root may write anywhere.
  ASSERT_EQ(::seteuid(user == 0 ? nobody : user), 0);
  const std::string said = mistake(folder_.path("a"), "new");
  ASSERT_EQ(::seteuid(user), 0);
  ::chmod(folder_.path("").c_str(), 0755);
  EXPECT_EQ(said, "none");
  EXPECT_EQ(folder_.read("a"), "new");
}

TEST_F(OutputFile, NewFilesGetTheUsualPermissions) {
  const mode_t mask = ::umask(022);
  write(folder_.path("a"), "text");
  ::umask(mask);
  struct stat status {};
  ASSERT_EQ(::stat(folder_.path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U);
}

TEST_F(OutputFile, WhyItCannotBeWrittenIsSaid) {
  expect_text(mistake("/dev/full"), "cannot write \"/dev/full\": No space left on device");
  expect_text(mistake("/dev/full", std::string(1'000'000, 'x')),
              "cannot write \"/dev/full\": No space left on device");
  EXPECT_EQ(mistake(folder_.path("no/a")),
            "cannot write \"" + folder_.path("no/a") + "\": its folder does not exist");
  EXPECT_EQ(mistake(folder_.path("")), "cannot write \"" + folder_.path("") + "\": it is a folder");
  expect_text(mistake(""), "cannot write a file without a name");
}

TEST_F(OutputFile, DevicesAreWrittenInPlace) {
  EXPECT_EQ(mistake("/dev/null"), "none");
}

TEST(DescriptorBuffer, RemembersTheFirstError) {
  DescriptorBuffer buffer(-1);
  std::ostream out(&buffer);
  out << "text" << std::flush;
  EXPECT_FALSE(out);
  EXPECT_EQ(buffer.error(), EBADF);
}

}  // namespace
}  // namespace collsim
