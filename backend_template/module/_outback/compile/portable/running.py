"""What code that Inductor has generated calls: it makes kernels of texts in the dialect, several at
once, and keeps what a compiler has made in Inductor's folder."""

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from torch._inductor.async_compile import get_compile_threads
from torch._inductor.codecache import LambdaFuture, cache_dir

from ... import _native, kernels


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(get_compile_threads(), "outback_compile")


# A forked child has none of the threads.
os.register_at_fork(after_in_child=_pool.cache_clear)


def kernel(name: str, parameters: str, device: int, source: str) -> Any:
    """A kernel, or what Inductor waits for before it calls the generated code. `parameters`: see
    PortableKernel.signature."""
    make = functools.partial(_made, name, parameters, device, source)
    if get_compile_threads() <= 1:
        return make()
    future = _pool().submit(make)
    return LambdaFuture(future.result, future)


def _made(name: str, parameters: str, device: int, source: str) -> _native.GeneratedKernel:
    target = kernels.target_of(device, "torch.compile")
    try:
        number, module, items = kernels.module_of(
            source, None, target, Path(cache_dir(), "outback")
        )
        return _native.GeneratedKernel(device, number, module, items, name, parameters)
    except RuntimeError as error:
        raise RuntimeError(
            f"torch.compile has generated a kernel that this device's compiler refuses:\n{error}\n"
            f"The kernel, which TORCH_COMPILE_DEBUG=1 keeps in a file:\n{source}"
        ) from error
