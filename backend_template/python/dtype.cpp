#include "backend_template/python/dtype.h"

#include <c10/util/Exception.h>
#include <torch/csrc/Dtype.h>

namespace outback::python {

c10::ScalarType as_scalar_type(pybind11::handle dtype) {
  TORCH_CHECK_TYPE(THPDtype_Check(dtype.ptr()), "expected a torch.dtype, got ",
                   Py_TYPE(dtype.ptr())->tp_name);
  return reinterpret_cast<THPDtype*>(dtype.ptr())->scalar_type;
}

}  // namespace outback::python
