"""A backend that declares no float64: what needs it is unsupported, and all else is checked."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch
from product import Product

from conformance import document, dtypes
from conformance.opinfo.calls import LacksDtype
from conformance.opinfo.checks import Checker
from conformance.opinfo.comparing import Mismatch
from conformance.opinfo.settings import Settings
from conformance.pytorch_tests import outcome
from conformance.run import Servers
from conformance.running.forked import ForkServer

RUN = ("--device=acme", "--import=torch_acme")
SUITES = (
    *("accelerator", "amp", "autograd_streams", "data", "dlpack", "errors", "extremes", "fake"),
    *("functorch", "methods", "modes", "nested", "nn", "operators", "optimizers", "quantized"),
    *("rng", "serialization", "sparse", "storage", "values", "views"),
)
# What is about them, and two that are by PyTorch's definition: the scales of channels that are
# quantized, and all that float_power computes.
UNSUPPORTED = {
    *(f"data/goes_there_and_back[{dtype}]" for dtype in ("float64", "complex128")),
    *(f"extremes/each_dtype_is_computed_with[{dtype}]" for dtype in ("float64", "complex128")),
    "fake/fakes_have_the_metadata_of_results[mean in double]",
    "rng/operators_repeat_themselves[rand of float64]",
    "quantized/channels_are_quantized",
    "values/two_dtypes_are_promoted[float_power]",
}
NEEDS = "needs torch.{}, which acme declares that its tensors cannot have"
DEVICE = torch.device("acme", 0)


class ServersWithout(Servers):
    """Of workers whose backend has neither float64 nor complex128."""

    def of(self, shared: tuple[str, ...], **environment: str) -> ForkServer:
        return super().of(shared, **environment, OUTBACK_FLOAT64="0")


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    with ServersWithout() as servers:
        yield Product(servers, tmp_path_factory.mktemp("without"))


def by_id(made: dict) -> dict[str, dict]:
    return {document.id_of(entry): entry for entry in made["entries"]}


def test_only_what_is_about_them_is_unsupported(without: Product):
    suites = (f"--suite={name}" for name in SUITES)
    made = without.document(*RUN, "--level=quick", "--jobs=2", *suites)
    found = by_id(made)
    assert not any(made["totals"][verdict] for verdict in ("fail", "crash", "timeout")), found
    unsupported = {id: e["reason"] for id, e in found.items() if e["verdict"] == "unsupported"}
    assert unsupported.keys() == UNSUPPORTED
    for reason in unsupported.values():
        assert "torch.float64" in reason or "torch.complex128" in reason


def test_samples_that_need_them_are_unsupported(without: Product):
    names = ("add", "double", "softmax.with_dtype")
    words = " or ".join(f"operators/{name}/float" for name in names)
    found = by_id(without.document(*RUN, "--level=full", "--suite=operators", "-k", words))
    of_phase = "{}/{}/forward".format
    assert found[of_phase("operators/add", "float32")]["verdict"] == "pass"
    for name, dtype in (("add", "float64"), ("double", "float32"), (names[2], "float32")):
        entry = found[of_phase(f"operators/{name}", dtype)]
        assert (entry["verdict"], entry["reason"]) == ("unsupported", NEEDS.format("float64"))
    assert {entry["verdict"] for entry in found.values()} <= {"pass", "unsupported", "skipped"}


def test_samples_on_whose_way_pytorch_makes_them_pass(without: Product):
    names = (
        "linalg.lstsq",
        "linalg.matrix_rank",
        "linalg.pinv",
        "nn.functional.batch_norm",
        "renorm",
    )
    words = " or ".join(f"operators/{name}/float32" for name in names)
    found = by_id(without.document(*RUN, "--level=full", "--suite=operators", "-k", words))
    assert {f"operators/{name}/float32/forward" for name in names} <= found.keys()
    bad = {id: e for id, e in found.items() if e["verdict"] not in ("pass", "skipped")}
    assert not bad


def test_a_backend_that_has_them_is_asked_for_them(product: Product):
    run = ("--suite=data", "-k", "goes_there_and_back")
    assert product.document(*RUN, *run)["totals"]["unsupported"] == 0


@pytest.fixture
def refusing(monkeypatch):
    """A device that declares no float64, and refuses it in its own words."""
    refusal = TypeError("acme has no such dtype")
    monkeypatch.setattr(dtypes, "missing", lambda _: frozenset([torch.float64]))
    monkeypatch.setattr(dtypes, "_refusal", lambda *_: refusal)
    return refusal


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        TypeError("acme has no such dtype"),
        TypeError("cannot move the module: weight is torch.float64"),
        TypeError("no kernel for Double"),
        raised(RuntimeError("while compiling"), TypeError("no kernel for Double")),
        RuntimeError("the program ended with 1: TypeError: acme has no such dtype"),
    ],
)
def test_a_refusal_of_a_missing_dtype_is_known(refusing, error):
    assert dtypes.needed(DEVICE, error) == NEEDS.format("float64")


@pytest.mark.parametrize(
    "error",
    [
        AssertionError("float64 differs"),
        raised(AssertionError("memory was written"), TypeError("acme has no such dtype")),
        RuntimeError("float64 overflows"),
        TypeError("no kernel for float32"),
        TypeError("DoubleTensor is no name"),
    ],
)
def test_every_other_error_is_a_failure(refusing, error):
    assert dtypes.needed(DEVICE, error) == ""


def test_nothing_is_missing_by_an_error_alone(monkeypatch):
    monkeypatch.setattr(dtypes, "missing", lambda _: frozenset())
    assert dtypes.needed(DEVICE, TypeError("a tensor of acme cannot be torch.float64")) == ""


def test_one_of_pytorchs_tests_that_needs_one_is_unsupported(refusing):
    entry = outcome.failed(TypeError("acme has no such dtype"), DEVICE)
    assert entry["not_implemented"] and entry["error"] == NEEDS.format("float64")
    assert "not_implemented" not in outcome.failed(AssertionError("1 is not 2"), DEVICE)


def checked(*outcomes: Exception | None) -> dict:
    """Of a subject whose samples come to these."""

    def case(error: Exception | None, _: dict) -> None:
        if error is not None:
            raise error

    subject = SimpleNamespace(kind="ops", name="op", family="op", dtype=torch.float32)
    subject.cases = lambda *_: [lambda entry, error=error: case(error, entry) for error in outcomes]
    say = SimpleNamespace(side=lambda _: None, sample=lambda _: None)
    return Checker(Settings(device="cpu"), say).check(subject, "forward")


def test_a_sample_that_needs_one_hides_no_failure_of_the_others():
    lacking = LacksDtype("needs it")
    assert checked(None, lacking, None)["error"] == "needs it"
    assert checked(None, lacking, None)["not_implemented"]
    failed = checked(lacking, Mismatch("other values"))
    assert failed["error"] == "other values" and "not_implemented" not in failed
    assert checked(None, None)["status"] == "passed"
