"""What a device may be called: the command, load(), CMake and the registration agree."""

import json
import keyword
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, clean_environment
from torch_outback import load, names

sys.path.insert(0, str(ROOT / "tools"))
from dev import taken_names

LEGAL = ["foo", "foo_bar", "f", "outbacker", "x" * 32]
ILL_FORMED = ["CUDA", "Foo", "aB1", "a1B", "_f", "f_", "f1", "1", "é", "f-b", "f.b", "x" * 33]
RESERVED = ["mps", "mpsx", "outback", "outback_host"]

# Asks the registration for the names on stdin, and for all that this torch and its modules have.
REGISTRATION = """
import json, os, pkgutil, sys
import torch, outback_probe
from torch import nn
from torch.nn.utils.rnn import PackedSequence

def answer(name):
    try:
        outback_probe.register(name)
    except Exception as error:
        return str(error)
    return "accepted"

tensor_like = [torch.Tensor, PackedSequence, torch.UntypedStorage, torch.TypedStorage]
there = {name for owner in (torch, torch._C, nn.Module(), *tensor_like) for name in dir(owner)}
there |= {name.name for name in pkgutil.iter_modules(torch.__path__)}
there |= {name[3:] for owner in tensor_like for name in dir(owner) if name.startswith("is_")}
modules = [
    nn.BatchNorm1d(1),
    nn.RNNCell(1, 1),
    nn.Transformer(4, 1, 1, 1, 4),
    nn.MultiheadAttention(4, 1, kdim=2, vdim=2, add_bias_kv=True),
    nn.AdaptiveLogSoftmaxWithLoss(4, 4, [2]),
    nn.BCEWithLogitsLoss(pos_weight=torch.ones(1)),
    nn.utils.parametrizations.orthogonal(nn.Linear(1, 1)),
]
for module in modules:
    for named in (module.named_parameters(), module.named_buffers(), module.named_modules()):
        there |= {part for path, _ in named for part in path.split(".")}

asked = json.load(sys.stdin)
answers = {}
for name in sorted(there | set(asked["refused"])):
    answers[name] = answer(name)
    assert answers[name] != "accepted", f"{name} is missing in registration/taken_names.txt"
for name in asked["legal"]:  # a process registers once
    if (child := os.fork()) == 0:
        os._exit(answer(name) != "accepted")
    answers[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
json.dump(answers, sys.stdout)
"""


def listed() -> list[str]:
    return [name for group in names.taken().values() for name in group]


def test_the_command_and_the_registration_refuse_the_same_names_with_the_same_words(build_tree):
    refused = [*listed(), *ILL_FORMED, *RESERVED, *keyword.kwlist, "", "f b"]
    done = subprocess.run(
        [sys.executable, "-c", REGISTRATION],
        input=json.dumps({"refused": refused, "legal": LEGAL}),
        env=clean_environment(
            PYTHONPATH=str(build_tree / "python_probe"), TORCH_DEVICE_BACKEND_AUTOLOAD="0"
        ),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert {name: answers.pop(name) for name in LEGAL} == dict.fromkeys(LEGAL, 0)
    assert {"data", "softmax", "leaf", "weight", "class"} <= answers.keys()
    # What torch has is added to the list by tools/dev/taken_names.py.
    assert answers == {
        name: names.refusal(name) if names.problem(name) else "missing in the list"
        for name in answers
    }
    assert not any(map(names.problem, LEGAL))


@pytest.mark.parametrize(
    "name, words",
    [
        ("data", "torch.Tensor.data is there already; choose another"),
        ("grad", "torch.Tensor.grad is there already"),
        ("torch", "torch.torch is there already"),
        ("device", "torch.device is there already"),
        ("ops", "torch.ops is there already"),
        ("leaf", 'torch.Tensor has "is_leaf" already'),
        ("training", "torch.nn.Module.training is there already"),
        ("weight", "modules of torch.nn have a parameter"),
        ("onnx", "torch.onnx is there already"),
        ("namespace", "C++ has a keyword of that name"),
        ("errno", "C has a macro of that name"),
        ("higher_order", "PyTorch has torch.ops.higher_order already"),
        ("outback", "the toolkit's own"),
    ],
)
def test_it_says_whose_the_name_is(name, words):
    assert words in names.problem(name)


def test_no_name_is_listed_twice():
    assert len(listed()) == len(set(listed())) > 900


@pytest.mark.parametrize(
    "name, words",
    [
        ("my-dev", "anything else; my_dev would do"),
        ("Foo", "torch lowers them in C++ only; foo would do"),
        ("data", "torch.Tensor.data is there already; choose another"),
        ("outback", "choose another"),
        ("", "it is empty"),
    ],
)
def test_load_looks_at_the_name_before_anything_else(name, words):
    with pytest.raises(RuntimeError) as refused:
        load(name, "there is no such library")
    assert str(refused.value).startswith(f'"{name}" cannot be a device\'s name: ')
    assert str(refused.value).endswith(words) or name == ""
    assert words in str(refused.value)


def test_load_wants_text_for_a_name():
    with pytest.raises(TypeError, match="the name has to be text, not 5"):
        load(5, "there is no such library")


def test_cmake_warns_of_a_name_that_would_be_refused_after_the_build(tmp_path):
    refused = [*listed(), *ILL_FORMED, *RESERVED]
    script = tmp_path / "names.cmake"
    script.write_text(
        f'list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")\ninclude(OutbackAddBackend)\n'
        + "".join(f"_outback_warn_of_name({name})\n" for name in (*LEGAL, *refused))
    )
    done = subprocess.run(["cmake", "-P", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"outback_add_backend\((.*?)\):", done.stderr) == refused


@pytest.fixture
def another_list(tmp_path, monkeypatch):
    """A copy of the list, for a torch that has what the test says."""
    file = tmp_path / "taken_names.txt"
    shutil.copy(names.TAKEN, file)
    monkeypatch.setattr(names, "TAKEN", file)
    return lambda *found: monkeypatch.setattr(taken_names, "found", lambda: iter(found))


def test_a_newer_torch_adds_its_names_and_takes_none_away(another_list):
    before = names.taken()
    another_list(
        ("a_new_operator", "torch.*() is there already"),
        ("a_new_thing", 'torch.Thing has "is_*" already'),
        ("abs", "torch.Tensor.*() is there already"),  # known, under another group
        ("_private", "torch.* is there already"),
    )
    assert taken_names.add() == ["a_new_operator", "a_new_thing"]
    after = names.taken()
    assert after.pop('torch.Thing has "is_*" already') == ["a_new_thing"]
    functions = "torch.*() is there already"
    assert sorted(after.pop(functions)) == sorted([*before.pop(functions), "a_new_operator"])
    assert after == before
    assert max(map(len, names.TAKEN.read_text().splitlines())) <= 120


def test_where_there_is_nothing_new_the_list_is_not_touched(another_list):
    another_list(("abs", "torch.*() is there already"))
    names.TAKEN.chmod(0o444)
    before = names.TAKEN.stat().st_mtime_ns
    assert taken_names.add() == []
    assert names.TAKEN.stat().st_mtime_ns == before
