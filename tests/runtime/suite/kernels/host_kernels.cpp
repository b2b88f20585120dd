// The kernels of kernels.cl for the host: a module in OUTBACK_FORMAT_HOST.
#include <cstdint>
#include <cstring>
#include <iterator>
#include <tuple>
#include <utility>

#include "outback/host_kernel.h"

namespace {

// One item of a launch.
struct item {
  const outback_host_groups& launch;
  uint32_t group[3];
  uint32_t local[3];

  uint32_t global_x() const { return group[0] * launch.items[0] + local[0]; }
};

// Calls `body(item)` for each item of each group that `launch` asks for.
template <class Body>
void for_each_item(const outback_host_groups& launch, Body&& body) {
  for (uint64_t n = launch.first; n < launch.first + launch.count; ++n) {
    item at = {launch, {}, {}};
    at.group[0] = uint32_t(n % launch.groups[0]);
    at.group[1] = uint32_t(n / launch.groups[0] % launch.groups[1]);
    at.group[2] = uint32_t(n / launch.groups[0] / launch.groups[1]);
    for (at.local[2] = 0; at.local[2] < launch.items[2]; ++at.local[2]) {
      for (at.local[1] = 0; at.local[1] < launch.items[1]; ++at.local[1]) {
        for (at.local[0] = 0; at.local[0] < launch.items[0]; ++at.local[0]) body(at);
      }
    }
  }
}

// The kernel whose items each call `body(item, arguments...)`.
template <auto body>
struct of_items;
template <class... Args, int32_t (*body)(const item&, Args...)>
struct of_items<body> {
  static constexpr uint32_t sizes[] = {sizeof(Args)...};

  static int32_t run(const outback_host_groups* launch) {
    return run_with(*launch, std::index_sequence_for<Args...>());
  }
  template <std::size_t... I>
  static int32_t run_with(const outback_host_groups& launch, std::index_sequence<I...>) {
    std::tuple<Args...> all;
    (std::memcpy(&std::get<I>(all), launch.arguments[I], sizeof(Args)), ...);
    int32_t fault = 0;
    for_each_item(launch, [&](const item& at) {
      if (const int32_t now = body(at, std::get<I>(all)...); now != 0) fault = now;
    });
    return fault;
  }
};

int32_t count_from(const item& at, uint32_t* out, uint32_t first, uint32_t count) {
  const uint32_t i = at.global_x();
  if (i < count) out[i] = first + i;
  return 0;
}

int32_t add(const item& at, float* out, const float* a, const float* b, uint32_t count) {
  const uint32_t i = at.global_x();
  if (i < count) out[i] = a[i] + b[i];
  return 0;
}

struct numbers {
  int32_t a;
  float b;
  uint64_t c;
};
int32_t take_numbers(const item&, uint64_t* out, numbers all, uint8_t d, uint16_t e) {
  out[0] = uint64_t(all.a);
  out[1] = uint64_t(all.b);
  out[2] = all.c;
  out[3] = d;
  out[4] = e;
  return 0;
}

int32_t where(const item& at, uint32_t* out) {
  const uint32_t(&items)[3] = at.launch.items;
  const uint32_t(&groups)[3] = at.launch.groups;
  const uint32_t group = at.group[0] + groups[0] * (at.group[1] + groups[1] * at.group[2]);
  const uint32_t local = at.local[0] + items[0] * (at.local[1] + items[1] * at.local[2]);
  out[group * (items[0] * items[1] * items[2]) + local] = at.group[0] | at.group[1] << 4 |
                                                          at.group[2] << 8 | at.local[0] << 12 |
                                                          at.local[1] << 16 | at.local[2] << 20;
  return 0;
}

// Its last item runs last, when all have written: there is no barrier on the host.
int32_t sum_of_group(const item& at, uint32_t* out, const uint32_t* in) {
  auto* const numbers_of_group = static_cast<uint32_t*>(at.launch.local);
  const uint32_t items = at.launch.items[0];
  numbers_of_group[items - 1 - at.local[0]] = in[at.global_x()];
  if (at.local[0] != items - 1) return 0;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < items; ++i) sum = sum * 3 + numbers_of_group[i];
  out[at.group[0]] = sum;
  return 0;
}

int32_t take_time(const item&, uint32_t* out, uint32_t rounds) {
  uint32_t x = 1;
  for (uint32_t i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u;
  out[0] = x;
  return 0;
}

int32_t fault(const item&, uint32_t*) {
  return 7;
}

}  // namespace

#define OUTBACK_X(name)                                                                      \
  extern "C" [[gnu::visibility("default")]] const outback_host_kernel outback_kernel_##name; \
  const outback_host_kernel outback_kernel_##name = {sizeof(outback_host_kernel),            \
                                                     std::size(of_items<&(name)>::sizes),    \
                                                     of_items<&(name)>::sizes,               \
                                                     0,                                      \
                                                     0,                                      \
                                                     &of_items<&(name)>::run,                \
                                                     nullptr};
OUTBACK_X(count_from)
OUTBACK_X(add)
OUTBACK_X(take_numbers)
OUTBACK_X(where)
OUTBACK_X(sum_of_group)
OUTBACK_X(take_time)
OUTBACK_X(fault)
