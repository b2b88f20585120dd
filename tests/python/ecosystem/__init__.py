"""Other parts of torch on the device: compilers, processes, the profiler, files."""
