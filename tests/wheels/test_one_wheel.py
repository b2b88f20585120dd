"""The wheel in each torch's environment, and what else happens to a wheel."""

from pathlib import Path

import pytest

from .conftest import ROOT, WORK, User, call

SAY = "print(torch_acme._C.__file__, torch.ones(2, device='acme').sum().item())"


def test_the_half_of_the_installed_torch_is_taken(user, torch):
    # On a machine without a compiler, or any other program.
    said = user.run(f"import torch, torch_acme; {SAY}", PATH="/nowhere")
    file, result = said.split()
    assert Path(file).parent == user.site / f"torch_acme/_half/torch-{torch}"
    assert result == "2.0"


def test_the_projects_own_tests_pass(user, torch):
    said = call(user.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", WORK / "acme/tests")
    assert " passed" in said
    assert "skipped" not in said


def test_the_demo_trains(user, torch):
    said = call(user.python, ROOT / "examples/train_digits/train.py")
    assert "accuracy on held-out digits" in said


def test_the_quick_conformance_has_no_failure(user, torch, tmp_path):
    quick = ("--device", "acme", "--import", "torch_acme", "--level", "quick")
    expected = ROOT / "generators/project/conformance/expectations.txt"
    said = call(
        *(user.python, "-m", "torch_outback", "conformance", *quick, "--expectations", expected),
        cwd=tmp_path,
    )
    assert " 0 fail, 0 crash, 0 timeout" in said


def test_a_newer_torch_is_named_and_import_torch_goes_on(user, torch):
    version = user.site / "torch/version.py"
    text = version.read_text()
    try:
        version.write_text(f"{text}\n__version__ = '2.16.0'\n")
        said = user.run("import torch; print(torch.ones(2).sum().item(), hasattr(torch, 'acme'))")
    finally:
        version.write_text(text)
    assert said.splitlines()[-1] == "2.0 False"
    assert "was built for torch 2.11, 2.12, 2.13, 2.14, 2.15 and this is torch 2.16.0: " in said


def test_two_backends_refuse_each_other(user, torch, wheel_of_another):
    if torch != "2.13":
        pytest.skip("needs torch 2.13, for which the other one is made")
    user.pip("install", "--no-deps", wheel_of_another)
    try:
        said = user.run("import torch; print(torch._C._get_privateuse1_backend_name())")
        assert said.splitlines()[-1] in ("acme", "zeta")
        assert said.count("this process's PrivateUse1 backend is") == 1
    finally:
        user.pip("uninstall", "-y", "torch_zeta")


# What has neither a kernel of its own nor addressable memory, and may not run on the CPU.
ON_THE_DEVICE = """
import torch, torch_zeta
torch.manual_seed(0)
x = torch.randn(8, 8)
y = (x.zeta() @ x.zeta()).softmax(0)
torch.testing.assert_close(y.cpu(), (x @ x).softmax(0))
print("computed")
"""


def test_a_half_that_the_wheel_lacks_is_compiled_if_asked_for(
    user, torch, wheel_of_another, tmp_path
):
    if torch != "2.14":
        pytest.skip("needs torch 2.14, for which the other one has no half")
    user.pip("install", "--no-deps", wheel_of_another)
    try:
        variables = {
            "OUTBACK_COMPILE": "1",
            "OUTBACK_CACHE_DIR": str(tmp_path),
            "OUTBACK_AUTOLOAD": "0",
            "OUTBACK_HOST_PROTECTED": "1",
            "OUTBACK_FALLBACK": "error",
        }
        assert user.run(ON_THE_DEVICE, **variables).splitlines()[-1] == "computed"
        assert user.run(ON_THE_DEVICE, **variables) == "computed\n"
    finally:
        user.pip("uninstall", "-y", "torch_zeta")


def test_the_wheel_is_small(wheel):
    assert wheel.stat().st_size < 20e6


def test_nothing_is_left(wheel, tmp_path):
    user = User(tmp_path / "environment")
    before = set(user.site.rglob("*"))
    user.pip("install", "--no-deps", "--no-compile", wheel)
    user.pip("uninstall", "-y", "torch_acme")
    assert set(user.site.rglob("*")) == before
