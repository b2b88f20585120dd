// make_graphed_callables: functions and modules whose forward and backward passes are replays of
// graphs. It follows torch.cuda's (torch/cuda/graphs.py), most of its messages included.
#include <c10/util/Exception.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend_template/module/graphs/graphs.h"
#include "backend_template/module/python_class.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

using objects = std::vector<py::object>;

py::tuple as_tuple(const objects& all) {
  py::tuple made(all.size());
  for (size_t i = 0; i < all.size(); ++i) made[i] = all[i];
  return made;
}

objects as_objects(const py::handle& iterable) {
  objects all;
  for (const py::handle item : py::iter(iterable))
    all.push_back(py::reinterpret_borrow<py::object>(item));
  return all;
}

bool requires_grad(const py::object& tensor) {
  return tensor.attr("requires_grad").cast<bool>();
}

objects those_with_grad(const objects& tensors) {
  objects some;
  for (const py::object& tensor : tensors) {
    if (requires_grad(tensor)) some.push_back(tensor);
  }
  return some;
}

py::module_ pytree() {
  return py::module_::import("torch.utils._pytree");
}

// `with context: body()`
template <class Body>
void within(const py::object& context, Body body) {
  context.attr("__enter__")();
  const py::object none = py::none();
  try {
    body();
  } catch (py::error_already_set& e) {
    context.attr("__exit__")(e.type(), e.value(), none);
    throw;
  }
  context.attr("__exit__")(none, none, none);
}

// A callable and the graphs that are made of it.
struct graphed {
  py::object callable;
  py::tuple arguments;
  objects user_inputs;  // the tensors in `arguments`
  objects parameters;   // of a module
  py::object forward_graph;
  py::object backward_graph;
  objects outputs;
  py::object output_spec;
  objects grad_outputs;  // one for each output: None for one that requires no gradient
  objects grad_inputs;   // one for each input: None for one that gets no gradient

  objects inputs() const {
    objects all = user_inputs;
    all.insert(all.end(), parameters.begin(), parameters.end());
    return all;
  }
};

bool is_module(const py::object& callable) {
  return py::isinstance(callable, py::module_::import("torch").attr("nn").attr("Module"));
}

// A replay runs no hooks and gives no gradient to a buffer.
void check_module(const py::object& module) {
  for (const char* hooks : {"_backward_hooks", "_forward_hooks", "_forward_pre_hooks"}) {
    TORCH_CHECK(py::len(module.attr(hooks)) == 0,
                "Modules must not have hooks registered at the time they are passed. However, "
                "registering hooks on modules after passing them through make_graphed_callables is "
                "allowed.");
  }
  for (const py::object& buffer : as_objects(module.attr("buffers")())) {
    TORCH_CHECK(!requires_grad(buffer),
                "In any torch.nn.Module passed to make_graphed_callables, only parameters may be "
                "trainable. All buffers must have requires_grad=False.");
  }
}

std::shared_ptr<graphed> prepare(const py::module_& module, const py::object& callable,
                                 const py::tuple& arguments) {
  auto entry = std::make_shared<graphed>();
  entry->callable = callable;
  entry->arguments = arguments;
  if (is_module(callable)) {
    check_module(callable);
    entry->parameters = as_objects(callable.attr("parameters")());
  }
  entry->user_inputs = as_objects(pytree().attr("arg_tree_leaves")(*arguments));
  const py::object tensor = py::module_::import("torch").attr("Tensor");
  // A value of another type would be captured as it is now, and later calls could not change it.
  for (const py::object& leaf : entry->user_inputs) {
    TORCH_CHECK(py::isinstance(leaf, tensor),
                "In the beta API, sample_args for each callable must contain only Tensors. Other "
                "types are not allowed.");
  }
  entry->forward_graph = module.attr("CUDAGraph")();
  entry->backward_graph = module.attr("CUDAGraph")();
  return entry;
}

// Returns the gradients of `outputs` for all inputs that require one; empty if there are no
// outputs.
objects gradients(const graphed& entry, const objects& outputs, const objects& grad_outputs,
                  bool allow_unused) {
  if (outputs.empty()) return {};
  return as_objects(py::module_::import("torch.autograd")
                        .attr("grad")(py::arg("outputs") = as_tuple(outputs),
                                      py::arg("inputs") = as_tuple(those_with_grad(entry.inputs())),
                                      py::arg("grad_outputs") = as_tuple(grad_outputs),
                                      py::arg("only_inputs") = true,
                                      py::arg("allow_unused") = allow_unused));
}

objects empty_like(const objects& tensors) {
  objects made;
  for (const py::object& tensor : tensors) {
    made.push_back(py::module_::import("torch").attr("empty_like")(tensor));
  }
  return made;
}

