"""The CPU comes out clean: the checks ask for nothing that PyTorch itself does not do."""

from __future__ import annotations

from conformance import catalog, document

BAD = ("fail", "crash", "timeout")
# Those that take longest there, and say least: PyTorch's samples compare the CPU with itself.
LEFT_OUT = {"operators", "modules", "optimizers", "compile", "export"}


def test_no_check_fails_on_the_cpu(product):
    suites = [f"--suite={name}" for name in catalog.chosen(()) if name not in LEFT_OUT]
    made = product.document("--device=cpu", "--level=quick", "--jobs=2", *suites)
    assert made["complete"] and made["problems"] == []
    bad = [document.id_of(entry) for entry in made["entries"] if entry["verdict"] in BAD]
    assert bad == []
    assert made["totals"]["pass"] > 500
