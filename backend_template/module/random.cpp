// torch.<name>.manual_seed and its kin. A generator is a pair of numbers on the host, so seeding it
// starts nothing. torch.cuda has to queue these calls until the device is started; here they run at
// once.
#include "backend_template/module/random.h"

#include <torch/csrc/Generator.h>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/interfaces/generator.h"
#include "backend_template/module/device_module.h"
#include "backend_template/python/device_argument.h"

namespace py = pybind11;

namespace outback::python {
namespace {

py::object generator_of(py::handle device) {
  return default_generators()[device_argument(device)];
}

// py::int_ converts whatever has __int__, as torch.cuda.manual_seed does with int(seed).
void seed_one(const py::object& seed) {
  if (core::device_count() > 0) generator_of(py::none()).attr("manual_seed")(py::int_(seed));
}

void seed_each(const py::object& seed) {
  const py::int_ value(seed);
  for (const py::handle generator : default_generators()) generator.attr("manual_seed")(value);
}

// Gives all generators one random seed, as torch.cuda.seed_all does.
void reseed_all() {
  const py::tuple generators = default_generators();
  if (generators.empty()) return;
  generators[0].attr("seed")();
  seed_each(generators[0].attr("initial_seed")());
}

void set_rng_state(py::handle state, py::handle device) {
  generator_of(device).attr("set_state")(state);
}

py::list get_rng_state_all() {
  py::list states;
  for (const py::handle generator : default_generators()) {
    states.append(generator.attr("get_state")());
  }
  return states;
}

void set_rng_state_all(const py::iterable& states) {
  int device = 0;
  for (const py::handle state : states) set_rng_state(state, py::int_(device++));
}

}  // namespace

py::tuple default_generators() {
  static PyObject* kept = nullptr;  // leaked, and guarded by the GIL
  if (kept != nullptr) return py::reinterpret_borrow<py::tuple>(kept);
  const c10::DeviceIndex count = core::device_count();
  py::tuple generators(count);
  for (c10::DeviceIndex i = 0; i < count; ++i) {
    generators[i] =
        py::reinterpret_steal<py::object>(THPGenerator_Wrap(core::default_generator(i)));
  }
  // An empty tuple is not kept: a driver may come up later.
  if (count > 0) kept = generators.inc_ref().ptr();
  return generators;
}

void define_random(py::module_& module) {
  module.def("manual_seed", &seed_one, py::arg("seed"),
             py::doc("Seeds the current device's generator. Ignored without a device."));
  module.def("manual_seed_all", &seed_each, py::arg("seed"),
             py::doc("Seeds all devices' generators. Ignored without a device."));
  module.def(
      "seed",
      [] {
        if (core::device_count() > 0) generator_of(py::none()).attr("seed")();
      },
      py::doc("Gives the current device's generator a random seed."));
  module.def("seed_all", &reseed_all, py::doc("Gives all devices' generators one random seed."));
  module.def(
      "initial_seed", [] { return generator_of(py::none()).attr("initial_seed")(); },
      py::doc("The current device's seed."));
  module.def(
      "get_rng_state", [](py::handle device) { return generator_of(device).attr("get_state")(); },
      py::arg("device") = py::none(),
      py::doc("The state of a device's generator: 16 bytes on the CPU."));
  module.def("set_rng_state", &set_rng_state, py::arg("new_state"), py::arg("device") = py::none(),
             py::doc("Sets the state of a device's generator."));
  module.def("get_rng_state_all", &get_rng_state_all,
             py::doc("The states of all devices' generators."));
  module.def("set_rng_state_all", &set_rng_state_all, py::arg("new_states"),
             py::doc("Sets the states of all devices' generators."));
  module.def("_get_generator", &generator_of, py::arg("device"));
}

}  // namespace outback::python
