"""PyTorch's own samples of operators, modules and optimizers: none may be worse than in the
committed results."""

from collections.abc import Mapping

from .. import console, shell
from ..environment import Environment
from ..paths import ROOT

# The ways to serve operators that a whole run is kept of.
WAYS: Mapping[str, Mapping[str, str]] = {
    "redispatch": {},
    "fallback": {"OUTBACK_HOST_PROTECTED": "1", "OUTBACK_PORTABLE": "never"},
}


def run(environment: Environment, way: str, variables: Mapping[str, str], on: str) -> str:
    """`on` names the backend that `variables` lead to, whose results are to be those of `way`."""
    release = environment.torch.partition("+")[0]
    results = ROOT / f"tests/conformance/results/acme-{release}-{way}.json"
    if not results.exists():
        raise console.NotRun(f"no results to compare with: {results.relative_to(ROOT)}")
    command = [environment.python, ROOT / "tests/conformance/run.py", "--device", "acme"]
    command += ["--import", "torch_acme", "--check", results]
    with console.step(f"PyTorch's samples, {on}"):
        shell.run(f"samples-{on.replace(' ', '-')}", command, env=variables)
    return "none worse"
