#include "backend_template/core/memory/allocator/routing.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <vector>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"

namespace outback::core {
namespace {

struct route {
  c10::DeviceIndex device;
  c10::MempoolId_t pool;
};

// How many routes the thread has. Most allocations look at nothing else, so it is kept apart from
// the vector: it needs no constructor, and no check for one. It is 0 after the thread's routes were
// destroyed, so that static destructors may still allocate on the main thread.
thread_local constinit size_t route_count = 0;

struct thread_routes {
  std::vector<route> all;
  ~thread_routes() { route_count = 0; }
};
thread_local thread_routes here;

std::atomic<c10::CaptureId_t> last_pool{0};

// The route that the calling thread began last on the device, or the end of the reversed list.
auto last_route(c10::DeviceIndex device) {
  return std::find_if(here.all.rbegin(), here.all.rend(),
                      [device](const route& entered) { return entered.device == device; });
}

// The pool of the capture that the calling thread's current stream is in; {0, 0} if it is in none.
c10::MempoolId_t pool_of_capture(c10::DeviceIndex device) {
  const auto open = capture_of(current_stream(device));
  return open == nullptr ? common_pool : open->pool();
}

}  // namespace

c10::MempoolId_t new_pool_id() noexcept {
  return {0, last_pool.fetch_add(1, std::memory_order_relaxed) + 1};
}

void begin_allocate_to_pool(c10::DeviceIndex device, c10::MempoolId_t pool) {
  ensure_started();
  // The pool has a user before the thread routes to it, so it cannot be removed in between.
  cache_of(device).begin_pool_use(pool);
  here.all.push_back({device, pool});
  route_count = here.all.size();
}

void end_allocate_to_pool(c10::DeviceIndex device, c10::MempoolId_t pool) {
  std::vector<route>& routes = here.all;
  const auto last = last_route(device);
  TORCH_CHECK(last != routes.rend() && last->pool == pool, backend_name(), ": the pool (",
              pool.first, ", ", pool.second, ") does not serve this thread on device ",
              static_cast<int>(device), ": expected the one that was entered last");
  routes.erase(std::next(last).base());
  route_count = routes.size();
  // In a forked child the cache's mutex may be locked for ever.
  if (!is_in_bad_fork()) cache_of(device).end_pool_use(pool);
}

c10::MempoolId_t pool_for(c10::DeviceIndex device) noexcept {
  if (C10_LIKELY(route_count == 0)) {
    return any_capture(device) ? pool_of_capture(device) : common_pool;
  }
  const auto last = last_route(device);
  return last == here.all.rend() ? pool_of_capture(device) : last->pool;
}

void enable_caching(bool on) noexcept {
  detail::caching_is_on.store(on, std::memory_order_relaxed);
}

}  // namespace outback::core
