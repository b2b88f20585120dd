"""A vendor's c10::BackendMeta in files, by `backend_options::backend_meta`.

The probe's is a set of named flags; its functions save and load them as they are.
"""

import pytest

pytestmark = pytest.mark.any_runtime


@pytest.fixture
def run_probe(run_python, probe_path):
    def run(source: str):
        prelude = """
import copy, io, pickle
import torch
import outback_probe as probe

def refused(call, *words):
    try:
        call()
    except (RuntimeError, ValueError) as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("accepted")

def through_file(value, **options):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **options)
"""
        return run_python(
            prelude + source, PYTHONPATH=probe_path, TORCH_DEVICE_BACKEND_AUTOLOAD="0"
        )

    return run


def test_what_a_tensor_carries_comes_back_with_it(run_probe):
    run_probe(
        """
probe.register("acme", backend_meta="both")
x, plain = torch.arange(4.0).acme(), torch.ones(2).acme()
probe.set_flags(x, {"packed": True, "signed": False})

def check(x, plain):
    assert x.tolist() == [0, 1, 2, 3] and x.is_acme
    assert probe.flags(x) == {"packed": True, "signed": False}
    assert probe.flags(plain) is None

for options in ({}, {"weights_only": False}):
    check(*through_file((x, plain), **options))
check(*pickle.loads(pickle.dumps((x, plain))))
check(copy.copy(x), copy.copy(plain))
parameter = torch.nn.Parameter(x)
probe.set_flags(parameter, {"packed": True})
assert probe.flags(through_file(parameter)) == {"packed": True}
"""
    )


def test_it_stays_beside_pytorchs_own_bits(run_probe):
    run_probe(
        """
probe.register("acme", backend_meta="both")
x = torch.tensor([1 + 2j]).acme().conj()
probe.set_flags(x, {"packed": True})
y = through_file(x)
assert y.is_conj() and y.tolist() == [1 - 2j]
assert probe.flags(y) == {"packed": True}
only_conj = through_file(torch.tensor([1 + 2j]).acme().conj())
assert only_conj.is_conj() and probe.flags(only_conj) is None
"""
    )


def test_elsewhere_it_is_left_out(run_probe):
    run_probe(
        """
probe.register("acme", backend_meta="both")
x = torch.ones(2).acme()
probe.set_flags(x, {"packed": True})
y = through_file(x, map_location="cpu")
assert y.device.type == "cpu" and probe.flags(y) is None
assert probe.flags(copy.deepcopy(x)) is None  # PyTorch does not ask
"""
    )


def test_without_functions_it_is_lost(run_probe):
    run_probe(
        """
probe.register("acme")
x = torch.ones(2).acme()
probe.set_flags(x, {"packed": True})
assert probe.flags(through_file(x)) is None
"""
    )


def test_a_failure_reaches_who_saves(run_probe):
    run_probe(
        """
probe.register("acme", backend_meta="both")
x = torch.ones(2).acme()
probe.set_flags(x, {"fail": True})
refused(lambda: through_file(x), "these flags cannot be saved")
for name in ("conj", "neg"):
    probe.set_flags(x, {name: True})
    refused(lambda: through_file(x), "acme: backend_meta.save", f'"{name}"', "another one")
"""
    )


def test_half_a_pair_is_refused(run_probe):
    run_probe(
        """
for half in ("save", "load"):
    refused(lambda: probe.register("acme", backend_meta=half), "acme", "one function of the two")
probe.register("acme", backend_meta="both")
"""
    )


def test_another_librarys_functions_are_not_replaced(run_probe):
    run_probe(
        """
probe.register_other_meta_functions()
refused(lambda: probe.register("acme", backend_meta="both"), "acme", "another library")
probe.register("acme")
assert torch.ones(1).acme().is_acme
"""
    )
