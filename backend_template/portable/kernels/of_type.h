// The words of the files that are read for one storage type, T: f32, f16, bf16, f64, i64 or b8.
#define IS_FLOATING_f32 1
#define IS_FLOATING_f64 1
#define IS_FLOATING_f16 1
#define IS_FLOATING_bf16 1
#define IS_FLOATING_i64 0
#define IS_FLOATING_b8 0
#define IS_FLOATING JOIN(IS_FLOATING_, T)
// Types that are computed in: their modules have the kernels that read and write any type.
#define IS_COMPUTED_IN_f32 1
#define IS_COMPUTED_IN_f64 1
#define IS_COMPUTED_IN_f16 0
#define IS_COMPUTED_IN_bf16 0
#define IS_COMPUTED_IN_i64 1
#define IS_COMPUTED_IN_b8 0
#define IS_COMPUTED_IN JOIN(IS_COMPUTED_IN_, T)

// Types of memory with kernels of their own, which read T alone.
#define HAS_OWN_KERNELS_f32 1
#define HAS_OWN_KERNELS_f64 0
#define HAS_OWN_KERNELS_f16 1
#define HAS_OWN_KERNELS_bf16 1
#define HAS_OWN_KERNELS_i64 0
#define HAS_OWN_KERNELS_b8 0
#define HAS_OWN_KERNELS JOIN(HAS_OWN_KERNELS_, T)

#define C COMPUTED_IN(T)
// A number that float32 has not got exactly. A kernel without float64 has no literals of it.
#define LITERAL_f32(x) x##f
#define LITERAL_f64(x) x
#define LITERAL(x) JOIN(LITERAL_, C)(x)
#define N(name) JOIN(name##_, T)
#define LOAD JOIN(load_, T)
#define STORE JOIN(store_, T)
#if IS_FLOATING
#define LOWEST (-INF)
#define HIGHEST INF
#define SUM_TYPE T
#else  // C is i64
#define LOWEST ((i64)1 << 63)
#define HIGHEST (~LOWEST)
#define SUM_TYPE i64
#endif
