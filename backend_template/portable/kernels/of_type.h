// The words of the files that are read for one storage type T.
#define C COMPUTED_IN(T)
#define N(name) JOIN(name##_, T)
#define LOAD JOIN(load_, T)
#define STORE JOIN(store_, T)
#ifdef IS_FLOATING
#define LOWEST (-INF)
#define HIGHEST INF
#define SUM_TYPE T
#else  // C is i64
#define LOWEST ((i64)1 << 63)
#define HIGHEST (~LOWEST)
#define SUM_TYPE i64
#endif
