#include "registration/backend_meta.h"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/serialization/pickler_helper.h>

#include "backend_template/core/devices/device.h"

namespace outback::registration {
namespace {

using meta_names = backend_meta_functions::names;

// The names under which torch pickles its own bits of a tensor.
constexpr const char* names_of_torch[] = {"conj", "neg"};

}  // namespace

void check_backend_meta(const backend_options& options) {
  const backend_meta_functions& functions = options.backend_meta;
  TORCH_CHECK_VALUE(bool(functions.save) == bool(functions.load), "cannot register ", options.name,
                    ": backend_meta has one function of the two: what `save` writes, `load` reads");
  const auto& registered = torch::jit::GetBackendMetaSerialization();
  TORCH_CHECK(!functions.save || !registered[static_cast<size_t>(core::device_type)].has_value(),
              "cannot register ", options.name,
              ": another library has registered functions for the BackendMeta of PrivateUse1's "
              "tensors in this process");
}

void register_backend_meta(const backend_options& options) {
  if (!options.backend_meta.save) return;
  torch::jit::TensorBackendMetaRegistry(
      core::device_type,
      [name = options.name, save = options.backend_meta.save](const at::Tensor& tensor,
                                                              meta_names& pickled) {
        // torch asks for every tensor of the device; the vendor is asked for those with a
        // BackendMeta.
        if (tensor.unsafeGetTensorImpl()->get_backend_meta() == nullptr) return;
        meta_names added;
        save(tensor, added);
        for (const char* each : names_of_torch) {
          TORCH_CHECK_VALUE(!added.contains(each), name, ": backend_meta.save wrote \"", each,
                            "\", a name that PyTorch uses: give it another one");
        }
        pickled.merge(added);
      },
      [load = options.backend_meta.load](const at::Tensor& tensor, meta_names& pickled) {
        if (!pickled.empty()) load(tensor, pickled);
      });
}

}  // namespace outback::registration
