// torch.accelerator.Graph: a wrapper of device_graph, or the twin's own where the device has a
// twin.
#include "backend_template/core/interfaces/registries.h"

#include "backend_template/core/runtime/torch_version.h"

#if OUTBACK_TORCH_AT_LEAST(2, 12)
#include <ATen/core/GraphImplInterface.h>
#include <c10/core/DeviceType.h>
#include <c10/util/Exception.h>

#include <memory>
#include <string>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/graphs/device_graph.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/twin/twin.h"
#endif

namespace outback::core {

#if OUTBACK_TORCH_AT_LEAST(2, 12)
namespace {

class accelerator_graph final : public at::GraphImplInterface {
 public:
  explicit accelerator_graph(const at::GraphImplArgs& args) : graph_(args.keep_graph) {}

  // The mode says which calls of other threads break a capture. Here none do, except waiting for
  // the captured device, so every mode means the same (docs/graphs.md).
  void capture_begin(at::MempoolId_t pool, at::GraphCaptureMode /*mode*/) override {
    graph_.capture_begin(pool);
  }
  void capture_end() override { graph_.capture_end(); }
  void instantiate() override { graph_.instantiate(); }
  void replay() override { graph_.replay(); }
  void reset() override { graph_.reset(); }
  at::MempoolId_t pool() const override { return graph_.pool(); }
  void enable_debug_mode() override { refuse_graph_description(); }
  void debug_dump(const std::string& /*path*/) override { refuse_graph_description(); }

 private:
  device_graph graph_;
};

}  // namespace
#endif

void register_accelerator_graph() {
#if OUTBACK_TORCH_AT_LEAST(2, 12)
  const std::string name = c10::DeviceTypeName(device_type, /*lower_case=*/false);
  // c10's registry ends the process if a key is registered twice.
  if (at::GraphImplRegistry()->Has(name)) return;
  at::GraphImplRegistry()->Register(name, [](const at::GraphImplArgs& args) {
    if (const auto twin = twin_of(current_device())) {
      TORCH_CHECK_NOT_IMPLEMENTED(at::has_graph_impl(twin->type()), backend_name(),
                                  ": torch.accelerator.Graph: there are none of ", *twin);
      return at::create_graph_impl(twin->type(), args);
    }
    return std::unique_ptr<at::GraphImplInterface>(new accelerator_graph(args));
  });
#endif
}

}  // namespace outback::core
