"""`outback conformance --pytorch-tests`: PyTorch's own tests on the backend and on the CPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from product import Product

from conformance import baseline, by_schema
from conformance.expectations import Expectations
from conformance.item import Item
from conformance.pytorch_tests import comparing, naming, request, run, selection, table
from conformance.running.refused import Refused

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).with_name("small_pytorch_tests")
SCHEMA = json.loads((ROOT / "conformance/schema/report-1.json").read_text())
RUN = ["--device=acme", f"--pytorch-tests={FOLDER}", "--jobs=1", "--level=full", "--timeout=5"]

Entry = Callable[..., dict]


@pytest.fixture(scope="module")
def generic(product: Product) -> dict:
    return product.document(*RUN, "--suite=generic", f"--relay={product.folder / 'relay.json'}")


@pytest.fixture(scope="module")
def entry(generic: dict) -> Entry:
    def find(name: str, dtype: str = "") -> dict:
        test = f"TestGeneric.{name}"
        fits = (e for e in generic["entries"] if (e["name"], e.get("dtype", "")) == (test, dtype))
        return next(fits)

    return find


# ---- What a test comes to


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("test_passes", ""),
        ("test_passes_with_dtypes", "float32"),
        ("test_passes_with_dtypes", "int64"),
        ("test_passes_with_parameters_shape0", ""),
        ("test_a_backend_is_loaded", ""),
        ("test_runs_after_the_others", ""),
    ],
)
def test_a_test_that_passes_on_both_passes(entry, name, dtype):
    assert entry(name, dtype)["verdict"] == "pass"
    assert "remark" not in entry(name, dtype)


@pytest.mark.parametrize(
    ("name", "verdict", "says"),
    [
        ("test_fails_on_the_device", "fail", "AssertionError: .*'acme'"),
        ("test_fails_with_values", "fail", "not close!; Mismatched elements: 2 / 2"),
        ("test_fails_in_a_subtest", "fail", "AssertionError"),
        ("test_fails_where_the_cpu_skips", "fail", r"\(the CPU skips it: not on the CPU\)"),
        ("test_is_expected_to_fail_on_the_device", "fail", "expected test to fail, but it"),
        ("test_is_expected_to_fail_on_the_cpu", "fail", "expects the test to fail, and it passes"),
        ("test_segfaults_on_the_device", "crash", "SIGSEGV"),
        ("test_hangs_on_the_device", "timeout", "no end after 5 s"),
    ],
)
def test_what_passes_on_the_cpu_only_is_bad(entry, name, verdict, says):
    assert entry(name)["verdict"] == verdict
    assert re.search(says, entry(name)["message"])


@pytest.mark.parametrize(
    ("name", "verdict", "says"),
    [
        ("test_fails_on_both", "skipped", "fails on the CPU too: .*it fails everywhere"),
        ("test_aborts_on_both", "skipped", "crashes on the CPU too: SIGABRT"),
        ("test_is_of_the_cpu", "skipped", "passes on the CPU, and PyTorch skips it on this device"),
        ("test_is_of_cuda", "skipped", "^Only runs on"),
        ("test_lacks_a_kernel", "unsupported", "^NotImplementedError: Could not run 'aten::noth"),
    ],
)
def test_what_says_nothing_of_the_backend_has_its_reason(entry, name, verdict, says):
    assert entry(name)["verdict"] == verdict
    assert re.search(says, entry(name)["reason"])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("test_fails_on_the_cpu", "it fails on the CPU: AssertionError"),
        ("test_is_expected_to_fail", "PyTorch expects the test to fail, and it does"),
    ],
)
def test_a_pass_that_says_less_has_a_remark(entry, name, says):
    assert entry(name)["verdict"] == "pass"
    assert says in entry(name)["remark"]


def test_only_tests_of_the_device_run(generic):
    assert {each["name"].partition(".")[0] for each in generic["entries"]} == {"TestGeneric"}
    assert "1 more are made for the CPU only" in generic["sampled"]


def test_the_document_is_by_its_schema(generic):
    assert list(by_schema.problems(generic, SCHEMA, SCHEMA)) == []
    assert [each["name"] for each in generic["suites"]] == ["pytorch/generic"]
    assert generic["versions"]["pytorch_tests"] == "unknown"


def test_a_reproduction_is_pytorchs_own_command(entry):
    """In a CI too, where PyTorch's runner would want one more package."""
    environment = {**os.environ, "CI": "true"}
    _assert_fails_again(entry("test_fails_on_the_device")["reproduction"], environment)


