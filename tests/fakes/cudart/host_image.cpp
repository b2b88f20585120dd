#include "tests/fakes/cudart/host_image.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "tests/fakes/cudart/errors.hpp"
#include "tests/fakes/cudart/thread.hpp"

namespace fake_cuda {
namespace {

#if defined(__aarch64__)
constexpr Elf64_Half host = EM_AARCH64;
#else
constexpr Elf64_Half host = EM_X86_64;
#endif
constexpr auto shared_alignment = std::align_val_t{64};

struct free_shared {
  void operator()(std::byte* ptr) const noexcept { ::operator delete[](ptr, shared_alignment); }
};

Elf64_Ehdr header_of(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  return header;
}

// As far as its segments and its sections' headers reach: nobody says how large an image is.
std::size_t size_of(const void* image) {
  const Elf64_Ehdr header = header_of(image);
  std::size_t size = header.e_shoff + std::size_t(header.e_shnum) * header.e_shentsize;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment,
                static_cast<const std::byte*>(image) + header.e_phoff + i * sizeof(segment),
                sizeof(segment));
    size = std::max<std::size_t>(size, segment.p_offset + segment.p_filesz);
  }
  return size;
}

std::string path_of(int file) {
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace

bool host_image::is_one(const void* image) {
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return false;
  const Elf64_Ehdr header = header_of(image);
  return header.e_machine == host && header.e_type == ET_DYN;
}

host_image::host_image(const void* image) : file_(memfd_create("fake cuda image", MFD_CLOEXEC)) {
  const std::size_t size = size_of(image);
  if (file_ >= 0 && ::write(file_, image, size) == ssize_t(size)) {
    handle_ = dlopen(path_of(file_).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (handle_ != nullptr) return;
  const char* const why = dlerror();
  ::close(file_);
  throw refusal(cudaErrorInvalidKernelImage, why == nullptr ? "the image cannot be copied" : why);
}

host_image::~host_image() {
  dlclose(handle_);
  // Code that the system keeps also keeps the path.
  if (void* const kept = dlopen(path_of(file_).c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
    dlclose(kept);
  } else {
    ::close(file_);
  }
}

const outback_host_kernel* host_image::find(const char* name) const {
  const std::string symbol = std::string(OUTBACK_HOST_KERNEL_PREFIX) + name;
  return static_cast<const outback_host_kernel*>(dlsym(handle_, symbol.c_str()));
}

kernel_body body_of(std::shared_ptr<const host_image> image, const outback_host_kernel& of,
                    std::vector<parameter> placed) {
  return [image = std::move(image), &of, placed = std::move(placed)](const kernel_shape& shape,
                                                                     std::byte* values) {
    std::vector<void*> arguments;
    for (const parameter& each : placed) arguments.push_back(values + each.offset);
    const std::unique_ptr<std::byte[], free_shared> shared(
        new (shared_alignment) std::byte[std::max<std::size_t>(shape.shared, 1)]);
    const outback_host_groups groups = {
        .struct_size = sizeof(groups),
        .items = {shape.block.x, shape.block.y, shape.block.z},
        .groups = {shape.grid.x, shape.grid.y, shape.grid.z},
        .reserved = 0,
        .first = 0,
        .count = uint64_t(shape.grid.x) * shape.grid.y * shape.grid.z,
        .arguments = arguments.data(),
        .local = shape.shared == 0 ? nullptr : shared.get(),
        .local_size = shape.shared};
    this_thread().in_host_function = true;
    const int32_t fault = of.run(&groups);
    this_thread().in_host_function = false;
    return fault == 0 ? cudaSuccess : cudaErrorLaunchFailure;
  };
}

}  // namespace fake_cuda