// Runs forward and backward before the capture, so that what happens only once, such as the
// allocation of a workspace, is not captured.
void warm_up(const graphed& entry, int iterations, bool allow_unused) {
  for (int i = 0; i < iterations; ++i) {
    const objects outputs =
        those_with_grad(as_objects(pytree().attr("tree_leaves")(entry.callable(*entry.arguments))));
    gradients(entry, outputs, empty_like(outputs), allow_unused);
  }
}

// Captures graphs that share one pool.
struct captures_in_one_pool {
  const py::module_& module;
  py::object pool;
  std::string mode;

  template <class Body>
  void of(const py::object& graph, Body body) const {
    within(
        module.attr("graph")(graph, py::arg("pool") = pool, py::arg("capture_error_mode") = mode),
        body);
  }
};

void capture_forward(const captures_in_one_pool& captures, graphed& entry) {
  py::object outputs;
  captures.of(entry.forward_graph, [&] { outputs = entry.callable(*entry.arguments); });
  const py::tuple flat = pytree().attr("tree_flatten")(outputs);
  entry.outputs = as_objects(flat[0]);
  entry.output_spec = flat[1];
}

void capture_backward(const captures_in_one_pool& captures, graphed& entry, bool allow_unused) {
  const objects outputs = those_with_grad(entry.outputs);
  const objects incoming = empty_like(outputs);
  objects outgoing;
  if (!outputs.empty()) {
    captures.of(entry.backward_graph,
                [&] { outgoing = gradients(entry, outputs, incoming, allow_unused); });
  }
  // Spread over all outputs and inputs, so that backward finds them by index.
  size_t next = 0;
  for (const py::object& output : entry.outputs) {
    entry.grad_outputs.push_back(requires_grad(output) ? incoming[next++] : py::none());
  }
  next = 0;
  for (const py::object& input : entry.inputs()) {
    const bool has_one = requires_grad(input) && !outgoing.empty();
    entry.grad_inputs.push_back(has_one ? outgoing[next++] : py::none());
  }
}

// Copies a tensor to where the graph reads it, unless it is there already.
void copy_into(const py::object& fixed, const py::object& given) {
  if (!fixed.attr("data_ptr")().equal(given.attr("data_ptr")())) fixed.attr("copy_")(given);
}

// The graph's own tensors, detached: the torch.autograd.Function gives each call's results a
// history.
py::tuple detached(const objects& tensors) {
  objects all;
  for (const py::object& tensor : tensors)
    all.push_back(tensor.is_none() ? tensor : tensor.attr("detach")());
  return as_tuple(all);
}

// Makes the torch.autograd.Function whose forward and backward replay the graphs.
py::object make_function(const std::shared_ptr<graphed>& entry) {
  const auto forward = [entry](const py::object& /*ctx*/, const py::args& inputs) {
    // Parameters are not copied: the graph reads the module's own.
    for (size_t i = 0; i < entry->user_inputs.size(); ++i) {
      copy_into(entry->user_inputs[i], py::object(inputs[i]));
    }
    entry->forward_graph.attr("replay")();
    return detached(entry->outputs);
  };
  const auto backward = [entry](const py::object& /*ctx*/, const py::args& gradients) {
    TORCH_CHECK(gradients.size() == entry->grad_outputs.size(), "expected ",
                entry->grad_outputs.size(), " gradients, got ", gradients.size());
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!entry->grad_outputs[i].is_none())
        copy_into(entry->grad_outputs[i], py::object(gradients[i]));
    }
    entry->backward_graph.attr("replay")();
    return detached(entry->grad_inputs);
  };
  const py::module_ autograd = py::module_::import("torch.autograd.function");
  py::dict members;
  members["forward"] = static_method(py::cpp_function(forward));
  members["backward"] =
      static_method(autograd.attr("once_differentiable")(py::cpp_function(backward)));
  return new_class("Graphed", py::make_tuple(autograd.attr("Function")),
                   "torch." + backend_name() + ".graphs", "One callable's replays.", members);
}

// Makes the function that is called in place of the callable.
py::object make_replaying(const std::shared_ptr<graphed>& entry) {
  const auto call = [entry, function = make_function(entry)](const py::args& arguments) {
    objects inputs = as_objects(pytree().attr("arg_tree_leaves")(*arguments));
    TORCH_CHECK(inputs.size() == entry->user_inputs.size(), "the callable was graphed with ",
                entry->user_inputs.size(), " tensors, and got ", inputs.size());
    inputs.insert(inputs.end(), entry->parameters.begin(), entry->parameters.end());
    const py::object outputs = function.attr("apply")(*as_tuple(inputs));
    return pytree().attr("tree_unflatten")(outputs, entry->output_spec);
  };
  return py::cpp_function(call);
}

