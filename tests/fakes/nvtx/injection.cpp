// A tool that NVTX finds, as Nsight Systems is one: it writes down the ranges and marks of the
// process. NVTX's headers load it by NVTX_INJECTION64_PATH.
#include <nvtx3/nvToolsExt.h>

#include <mutex>
#include <string>

namespace {

std::mutex mutex;
std::string& noted() {
  static auto& text = *new std::string;
  return text;
}

void note(const std::string& line) {
  const std::lock_guard lock(mutex);
  noted() += line + "\n";
}

int NVTX_API push(const char* name) {
  note(std::string("push ") + name);
  return 0;
}

int NVTX_API pop() {
  note("pop");
  return 0;
}

void NVTX_API mark(const char* name) {
  note(std::string("mark ") + name);
}

template <class Function>
NvtxFunctionPointer erased(Function function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

// NVTX calls it once, with its table of functions to replace.
extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE_RangePop) {
    return 0;
  }
  *table[NVTX_CBID_CORE_RangePushA] = erased(push);
  *table[NVTX_CBID_CORE_RangePop] = erased(pop);
  *table[NVTX_CBID_CORE_MarkA] = erased(mark);
  return 1;
}

// What has been noted, until the next call.
extern "C" [[gnu::visibility("default")]] const char* outback_fake_nvtx_notes() {
  static auto& copy = *new std::string;
  const std::lock_guard lock(mutex);
  copy = noted();
  return copy.c_str();
}
