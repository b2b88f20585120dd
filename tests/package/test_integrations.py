"""torch_outback.integrations without the libraries themselves, which tests/libraries runs: what is
refused, how names change, and that nothing happens unasked. Libraries here are made up."""

import os
import subprocess
import sys
import textwrap

import pytest
from conftest import ROOT

PACKAGE = ROOT / "generators/cli"


@pytest.fixture
def run(build_tree, tmp_path):
    """Runs a program beside the libraries that `library` has put there; returns what it prints."""

    def start(source, fails=False, **variables):
        path = (tmp_path, build_tree / "python", PACKAGE)
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(source)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout
        return done.stdout

    return start


@pytest.fixture
def library(tmp_path):
    """A package of that name and version; `sources` are its modules."""

    def make(name, version, **sources):
        package, metadata = tmp_path / name, tmp_path / f"{name}-{version}.dist-info"
        package.mkdir()
        metadata.mkdir()
        for module, text in {"__init__": "", **sources}.items():
            (package / f"{module}.py").write_text(textwrap.dedent(text))
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )

    return make


REFUSED = """
    import torch
    from torch_outback import Refused
    from torch_outback.integrations import enable
    for libraries, how in {calls!r}:
        beside_cuda = how.pop("beside_cuda", False)
        torch.cuda.is_available = lambda: beside_cuda
        try:
            enable(*libraries, **how)
            print("enabled")
        except Refused as error:
            print(error)
"""


def test_what_is_refused(run):
    expected = {
        (("accelerate",), ()): "accelerate is not installed",
        (("transformers",), ()): "accelerate is not installed",  # which it needs
        (
            ("jax",),
            (),
        ): "'jax': expected some of accelerate, transformers, lightning, pytorch_light",
        ((), (("device", "zeta"),)): (
            "zeta is not the device of the backend that is loaded, which is acme: name acme, or "
        ),
        ((), (("beside_cuda", True),)): "torch.cuda has devices too: say that you mean acme, with ",
        ((), (("beside_cuda", True), ("device", "acme"))): "enabled",
    }
    calls = [(libraries, dict(how)) for libraries, how in expected]
    printed = run(REFUSED.format(calls=calls)).splitlines()
    for line, words in zip(printed, expected.values(), strict=True):
        assert line.startswith(words)


def test_a_backend_that_is_not_loaded_is_refused(run):
    printed = run(REFUSED.format(calls=[((), {})]), OUTBACK_AUTOLOAD="0")
    assert printed.startswith("no backend is loaded: import the backend's package first")


@pytest.mark.parametrize("version", ["1.14.9", "1.16.0"])
def test_another_version_is_left_as_it_is(run, library, version):
    library("accelerate", version, state="class PartialState: default_device = 'its own'")
    printed = run(
        """
        import torch, accelerate.state
        from torch_outback.integrations import enable
        print(accelerate.state.PartialState.default_device)
        enable("accelerate")
        """,
        fails=True,
        OUTBACK_INTEGRATIONS="acme",
    )
    words = f"accelerate {version} is not one of those that this torch-outback knows"
    assert f"UserWarning: acme: {words}" in printed
    assert "\nits own\n" in printed
    assert f"Refused: {words}" in printed


def test_without_the_variable_or_the_call_nothing_changes(run, library):
    library("accelerate", "1.15.0", state="class PartialState: default_device = 'its own'")
    printed = run(
        """
        import sys, torch
        import accelerate.state
        print(accelerate.state.PartialState.default_device)
        assert not [it for it in sys.modules if it.startswith("torch_outback")]
        """
    )
    assert printed == "its own\n"


STATE = """
    class PartialState:
        _shared_state = {}
        default_device = None
        def _prepare_backend(self): ...
        def set_device(self): ...
"""


def test_the_variable(run, library):
    library("accelerate", "1.15.0", state=STATE)
    program = """
        import torch, sys
        assert "accelerate" not in sys.modules
        from accelerate.state import PartialState
        print(PartialState().default_device)
    """
    assert run(program, OUTBACK_INTEGRATIONS="acme: accelerate,") == "acme\n"
    # Whose import imports torch, and that the backend.
    first = "import torch_outback.integrations\n" + textwrap.dedent(program)
    assert run(first, OUTBACK_INTEGRATIONS="acme") == "acme\n"