def test_a_reproduction_imports_what_registers_the_device(product):
    run = (*RUN, "--suite=generic", "-k", "test_fails_on_the_device", "--import=torch_acme")
    (found,) = product.document(*run)["entries"]
    without = {name: value for name, value in os.environ.items() if name != "CI"}
    without["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    _assert_fails_again(found["reproduction"], without)


def test_the_relay_is_told_the_counts_and_what_failed(generic, product):
    told = json.loads((product.folder / "relay.json").read_text())
    of = generic["totals"]
    assert told["test-results"] == {
        "passed": of["pass"],
        "failed": of["fail"] + of["crash"] + of["timeout"],
        "skipped": of["unsupported"] + of["skipped"],
    }
    details = {each["name"]: each for each in told["failed-tests-detail"]}
    assert len(details) == told["test-results"]["failed"]
    crash = details["TestGeneric.test_segfaults_on_the_device"]
    assert crash["classname"] == "pytorch/generic"
    assert crash["message"].startswith("crash: SIGSEGV")
    assert crash["stacktrace"]


def test_what_the_relay_is_told_fits_a_variable(tmp_path):
    from conformance.report import relay

    bad = {"suite": "s", "name": "n", "verdict": "fail", "message": "m" * 2000, "seconds": 0.1}
    bad["trace"] = "t" * 9000
    totals = dict.fromkeys(("pass", "crash", "timeout", "unsupported", "expected", "skipped"), 0)
    file = tmp_path / "relay.json"
    relay.write({"totals": totals | {"fail": 2000}, "entries": [bad] * 2000}, file)
    told = json.loads(file.read_text())
    assert told["test-results"] == {"passed": 0, "failed": 2000, "skipped": 0}
    first = told["failed-tests-detail"][0]
    assert (len(first["message"]), len(first["stacktrace"])) == (1024, 4096)
    assert 20 < len(told["failed-tests-detail"]) < 30
    assert len(json.dumps(told["failed-tests-detail"])) < 128 * 1024


# ---- Which tests run


def test_standard_runs_its_dtypes_and_the_cpu_where_that_tells_something(product):
    found = product.document(
        *RUN, "--level=standard", "--suite=generic", "-k", "passes or test_fails_on_the_cpu"
    )
    names = [(each["name"].partition(".")[2], each.get("dtype")) for each in found["entries"]]
    assert ("test_passes_with_dtypes", "int64") in names
    assert ("test_passes_with_dtypes", "float64") not in names
    assert found["totals"]["pass"] == len(names)
    assert not any("remark" in each for each in found["entries"])  # the CPU was not asked
    assert "the CPU ran those alone that did not pass on the device" in found["sampled"]


def test_a_suite_is_a_file_in_whatever_way_it_is_said(product):
    for name in ("nn/inner", "nn/inner.py", "pytorch/nn/inner"):
        assert request.chosen_files(FOLDER, (name,)) == ("nn/inner.py",)
    said = product(*RUN, "--suite=nn/inner", "--list")
    assert said.out == "pytorch/nn/inner/TestInner.test_passes\n"


def test_a_file_in_a_folder_finds_its_neighbours(product):
    assert product.document(*RUN, "--suite=nn/inner")["totals"]["pass"] == 1


def test_tests_by_op_db_run_with_the_dtypes_of_the_operator(product):
    found = product.document(*RUN, "--suite=operators")
    ran = [(each["name"], each["dtype"], each["verdict"]) for each in found["entries"]]
    name = "TestOperators.test_is_its_own_inverse_neg"
    assert ran == [(name, "float32", "pass"), (name, "int64", "pass")]


def test_a_run_goes_on_where_it_was_ended(product, tmp_path):
    file = tmp_path / "document.json"
    arguments = (*RUN, "--suite=generic", "-k", "test_passes or fails_on_both", f"--json={file}")
    assert product(*arguments).status == 0
    first = json.loads(file.read_text())
    kept = next(each for each in first["entries"] if each["verdict"] == "skipped")
    kept["reason"] = "as the first run had it"
    first["entries"] = [kept]
    file.write_text(json.dumps(first))
    assert product(*arguments, "--resume").status == 0
    second = json.loads(file.read_text())
    assert len(second["entries"]) > 1
    assert kept in second["entries"]


def test_a_test_that_the_file_has_no_more_is_gone():
    entry = {"suite": "pytorch/nn/inner", "name": "TestInner.test_old", "verdict": "fail"}
    now = {"level": "full", "complete": True, "versions": {}, "entries": []}
    now["settings"] = {"suites": ["pytorch/nn/inner"], "filter": "", "dtypes": []}
    compared = baseline.compare(now | {"entries": [entry | {"dtype": "float64"}]}, now)
    assert [each.id for each in compared.gone] == ["pytorch/nn/inner/TestInner.test_old/float64"]


def test_quick_takes_some_of_each_file():
    files = [f"test_{number}.py" for number in range(9)]
    assert len(selection.files_of("quick", files, chosen=False)) < 9
    assert selection.files_of("quick", files, chosen=True) == tuple(files)
    assert selection.files_of("full", files, chosen=False) == tuple(files)
    tests = [Item("pytorch/test_0", f"test_{number}", str(number)) for number in range(79)]
    assert selection.tests_of("quick", tests) == tests[::2]
    assert selection.tests_of("quick", tests[:7]) == tests[:7]
    assert selection.tests_of("full", tests) == tests


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--device=cpu"], "compares a device with the CPU"),
        (["--suite=nothing"], "has no nothing.py; it has none"),
        ([], "has none of PyTorch's test files"),
        (["--suite=generic", "-k", "no_test_has_this"], "no entry has what -k"),
    ],
)
def test_what_cannot_be_run_is_said_in_a_line(product, arguments, says):
    said = product(*RUN, *arguments)
    assert (said.status, said.out) == (2, "")
    assert says in said.err and said.err.count("\n") == 1


