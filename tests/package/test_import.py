"""torch_acme, installed, loads in both ways, and refuses another torch in both."""

import pytest

GATE = "torch_acme was built for torch 1.0 and this is torch"


@pytest.fixture
def for_another_torch(installed):
    """An environment whose torch_acme says that it was made for another torch."""
    (installed.site / "torch_acme/_build.py").write_text('TORCH = "1.0"\n')
    # If the compiled part were loaded before the check, this is what would be noticed.
    (compiled,) = (installed.site / "torch_acme").glob("_C.*")
    compiled.write_bytes(b"not a library")
    return installed


def test_plain_import_registers_the_backend(installed):
    done = installed.run(
        "import torch_acme, torch; print(torch.zeros(1).acme().device)",
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert done.stdout == "acme:0\n", done.stderr


def test_plain_import_works_with_autoload_on(installed):
    done = installed.run("import torch_acme, torch; print(torch.zeros(1).acme().device)")
    assert done.stdout == "acme:0\n", done.stderr
    assert "Warning" not in done.stderr


def test_import_torch_loads_the_backend_by_itself(installed):
    done = installed.run("import torch; print(torch.zeros(1).acme().device)")
    assert done.stdout == "acme:0\n", done.stderr
    assert "Warning" not in done.stderr


def test_autoload_can_be_turned_off(installed):
    done = installed.run(
        "import sys, torch; print('torch_acme' in sys.modules, hasattr(torch.Tensor, 'acme'))",
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert done.stdout == "False False\n", done.stderr


def test_plain_import_names_the_other_torch(for_another_torch):
    done = for_another_torch.run("import torch_acme")
    assert done.returncode == 1
    assert f"ImportError: {GATE}" in done.stderr.splitlines()[-1]


def test_import_torch_survives_a_backend_for_another_torch(for_another_torch):
    done = for_another_torch.run(
        "import sys, torch; print(torch.ones(2).sum().item(), 'torch_acme' in sys.modules)"
    )
    assert done.stdout == "2.0 False\n", done.stderr
    assert GATE in done.stderr


def test_import_torch_survives_a_compiled_part_that_does_not_load(installed):
    (compiled,) = (installed.site / "torch_acme").glob("_C.*")
    compiled.write_bytes(b"not a library")
    done = installed.run("import torch; print(torch.ones(2).sum().item())")
    assert done.stdout == "2.0\n", done.stderr
    assert "torch_acme was not loaded" in done.stderr
