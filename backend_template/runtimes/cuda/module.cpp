#include "backend_template/runtimes/cuda/module.hpp"

#include <array>
#include <utility>

#include "backend_template/runtimes/cuda/device.hpp"
#include "backend_template/runtimes/launch_check.hpp"

namespace outback::cuda {
namespace {

// In bytes. The text of an error has room for CUDA's words behind a log of this size.
constexpr std::size_t log_size = 7168;

int fact(device& d, CUfunction kernel, CUfunction_attribute which) {
  int value = 0;
  d.call(d.driver().cuFuncGetAttribute, &value, which, kernel);
  return value;
}

// The driver has no function that counts the parameters: the first one that it refuses to describe
// is not there.
std::optional<std::vector<std::size_t>> sizes_of_arguments(device& d, CUfunction kernel) {
  const auto& ask = d.driver().cuFuncGetParamInfo;
  if (!ask) return std::nullopt;
  std::vector<std::size_t> sizes;
  for (;;) {
    std::size_t offset = 0, size = 0;
    const CUresult error = ask(kernel, sizes.size(), &offset, &size);
    if (error == CUDA_ERROR_INVALID_VALUE) return sizes;
    if (error != CUDA_SUCCESS) d.fail(static_cast<cudaError_t>(error), ask.name);
    sizes.push_back(size);
  }
}

}  // namespace

kernel::kernel(module& of, const std::string& name) : of(of), name(name) {
  device& d = of.of;
  const auto& find = d.driver().cuModuleGetFunction;
  const CUresult error = find(&handle, of.handle, name.c_str());
  if (error == CUDA_ERROR_NOT_FOUND) {
    throw invalid_argument("the module has no kernel \"" + name +
                           "\": " + describe(d.cuda(), static_cast<cudaError_t>(error), find.name));
  }
  if (error != CUDA_SUCCESS) d.fail(static_cast<cudaError_t>(error), find.name);
  argument_sizes = sizes_of_arguments(d, handle);
  max_items = fact(d, handle, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  registers = fact(d, handle, CU_FUNC_ATTRIBUTE_NUM_REGS);
  own_local = std::size_t(fact(d, handle, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  private_size = std::size_t(fact(d, handle, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  allowed_local = std::size_t(fact(d, handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  const std::size_t all = d.local_memory();
  most_local = all > own_local ? all - own_local : 0;
}

void kernel::check(const outback_launch& launch) const {
  if (argument_sizes) check_argument_sizes(name, launch, *argument_sizes);
  check_group(name, launch, uint64_t(max_items), most_local);
}

kernel& module::find(const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kernels_.find(name); found != kernels_.end()) return *found->second;
  }
  auto made = std::make_unique<kernel>(*this, name);
  const std::lock_guard lock(mutex_);
  // If another thread was faster, its kernel is the one.
  return *kernels_.try_emplace(name, std::move(made)).first->second;
}

CUmodule load_image(device& d, const std::vector<char>& image) {
  std::string log(log_size, '\0');
  std::array<CUjit_option, 2> options = {CU_JIT_ERROR_LOG_BUFFER,
                                         CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // The driver takes numbers in the place of pointers.
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size())};
  CUmodule loaded = nullptr;
  const auto& load = d.driver().cuModuleLoadDataEx;
  const auto error = static_cast<cudaError_t>(
      load(&loaded, image.data(), unsigned(options.size()), options.data(), values.data()));
  if (error == cudaSuccess) return loaded;
  log.resize(log.find_last_not_of(std::string_view("\0\n ", 3)) + 1);
  if (log.empty() || is_sticky(error)) d.fail(error, load.name);
  throw runtime_error(status_of(error), log + "\n" + describe(d.cuda(), error, load.name));
}

}  // namespace outback::cuda
