"""Two backends of different names in one environment. A process has room for one: the second says
so, and the first stays whole."""

import sys

import pytest
from conftest import call, copy_of, for_ccache


@pytest.fixture(scope="module")
def wheel(outback, tmp_path_factory):
    """Of a project that `outback new beta` makes, as `pip wheel` builds it."""
    folder = tmp_path_factory.mktemp("beta")
    toolkit = copy_of(outback, folder / "an environment")
    call([toolkit.python.with_name("outback"), "new", "beta", "--yes", "--dir", folder / "beta"])
    build = [sys.executable, "-m", "pip", "--python", toolkit.python, "wheel", "-q", "--no-index"]
    build += ["--no-deps", "--no-build-isolation", "-w", folder, folder / "beta"]
    call(build, **for_ccache(folder))
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture
def both(installed, wheel):
    """An environment with torch_acme and torch_beta, and without torch_outback."""
    installed.pip("install", "-q", "--no-deps", "--no-index", wheel)
    return installed


USE = """
import sys, traceback
import torch
NAMES = ["acme", "beta"]
def use(name, other):
    module = getattr(torch, name)
    assert torch.ones(2, device=name).sum().item() == 2.0
    assert "torch_outback" not in sys.modules
    assert not hasattr(torch, other) and not hasattr(torch.Tensor, other)
    # Nor kernels of the other: they would take the place of this one's.
    assert not [it for it in torch._C._dispatch_get_all_op_names() if it.startswith(f"{other}::")]
    assert not [it for it in sys.modules if it.startswith(f"torch.{other}")]
    try:
        module.make_graphed_callables(None, (), enable_annotations=True)
    except NotImplementedError as error:
        assert str(error).startswith(f"{name}: ")
        text = traceback.format_exc()
        assert f'File "<torch.{name}._outback>/graphs.py", line ' in text
        assert "refuse_annotations(enable_annotations)" in text
    else:
        raise AssertionError("graphed")
"""


@pytest.mark.parametrize("first, second", [("acme", "beta"), ("beta", "acme")])
def test_the_second_says_that_there_is_room_for_one(both, first, second):
    code = f"""
import torch_{first}
use("{first}", "{second}")
for attempt in range(2):
    try:
        import torch_{second}
    except ImportError as error:
        print(error)
    use("{first}", "{second}")
"""
    done = both.run(USE + code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    said = (
        f"cannot register {second}: this process's PrivateUse1 backend is {first} already, and "
        "PyTorch has room for one: OUTBACK_AUTOLOAD=0 keeps `import torch` from loading any\n"
    )
    assert done.stdout == said * 2, done.stderr


def test_import_torch_loads_one_and_warns_of_the_other(both):
    done = both.run(USE + "(name,) = [it for it in NAMES if hasattr(torch, it)]\nprint(name)")
    name = done.stdout.strip()
    assert done.returncode == 0, done.stderr
    (other,) = {"acme", "beta"} - {name}
    warning = f"UserWarning: torch_{other} was not loaded: cannot register {other}: this process's"
    assert done.stderr.count(warning) == 1 and "Traceback" not in done.stderr
    done = both.run(USE + f"use({name!r}, {other!r})")
    assert done.returncode == 0, done.stderr
