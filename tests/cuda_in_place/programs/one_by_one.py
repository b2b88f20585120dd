"""Runs what a family has on a device, one by one, and writes what each asked of the stand-in:
one_by_one.py FAMILY DEVICE SHARE FILE [AFTER]

A line of JSON before each ("begins") and after it. With AFTER it goes on behind the one of that
name, which ended the process before. Each begins with an allocator that has nothing. A share,
"0/4", has those that families.is_of tells.
"""

import ctypes
import gc
import importlib
import json
import os
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import IO

import torch

warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.cuda.init()
torch.backends.cudnn.enabled = False  # it does not start here
stand_in = ctypes.CDLL("libcudart.so.13")
stand_in.fake_cudart_recorded_line.restype = ctypes.c_char_p


def recorded() -> list[str]:
    count = stand_in.fake_cudart_recorded()
    lines = [stand_in.fake_cudart_recorded_line(i).decode() for i in range(count)]
    stand_in.fake_cudart_record_clear()
    return lines


def clean() -> None:
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.reset_accumulated_memory_stats()
    stand_in.fake_cudart_record_clear()


def outcome_of(work: Callable[[], object]) -> tuple[str, object]:
    """How it ended, and what it returned. An exception's words are for people, on stderr."""
    try:
        return "", work()
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return type(error).__name__, None


def entry_of(name: str, work: Callable[[], object]) -> dict[str, object]:
    clean()
    outcome, result = outcome_of(work)
    gc.collect()
    entry = {
        "name": name,
        "outcome": outcome,
        "answer": result if isinstance(result, str) else "",
        "memory": torch.cuda.memory_stats(),  # while what it returned lives
        "offset": torch.cuda.default_generators[0].get_offset(),
        "work": recorded(),
    }
    del result
    return entry


def share_of(name: str, count: int) -> int:
    return zlib.crc32(name.encode()) % count


Units = Iterator[tuple[str, Callable[[], object]]]


def run(units: Units, file: IO[str], after: str) -> None:
    for name, work in units:
        if after:
            after = "" if name == after else after
            continue
        print(json.dumps({"begins": name}), file=file, flush=True)
        print(f"{name}:", file=sys.stderr)
        print(json.dumps(entry_of(name, work)), file=file, flush=True)
        del work


if __name__ == "__main__":
    family, device, share, path, *rest = sys.argv[1:]
    if device != "cuda":
        importlib.import_module(f"torch_{device}")
    index, count = map(int, share.split("/"))
    every = importlib.import_module(f"families.{family}").units(device)
    units = ((name, work) for name, work in every if share_of(name, count) == index)
    gc.collect()
    gc.freeze()  # what has been imported is never collected
    stand_in.fake_cudart_record(None)
    with open(path, "a") as file:
        run(units, file, rest[0] if rest else "")
    os._exit(0)  # as other programs end here: conftest.py says why
