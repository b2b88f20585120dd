#include "backend_template/module/event_handle.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/interfaces/guard.h"
#include "backend_template/core/memory/ipc.h"
#include "backend_template/core/runtime/descriptor.h"
#include "backend_template/core/streams/event_flag.h"
#include "backend_template/module/device_module.h"
#include "backend_template/python/device_argument.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// Follows the runtime's bytes in a handle if a file descriptor belongs to them. `kind` tells such a
// handle from one whose bytes are all the runtime's.
struct descriptor_note {
  std::array<char, 8> kind;
  core::descriptor_place place;
};
constexpr std::array<char, 8> note_kind = {'o', 'u', 't', 'b', 'a', 'c', 'k', 'f'};

// Removes the note from the end of `bytes`, if there is one.
std::optional<core::descriptor_place> take_note(std::string_view& bytes) {
  descriptor_note note;
  if (bytes.size() < sizeof note) return std::nullopt;
  std::memcpy(&note, bytes.data() + bytes.size() - sizeof note, sizeof note);
  if (note.kind != note_kind) return std::nullopt;
  bytes.remove_suffix(sizeof note);
  return note.place;
}

}  // namespace

py::bytes export_event(c10::Event& event) {
  const uint32_t flags = core::event_flags_in(event.flag());
  TORCH_CHECK_VALUE((flags & OUTBACK_EVENT_INTERPROCESS) != 0,
                    "ipc_handle: expected an event that was made with interprocess=True");
  start_from_python();
  const outback_ipc_handle handle = [&] {
    const py::gil_scoped_release no_gil;
    // c10::Event makes its event at the first recording; another process needs one now.
    if (core::event_in(event) == nullptr) {
      core::event made(flags);
      made.create(core::current_device());
      // First, since a runtime may have no handles: then `event` stays as it is.
      core::ipc_handle_of(made);
      event = core::adopt_event(std::move(made), flags);
    }
    return core::ipc_handle_of(*core::event_in(event));
  }();
  std::string bytes(reinterpret_cast<const char*>(handle.bytes), handle.size);
  if (handle.fd >= 0) {
    const descriptor_note note{note_kind, core::place_of(handle.fd)};
    bytes.append(reinterpret_cast<const char*>(&note), sizeof note);
  }
  return py::bytes(bytes);
}

c10::Event import_event(py::handle device, std::string_view bytes) {
  const c10::DeviceIndex index = device_argument(device);
  const size_t given = bytes.size();
  const std::optional<core::descriptor_place> place = take_note(bytes);
  outback_ipc_handle handle{};
  // The bytes come from another process, so their size is checked before they are copied.
  TORCH_CHECK_VALUE(given > 0 && bytes.size() <= sizeof handle.bytes,
                    "from_ipc_handle: expected what ipc_handle() answered, 1 to ",
                    sizeof handle.bytes + sizeof(descriptor_note), " bytes, got ", given);
  handle.struct_size = sizeof handle;
  handle.size = static_cast<uint32_t>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(handle.bytes));
  start_from_python();
  const py::gil_scoped_release no_gil;
  // The descriptor stays ours: it is closed at the end of this scope.
  const core::descriptor taken = place ? core::take_from(*place) : core::descriptor();
  handle.fd = taken.get();
  return core::adopt_event(core::open_ipc_event(index, handle), OUTBACK_EVENT_INTERPROCESS);
}

}  // namespace outback::python
