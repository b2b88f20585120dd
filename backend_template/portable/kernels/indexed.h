// The place in a tensor that a kernel takes from an index.

// What kernels know of the index and of the dimension that it is for.
typedef struct {
  i64 size, stride;  // of the dimension; the stride in bytes
  // For `ordered`: the elements with the same number below `inner` form a line, along which the
  // index may have a place several times. The index has `line_stride` bytes from one to the next.
  i64 inner, lines, line_stride;
  i64 skip;     // a place for which nothing is done, or -1
  u64 value;    // with has_value: the bits of the number that all elements get
  i32 is_i64;   // otherwise the index has i32
  i32 wraps;    // -1 is the last place
  i32 ordered;  // the same result each time, though places come several times
  i32 fault;    // the number that says that a place is out of range
  i32 has_value, reserved;
} indexed;

// Returns the place at *p, or -1 for one that is out of range.
DEVICE i64 place_of(const GLOBAL u8* p, i64 size, i32 is_i64, i32 wraps) {
  i64 place = is_i64 ? *(const GLOBAL i64*)p : (i64) * (const GLOBAL i32*)p;
  if (wraps && place < 0) place += size;
  return place < 0 || place >= size ? -1 : place;
}
#define PLACE_OF(ix, p) place_of(p, ix.size, ix.is_i64, ix.wraps)
