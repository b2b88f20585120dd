// Places in which a libcudart may lie although neither this process nor the dynamic loader knows of
// it. library.cpp tries them.
#pragma once

#include <string>
#include <vector>

namespace outback::cuda {

/// Returns where NVIDIA's wheels put a libcudart: for each folder of Python packages that a loaded
/// torch or this library is in, the file of CUDA 13 and then that of CUDA 12, whether they exist or
/// not. Empty if neither of the two comes from such a folder.
std::vector<std::string> cudarts_of_wheels();

/// Returns the same two files for one folder, a site-packages.
std::vector<std::string> cudarts_of_wheels_in(const std::string& package_folder);

/// Returns the files in the folder in which the installers of the CUDA Toolkit put them.
std::vector<std::string> cudarts_of_toolkit();

/// Opens the first library of some lists, and remembers for an error text where it found none. For
/// one thread.
class cudart_search {
 public:
  /// Returns dlopen's handle of the first file that can be opened, or null.
  void* open_one_of(const std::vector<std::string>& files);
  /// Returns "<folder>, <folder>" of all that was tried, and after that what is wrong with files
  /// that exist.
  std::string text() const { return folders_ + faults_; }

 private:
  void* open(const std::string& file);

  std::string folders_, faults_;
};

/// Returns the folder of Python packages that `library`, an absolute path, was installed into: for
/// a library of torch's the folder that holds torch/lib, for every other one the site-packages or
/// dist-packages above it. "" if there is none.
std::string package_folder_of(const std::string& library);

}  // namespace outback::cuda
