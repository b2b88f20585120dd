// Values of all items of a group made one. Each collective is a statement outside of regions. Its
// buffers are LOCAL arrays of LSIZE values, to which each item has written its own,
// buffer[LID]. Afterwards the result is in buffer[0] for all items. Before an item writes to the
// buffer again stands a BARRIER.

// Makes buffer[i] of buffer[i] and buffer[j], by any statement, until buffer[0] has all.
#define FOLD(i, j, statement)                            \
  {                                                      \
    BARRIER;                                             \
    for (i32 half_ = LSIZE / 2; half_ > 0; half_ /= 2) { \
      ITEMS_BELOW(half_) {                               \
        const i32 i = LID, j = LID + half_;              \
        statement;                                       \
      }                                                  \
      BARRIER;                                           \
    }                                                    \
  }

#define INF f32_of_bits(0x7f800000u)
#define NOT_A_NUMBER f32_of_bits(0x7fc00000u)
// The larger and the smaller of two values; a NaN wins. Each is evaluated several times.
#define LARGER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))

#define GROUP_SUM(buffer) FOLD(i_, j_, buffer[i_] += buffer[j_])
#define GROUP_PROD(buffer) FOLD(i_, j_, buffer[i_] *= buffer[j_])
#define GROUP_MAX(buffer) FOLD(i_, j_, buffer[i_] = LARGER(buffer[i_], buffer[j_]))
#define GROUP_MIN(buffer) FOLD(i_, j_, buffer[i_] = SMALLER(buffer[i_], buffer[j_]))
#define GROUP_ANY(buffer) FOLD(i_, j_, buffer[i_] = buffer[i_] != 0 || buffer[j_] != 0)
#define GROUP_ALL(buffer) FOLD(i_, j_, buffer[i_] = buffer[i_] != 0 && buffer[j_] != 0)

// Whether value b at place j comes before value a at place i as the largest one: the first of equal
// values, and a NaN is the largest. The same for the smallest.
#define IS_LARGER(b, j, a, i) \
  ((a) != (a) ? (b) != (b) && (j) < (i) : (b) != (b) || (b) > (a) || ((b) == (a) && (j) < (i)))
#define IS_SMALLER(b, j, a, i) \
  ((a) != (a) ? (b) != (b) && (j) < (i) : (b) != (b) || (b) < (a) || ((b) == (a) && (j) < (i)))
#define OUTBACK_ARG(better, value, place)                               \
  FOLD(                                                                 \
      i_, j_, if (better(value[j_], place[j_], value[i_], place[i_])) { \
        value[i_] = value[j_];                                          \
        place[i_] = place[j_];                                          \
      })
#define GROUP_ARGMAX(value, place) OUTBACK_ARG(IS_LARGER, value, place)
#define GROUP_ARGMIN(value, place) OUTBACK_ARG(IS_SMALLER, value, place)

// Mean and sum of squared differences from it, of `count` values (B. P. Welford, Technometrics 4
// (1962); T. F. Chan, G. H. Golub, R. J. LeVeque, The American Statistician 37 (1983)). T is the
// type of all three. WELFORD_ADD takes one value more, WELFORD_MERGE those of another such triple.
#define WELFORD_ADD(T, mean, m2, count, value) \
  {                                            \
    const T value_ = (value);                  \
    count += 1;                                \
    const T from_ = value_ - mean;             \
    mean += from_ / count;                     \
    m2 += from_ * (value_ - mean);             \
  }
#define WELFORD_MERGE(T, mean, m2, count, mean2, m22, count2) \
  {                                                           \
    const T all_ = count + (count2), from_ = (mean2) - mean;  \
    const T share_ = all_ == 0 ? (T)0 : (count2) / all_;      \
    mean += from_ * share_;                                   \
    m2 += (m22) + from_ * from_ * count * share_;             \
    count = all_;                                             \
  }
#define GROUP_WELFORD(T, mean, m2, count) \
  FOLD(i_, j_, WELFORD_MERGE(T, mean[i_], m2[i_], count[i_], mean[j_], m2[j_], count[j_]))

// The largest value, and the sum of exp(value - largest), in one pass. It begins with -INF and 0.
#define SOFTMAX_MERGE(T, top, total, top2, total2)                                     \
  {                                                                                    \
    const T other_ = (top2), most_ = LARGER(top, other_);                              \
    total = most_ == -INF ? total + (total2)                                           \
                          : total * exp(top - most_) + (total2) * exp(other_ - most_); \
    top = most_;                                                                       \
  }
#define SOFTMAX_ADD(T, top, total, value) SOFTMAX_MERGE(T, top, total, value, 1)
#define GROUP_SOFTMAX(T, top, total) \
  FOLD(i_, j_, SOFTMAX_MERGE(T, top[i_], total[i_], top[j_], total[j_]))
