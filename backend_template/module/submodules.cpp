// torch.<name>.streams, random, graphs and amp: the same objects that the device module has, under
// the modules in which torch.cuda has them.
#include <string>
#include <vector>

#include "backend_template/module/submodule.h"
#include "backend_template/python/embedded.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// Returns the names of the module's classes of streams and events.
std::vector<std::string> stream_classes(const py::module_& module) {
  const py::module_ torch = py::module_::import("torch");
  const py::tuple bases = py::make_tuple(torch.attr("Stream"), torch.attr("Event"));
  std::vector<std::string> names;
  const py::dict members = module.attr("__dict__");
  for (const auto& [key, value] : members) {
    if (!PyType_Check(value.ptr())) continue;
    const int is_one = PyObject_IsSubclass(value.ptr(), bases.ptr());
    if (is_one < 0) throw py::error_already_set();
    if (is_one != 0) names.push_back(key.cast<std::string>());
  }
  return names;
}

}  // namespace

void define_submodules(py::module_& module) {
  py::module_ streams = add_submodule(module, "streams", "The device's streams and events.");
  share_names(module, streams, stream_classes(module));
  py::module_ random = add_submodule(module, "random", "The devices' random number generators.");
  share_names(module, random,
              {"get_rng_state", "get_rng_state_all", "set_rng_state", "set_rng_state_all",
               "manual_seed", "manual_seed_all", "seed", "seed_all", "initial_seed"});
  py::module_ graphs = add_submodule(module, "graphs", "Work that is captured once and replayed.");
  share_names(module, graphs,
              {"is_current_stream_capturing", "graph_pool_handle", "CUDAGraph", "graph",
               "make_graphed_callables"});
  py::module_ amp =
      add_submodule(module, "amp", "torch.amp's names, with the device filled in already.");
  part("amp").attr("define")(amp);
}

}  // namespace outback::python
