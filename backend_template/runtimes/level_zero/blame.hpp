// Finds out which device was lost: a call of the driver says only that one was, and a slot may call
// the driver for two of them.
#pragma once

#include "backend_template/runtimes/level_zero/device.hpp"
#include "outback/runtime_error.hpp"

namespace outback::level_zero {

/// The loss of a device that is noted already: nobody else is to blame for it.
class noted_loss : public device_lost {
 public:
  using device_lost::device_lost;
};

/// Runs `body`, in which the driver is called for `d`. If it throws outback::device_lost, `d` is
/// lost from then on, unless a `blame` further inside has noted another device.
///
/// For calls of the driver that concern a second device too, `other`, the driver is asked which one
/// is lost.
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
