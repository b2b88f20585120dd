"""What is said of operators that run on the CPU over copies, and of those that are excluded."""

import os

import pytest
import torch
from conftest import BUILD

pytestmark = pytest.mark.turns_on_memory

PROTECTED = {
    "OUTBACK_HOST_PROTECTED": "1",
    "OUTBACK_PORTABLE": "never",
    "PYTHONPATH": os.fspath(BUILD / "python_protected"),
}


@pytest.fixture
def protected() -> dict:
    if not (BUILD / "python_protected").is_dir():
        pytest.skip("this build has no python_protected")
    return PROTECTED


def test_the_mode_is_a_text():
    before = torch.acme.get_fallback_mode()
    try:
        for mode in ("warn", "error", "allow"):
            torch.acme.set_fallback_mode(mode)
            assert torch.acme.get_fallback_mode() == mode
        with pytest.raises(ValueError, match='expected "allow", "warn" or "error", got "never"'):
            torch.acme.set_fallback_mode("never")
        assert torch.acme.get_fallback_mode() == "allow"
    finally:
        torch.acme.set_fallback_mode(before)


def test_it_is_about_copies_only():
    if not torch.acme.get_device_properties(0).is_host_addressable:
        pytest.skip("needs memory that the CPU can address")
    torch.acme.set_fallback_mode("error")
    try:
        assert torch.erfinv(torch.zeros(2, device="acme")).tolist() == [0, 0]
    finally:
        torch.acme.set_fallback_mode("allow")


def test_warn_says_each_operator_once(run_python, protected):
    done = run_python(
        """
        import warnings
        import torch

        x = torch.rand(3, 3, device="acme")
        torch.acme.set_fallback_mode("warn")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                x @ x
                torch.erfinv(x)
            x.cpu()
        texts = [str(warning.message).partition("(Triggered")[0] for warning in caught]
        assert len(texts) == 2, texts
        assert texts[0].startswith("aten::mm has no kernel for acme: it runs on the CPU"), texts
        assert texts[1].startswith("aten::erfinv has no kernel for acme"), texts
        """,
        **protected,
    )
    assert not done.errors


def test_error_raises_and_leaves_the_process_well(run_python, protected):
    run_python(
        """
        import torch

        x = torch.rand(3, 3, device="acme")
        torch.acme.set_fallback_mode("error")
        try:
            x @ x
        except NotImplementedError as error:
            assert str(error).startswith("aten::mm has no kernel for acme. It could run"), error
        else:
            raise AssertionError("it ran")
        torch.acme.set_fallback_mode("allow")
        assert torch.equal((x @ x).cpu(), x.cpu() @ x.cpu())
        """,
        **protected,
    )


def test_the_environment_sets_the_first_mode(run_python):
    source = "import torch, torch_acme; print(torch.acme.get_fallback_mode())"
    assert run_python(source, OUTBACK_FALLBACK="warn").output == "warn"
    done = run_python(source, check=False, OUTBACK_FALLBACK="sometimes")
    assert done.code != 0
    assert "OUTBACK_FALLBACK=sometimes: expected allow, warn or error" in done.errors


def test_an_excluded_operator_is_left_to_pytorch_and_the_vendor(run_python, probe_path):
    run_python(
        """
        import torch, outback_probe

        outback_probe.register("spare", excluded_operators=["aten::trace", "aten::relu"])
        x = torch.ones(2, 2, device="spare")
        try:
            torch.trace(x)
        except NotImplementedError as error:
            assert "the backend excludes it from what Outback serves" in str(error), error
        else:
            raise AssertionError("trace ran")

        kernels = torch.library.Library("aten", "IMPL")
        kernels.impl("relu", lambda x: x + 41, "PrivateUse1")
        assert torch.relu(x).tolist() == [[42, 42], [42, 42]]
        """,
        PYTHONPATH=probe_path,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mm", 'expected names such as "aten::mm"'),
        ("aten::mmm", 'has no operator "aten::mmm"'),
        ("aten::add.Tensors", 'has no operator "aten::add.Tensors"'),
    ],
)
def test_a_name_without_an_operator_is_refused_before_anything_changes(
    run_python, probe_path, name, says
):
    run_python(
        f"""
        import torch, outback_probe

        try:
            outback_probe.register("spare", excluded_operators=["aten::trace", {name!r}])
        except RuntimeError as error:
            assert {says!r} in str(error), error
        else:
            raise AssertionError("it was taken")
        assert torch._C._get_privateuse1_backend_name() == "privateuseone"
        outback_probe.register("spare")
        assert torch.trace(torch.ones(2, 2, device="spare")).item() == 2
        """,
        PYTHONPATH=probe_path,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
