// The torch releases that this source is compiled against. The only place that asks for the
// version.
#pragma once

#include <torch/headeronly/version.h>

#define OUTBACK_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||          \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

#if !OUTBACK_TORCH_AT_LEAST(2, 11)
#error "Outback needs torch 2.11 or newer"
#endif
