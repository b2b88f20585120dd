// Places for a libcudart that is not loaded yet and that the dynamic loader does not find.
// library.cpp tries these places.
#pragma once

#include <string>
#include <vector>

namespace outback::cuda {

/// Returns the files where NVIDIA's wheels put a libcudart: for each folder of Python packages that
/// contains a loaded torch or this library, the file of CUDA 13 and then the file of CUDA 12,
/// whether they exist or not. Empty if neither torch nor this library is in such a folder.
std::vector<std::string> cudarts_of_wheels();

/// Returns the same two files for one folder of Python packages, such as site-packages.
std::vector<std::string> cudarts_of_wheels_in(const std::string& package_folder);

/// Returns the files in the folder where the installers of the CUDA Toolkit put libcudart.
std::vector<std::string> cudarts_of_toolkit();

/// Opens the first usable library from several lists, and remembers the failures for an error text.
/// For use by one thread.
class cudart_search {
 public:
  /// Returns dlopen's handle of the first file that can be opened, or null.
  void* open_one_of(const std::vector<std::string>& files);
  /// Returns the folders that were tried, as "<folder>, <folder>", followed by the problems with
  /// files that exist.
  std::string text() const { return folders_ + faults_; }

 private:
  void* open(const std::string& file);

  std::string folders_, faults_;
};

/// Returns the folder of Python packages that `library`, an absolute path, was installed into. For
/// a library of torch it is the folder that holds torch/lib, for every other library the
/// site-packages or dist-packages above it. "" if there is no such folder.
std::string package_folder_of(const std::string& library);

}  // namespace outback::cuda