def test_an_accelerator_that_has_chosen_its_device_is_refused(run, library):
    library("accelerate", "1.15.0", state=STATE.replace("{}", "{'device': 'cpu'}"))
    program = """
        import accelerate.state
        from torch_outback.integrations import enable
        enable()
    """
    words = "Refused: accelerate has chosen a device in this process already: call enable() before"
    assert words in run(program, fails=True)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("zeta", "zeta is not the device of the backend that is loaded, which is acme"),
        ("acme,accelerate", "expected a device, and libraries behind a colon: acme:accelerate"),
    ],
)
def test_a_variable_that_asks_for_what_cannot_be_is_a_warning(run, value, words):
    printed = run("import torch; print(torch.ones(1).acme().item())", OUTBACK_INTEGRATIONS=value)
    assert f"UserWarning: OUTBACK_INTEGRATIONS={value}: {words}" in printed
    assert ". No library is changed\n" in printed
    assert printed.endswith("1.0\n")


def test_the_variable_without_the_package_is_a_warning(build_tree):
    done = subprocess.run(
        [sys.executable, "-c", "import torch; print(torch.ones(1).acme().item())"],
        env={
            **os.environ,
            "PYTHONPATH": str(build_tree / "python"),
            "OUTBACK_INTEGRATIONS": "acme",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1.0\n"
    assert "OUTBACK_INTEGRATIONS=acme changes nothing without the package torch-outback" in (
        done.stderr
    )
    assert "pip install torch-outback" in done.stderr


CHANGING = """
    import sys, torch
    sys.path.insert(0, {folder!r})
    from torch_outback.integrations import changes, device, enable, libraries

    def louder(before, found):
        return lambda: before() + "! " + found.name

    libraries.LIBRARIES["made"] = libraries.Library("made", ">=1", (
        changes.Change("made.words", "say", louder),
        changes.Change("made.words", "choose", changes.listed_beside("cuda")),
        changes.Change("made.words", "torch", changes.torch_of),
    ))
"""
WORDS = """
    import torch

    def say():
        return "hello"

    def choose(kind):
        return "gpu" if kind in ("cuda", "xpu") else "cpu"

    def module():
        return torch.cuda, torch.nn.Linear
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_names_change_before_and_after_the_import(run, library, tmp_path, when):
    library("made", "1.0", words=WORDS)
    imports = "from made import words\nfrom made.words import choose, module, say"
    program = CHANGING.format(folder=str(tmp_path))
    program = textwrap.dedent(program) + (
        f"{imports}\nenable('made')\n" if when == "after" else f"enable('made')\n{imports}\n"
    )
    program += (
        "enable('made')\n"  # again
        "print(say(), words.say(), choose('acme'), choose('cuda'), choose('tpu'))\n"
        "print(module() == (torch.acme, torch.nn.Linear))\n"
    )
    assert run(program) == "hello! acme hello! acme gpu gpu cpu\nTrue\n"


def test_a_list_that_is_no_more_is_named(run, library, tmp_path):
    library("made", "1.0", words=WORDS.replace('("cuda", "xpu")', '("tpu",)'))
    program = textwrap.dedent(CHANGING.format(folder=str(tmp_path))) + (
        "enable('made')\n"
        "try:\n"
        "    import made.words\n"
        "except LookupError as error:\n"
        "    print(error)\n"
    )
    assert run(program) == "choose has no list with 'cuda' in it\n"


def test_a_group_by_the_devices_name_loads_the_backend(run):
    """torch 2.14 and newer look for the name among the entry points."""
    program = """
        import importlib.metadata
        import torch
        import torch.distributed as dist
        assert not hasattr(torch, "acme")
        (entry,) = importlib.metadata.entry_points(group="torch.distributed.backends", name="acme")
        if torch.__version__ < "2.14":
            entry.load()()
        dist.init_process_group("acme", rank=0, world_size=1, store=dist.HashStore())
        x = torch.ones(2, device="acme")
        dist.all_reduce(x)
        print(x.tolist())
    """
    assert run(program, OUTBACK_AUTOLOAD="0") == "[1.0, 1.0]\n"
