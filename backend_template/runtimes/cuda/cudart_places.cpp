#include "backend_template/runtimes/cuda/cudart_places.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace outback::cuda {
namespace {

// The files of the wheels nvidia-cuda-runtime (CUDA 13) and nvidia-cuda-runtime-cu12, below a
// site-packages.
constexpr const char* files_of_wheels[] = {"nvidia/cu13/lib/libcudart.so.13",
                                           "nvidia/cuda_runtime/lib/libcudart.so.12"};

// No other folder above a library is searched. Any user might be able to write to it, and would
// then choose what this process loads.
constexpr std::string_view package_folders[] = {"/site-packages/", "/dist-packages/"};

void add_folder_of(const char* library, std::vector<std::string>& folders) {
  if (library == nullptr) return;
  std::string folder = package_folder_of(library);
  if (folder.empty() || std::find(folders.begin(), folders.end(), folder) != folders.end()) return;
  folders.push_back(std::move(folder));
}

int add_if_torchs(dl_phdr_info* info, std::size_t, void* folders) {
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (path.find("/torch/lib/lib") != std::string_view::npos) {
    add_folder_of(info->dlpi_name, *static_cast<std::vector<std::string>*>(folders));
  }
  return 0;
}

}  // namespace

std::string package_folder_of(const std::string& library) {
  const std::size_t name = library.rfind('/');
  if (name == std::string::npos || library[0] != '/') return "";
  constexpr std::string_view of_torch = "/torch/lib";
  const std::string_view folder = std::string_view(library).substr(0, name);
  // Torch may lie in a folder of another name, a source tree say.
  if (folder.ends_with(of_torch)) return library.substr(0, folder.size() - of_torch.size());
  for (const std::string_view each : package_folders) {
    const std::size_t found = library.rfind(each);
    if (found != std::string::npos) return library.substr(0, found + each.size() - 1);
  }
  return "";
}

std::vector<std::string> cudarts_of_wheels_in(const std::string& package_folder) {
  std::vector<std::string> files;
  for (const char* each : files_of_wheels) files.push_back(package_folder + "/" + each);
  return files;
}

std::vector<std::string> cudarts_of_wheels() {
  std::vector<std::string> folders;
  dl_iterate_phdr(add_if_torchs, &folders);
  Dl_info self = {};
  if (dladdr(reinterpret_cast<void*>(&cudarts_of_wheels), &self) != 0) {
    add_folder_of(self.dli_fname, folders);
  }
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    for (std::string& each : cudarts_of_wheels_in(folder)) files.push_back(std::move(each));
  }
  return files;
}

std::vector<std::string> cudarts_of_toolkit() {
  return {"/usr/local/cuda/lib64/libcudart.so.13", "/usr/local/cuda/lib64/libcudart.so.12"};
}

void* cudart_search::open_one_of(const std::vector<std::string>& files) {
  for (const std::string& each : files) {
    if (void* handle = open(each)) return handle;
  }
  return nullptr;
}

void* cudart_search::open(const std::string& file) {
  // RTLD_LOCAL: only lookups through this handle see its functions, so they hide no other
  // library's.
  if (void* handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL)) return handle;
  const char* const why = dlerror();
  // A file that exists and cannot be opened is broken, or of another machine; that is worth the
  // loader's words.
  if (access(file.c_str(), F_OK) == 0) {
    faults_ += "; " + (why == nullptr ? file + " cannot be opened" : std::string(why));
  }
  const std::string folder = file.substr(0, file.rfind('/'));
  if (!folders_.ends_with(folder)) folders_ += (folders_.empty() ? "" : ", ") + folder;
  return nullptr;
}

}  // namespace outback::cuda
