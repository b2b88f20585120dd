// A backend whose options cannot be had: what a vendor's own check says on the wrong machine.
#include <c10/util/Exception.h>
#include <outback/module.h>

OUTBACK_MODULE(outback_refusing) {
  TORCH_CHECK(false, "acme needs firmware 3, this machine has 2");
}
