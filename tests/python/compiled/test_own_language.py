"""torch.compile for a device whose package brings a header of words and a compiler's command, and
nothing else: tests/backends/made_up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD

pytestmark = pytest.mark.turns_on_kernels

MADE_UP = Path(__file__).resolve().parents[2] / "backends/made_up"

_PROGRAM = """
import sys, copy, torch
from pathlib import Path
made_up = Path(sys.argv[1])
torch.acme.register_kernel_compiler(
    1001,
    [sys.executable, str(made_up / "compiler.py"), "{source}", "-o", "{made}"],
    words=(made_up / "words.h").read_text(),
    version="1",
)
torch.manual_seed(0)
eager = torch.nn.Sequential(
    torch.nn.Linear(20, 50), torch.nn.GELU(), torch.nn.LayerNorm(50), torch.nn.Linear(50, 5)
)
module = copy.deepcopy(eager).acme()
compiled = torch.compile(module, fullgraph=True, dynamic=True)
codes = []
from torch._inductor.graph import GraphLowering
GraphLowering.save_output_code = staticmethod(codes.append)
for n in (30, 7):
    x, y = torch.randn(n, 20), torch.randint(5, (n,))
    losses = []
    for call, device in ((eager, "cpu"), (compiled, "acme")):
        loss = torch.nn.functional.cross_entropy(call(x.to(device)), y.to(device))
        loss.backward()
        losses.append(loss.detach().cpu())
    torch.testing.assert_close(*losses)
    for p, q in zip(module.parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(p.grad.cpu(), q.grad, rtol=1e-4, atol=1e-5)
assert len(codes) == 2 and all("KERNEL(fused_" in code for code in codes), len(codes)
print("trained")
"""


def test_a_model_trains_compiled(tmp_path):
    environment = {
        "PYTHONPATH": os.fspath(BUILD / "python_made_up"),
        "TORCHINDUCTOR_CACHE_DIR": os.fspath(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, MADE_UP],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "trained\n"
