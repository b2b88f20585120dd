#include "backend_template/distributed/operation.h"

#include <c10/util/Exception.h>

#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::distributed {
namespace {

// An error that says already which operation it is of.
class operation_error final : public c10::DistBackendError {
  using c10::DistBackendError::DistBackendError;
};

}  // namespace

operation operation_of(const c10d::Backend& group, const c10d::Backend::Options& options,
                       const char* called, c10d::OpType type) {
  const std::string& description = group.getGroupDesc();
  const bool is_described = !description.empty() && description != "undefined";
  return {type,
          called,
          is_described ? description : options.group_name,
          group.getRank(),
          group.getSize(),
          options.timeout};
}

std::string operation::text() const {
  return core::format("{}: {} of group {} (rank {} of {})", core::backend_name(), name, group, rank,
                      size);
}

std::exception_ptr operation::failed(const std::string& what) const {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
  const c10::SourceLocation here{__func__, __FILE__, static_cast<uint32_t>(__LINE__)};
  return std::make_exception_ptr(operation_error(
      here, core::format("{} failed after {:.3f} s: {}", text(), spent.count(), what)));
}

std::exception_ptr operation::failed(const std::exception_ptr& error) const {
  try {
    std::rethrow_exception(error);
  } catch (const operation_error&) {
    return error;
  } catch (const c10::Error& other) {
    return failed(std::string(other.what_without_backtrace()));
  } catch (const std::exception& other) {
    return failed(std::string(other.what()));
  } catch (...) {
    return failed(std::string("an exception that is no std::exception"));
  }
}

}  // namespace outback::distributed
