#include "backend_template/runtimes/host/shared_object.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "outback/runtime_error.hpp"

namespace outback::host {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half machine = EM_AARCH64;
#else
constexpr Elf64_Half machine = EM_NONE;
#endif

[[noreturn]] void refuse(const std::string& why) {
  throw invalid_argument("the module is no shared object for this processor: " + why);
}

// The loader maps the parts of the file without a look at its size, and a part that is cut off ends
// the process when it is touched.
void check_whole(std::string_view bytes) {
  Elf64_Ehdr head;
  if (bytes.size() < sizeof(head)) refuse("it has only " + std::to_string(bytes.size()) + " bytes");
  std::memcpy(&head, bytes.data(), sizeof(head));
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) refuse("it is no ELF file");
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != machine) {
    refuse("it was compiled for another one, ELF machine " + std::to_string(head.e_machine));
  }
  if (head.e_type != ET_DYN) refuse("it is an ELF file of another type");
  const auto is_inside = [&](uint64_t begin, uint64_t size) {
    return begin <= bytes.size() && size <= bytes.size() - begin;
  };
  // Compilers put the table of sections at the end of the file.
  const uint64_t segments_size = uint64_t(head.e_phnum) * sizeof(Elf64_Phdr);
  bool whole = head.e_phentsize == sizeof(Elf64_Phdr) && is_inside(head.e_phoff, segments_size) &&
               is_inside(head.e_shoff, uint64_t(head.e_shnum) * head.e_shentsize);
  for (std::size_t i = 0; whole && i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + head.e_phoff + i * sizeof(segment), sizeof(segment));
    whole = is_inside(segment.p_offset, segment.p_filesz);
  }
  if (!whole) refuse("its end is missing");
}

[[noreturn]] void fail(const char* what) {
  throw runtime_error(OUTBACK_INTERNAL,
                      std::string(what) + " for the module: " + std::strerror(errno));
}

void write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("cannot write the memory file");
    bytes.remove_prefix(std::size_t(written));
  }
}

std::string path_of(int file) {
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace

shared_object::shared_object(const void* bytes, std::size_t size) {
  const std::string_view all(static_cast<const char*>(bytes), size);
  check_whole(all);
  file_ = memfd_create("outback module", MFD_CLOEXEC);
  if (file_ < 0) fail("cannot make a memory file");
  try {
    write_all(file_, all);
    handle_ = dlopen(path_of(file_).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      const char* const why = dlerror();
      throw invalid_argument(std::string("the system's loader refuses the module: ") +
                             (why == nullptr ? "" : why));
    }
  } catch (...) {
    ::close(file_);
    throw;
  }
}

shared_object::~shared_object() {
  dlclose(handle_);
  // The system keeps some code: until a thread ends that has a variable of the code with a
  // destructor, or for good. Then the path must not become that of other code.
  if (void* const kept = dlopen(path_of(file_).c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
    dlclose(kept);
  } else {
    ::close(file_);
  }
}

void* shared_object::find(const char* symbol) const noexcept {
  return dlsym(handle_, symbol);
}

}  // namespace outback::host