def test_a_source_tree_is_not_its_folder(tmp_path):
    (tmp_path / "test").mkdir()
    (tmp_path / "test/test_torch.py").touch()
    with pytest.raises(Refused, match="Is it its folder test"):
        request.chosen_files(tmp_path, ())
    assert request.chosen_files(tmp_path / "test", ()) == ("test_torch.py",)


# ---- Files that cannot be imported, and those of an older PyTorch


def test_a_file_that_ends_the_process_is_a_crash_and_the_others_run(product):
    found = product.document(*RUN, "--suite=dies_when_imported", "--suite=nn/inner")
    verdicts = {each["name"]: each["verdict"] for each in found["entries"]}
    assert verdicts == {"loading": "crash", "TestInner.test_passes": "pass"}


def test_a_file_that_neither_side_can_import_is_skipped(product):
    found = product.document(*RUN, "--suite=has_no_helper")
    (entry,) = found["entries"]
    assert entry["verdict"] == "skipped"
    assert "on the CPU too: ModuleNotFoundError: No module named" in entry["reason"]


def test_tests_of_an_older_pytorch_run_without_what_they_need(product):
    found = product.document(*RUN, "--suite=older")
    entries = {each["name"].partition(".")[2]: each for each in found["entries"]}
    assert entries.pop("test_needs_nothing_of_old")["verdict"] == "pass"
    assert {name: each["verdict"] for name, each in entries.items()} == {
        "test_is_wrapped": "skipped",
        "test_is_wrapped_with_an_argument": "skipped",
        "test_asks_for_a_flag": "skipped",
    }
    helpers = "torch.testing._internal.common_utils"
    said = f"the test is of another PyTorch: this one has no {helpers}.a_wrapper_of_old"
    assert entries["test_is_wrapped"]["reason"] == said
    assert f"{helpers}.a_flag_of_old" in found["sampled"]


