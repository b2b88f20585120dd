// Finds out which device was lost: the driver reports only that a device was lost, and a slot may
// call the driver for two devices.
#pragma once

#include "backend_template/runtimes/level_zero/device.hpp"
#include "outback/runtime_error.hpp"

namespace outback::level_zero {

/// The loss of a device that is recorded already: an outer `blame` must not blame another device.
class noted_loss : public device_lost {
 public:
  using device_lost::device_lost;
};

/// Runs `body`, which calls the driver for `d`. If `body` throws outback::device_lost, `d` is lost
/// from then on, unless an inner `blame` has recorded the loss of another device.
///
/// For driver calls that also concern a second device, `other`: asks the driver which of the two is
/// lost.
template <class Body>
decltype(auto) blame(device& d, device& other, const Body& body) {
  try {
    return body();
  } catch (const noted_loss&) {
    throw;
  } catch (const device_lost& error) {
    (&other != &d && other.gone() ? other : d).lose();
    throw noted_loss(error.what());
  }
}
template <class Body>
decltype(auto) blame(device& d, const Body& body) {
  return blame(d, d, body);
}

}  // namespace outback::level_zero
