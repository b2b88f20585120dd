#include "tests/fakes/cudart/ipc.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "tests/fakes/cudart/errors.hpp"

namespace fake_cuda {

ipc_message make_message(shared_kind kind, int file) {
  struct stat found = {};
  if (fstat(file, &found) != 0) throw failure(cudaErrorUnknown);
  ipc_message made;
  made.kind = kind;
  made.process = getpid();
  made.file = file;
  made.inode = found.st_ino;
  return made;
}

ipc_message read_handle(const char* bytes, shared_kind kind) {
  ipc_message told;
  const auto magic = told.magic;
  std::memcpy(&told, bytes, sizeof(told));
  require(told.magic == magic && told.kind == kind, "the bytes are no handle of that kind");
  if (told.process == getpid()) {
    throw refusal(cudaErrorDeviceUninitialized, "opened in the process that made it");
  }
  return told;
}

int open_shared(const ipc_message& told) {
  const std::string path = fmt::format("/proc/{}/fd/{}", told.process, told.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat found = {};
  if (file >= 0 && fstat(file, &found) == 0 && found.st_ino == told.inode) return file;
  if (file >= 0) close(file);
  throw refusal(cudaErrorMapBufferObjectFailed,
                fmt::format("process {} shares it no more", told.process));
}

}  // namespace fake_cuda
