// record_stream: tells the allocator that another stream uses a tensor's memory.
#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/ops/own/own.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

void record_stream(at::Tensor& self, c10::Stream stream) {
  core::device_allocator().recordStream(self.storage().data_ptr(), stream);
}

}  // namespace

void register_streams(registrar& to) {
  to.add<&record_stream>("record_stream");
}

}  // namespace outback::ops
