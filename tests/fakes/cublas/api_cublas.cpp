// libcublas: handles and their modes, and functions that compute nothing.
#include "tests/fakes/cublas/handle.hpp"

using namespace fake_cublas;

// Each takes as many words as the longest of the functions has parameters. A caller passes fewer;
// what lies behind them on the stack is not looked at. All parameters are whole numbers or
// addresses, so they are where words are.
#define FAKE_CUBLAS(name, kinds)                                                                   \
  int name(handle* of, word p0, word p1, word p2, word p3, word p4, word p5, word p6, word p7,     \
           word p8, word p9, word p10, word p11, word p12, word p13, word p14, word p15, word p16, \
           word p17, word p18, word p19, word p20, word p21, word p22) {                           \
    const word all[] = {p0,  p1,  p2,  p3,  p4,  p5,  p6,  p7,  p8,  p9,  p10, p11,                \
                        p12, p13, p14, p15, p16, p17, p18, p19, p20, p21, p22};                    \
    static_assert(sizeof(kinds) - 1 <= sizeof(all) / sizeof(all[0]));                              \
    return of == nullptr ? not_initialized : add_call(#name, kinds, all, of->stream);              \
  }

#pragma GCC visibility push(default)
extern "C" {

#include "tests/fakes/cublas/functions.inc"

int cublasCreate_v2(handle** made) {
  *made = new handle;
  return success;
}
int cublasDestroy_v2(handle* gone) {
  delete gone;
  return success;
}

int cublasSetStream_v2(handle* of, void* stream) {
  of->stream = stream;
  return success;
}
int cublasGetStream_v2(handle* of, void** stream) {
  *stream = of->stream;
  return success;
}
int cublasSetMathMode(handle* of, int mode) {
  of->math_mode = mode;
  return success;
}
int cublasGetMathMode(handle* of, int* mode) {
  *mode = of->math_mode;
  return success;
}
int cublasSetPointerMode_v2(handle* of, int mode) {
  of->pointer_mode = mode;
  return success;
}
int cublasGetPointerMode_v2(handle* of, int* mode) {
  *mode = of->pointer_mode;
  return success;
}
int cublasSetAtomicsMode(handle* of, int mode) {
  of->atomics_mode = mode;
  return success;
}
int cublasGetAtomicsMode(handle* of, int* mode) {
  *mode = of->atomics_mode;
  return success;
}
int cublasSetSmCountTarget(handle* of, int count) {
  of->multiprocessors = count;
  return success;
}
int cublasGetSmCountTarget(handle* of, int* count) {
  *count = of->multiprocessors;
  return success;
}
int cublasSetEmulationStrategy(handle* of, int strategy) {
  of->emulation = strategy;
  return success;
}
int cublasGetEmulationStrategy(handle* of, int* strategy) {
  *strategy = of->emulation;
  return success;
}
int cublasSetEnvironmentMode(handle*, int) {
  return success;
}
int cublasSetWorkspace_v2(handle*, void*, std::size_t) {
  return success;
}
int cublasGetVersion_v2(handle*, int* number) {
  *number = version;
  return success;
}

const char* cublasGetStatusName(int status) {
  return status == success ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_EXECUTION_FAILED";
}
const char* cublasGetStatusString(int status) {
  return status == success ? "success" : "the fake cuBLAS failed";
}

}  // extern "C"
#pragma GCC visibility pop
