"""`outback ops`: which operators a program calls, who serves them, and which kernels to write next."""
