"""PyTorch's own samples, run on a device and compared with the CPU.

For every operator, module and optimizer that PyTorch describes (an *OpInfo*, *ModuleInfo* or
*OptimizerInfo*: a *subject*), the same samples run on the CPU and on the device; values, gradients,
shapes, dtypes, devices and aliasing have to agree. Subjects run in worker processes, so that a
crash is a result as well: ``supervisor`` (no torch) starts ``worker`` processes, which load
``catalog`` and let ``checks`` run the phases of each subject; they are forks of ``fork_server``,
whose other end is ``forked``. ``operators`` draws from ``sampling`` and ``variants`` and checks by
``phases``; ``modules`` and ``optimizers`` are told there alone. ``calls`` asks both sides,
``comparing`` says what differs, ``exemptions`` what may. ``results`` is the file and ``compact``
what it says of the entries, ``gate`` compares two of them, ``report`` prints, ``listing`` names
what does not pass.
"""
