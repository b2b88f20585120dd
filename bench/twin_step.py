"""A training step of GPT-2 in a process without the backend: python twin_step.py DEVICE FORM.

Reads how often it is to run, a number a line, and answers with the seconds that it took.
"""

from __future__ import annotations

import sys

import torch
from timing import Code
from twin import GptStep


def main() -> None:
    device, form = torch.device(sys.argv[1]), sys.argv[2]
    torch.set_num_threads(1)
    settle = getattr(torch, device.type).synchronize
    step = {"run": GptStep(device, compiled=form == "compiled")}
    run = Code("run()", step, settle).compiled()
    for line in sys.stdin:
        print(run(int(line)), flush=True)


if __name__ == "__main__":
    main()
