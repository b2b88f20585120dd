// Which of the runtime's devices this process has: the variable <NAME>_VISIBLE_DEVICES, such as
// ACME_VISIBLE_DEVICES. For device.cpp and lazy_start.cpp.
#pragma once

#include <string>

namespace outback::core {

/// Hides the runtime's devices that <NAME>_VISIBLE_DEVICES does not name, and numbers the others in
/// its order, by a layer over the table; outback/layers.hpp says how the list is read. From then on
/// every slot takes torch's index.
///
/// Has to be called before the devices are counted. It reads the variable until it has succeeded
/// once, and does nothing after that. Without the variable it changes nothing. If the runtime has
/// no device yet it changes nothing either, and the next call reads the variable again. Throws
/// c10::Error (RuntimeError) if the runtime cannot say which devices it has. Thread-safe.
void select_visible_devices();

/// Returns the variable's name for the registered backend.
std::string visible_devices_variable();

/// Returns what to add to an error that says that a device does not exist: the variable, if it
/// hides devices, as in " (ACME_VISIBLE_DEVICES=)"; and if there is no device at all, the runtime's
/// own reason, as in ": there is no device 0: <why>". Returns "" if there is nothing to add. Asks
/// the runtime, so it is for errors only.
std::string visible_devices_text();

}  // namespace outback::core
