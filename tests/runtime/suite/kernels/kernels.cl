// The kernels of the runtime suite, in OpenCL C and CUDA. host_kernels.cpp has the same kernels for the host. Two files
// beside this one are made of it:
//
//   clang-22 --target=spirv64v1.2-unknown-unknown -x cl -cl-std=CL1.2 -O2 -Xclang -finclude-default-header -c kernels.cl -o kernels.spv
//   nvcc -x cu -ptx -arch=compute_75 kernels.cl -o kernels.ptx, with `.version 7.0` in place of the compiler's own version
//
// To run the suite's tests of kernels on a device with another language, compile this file, and pass the result to the
// suite's program: --kernels=FORMAT:FILE.
#ifdef __CUDACC__
typedef unsigned int u32;
typedef unsigned long long u64;
#define KERNEL extern "C" __global__ void
#define GLOBAL
#define LOCAL_PARAMETER(type, name)
#define LOCAL_VARIABLE(type, name) extern __shared__ type name[];
#define BARRIER __syncthreads()
#define ITEM_X threadIdx.x
#define ITEM_Y threadIdx.y
#define ITEM_Z threadIdx.z
#define ITEMS_X blockDim.x
#define ITEMS_Y blockDim.y
#define ITEMS_Z blockDim.z
#define GROUP_X blockIdx.x
#define GROUP_Y blockIdx.y
#define GROUP_Z blockIdx.z
#define GROUPS_X gridDim.x
#define GROUPS_Y gridDim.y
#else
// Macros: PoCL knows how large an argument is by the name of its type, and takes any size for a name of ours.
#define u32 uint
#define u64 ulong
#define KERNEL __kernel void
#define GLOBAL __global
#define LOCAL_PARAMETER(type, name) , __local type* name
#define LOCAL_VARIABLE(type, name)
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define ITEM_X ((u32)get_local_id(0))
#define ITEM_Y ((u32)get_local_id(1))
#define ITEM_Z ((u32)get_local_id(2))
#define ITEMS_X ((u32)get_local_size(0))
#define ITEMS_Y ((u32)get_local_size(1))
#define ITEMS_Z ((u32)get_local_size(2))
#define GROUP_X ((u32)get_group_id(0))
#define GROUP_Y ((u32)get_group_id(1))
#define GROUP_Z ((u32)get_group_id(2))
#define GROUPS_X ((u32)get_num_groups(0))
#define GROUPS_Y ((u32)get_num_groups(1))
#endif

// out[i] = first + i, for the first `count` items of the launch.
KERNEL count_from(GLOBAL u32* out, u32 first, u32 count) {
  u32 i = GROUP_X * ITEMS_X + ITEM_X;
  if (i < count) out[i] = first + i;
}

// out[i] = a[i] + b[i]
KERNEL add(GLOBAL float* out, GLOBAL const float* a, GLOBAL const float* b, u32 count) {
  u32 i = GROUP_X * ITEMS_X + ITEM_X;
  if (i < count) out[i] = a[i] + b[i];
}

// The members of a struct that is passed by value, and of numbers of other sizes.
typedef struct {
  int a;
  float b;
  u64 c;
} numbers;
KERNEL take_numbers(GLOBAL u64* out, numbers all, unsigned char d, unsigned short e) {
  out[0] = (u64)all.a;
  out[1] = (u64)all.b;
  out[2] = all.c;
  out[3] = d;
  out[4] = e;
}

// For each item of each group: where it is, in six numbers of four bits.
KERNEL where(GLOBAL u32* out) {
  u32 group = GROUP_X + GROUPS_X * (GROUP_Y + GROUPS_Y * GROUP_Z);
  u32 item = ITEM_X + ITEMS_X * (ITEM_Y + ITEMS_Y * ITEM_Z);
  out[group * (ITEMS_X * ITEMS_Y * ITEMS_Z) + item] =
      GROUP_X | GROUP_Y << 4 | GROUP_Z << 8 | ITEM_X << 12 | ITEM_Y << 16 | ITEM_Z << 20;
}

// The sum of a group's numbers, in reverse through local memory, which has one number for each item.
KERNEL sum_of_group(GLOBAL u32* out, GLOBAL const u32* in LOCAL_PARAMETER(u32, numbers_of_group)) {
  LOCAL_VARIABLE(u32, numbers_of_group)
  numbers_of_group[ITEMS_X - 1 - ITEM_X] = in[GROUP_X * ITEMS_X + ITEM_X];
  BARRIER;
  if (ITEM_X == 0) {
    u32 sum = 0;
    for (u32 i = 0; i < ITEMS_X; ++i) sum = sum * 3 + numbers_of_group[i];
    out[GROUP_X] = sum;
  }
}

// Takes its time: out[0] becomes the last of `rounds` numbers, each made from the one before.
KERNEL take_time(GLOBAL u32* out, u32 rounds) {
  u32 x = 1;
  for (u32 i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u;
  out[0] = x;
}

#ifdef __CUDACC__
// Faults. OpenCL C has no way to say so.
KERNEL fault(GLOBAL u32* out) {
  asm volatile("trap;");
  out[0] = 1;
}
#endif
