// x * sigmoid(x) * scale, and its derivative, for a device whose driver compiles OpenCL C.
__kernel void scaled_silu(__global float* out, __global const float* x, float scale, int count) {
  int i = get_global_id(0);
  if (i < count) out[i] = scale * x[i] / (1.0f + exp(-x[i]));
}

__kernel void scaled_silu_backward(__global float* out, __global const float* grad,
                                   __global const float* x, float scale, int count) {
  int i = get_global_id(0);
  if (i >= count) return;
  float s = 1.0f / (1.0f + exp(-x[i]));
  out[i] = grad[i] * scale * s * (1.0f + x[i] * (1.0f - s));
}
