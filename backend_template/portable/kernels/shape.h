// How the operands of a kernel lie in memory, and values of a type that is known at run time only.

#define MAX_DIMS 8
// Sizes, and the strides of up to 4 operands. Dimension 0 is the innermost one, as in
// TensorIterator. `types` are numbers of c10::ScalarType.
typedef struct {
  i32 dims, types[4], reserved;
  i64 size[MAX_DIMS];
  i64 stride[4][MAX_DIMS];
} shape;

// The same for elementwise kernels, whose offsets fit into 32 bits; strides are in bytes. Results
// are values of the type `rounded_to`, unless that is -1, before they get the type of the output.
typedef struct {
  i32 dims, types[4], rounded_to;
  u32 size[MAX_DIMS];
  u32 stride[4][MAX_DIMS];
} places;

// Declares `at`, where element number `index` is in each operand.
#define PLACES(sh, index, at)                                                    \
  u32 at[4] = {0, 0, 0, 0};                                                      \
  {                                                                              \
    u32 rest_ = (u32)(index);                                                    \
    i32 d_ = 0;                                                                  \
    for (; d_ < sh.dims - 1; ++d_) {                                             \
      const u32 next_ = rest_ / sh.size[d_], own_ = rest_ - next_ * sh.size[d_]; \
      for (i32 k_ = 0; k_ < 4; ++k_) at[k_] += own_ * sh.stride[k_][d_];         \
      rest_ = next_;                                                             \
    }                                                                            \
    for (i32 k_ = 0; k_ < 4; ++k_) at[k_] += rest_ * sh.stride[k_][d_];          \
  }

// Adds to `at` the offset of the element number `index` in operand number `n`.
#define ADD_OFFSET(sh, n, index, at)                \
  {                                                 \
    i64 rest_ = (index);                            \
    for (i32 d_ = 0; d_ < sh.dims; ++d_) {          \
      at += rest_ % sh.size[d_] * sh.stride[n][d_]; \
      rest_ /= sh.size[d_];                         \
    }                                               \
  }

#ifdef HAS_F64
#define LOAD_F64(C) return (C) * (const GLOBAL f64*)p
#define STORE_F64 *(GLOBAL f64*)p = (f64)v
#else  // the device has no such tensors
#define LOAD_F64(C) return 0
#define STORE_F64
#endif
#define ANY_TYPE(C)                                        \
  DEVICE C load_any_##C(const GLOBAL u8* p, i32 type) {    \
    switch (type) {                                        \
      case 0:                                              \
        return (C) * p;                                    \
      case 1:                                              \
        return (C) * (const GLOBAL i8*)p;                  \
      case 2:                                              \
        return (C) * (const GLOBAL i16*)p;                 \
      case 3:                                              \
        return (C) * (const GLOBAL i32*)p;                 \
      case 4:                                              \
        return (C) * (const GLOBAL i64*)p;                 \
      case 5:                                              \
        return (C)f32_of_f16(*(const GLOBAL f16*)p);       \
      case 6:                                              \
        return (C) * (const GLOBAL f32*)p;                 \
      case 11:                                             \
        return (C)(*p != 0);                               \
      case 15:                                             \
        return (C)f32_of_bf16(*(const GLOBAL bf16*)p);     \
      default:                                             \
        LOAD_F64(C);                                       \
    }                                                      \
  }                                                        \
  DEVICE void store_any_##C(GLOBAL u8* p, i32 type, C v) { \
    switch (type) {                                        \
      case 0:                                              \
        *p = (u8)(i64)v;                                   \
        break;                                             \
      case 1:                                              \
        *(GLOBAL i8*)p = (i8)v;                            \
        break;                                             \
      case 2:                                              \
        *(GLOBAL i16*)p = (i16)v;                          \
        break;                                             \
      case 3:                                              \
        *(GLOBAL i32*)p = (i32)v;                          \
        break;                                             \
      case 4:                                              \
        *(GLOBAL i64*)p = (i64)v;                          \
        break;                                             \
      case 5:                                              \
        *(GLOBAL f16*)p = f16_of_f32((f32)v);              \
        break;                                             \
      case 6:                                              \
        *(GLOBAL f32*)p = (f32)v;                          \
        break;                                             \
      case 11:                                             \
        *p = v != 0;                                       \
        break;                                             \
      case 15:                                             \
        *(GLOBAL bf16*)p = bf16_of_f32((f32)v);            \
        break;                                             \
      default:                                             \
        STORE_F64;                                         \
    }                                                      \
  }
ANY_TYPE(f32)
ANY_TYPE(i64)
#ifdef HAS_F64
ANY_TYPE(f64)
#endif

// `v` as a value of the type.
DEVICE i64 rounded_i64(i64 v, i32 type) {
  switch (type) {
    case 0:
      return (u8)v;
    case 1:
      return (i8)v;
    case 2:
      return (i16)v;
    case 3:
      return (i32)v;
    case 11:
      return v != 0;
    default:
      return v;
  }
}
DEVICE f32 rounded_f32(f32 v, i32 type) {
  return type == 5 ? f32_of_f16(f16_of_f32(v)) : type == 15 ? f32_of_bf16(bf16_of_f32(v)) : v;
}
#ifdef HAS_F64
DEVICE f64 rounded_f64(f64 v, i32 type) {
  return v;
}
#endif
#undef ANY_TYPE
#undef LOAD_F64
#undef STORE_F64
