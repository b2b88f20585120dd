"""PyTorch's own operator samples, run on a device and compared with the CPU.

For every operator that PyTorch describes (an *OpInfo*), the same samples run on the CPU and on the
device; values, gradients, shapes, dtypes, devices and aliasing have to agree. Operators run in
worker processes, so that a crash is a result as well: ``supervisor`` (no torch) starts ``worker``
processes, which load ``catalog``, draw from ``sampling``, run ``checks`` and ``comparing``, and
report line by line. ``results`` is the file, ``gate`` compares two of them, ``report`` prints.
"""
