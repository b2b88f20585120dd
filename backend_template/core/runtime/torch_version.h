// The torch release that this source is compiled against. Only this C++ file looks at torch's
// version numbers: a file whose code differs between releases includes this header and writes `#if
// OUTBACK_TORCH_AT_LEAST(2, 12)`.
#pragma once

#include <torch/headeronly/version.h>

// True if the torch in the include path has this major and minor version, or a newer one.
#define OUTBACK_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||          \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

// Older releases fail here with one clear sentence, not in the middle of torch's interfaces.
#if !OUTBACK_TORCH_AT_LEAST(2, 11)
#error "Outback needs torch 2.11 or newer"
#endif