// Makes the module's new `forward`, which replays in the training mode that was captured and runs
// the original in the other one. The module owns it, and Python's garbage collector does not see
// into a C++ lambda, so it holds the module by a weak reference and the original method without its
// module.
py::object make_forward(const py::object& module, const py::object& replaying) {
  py::object original = module.attr("forward");
  const bool is_method = py::hasattr(original, "__func__");
  if (is_method) original = original.attr("__func__");
  return py::cpp_function([replaying, original, is_method,
                           was_training = module.attr("training").cast<bool>(),
                           weak = py::weakref(module)](const py::args& arguments,
                                                       const py::kwargs& named) -> py::object {
    const py::object self = weak();
    if (self.attr("training").cast<bool>() == was_training) {
      return replaying(*arguments, **named);
    }
    return is_method ? original(self, *arguments, **named) : original(*arguments, **named);
  });
}

// Returns a function's replaying form, or the module itself with a new `forward`. Drops the
// callable from `entry`, which the new `forward` holds, so that there is no cycle.
py::object finish(const std::shared_ptr<graphed>& entry) {
  const py::object callable = std::exchange(entry->callable, py::none());
  py::object replaying = make_replaying(entry);
  if (!is_module(callable)) return replaying;
  callable.attr("forward") = make_forward(callable, replaying);
  return callable;
}

py::object graph_all(const py::module_& module, const py::object& callables,
                     const py::object& sample_args, int warmups, bool allow_unused, py::object pool,
                     std::string mode) {
  const py::module_ torch = py::module_::import("torch");
  TORCH_CHECK(!torch.attr("is_autocast_enabled")(backend_name()).cast<bool>() ||
                  !torch.attr("is_autocast_cache_enabled")().cast<bool>(),
              "make_graphed_callables does not support the autocast caching. Please set "
              "`cache_enabled=False`.");
  // One callable and a tuple of callables are both allowed, as with torch.cuda.
  const bool is_one = !py::isinstance<py::tuple>(callables);
  const objects functions = is_one ? objects{callables} : as_objects(callables);
  const objects arguments = is_one ? objects{sample_args} : as_objects(sample_args);
  TORCH_CHECK_VALUE(functions.size() == arguments.size(),
                    "make_graphed_callables: ", functions.size(), " callables and ",
                    arguments.size(), " tuples of arguments");
  std::vector<std::shared_ptr<graphed>> all;
  for (size_t i = 0; i < functions.size(); ++i) {
    all.push_back(prepare(module, functions[i], py::tuple(arguments[i])));
  }
  if (pool.is_none()) pool = module.attr("graph_pool_handle")();

  module.attr("synchronize")();
  within(module.attr("stream")(module.attr("Stream")()), [&] {
    for (const auto& entry : all) warm_up(*entry, warmups, allow_unused);
  });
  module.attr("synchronize")();
  // In the order in which they will run, the backward passes reversed, since all share one pool:
  // memory that one capture has freed is used by a later one.
  const captures_in_one_pool captures{module, std::move(pool), std::move(mode)};
  for (const auto& entry : all) capture_forward(captures, *entry);
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    capture_backward(captures, **it, allow_unused);
  }
  objects made;
  for (const auto& entry : all) made.push_back(finish(entry));
  if (is_one) return made.front();
  return as_tuple(made);
}

}  // namespace

void define_graphed_callables(py::module_& module) {
  module.def(
      "make_graphed_callables",
      [module = py::handle(module)](const py::object& callables, const py::object& sample_args,
                                    int warmups, bool allow_unused, py::object pool,
                                    std::string mode, bool annotations) {
        refuse_annotations(annotations);
        return graph_all(py::reinterpret_borrow<py::module_>(module), callables, sample_args,
                         warmups, allow_unused, std::move(pool), std::move(mode));
      },
      py::arg("callables"), py::arg("sample_args"), py::arg("num_warmup_iters") = 3,
      py::arg("allow_unused_input") = false, py::arg("pool") = py::none(),
      py::arg("capture_error_mode") = "global", py::arg("enable_annotations") = false,
      R"(Functions and modules whose forward and backward passes are replays of graphs.

Args:
    callables: a function or torch.nn.Module, or a tuple of them in the order in which they run.
    sample_args: a tuple of tensors, or one for each callable; later calls take tensors like them.
    num_warmup_iters: how often each runs before its capture.
    allow_unused_input: inputs that the outputs do not depend on are no error.
    pool: shares the memory of other graphs.
    capture_error_mode: as for the graph's `capture_begin`.

Returns the callables, modules changed in place. A module goes on as before in the other mode
(training, evaluation) than it was captured in. There are no second derivatives.)");
}

}  // namespace outback::python
