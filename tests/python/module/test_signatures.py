"""A call that fits torch.cuda's function fits ours: the same parameters, names and order."""

import inspect
import re

import pytest
import torch

pytestmark = pytest.mark.any_runtime

FUNCTIONS = [
    name
    for name in torch.cuda.__all__
    if inspect.isfunction(getattr(torch.cuda, name, None)) and hasattr(torch.acme, name)
]

# Parameters of a newer torch, which ours take with every torch.
NEWER = {"make_graphed_callables": [("capture_error_mode", False), ("enable_annotations", False)]}


def cudas(name: str) -> list[tuple[str, bool]]:
    parameters = inspect.signature(getattr(torch.cuda, name)).parameters.values()
    return [(it.name, it.default is it.empty) for it in parameters]


def ours(name: str) -> list[tuple[str, bool]]:
    """As the first line of the docstring tells them; of a class that stands for one of CUDA's
    functions, a context manager, that is its __init__'s."""
    function = getattr(torch.acme, name)
    is_class = inspect.isclass(function)
    try:
        parameters = inspect.signature(function).parameters.values()
        return [(it.name, it.default is it.empty) for it in parameters]
    except ValueError:
        text = (function.__init__ if is_class else function).__doc__.splitlines()[0]
        found = re.match(r"\w+\((.*)\)( -> .*)?$", text)
        parameters = [each for each in re.split(r", (?=\w+:)", found.group(1)) if each][is_class:]
        return [(each.split(":")[0], "=" not in each) for each in parameters]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_parameters_are_cudas(name):
    expected = cudas(name)
    expected += [newer for newer in NEWER.get(name, []) if newer not in expected]
    assert ours(name) == expected
