"""Makes a call and prints where it is after a while, a line for each frame, innermost first: the
library and the address in it. ways.py starts it: ways_probe.py LIBRARY MILLISECONDS BEFORE CALL."""

import ctypes
import os
import struct
import sys
import time
from pathlib import Path

import torch

library, milliseconds, before, call = sys.argv[1:]
variables = {"torch": torch}
exec(before, variables)
code = compile(call, "the call", "exec")
reading, writing = os.pipe()
helper = ctypes.CDLL(library, use_errno=True)
if helper.backtrace_after(int(milliseconds), writing):
    raise OSError(ctypes.get_errno(), "no timer")
began = time.monotonic()
exec(code, variables)
if time.monotonic() - began < int(milliseconds) / 1000:
    sys.exit("the call was over before the timer fired")
frames = os.read(reading, 1 << 16)

mapped = []  # begin, end, offset in the file, file
for line in Path("/proc/self/maps").read_text().splitlines():
    fields = line.split()
    if len(fields) > 5 and fields[5].startswith("/"):
        begin, end = (int(part, 16) for part in fields[0].split("-"))
        mapped.append((begin, end, int(fields[2], 16), fields[5]))
for (frame,) in struct.iter_unpack("N", frames):
    for begin, end, _, file in mapped:
        if begin <= frame < end:
            start = min(b for b, _, offset, name in mapped if name == file and offset == 0)
            print(file, hex(frame - start))
