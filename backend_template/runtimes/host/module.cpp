#include "backend_template/runtimes/host/module.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "backend_template/runtimes/host/device.hpp"
#include "backend_template/runtimes/host/late_failure.hpp"
#include "backend_template/runtimes/kept_name.hpp"
#include "backend_template/runtimes/launch_check.hpp"
#include "outback/runtime_error.hpp"

namespace outback::host {
namespace {

constexpr std::size_t value_alignment = 16;
constexpr auto local_alignment = std::align_val_t{64};

struct free_local {
  void operator()(std::byte* ptr) const noexcept { ::operator delete[](ptr, local_alignment); }
};

std::size_t rounded_up(std::size_t size) {
  return (size + value_alignment - 1) / value_alignment * value_alignment;
}

}  // namespace

kernel_work::kernel_work(std::shared_ptr<const shared_object> code,
                         const outback_host_kernel& kernel, const char* name,
                         const outback_launch& launch, const std::vector<const void*>& values)
    : code_(std::move(code)), kernel_(kernel), name_(name) {
  groups_.struct_size = sizeof(groups_);
  std::copy_n(launch.items, 3, groups_.items);
  std::copy_n(launch.groups, 3, groups_.groups);
  groups_.count = uint64_t(launch.groups[0]) * launch.groups[1] * launch.groups[2];
  groups_.local_size = launch.local_size;
  std::size_t size = 0;
  for (uint32_t i = 0; i < launch.argument_count; ++i) size += rounded_up(launch.arguments[i].size);
  bytes_ = std::make_unique<std::byte[]>(size);  // aligned for the largest of plain types
  std::byte* next = bytes_.get();
  for (uint32_t i = 0; i < launch.argument_count; ++i) {
    std::memcpy(next, values[i], launch.arguments[i].size);
    arguments_.push_back(next);
    next += rounded_up(launch.arguments[i].size);
  }
}

void kernel_work::run() const {
  outback_host_groups groups = groups_;
  groups.arguments = arguments_.data();
  std::unique_ptr<std::byte[], free_local> local;
  if (groups.local_size != 0) {
    local.reset(new (local_alignment) std::byte[groups.local_size]);
    groups.local = local.get();
  }
  const int32_t fault = kernel_.run(&groups);
  if (fault == 0) return;
  late_failure::of_running_work().keep(std::string("the kernel ") + name_ +
                                       " faulted while it ran, with number " +
                                       std::to_string(fault));
}

void kernel::check(const outback_launch& launch) const {
  check_argument_sizes(name, launch, std::span(host->argument_sizes, host->argument_count));
  check_argument_kinds(name, launch, host->argument_is_memory);
  uint64_t all = uint64_t(launch.groups[0]) * launch.groups[1];
  if (__builtin_mul_overflow(all, launch.groups[2], &all)) {
    throw invalid_argument("the kernel " + std::string(name) +
                           " is launched with 2^64 groups or more: expected fewer");
  }
  check_group(name, launch, host->max_items != 0 ? host->max_items : max_group_size,
              max_local_size);
}

module::module(int32_t device, const void* bytes, std::size_t size) :device_(device),
    code_(std::make_shared<const shared_object>(bytes, size)) {}

const kernel& module::find(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = kernels_.find(name); found != kernels_.end()) return found->second;
  const auto* const host = static_cast<const outback_host_kernel*>(
      code_->find((OUTBACK_HOST_KERNEL_PREFIX + name).c_str()));
  if (host == nullptr) throw invalid_argument("the module has no kernel \"" + name + "\"");
  if (host->struct_size < sizeof(*host)) {
    throw invalid_argument("the kernel \"" + name +
                           "\" is of a version of outback/host_kernel.h that does not exist");
  }
  return kernels_.emplace(name, kernel{device_, code_, host, kept_name(name)}).first->second;
}

}  // namespace outback::host
