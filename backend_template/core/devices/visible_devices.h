// Which of the runtime's devices this process has: <NAME>_VISIBLE_DEVICES.
#pragma once

#include <string>

namespace outback::core {

/// Hides the runtime's devices that the environment's <NAME>_VISIBLE_DEVICES does not name, and
/// numbers the others in its order (outback/layers.hpp says how it is read): from then on every
/// slot takes torch's index. The variable is read once, before the devices are counted; without it
/// nothing changes. Throws c10::Error where the runtime cannot say which devices it has; then, and
/// where it has none, it may be called again. Thread-safe.
void select_visible_devices();

/// The name of that variable.
std::string visible_devices_variable();

/// What to add to the text of an error which says that there is no such device: the variable, where
/// it hides some, " (ACME_VISIBLE_DEVICES=)", and the runtime's own reason, where it has none,
/// ": there is no device 0: <why>". "" where there is nothing to add.
std::string visible_devices_text();

}  // namespace outback::core
