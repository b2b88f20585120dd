// A process of its own for a test: with its own environment, and with the right to die.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace fake_cuda {

struct ended_child {
  int status = 0;    // of waitpid
  std::string said;  // on stderr
  bool exited(int with) const { return WIFEXITED(status) && WEXITSTATUS(status) == with; }
  bool died_of(int signal) const { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }
};

/// Runs `body` in a child with these variables set, and ends it by exit(): 1 if an expectation
/// failed. The calling process must not have called the library, which has one life in a process.
inline ended_child in_child(const std::map<std::string, std::string>& environment,
                            const std::function<void()>& body) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return {.status = -1, .said = "no pipe"};
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(200);
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    body();
    std::exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  close(pipe_ends[1]);
  ended_child ended;
  char buffer[4096];
  for (ssize_t more; (more = read(pipe_ends[0], buffer, sizeof(buffer))) > 0;) {
    ended.said.append(buffer, std::size_t(more));
  }
  close(pipe_ends[0]);
  waitpid(child, &ended.status, 0);
  return ended;
}

inline void expect_well(const ended_child& ended) {
  EXPECT_TRUE(ended.exited(0)) << "status " << ended.status << ": " << ended.said;
}

}  // namespace fake_cuda
