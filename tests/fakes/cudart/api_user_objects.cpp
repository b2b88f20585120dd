// Entry points: what a program lets graphs keep until they are destroyed.
#include <fmt/format.h>

#include <algorithm>

#include "tests/fakes/cudart/enter.hpp"

using namespace fake_cuda;

namespace {

std::shared_ptr<user_object> find_object(call& c, cudaUserObject_t handle) {
  auto found = c.m.user_objects.find(handle);
  if (found != nullptr) return found;
  throw misuse(
      cudaErrorInvalidValue,
      fmt::format("{} is no user object, or has no references of yours left", fmt::ptr(handle)));
}

void give_up(call& c, cudaUserObject_t handle, unsigned count) {
  auto object = find_object(c, handle);
  require(count > 0 && count <= object->references, "more references than there are");
  object->references -= count;
  if (object->references == 0) c.m.user_objects.erase(handle);
  c.released.push_back(std::move(object));
}

}  // namespace

cudaError_t cudaUserObjectCreate(cudaUserObject_t* made, void* data, cudaHostFn_t destroy,
                                 unsigned references, unsigned flags) {
  return enter(__func__, [&](call& c) {
    require(made != nullptr && destroy != nullptr && references > 0, "a null pointer, or no count");
    require(flags == cudaUserObjectNoDestructorSync, "flags that there are not");
    auto object = std::make_shared<user_object>(data, destroy);
    object->references = references;
    *made = c.m.user_objects.add<cudaUserObject_t>(std::move(object));
  });
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t handle, unsigned count) {
  return enter(__func__, entry::release, [&](call& c) { give_up(c, handle, count); });
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph_handle, cudaUserObject_t handle,
                                      unsigned count, unsigned flags) {
  return enter(__func__, [&](call& c) {
    const auto keeper = c.m.graphs.find(graph_handle);
    require(keeper != nullptr, "no graph");
    require(count > 0 && (flags & ~unsigned(cudaGraphUserObjectMove)) == 0, "no count, or flags");
    keeper->retained.push_back(find_object(c, handle));
    if (flags == cudaGraphUserObjectMove) give_up(c, handle, count);
  });
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph_handle, cudaUserObject_t handle,
                                       unsigned count) {
  return enter(__func__, entry::release, [&](call& c) {
    const auto keeper = c.m.graphs.find(graph_handle);
    require(keeper != nullptr && count > 0, "no graph, or no count");
    const auto kept = std::ranges::find(keeper->retained, c.m.user_objects.find(handle));
    require(kept != keeper->retained.end(), "the graph does not keep it");
    c.released.push_back(std::move(*kept));
    keeper->retained.erase(kept);
  });
}
