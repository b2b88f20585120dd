// Where a libcudart may lie that neither this process nor the dynamic loader knows of.
#pragma once

#include <string>
#include <vector>

namespace outback::cuda {

/// The files of a libcudart in Python's packages, the newer first, whether they are there or not:
/// where NVIDIA's wheels put it, beside the torch that this process has loaded and beside this
/// library. None in a process that has neither of them from packages.
std::vector<std::string> cudarts_of_wheels();

/// The same below `package_folder`, a site-packages.
std::vector<std::string> cudarts_of_wheels_in(const std::string& package_folder);

/// The same of the CUDA Toolkit, in the place where its installers put it.
std::vector<std::string> cudarts_of_toolkit();

/// Opens files of given places, and keeps where there was none.
class cudart_search {
 public:
  /// A handle of dlopen's for the first that can be opened, or null.
  void* open_one_of(const std::vector<std::string>& files);
  /// "<folder>, <folder>"; then what is wrong with files that are there.
  std::string text() const { return folders_ + faults_; }

 private:
  void* open(const std::string& file);

  std::string folders_, faults_;
};

/// The folder of Python's packages that `library` was installed to, by its path: that of torch's
/// libraries holds the folder torch/lib, every other one is called site-packages or dist-packages.
/// "" where it is none.
std::string package_folder_of(const std::string& library);

}  // namespace outback::cuda
