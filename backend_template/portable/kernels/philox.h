// Random bits by Philox4x32-10 (J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers:
// as easy as 1, 2, 3", 2011), in torch.cuda's order: the key is the seed, and the counter is (turn,
// thread). Item t of the launch makes 4 words a turn.

// Where a kernel's numbers begin, and for how many places they are. `turn` is a generator's offset
// divided by 4. A launch has `threads` items.
typedef struct {
  u64 seed, turn;
  i64 count, threads;
} draws;

DEVICE u32 high_u32(u32 a, u32 b) {
  return (u32)(((u64)a * b) >> 32);
}
// Declares x, 4 random words.
#define PHILOX(seed, turn, thread, x)                                                       \
  u32 x[4] = {(u32)(turn), (u32)((turn) >> 32), (u32)(thread), (u32)((u64)(thread) >> 32)}; \
  {                                                                                         \
    u32 k0_ = (u32)(seed), k1_ = (u32)((seed) >> 32);                                       \
    for (i32 round_ = 0; round_ < 10; ++round_) {                                           \
      const u32 h0_ = high_u32(0xD2511F53u, x[0]), l0_ = 0xD2511F53u * x[0];                \
      const u32 h1_ = high_u32(0xCD9E8D57u, x[2]), l1_ = 0xCD9E8D57u * x[2];                \
      x[0] = h1_ ^ x[1] ^ k0_;                                                              \
      x[1] = l1_;                                                                           \
      x[2] = h0_ ^ x[3] ^ k1_;                                                              \
      x[3] = l0_;                                                                           \
      k0_ += 0x9E3779B9u;                                                                   \
      k1_ += 0xBB67AE85u;                                                                   \
    }                                                                                       \
  }
// For each turn of each item: `made` makes `values` values of x, then the rest uses value i for the
// place `at`. The places of an item are t, t + threads and so on.
#define EACH_DRAW(d, values, made, ...)                                            \
  ITEMS {                                                                          \
    const i64 thread_ = GROUP * LSIZE + LID;                                       \
    u64 turn_ = d.turn;                                                            \
    for (i64 first_ = thread_; first_ < d.count; first_ += (values) * d.threads) { \
      PHILOX(d.seed, turn_, thread_, x)                                            \
      ++turn_;                                                                     \
      made for (i32 i = 0; i < (values); ++i) {                                    \
        const i64 at = first_ + i * d.threads;                                     \
        if (at < d.count) {                                                        \
          __VA_ARGS__                                                              \
        }                                                                          \
      }                                                                            \
    }                                                                              \
  }
