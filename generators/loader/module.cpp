// The extension module of every backend's package, and of torch_outback.load(): the torch half, of
// one torch and one Python. Nothing of a backend is compiled into it.
#include "generators/loader/loader.h"

extern "C" __attribute__((visibility("default"))) _object* PyInit__C() {
  return outback::loader::module_definition();
}
