// Included by packed.k.
DEVICE f32 scaled(f32 value, f32 factor) {
  return value * factor;
}
