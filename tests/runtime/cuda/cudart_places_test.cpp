// Where libcudart is looked for among Python's packages.
#include "backend_template/runtimes/cuda/cudart_places.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace outback::cuda {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

TEST(CudartPlacesTest, AreInThePackageFolderOfALibrary) {
  EXPECT_EQ(package_folder_of("/venv/lib/python3.13/site-packages/acme/_C.so"),
            "/venv/lib/python3.13/site-packages");
  EXPECT_EQ(package_folder_of("/usr/lib/python3/dist-packages/acme/lib/libacme.so"),
            "/usr/lib/python3/dist-packages");
  EXPECT_EQ(package_folder_of("/a/site-packages/x/site-packages/acme/_C.so"),
            "/a/site-packages/x/site-packages");
  // Torch's, also where pip was told another folder.
  EXPECT_EQ(package_folder_of("/opt/mine/torch/lib/libtorch_cpu.so"), "/opt/mine");
  EXPECT_EQ(package_folder_of("/v/site-packages/torch/lib/libc10.so"), "/v/site-packages");
}

// Above a library there may be folders that anybody may write to, as /tmp.
TEST(CudartPlacesTest, AreNowhereElse) {
  for (const char* path : {"", "acme", "./site-packages/acme/_C.so", "/tmp/build/acme/_C.so",
                           "/tmp/my-site-packages/_C.so", "/site-packages", "/usr/lib/libtorch.so",
                           "torch/lib/libtorch.so", "/opt/libtorch/lib/libtorch.so"}) {
    EXPECT_EQ(package_folder_of(path), "") << path;
  }
}

TEST(CudartPlacesTest, AreThoseOfNvidiasWheelsTheNewerFirst) {
  EXPECT_THAT(cudarts_of_wheels_in("/v"),
              ElementsAre("/v/nvidia/cu13/lib/libcudart.so.13",
                          "/v/nvidia/cuda_runtime/lib/libcudart.so.12"));
}

// A file that is there and is no library is told by itself.
TEST(CudartPlacesTest, AreListedOnceNoneWasOpened) {
  const std::string folder = testing::TempDir() + "outback_broken_cudart";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/libcudart.so.13") << "no library";
  cudart_search places;
  EXPECT_EQ(places.open_one_of({"/nowhere/libcudart.so.13", "/nowhere/libcudart.so.12",
                                folder + "/libcudart.so.13", folder + "/libcudart.so.12"}),
            nullptr);
  EXPECT_THAT(places.text(),
              StartsWith("/nowhere, " + folder + "; " + folder + "/libcudart.so.13: "));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace outback::cuda
