"""`outback ops`: which operators a program calls, who serves them, which kernels to write."""