# ---- What no backend can pass


def test_what_no_backend_can_pass_is_skipped_where_it_fails(product, tmp_path, monkeypatch):
    file = tmp_path / "impossible.txt"
    suite = "pytorch/generic/TestGeneric"
    file.write_text(f"{suite}.test_fails_on_the_device: it is the CPU's\n{suite}.test_passes: no\n")
    monkeypatch.setattr(run, "IMPOSSIBLE", file)
    found = product.document(
        *RUN, "--suite=generic", "-k", "test_fails_on_the_device or (test_passes and not with)"
    )
    entries = {each["name"].partition(".")[2]: each for each in found["entries"]}
    reason = "no backend on PrivateUse1 can pass it: it is the CPU's"
    assert entries["test_fails_on_the_device"]["verdict"] == "skipped"
    assert entries["test_fails_on_the_device"]["reason"] == reason
    assert entries["test_passes"]["verdict"] == "pass"


def test_each_line_of_what_no_backend_can_pass_is_of_a_file_of_the_table():
    lines = Expectations.load(run.IMPOSSIBLE).lines
    suites = {table.suite_of(file) for file in table.FILES}
    assert lines and all(line.pattern.rpartition("/Test")[0] in suites for line in lines)
    assert len(lines) <= 40  # a list that grows hides what it is for


# ---- Its parts


@pytest.mark.parametrize(
    ("class_name", "method", "test", "dtype"),
    [
        ("TestFooPRIVATEUSE1", "test_a_acme", "TestFoo.test_a", ""),
        ("TestFooACME", "test_a_acme_float32", "TestFoo.test_a", "float32"),
        ("TestFooACME", "test_acme_acme_bfloat16", "TestFoo.test_acme", "bfloat16"),
        ("TestFooACME", "test_a_acme_float32_int64", "TestFoo.test_a", "float32_int64"),
        ("TestFooACME", "test_a_float32_acme", "TestFoo.test_a_float32", ""),
        ("TestFooACME", "test_a_acme_float8_e4m3fnuz", "TestFoo.test_a", "float8_e4m3fnuz"),
        ("TestFooACME", "test_a", "TestFoo.test_a", ""),
    ],
)
def test_a_name_has_no_device(class_name, method, test, dtype):
    found = naming.name_of(class_name, method, "acme")
    assert (found.test, found.dtype) == (test, dtype)
    on_cpu = re.sub("(PRIVATEUSE1|ACME)$", "CPU", class_name)
    before, _, after = method.rpartition("_acme")
    assert naming.name_of(on_cpu, f"{before}_cpu{after}" if before else method, "cpu") == found


def test_several_dtypes_are_of_a_level_if_all_of_them_are():
    assert naming.has_only("float32_int64", ("float32", "int64"))
    assert not naming.has_only("float32_float64", ("float32", "int64"))
    assert not naming.has_only("uint8", ("int8",))
    assert naming.has_only("", ("int8",))


def test_a_crash_is_no_less_for_a_failure_of_the_cpu():
    crash = {"status": "crashed", "error": "SIGSEGV", "trace": ""}
    found = comparing.compared(crash, {"status": "failed", "error": "no"})
    assert found["status"] == "crashed"
    assert found["error"] == "SIGSEGV (it fails on the CPU: no)"


def _assert_fails_again(command: str, environment: Mapping[str, str]) -> None:
    pasted = ["bash", "-c", command.replace(" python ", f" {sys.executable} ")]
    done = subprocess.run(pasted, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert re.search(r"FAIL: test_fails_on_the_device_acme .*\n.*Ran 1 test ", done.stderr, re.S)
