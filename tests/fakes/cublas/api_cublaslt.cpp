// libcublasLt: descriptors that keep what a product is, one algorithm for all of them, and products
// that compute nothing.
#include <cstring>

#include "tests/fakes/cublas/handle.hpp"

using namespace fake_cublas;

namespace {

// Both fit into what cublasLt.h calls opaque.
struct product {  // 32 words
  int compute_type, scale_type;
  std::uint64_t rest[31];
};
struct layout {  // 8 words
  int type, batches;
  std::uint64_t rows, columns;
  std::int64_t leading;
  std::uint64_t rest[4];
};
struct preference {
  std::uint64_t rest[8];
};
static_assert(sizeof(product) == 32 * 8 && sizeof(layout) == 8 * 8);

struct algorithm {
  std::uint64_t data[8];
};
struct heuristic {
  algorithm found;
  std::size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

// Of cublasLtMatmulDescAttributes_t and cublasLtMatrixLayoutAttribute_t.
constexpr int transpose_a = 3, transpose_b = 4, epilogue = 7, bias = 8, batch_count = 5;

std::string spell(const char* name, const layout& of) {
  return std::string(" ") + name + "=" + std::to_string(of.rows) + "x" +
         std::to_string(of.columns) + "/" + std::to_string(of.leading) + "x" +
         std::to_string(of.batches) + ":" + std::to_string(of.type);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

std::size_t cublasLtGetVersion() {
  return version;
}
std::size_t cublasLtGetCudartVersion() {
  return 13000;
}
int cublasLtCreate(handle** made) {
  *made = new handle;
  return success;
}
int cublasLtDestroy(handle* gone) {
  delete gone;
  return success;
}
const char* cublasLtGetStatusName(int status) {
  return status == success ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_EXECUTION_FAILED";
}
const char* cublasLtGetStatusString(int status) {
  return status == success ? "success" : "the fake cuBLASLt failed";
}

int cublasLtMatmulDescInit_internal(product* made, std::size_t, int compute_type, int scale_type) {
  *made = {.compute_type = compute_type, .scale_type = scale_type, .rest = {}};
  return success;
}
int cublasLtMatmulDescCreate(product** made, int compute_type, int scale_type) {
  *made = new product{.compute_type = compute_type, .scale_type = scale_type, .rest = {}};
  return success;
}
int cublasLtMatmulDescDestroy(product* gone) {
  delete gone;
  return success;
}
// Those that matter to the record have a word of their own, by their number.
int cublasLtMatmulDescSetAttribute(product* of, int which, const void* from, std::size_t size) {
  if (which >= 0 && which < 31 && size <= sizeof(std::uint64_t)) {
    of->rest[which] = 0;
    std::memcpy(&of->rest[which], from, size);
  }
  return success;
}

int cublasLtMatrixLayoutInit_internal(layout* made, std::size_t, int type, std::uint64_t rows,
                                      std::uint64_t columns, std::int64_t leading) {
  *made = {
      .type = type, .batches = 1, .rows = rows, .columns = columns, .leading = leading, .rest = {}};
  return success;
}
int cublasLtMatrixLayoutCreate(layout** made, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t leading) {
  *made = new layout;
  return cublasLtMatrixLayoutInit_internal(*made, sizeof(layout), type, rows, columns, leading);
}
int cublasLtMatrixLayoutDestroy(layout* gone) {
  delete gone;
  return success;
}
int cublasLtMatrixLayoutSetAttribute(layout* of, int which, const void* from, std::size_t size) {
  if (which == batch_count && size == sizeof(int)) std::memcpy(&of->batches, from, size);
  return success;
}

int cublasLtMatmulPreferenceInit_internal(preference* made, std::size_t) {
  *made = {};
  return success;
}
int cublasLtMatmulPreferenceCreate(preference** made) {
  *made = new preference{};
  return success;
}
int cublasLtMatmulPreferenceDestroy(preference* gone) {
  delete gone;
  return success;
}
int cublasLtMatmulPreferenceSetAttribute(preference*, int, const void*, std::size_t) {
  return success;
}

int cublasLtMatmulAlgoGetHeuristic(void*, product*, layout*, layout*, layout*, layout*, preference*,
                                   int wanted, heuristic found[], int* count) {
  *count = wanted > 0 ? 1 : 0;
  if (wanted > 0)
    found[0] = {.found = {}, .workspace = 0, .status = success, .waves = 1, .reserved = {}};
  return wanted > 0 ? success : invalid_value;
}

// There is one algorithm, which the heuristic answers: nobody configures one here.
int cublasLtMatmulAlgoInit() {
  return not_supported;
}
int cublasLtMatmulAlgoCheck() {
  return not_supported;
}
int cublasLtMatmulAlgoConfigGetAttribute() {
  return not_supported;
}
int cublasLtMatmulAlgoConfigSetAttribute() {
  return not_supported;
}

int cublasLtMatmul(void*, const product* of, const void* alpha, const void* a,
                   const layout* a_layout, const void* b, const layout* b_layout, const void* beta,
                   const void* c, const layout* c_layout, void* d, const layout* d_layout,
                   const algorithm*, void* workspace, std::size_t workspace_size, void* stream) {
  const std::string described = "cublasLtMatmul(compute=" + std::to_string(of->compute_type) +
                                " scale=" + std::to_string(of->scale_type) +
                                " transposed=" + std::to_string(int(of->rest[transpose_a])) +
                                std::to_string(int(of->rest[transpose_b])) +
                                " epilogue=" + std::to_string(int(of->rest[epilogue])) +
                                spell("a", *a_layout) + spell("b", *b_layout) +
                                spell("c", *c_layout) + spell("d", *d_layout) +
                                " workspace=" + std::to_string(workspace_size) + ")";
  const void* const addresses[] = {
      a, b, c, d, workspace, reinterpret_cast<const void*>(of->rest[bias]), alpha, beta};
  return add_call(described, addresses, int(sizeof(addresses) / sizeof(addresses[0])), stream);
}

}  // extern "C"
#pragma GCC visibility pop
