"""The second process: makes the calls that come on stdin with PyTorch's generated methods.

Run as `python -m oracle.child`. Both pipes carry pickles; what torch prints goes to stderr.
"""

import os
import pickle
import sys
import traceback


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    import torch
    import torch_acme  # noqa: F401

    if hasattr(torch.Tensor, "acme"):
        raise RuntimeError("this backend has methods of its own")
    torch.utils.generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True
    )
    from oracle.calls import execute

    def answer(message) -> None:
        pickle.dump(message, answers)
        answers.flush()

    answer(torch.acme.device_count())
    while True:
        try:
            call = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer((True, execute(call)))
        except Exception:
            answer((False, traceback.format_exc()))


if __name__ == "__main__":
    main()
