#include "generators/methods/docstrings.h"

#include "backend_template/core/runtime/format.h"

namespace outback::python {

std::string property_doc(std::string_view name, std::string_view what) {
  return core::format("Is ``True`` if the {} is on a device of type {}, ``False`` otherwise.", what,
                      name);
}

std::string move_doc(std::string_view name, std::string_view what,
                     std::string_view more_arguments) {
  return core::format(
      R"(Returns this {0} on the given device of type {1}: itself if it is there already, else a copy.

Args:
    device (int, str or torch.device, optional): the destination; the current {1} device if None
    non_blocking (bool): if True and the source is in pinned memory, the copy is asynchronous with
        respect to the host
{2})",
      what, name, more_arguments);
}

std::string module_doc(std::string_view name) {
  return core::format(
      R"(Moves all parameters and buffers to the given device of type {0}, and returns the module.

The parameters stay the objects they are: an optimizer that was made from them keeps them, and what
is tied stays tied.

Args:
    device (int, str or torch.device, optional): the destination; the current {0} device if None
)",
      name);
}

std::string packed_sequence_doc(std::string_view name) {
  return core::format(
      R"(Returns this sequence on a device of type {0}: itself if it is there already, else a copy.

The arguments are those of Tensor.to: a device, a dtype, non_blocking. Without a device it is the
current {0} device, for a sequence that is on none of them yet.
)",
      name);
}

}  // namespace outback::python
