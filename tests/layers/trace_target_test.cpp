// Where a trace goes: nothing that somebody else has put at its path is followed or emptied.
#include "backend_template/layers/trace_target.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace outback::layers {
namespace {

using testing::HasSubstr;

class TraceTargetTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "outback_trace_target_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream(folder_ / "precious") << "precious";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::string text_of(const char* name) const {
    std::stringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  // Why `name` is refused; "" if it is not.
  std::string problem(const char* name) const {
    const trace_target target = open_trace_target(path(name));
    EXPECT_EQ(target.fd < 0, !target.problem.empty());
    if (target.fd >= 0) ::close(target.fd);
    return target.problem;
  }

  std::filesystem::path folder_;
};

TEST_F(TraceTargetTest, AFileIsMadeOrEmptied) {
  for (const char* name : {"new", "precious"}) {
    const trace_target target = open_trace_target(path(name));
    ASSERT_GE(target.fd, 0) << target.problem;
    EXPECT_TRUE(target.is_file);
    EXPECT_EQ(::fcntl(target.fd, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(::fcntl(target.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT_EQ(::write(target.fd, "x", 1), 1);
    ::close(target.fd);
    EXPECT_EQ(text_of(name), "x");
  }
}

TEST_F(TraceTargetTest, ASymbolicLinkIsNotFollowed) {
  std::filesystem::create_symlink(folder_ / "precious", folder_ / "link");
  EXPECT_THAT(problem("link"), HasSubstr("symbolic link"));
  EXPECT_EQ(text_of("precious"), "precious");
  std::filesystem::create_symlink(folder_ / "not there", folder_ / "dangling");
  EXPECT_THAT(problem("dangling"), HasSubstr("symbolic link"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "not there"));
}

TEST_F(TraceTargetTest, AFileWithSeveralNamesIsNotEmptied) {
  std::filesystem::create_hard_link(folder_ / "precious", folder_ / "also");
  EXPECT_THAT(problem("also"), HasSubstr("several names"));
  EXPECT_EQ(text_of("precious"), "precious");
}

TEST_F(TraceTargetTest, NobodyElseMayReadIt) {
  const mode_t umask_before = ::umask(0);
  std::filesystem::permissions(folder_ / "precious", std::filesystem::perms(0644));
  for (const char* name : {"new", "precious"}) {
    EXPECT_EQ(problem(name), "");
    struct stat there = {};
    ASSERT_EQ(::stat(path(name).c_str(), &there), 0);
    EXPECT_EQ(there.st_mode & 0777, 0600u) << name;
  }
  ::umask(umask_before);
}

TEST_F(TraceTargetTest, WhatIsAnotherUsersIsNotWritten) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to another user";
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  for (const char* name : {"precious", "pipe"}) {
    ASSERT_EQ(::chown(path(name).c_str(), 65534, 65534), 0);
    EXPECT_THAT(problem(name), HasSubstr("belongs to another user"));
  }
  ::close(reader);
  EXPECT_EQ(text_of("precious"), "precious");
}

TEST_F(TraceTargetTest, AFolderIsNone) {
  std::filesystem::create_directory(folder_ / "folder");
  EXPECT_EQ(problem("folder"), "Is a directory");
  EXPECT_EQ(problem("none/file"), "No such file or directory");
}

TEST_F(TraceTargetTest, APipeIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(problem("pipe"), HasSubstr("nobody reads"));

  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  const trace_target target = open_trace_target(path("pipe"));
  ASSERT_GE(target.fd, 0) << target.problem;
  EXPECT_FALSE(target.is_file);
  EXPECT_EQ(::write(target.fd, "x", 1), 1);
  char read = 0;
  EXPECT_EQ(::read(reader, &read, 1), 1);
  ::close(target.fd);
  ::close(reader);
}

TEST_F(TraceTargetTest, AnOwnDescriptorGoesOnWhereItStands) {
  const int own = ::open(path("precious").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(own, 0);
  for (const char* folder : {"/dev/fd/", "/proc/self/fd/"}) {
    const trace_target target = open_trace_target(folder + std::to_string(own));
    ASSERT_GE(target.fd, 0) << target.problem;
    EXPECT_NE(target.fd, own);
    EXPECT_FALSE(target.is_file);
    EXPECT_EQ(::write(target.fd, "+", 1), 1);
    ::close(target.fd);
  }
  ::close(own);
  EXPECT_EQ(text_of("precious"), "precious++");
  EXPECT_EQ(open_trace_target("/dev/fd/999999").problem, "Bad file descriptor");
  const trace_target null = open_trace_target("/dev/null");
  EXPECT_GE(null.fd, 0);
  EXPECT_FALSE(null.is_file);
  ::close(null.fd);
}

}  // namespace
}  // namespace outback::layers
