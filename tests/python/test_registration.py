"""The name: registered once, everywhere that Python looks, and refused whole."""

import sys

import pytest
import torch
import torch_acme

pytestmark = pytest.mark.any_runtime


def test_the_enumerations_have_the_name():
    activity = torch._C._profiler.ProfilerActivity
    assert activity.PrivateUse1 == activity.ACME
    kind = torch._C._autograd.DeviceType
    assert kind.PrivateUse1 == kind.ACME


def test_the_extension_module_is_the_device_module():
    assert torch.acme is torch_acme._C
    assert sys.modules["torch.acme"] is torch.acme
    import torch.acme as imported

    assert imported is torch.acme


def test_a_lookup_that_came_too_early_is_repaired(run_python):
    run_python(
        """
        import torch
        assert torch.get_device_module() is not None
        import torch_acme
        assert torch.get_device_module() is torch.acme
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


def test_the_import_starts_no_device_and_no_compiler(run_python):
    run_python(
        """
        import sys
        import torch
        before = set(sys.modules)
        import torch_acme
        new = {name.split(".")[0] for name in set(sys.modules) - before}
        assert not torch.acme.is_initialized()
        assert "torch._dynamo" not in sys.modules
        assert new <= {"torch", "torch_acme", "_torch_acme_autoload"}, new
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


def test_the_import_has_all_operators_and_leaves_no_thread(run_python):
    run_python(
        """
        import os
        import torch
        before = os.listdir("/proc/self/task")
        import torch_acme
        assert os.listdir("/proc/self/task") == before
        for op in ("aten::empty.memory_format", "aten::lu_unpack", "aten::special_zeta"):
            assert torch._C._dispatch_has_kernel_for_dispatch_key(op, "PrivateUse1"), op
        assert torch._C._dispatch_has_kernel_for_dispatch_key("aten::mm", "AutocastPrivateUse1")
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


def test_nobody_can_name_a_device_before_there_are_operators(run_python):
    run_python(
        """
        import sys
        import torch
        found = []
        def look(*_):
            try:
                torch.device("acme")
            except RuntimeError:
                return
            last = "aten::mm", "AutocastPrivateUse1"
            found.append(torch._C._dispatch_has_kernel_for_dispatch_key(*last))
        sys.setprofile(look)
        import torch_acme
        sys.setprofile(None)
        assert found and all(found), found
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


def test_an_import_that_was_interrupted_is_not_half_done_again(run_python):
    run_python(
        """
        import sys
        import torch
        def interrupt(frame, *_):
            if "_outback" in frame.f_code.co_filename:
                sys.setprofile(None)
                raise KeyboardInterrupt
        sys.setprofile(interrupt)
        for wanted, words in ((KeyboardInterrupt, ""), (ImportError, "import it in a new process")):
            try:
                import torch_acme
            except wanted as error:
                assert words in str(error), error
            else:
                raise AssertionError(wanted)
        assert not hasattr(torch, "acme") and not hasattr(torch.Tensor, "acme")
        assert torch.ones(3).sum() == 3
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


def test_the_extension_module_can_be_imported_before_torch(run_interpreter):
    run_interpreter(
        """
        import torch_acme._C
        import torch
        assert torch.acme is torch_acme._C
        """,
    )


def test_a_second_import_of_the_same_library_shares_the_module(run_python):
    run_python(
        """
        import sys
        import torch
        import torch_acme
        first = torch.acme
        stream = torch.acme.Stream
        del sys.modules["torch_acme._C"], sys.modules["torch_acme"]
        import torch_acme
        assert torch.acme is first
        assert torch_acme._C.Stream is stream
        assert torch_acme._C.device_count() == torch.acme.device_count()
        assert torch.ones(1).acme().is_acme
        """
    )


UNCHANGED = """
def snapshot():
    import sys
    return (
        torch._C._get_privateuse1_backend_name(),
        torch.utils.backend_registration._privateuse1_backend_name,
        torch._C._is_privateuse1_backend_registered()
        if hasattr(torch._C, "_is_privateuse1_backend_registered") else None,
        dir(torch), dir(torch._C), dir(torch.Tensor), dir(torch.nn.Module),
        dir(torch._C._profiler.ProfilerActivity), dir(torch._C._autograd.DeviceType),
        sorted(name for name in sys.modules if name.count(".") == 1 and name.startswith("torch.")),
        torch.accelerator.current_accelerator(),
    )

def refused(call, *words):
    before = snapshot()
    try:
        call()
    except RuntimeError as error:
        text = str(error)
    else:
        raise AssertionError("accepted")
    for word in words:
        assert word in text, text
    assert "Exception raised from" not in text, text
    assert snapshot() == before
"""


@pytest.fixture
def run_probe(run_python, probe_path):
    environment = {"PYTHONPATH": probe_path, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}

    def run(source: str):
        prelude = "import torch\nimport outback_probe as probe\n" + UNCHANGED
        return run_python(prelude + source, **environment)

    return run


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "empty"),
        ("acme2", "digits"),
        ("ac-me", "letters and underscores"),
        ("Acme", "upper-case"),
        ("a" * 100, "characters"),
        ("cuda", "already"),
        ("xla", "already"),
        ("meta", "already"),
        ("add", '"add"'),  # Tensor.add
        ("leaf", '"is_leaf"'),  # Tensor.is_leaf
        ("nn", '"nn"'),  # torch.nn
    ],
)
def test_an_impossible_name_is_refused_and_changes_nothing(run_probe, name, reason):
    run_probe(
        f"""
refused(lambda: probe.register({name!r}), {reason!r})
probe.register("acme")
assert torch.ones(1).acme().is_acme
"""
    )


def test_a_second_name_is_refused_and_the_first_stays_whole(run_probe):
    run_probe(
        """
probe.register("acme")
probe.register("acme")  # again: nothing happens
refused(lambda: probe.register("beta"), "beta", "acme", "already")
assert torch.ones(1).acme().is_acme
"""
    )


def test_the_sources_in_python_are_those_of_the_backend_that_was_registered(run_probe):
    run_probe(
        """
import sys, traceback
probe.register("beta")
refused(lambda: probe.register("acme"), "acme", "beta", "already")
from torch.beta._outback import graphs
assert graphs.name == "beta" and graphs.device_module is torch.beta
assert isinstance(torch.ones(1, device="beta"), torch.beta.FloatTensor)
assert not [name for name in sys.modules if name.startswith("torch.acme")]
try:
    torch.beta.make_graphed_callables(None, (), enable_annotations=True)
except NotImplementedError as error:
    assert str(error).startswith("beta: "), error
    assert 'File "<torch.beta._outback>/graphs.py", line' in traceback.format_exc()
else:
    raise AssertionError("graphed")
"""
    )


def test_an_extension_module_that_is_refused_is_an_import_error_with_the_reason(run_probe):
    run_probe(
        """
torch.acme = "mine"
for attempt in range(2):
    try:
        import torch_acme
    except ImportError as error:
        assert str(error) == 'cannot register acme: torch already has an attribute "acme"'
    else:
        raise AssertionError("imported")
del torch.acme
import torch_acme
assert torch.ones(1).acme().is_acme
"""
    )


def test_what_the_body_of_a_module_throws_is_an_import_error_without_frames(run_probe):
    run_probe(
        """
for attempt in range(2):
    try:
        import outback_refusing
    except ImportError as error:
        assert str(error) == "acme needs firmware 3, this machine has 2", str(error)
    else:
        raise AssertionError("imported")
assert torch._C._get_privateuse1_backend_name() == "privateuseone"
"""
    )


def test_another_library_is_refused_under_any_name(run_probe):
    run_probe(
        """
import torch_acme
refused(lambda: probe.register("beta"), "beta", "acme", "already")
refused(lambda: probe.register("acme"), "acme", "another library")
assert torch.ones(1).acme().is_acme
"""
    )


def test_methods_that_torch_generated_are_named_as_the_reason(run_probe):
    run_probe(
        """
torch.utils.rename_privateuse1_backend("acme")
torch.utils.generate_methods_for_privateuse1_backend()
refused(lambda: probe.register("acme"), "generate_methods_for_privateuse1_backend")
"""
    )


def test_a_rename_that_came_first_is_fine(run_probe):
    run_probe(
        """
torch.utils.rename_privateuse1_backend("acme")
probe.register("acme")
assert torch.ones(1).acme().is_acme
"""
    )


def test_an_attribute_of_a_user_is_kept(run_probe):
    run_probe(
        """
torch.nn.Module.acme = lambda self: "mine"
refused(lambda: probe.register("acme"), "torch.nn.Module", '"acme"', "__main__")
assert torch.nn.Linear(1, 1).acme() == "mine"
"""
    )


def test_a_module_of_that_name_is_kept(run_probe):
    run_probe(
        """
import sys, types
sys.modules["torch.acme"] = types.ModuleType("torch.acme")
refused(lambda: probe.register("acme"), "sys.modules")
"""
    )


def test_methods_can_be_left_out(run_probe):
    run_probe(
        """
refused(lambda: probe.register("acme", tensor_methods=False), "Module.acme() needs Tensor.acme()")
refused(
    lambda: probe.register("acme", tensor_methods=False, module_methods=False),
    "PackedSequence.acme() needs Tensor.acme()",
)
probe.register(
    "acme", tensor_methods=False, module_methods=False, packed_sequence_methods=False
)
assert not hasattr(torch.Tensor, "acme") and not hasattr(torch.Tensor, "is_acme")
assert not hasattr(torch.nn.Module, "acme")
assert torch.ones(1, device="acme").device.type == "acme"
"""
    )


def test_torchs_own_calls_afterwards_break_nothing(run_python):
    run_python(
        """
        import torch, torch_acme
        torch.utils.rename_privateuse1_backend("acme")
        for call in (torch.utils.generate_methods_for_privateuse1_backend,
                     lambda: torch.utils.rename_privateuse1_backend("beta")):
            try:
                call()
            except RuntimeError:
                pass
            else:
                raise AssertionError("accepted")
        assert torch.ones(1).acme().is_acme
        assert torch._C._get_privateuse1_backend_name() == "acme"
        """
    )


def test_overridable_functions_are_consistent(run_python):
    run_python(
        """
        import torch
        torch.overrides.get_testing_overrides()
        torch.overrides.get_overridable_functions()
        import torch_acme
        overrides = torch.overrides.get_testing_overrides()
        assert torch.Tensor.acme in overrides
        assert torch.Tensor.is_acme.__get__ in overrides
        assert torch.Tensor.acme in torch.overrides.get_overridable_functions()[torch.Tensor]
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
