// libcuda's functions of memory. See driver_contexts.hpp.
#pragma once

#include "tests/fakes/cudart/driver_contexts.hpp"

namespace fake_cuda::driver {

CUresult pointer_get_attribute(void* value, CUpointer_attribute which, CUdeviceptr of);
CUresult mem_get_info(size_t* free, size_t* total);
CUresult mem_get_address_range(CUdeviceptr* begin, size_t* size, CUdeviceptr of);
CUresult memset_d8(CUdeviceptr to, unsigned char value, size_t count, CUstream on);
CUresult memset_d16(CUdeviceptr to, unsigned short value, size_t count, CUstream on);
CUresult memset_d32(CUdeviceptr to, unsigned value, size_t count, CUstream on);
CUresult memset_2d8(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                    CUstream on);
CUresult memset_2d16(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                     size_t height, CUstream on);
CUresult memset_2d32(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                     CUstream on);

}  // namespace fake_cuda::driver
