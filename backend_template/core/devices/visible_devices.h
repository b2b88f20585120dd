// Which of the runtime's devices this process has: the variable <NAME>_VISIBLE_DEVICES, such as
// ACME_VISIBLE_DEVICES. For device.cpp and lazy_start.cpp.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

namespace outback::core {

/// Hides the runtime's devices that <NAME>_VISIBLE_DEVICES does not name, and numbers the others in
/// the order of that list, by a layer over the table; outback/layers.hpp describes the list. From
/// then on every slot takes torch's index.
///
/// Call it before the devices are counted. After its first success, further calls do nothing.
/// Without the variable it changes nothing. If the runtime has no device yet, it changes nothing
/// either, and the next call reads the variable again. Throws c10::Error (RuntimeError) if the
/// runtime cannot say which devices it has. Thread-safe.
void select_visible_devices();

/// Returns the runtime's own number of torch's device `index`. Throws what `check_index` throws.
int32_t runtime_device(c10::DeviceIndex index);

/// Returns the variable's name for the registered backend.
std::string visible_devices_variable();

/// Returns a suffix for an error about a device that does not exist: the variable, if it hides
/// devices, as in " (ACME_VISIBLE_DEVICES=)"; and without any device, the runtime's own reason, as
/// in ": there is no device 0: <why>". Otherwise returns "". Asks the runtime, so call it only for
/// errors.
std::string visible_devices_text();

}  // namespace outback::core
