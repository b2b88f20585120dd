// fill_ and zero_.
#include <ATen/core/Tensor.h>
#include <ATen/ops/fill.h>
#include <ATen/ops/zero.h>

#include <cstring>

#include "backend_template/core/copy.h"
#include "backend_template/core/device.h"
#include "backend_template/core/stream.h"
#include "backend_template/ops/native/native.h"
#include "backend_template/ops/redispatch/cpu_call.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

// A stream's fill takes an order and a wake-up; an idle stream's memory is filled sooner by the
// calling thread.
constexpr size_t worth_a_fill = size_t{256} << 10;

bool zero_dense(const at::Tensor& self) {
  if (!self.is_non_overlapping_and_dense()) return false;
  const c10::DeviceIndex index = self.device().index();
  const size_t size = static_cast<size_t>(self.numel()) * self.itemsize();
  const bool cpu_is_faster = core::is_host_addressable(index) && size < worth_a_fill &&
                             core::is_idle(core::current_stream(index));
  if (cpu_is_faster) {
    std::memset(self.mutable_data_ptr(), 0, size);
  } else {
    core::zero_bytes(self.mutable_data_ptr(), index, size);
  }
  return true;
}

at::Tensor& zero_(at::Tensor& self) {
  if (self.numel() == 0 || zero_dense(self)) return self;
  cpu_call call;
  const at::Tensor on_cpu = call.lend(self, access::write);
  call.begin();
  on_cpu.zero_();
  call.finish();
  return self;
}

}  // namespace

void register_fills(registrar& to) {
  to.add<&zero_>("zero_");
}

}  // namespace outback::ops
