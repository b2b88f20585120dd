// acme on the device with a language of its own.
#include <outback/linked_runtime.h>
#include <outback/module.h>

OUTBACK_MODULE(_C) {
  return {.name = "acme", .runtime = outback::linked_runtime()};
}
