// The names for graphs in torch.<name>; submodules.cpp gives them to torch.<name>.graphs too.
#include "backend_template/module/device_module.h"
#include "backend_template/module/graphs/graphs.h"

namespace outback::python {

void define_graphs(pybind11::module_& module) {
  define_graph_type(module);
  define_graph_context(module);
  define_graphed_callables(module);
}

}  // namespace outback::python
