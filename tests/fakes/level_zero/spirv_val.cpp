// Runs spirv-val, of the SPIR-V tools, over a module.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <string>

#include "tests/fakes/level_zero/spirv.hpp"

extern char** environ;

namespace outback::software_ze {
namespace {

// A file that goes with its last descriptor, so that neither side waits for the other.
int file_of(const std::string& bytes) {
  const int file = ::memfd_create("spirv", 0);
  if (file < 0) return file;
  [[maybe_unused]] const auto written = ::write(file, bytes.data(), bytes.size());
  ::lseek(file, 0, SEEK_SET);
  return file;
}

std::string content_of(int file) {
  std::string text(4096, '\0');
  const auto size = ::pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::string said_by_spirv_val(const std::string& bytes) {
  const int input = file_of(bytes), output = file_of("");
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  char name[] = "spirv-val", environment_flag[] = "--target-env", environment[] = "opencl2.2",
       from_input[] = "-";
  char* arguments[] = {name, environment_flag, environment, from_input, nullptr};
  pid_t child = 0;
  std::string said;
  if (::posix_spawnp(&child, name, &files, nullptr, arguments, environ) == 0) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    // 127: there is no such program.
    const bool ran = WIFEXITED(status) && WEXITSTATUS(status) != 127;
    if (ran && WEXITSTATUS(status) != 0) said = content_of(output);
  }
  posix_spawn_file_actions_destroy(&files);
  ::close(input);
  ::close(output);
  return said;
}

}  // namespace

std::string validate_spirv(const std::string& bytes) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<std::string, std::string>;
  const std::lock_guard lock(mutex);
  const auto found = known.find(bytes);
  if (found != known.end()) return found->second;
  return known.emplace(bytes, said_by_spirv_val(bytes)).first->second;
}

}  // namespace outback::software_ze
