"""Computes ten operators on the device of a package, and compares them with the CPU's results.

    python -I ten_operators.py FOLDER PACKAGE TORCH RESULT

FOLDER has the package, and what lies beside it. Writes JSON to the file RESULT: {"device": "acme",
"devices": 1, "right": ["add"], "wrong": [], "missing": {"mm": "why it cannot be computed"}}; a
runtime may print what it likes. Needs torch and nothing of Outback's.
"""

import importlib
import importlib.machinery
import json
import os
import sys


def main() -> None:
    folder, package, wanted, result = sys.argv[1:]
    sys.path.insert(0, folder)
    # Before those of packages that are installed editable, of which this may be one.
    sys.meta_path.insert(0, importlib.machinery.PathFinder)
    import torch

    if ".".join(torch.__version__.split(".")[:2]) != wanted:
        raise SystemExit(f"expected torch {wanted}, and this is {torch.__version__}")
    importlib.import_module(package)
    half = os.path.join(folder, package, "_half", f"torch-{wanted}", "")
    if not (file := sys.modules[f"{package}._C"].__file__ or "").startswith(half):
        raise SystemExit(f"expected the half of torch {wanted}, and loaded {file}")
    device = torch._C._get_privateuse1_backend_name()
    devices = torch.get_device_module(device).device_count()
    found = {"device": device, "devices": devices, "right": [], "wrong": [], "missing": {}}
    for name, case in CASES.items() if devices else ():
        try:
            found["right" if agrees(torch, case, device) else "wrong"].append(name)
        except (NotImplementedError, TypeError) as why:  # of a device without the operator, float32
            found["missing"][name] = str(why)
    with open(result, "w", encoding="utf-8") as output:
        json.dump(found, output)


def agrees(torch, case, device: str) -> bool:
    torch.manual_seed(0)
    x, y = torch.randn(4, 6), torch.randn(4, 6)
    expected, found = case(torch, x, y), case(torch, x.to(device), y.to(device))
    # A device may multiply matrices in bfloat16.
    return found.device.type == device and torch.allclose(found.cpu(), expected, 0.05, 0.05)


def gradient(torch, x, y):
    """The sum's, of x, which autograd computes."""
    x = x.detach().requires_grad_()
    (x * y).tanh().sum().backward()
    return x.grad


CASES = {
    "add": lambda torch, x, y: x + 2 * y,
    "cat": lambda torch, x, y: torch.cat([x, y]),
    "cumsum": lambda torch, x, y: x.cumsum(1),
    "gradient": gradient,
    "index_select": lambda torch, x, y: x.index_select(0, torch.tensor([2, 0], device=x.device)),
    "layer_norm": lambda torch, x, y: torch.nn.functional.layer_norm(x, [6]),
    "mm": lambda torch, x, y: x @ y.T,
    "softmax": lambda torch, x, y: x.softmax(1),
    "sum": lambda torch, x, y: x.sum(0),
    "where": lambda torch, x, y: torch.where(x > y, x, y),
}

main()
