"""`outback ops`: what it shows of a document, how it runs a program, kernels to begin with."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import ROOT, TORCH

sys.path.insert(0, str(ROOT))
from torch_outback.cli import main
from torch_outback.operators import gain, skeleton
from torch_outback.operators.document import read, sum_of
from torch_outback.refused import Refused

from conformance import by_schema

SCHEMA = json.loads(
    (ROOT / "generators/cli/torch_outback/operators/schema/operators-1.json").read_text()
)
COUNTS = ["bytes_to_host", "bytes_to_device", "bytes_on_devices", "copies", "waits"]


def row(operator: str = "aten::mm", **changes) -> dict:
    whole = {
        "operator": operator, "overload": "", "dtype": "float32", "served": "in place",
        "place": "", "calls": 2, "own_ns": 5_000_000, "total_ns": 6_000_000,
        "tensor_bytes": 1_000_000, **dict.fromkeys(COUNTS, 0), "flops": 4_000_000,
        "signature": f"{operator}(Tensor self, Tensor mat2) -> Tensor",
    }  # fmt: skip
    return whole | changes


def document(*rows: dict, **changes) -> dict:
    whole = {
        "schema": 1, "backend": "acme", "torch": "2.13.0", "device": "Small device",
        "kernels": "cpu", "seconds": 1.5, "outside": dict.fromkeys(COUNTS, 0),
        "operators": list(rows),
    }  # fmt: skip
    return whole | changes


@pytest.fixture
def ops(tmp_path):
    def run(*arguments: object, **documents: dict) -> Result:
        for name, each in documents.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(each))
        in_folder = [str(it).replace("@", f"{tmp_path}/") for it in arguments]
        return CliRunner().invoke(main, ["ops", *in_folder])

    return run


def test_the_largest_gain_comes_first(ops):
    rows = (
        row(),
        row("aten::add", own_ns=4_000_000, flops=None, signature="aten::add(...)"),
        row("aten::view", served="own"),
        row("aten::zero_", served="vendor"),
        row("aten::linear", served="composed"),
    )
    # mm needs 4 ms for its FLOPs, add 0.5 ms for its bytes.
    said = ops("--device-model", "2GB/s,1GFLOP/s", "--read", "@a.json", a=document(*rows))
    assert said.exit_code == 0, said.output
    lines = said.output.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("write these next"))
    assert lines[begin + 2].split()[:3] == ["3.500*", "4.000", "2"]
    assert lines[begin + 3].split()[:3] == ["1.000", "5.000", "2"]
    assert "outback ops --skeleton aten::add" in said.output
    assert len([line for line in lines[begin + 2 :] if "aten::view" in line]) == 1


def test_what_is_wrong_with_a_device_model_is_told():
    assert gain.read_model("2TB/s") == gain.DeviceModel(2e12)
    assert gain.read_model("1.5GB/s, 3e2MFLOP/s") == gain.DeviceModel(1.5e9, 3e8)
    for wrong in ("2", "2TB", "0B/s", "1TB/s,2TB/s", "1.2.3B/s"):
        with pytest.raises(Refused, match="expected a bandwidth and a speed"):
            gain.read_model(wrong)


@pytest.mark.parametrize("schema", [2, None])
def test_a_document_of_another_schema_is_refused(ops, schema):
    said = ops("--read", "@a.json", a=document(schema=schema))
    assert said.exit_code == 2
    assert f"its schema is {schema!r}, and this outback reads 1" in said.output


def test_what_is_no_document_is_refused(ops):
    assert "no document of `outback ops`" in ops("--read", "@a.json", a=document({"x": 1})).output
    assert "outback ops takes one of" in ops("--list", "--read", "@a.json", a=document()).output


def test_two_documents_are_compared_by_time(ops):
    before = document(row(), row("aten::add", own_ns=100))
    after = document(row(own_ns=1_000_000, served="vendor"), row("aten::exp", own_ns=50))
    said = ops("--diff", "@a.json", "@b.json", a=before, b=after)
    assert said.exit_code == 0, said.output
    _, mm, *others = said.output.splitlines()
    assert mm.split() == [
        "1.000",
        "5.000",
        "-4.000",
        "2",
        "2",
        "vendor",
        "in",
        "place",
        "float32",
        "aten::mm",
    ]
    assert len(others) == 2


def test_the_page_has_the_rows_and_no_markup_of_a_documents(ops, tmp_path):
    shown = document(row(place="<script>alert(1)</script>"), row("aten::relu", flops=None))
    said = ops("--html", "@a.html", "--device-model", "1TB/s", "--read", "@a.json", a=shown)
    assert said.exit_code == 0, said.output
    page = (tmp_path / "a.html").read_text()
    assert "<script" not in page and "&lt;script&gt;" in page
    assert page.count("aten::relu") == 2 and "--paper:" in page


# A program without torch, which does what a backend does when it is imported.
PROGRAM = """
import json, os, sys
document = json.loads(sys.argv[1])
if "%p" in os.environ["OUTBACK_OPERATORS"]:
    for process in (str(os.getpid()), "1"):
        with open(os.environ["OUTBACK_OPERATORS"].replace("%p", process), "w") as file:
            json.dump(document, file)
print("--own", sys.argv[2:], os.environ["OUTBACK_OPERATORS_STACK"])
sys.exit(3)
"""


def test_a_program_runs_with_its_arguments_and_its_processes_are_summed(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "torch_outback", "ops", "--json", "sum.json"]
    ran = subprocess.run(
        [*command, "--with-stack", "program.py", json.dumps(document(row())), "--html", "-x"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "generators/cli")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 3, ran
    assert "--own ['--html', '-x'] 1" in ran.stdout
    found = json.loads((tmp_path / "sum.json").read_text())
    assert not list(by_schema.problems(found, SCHEMA, SCHEMA))
    assert found["schema"] == 1 and found["processes"] == 2
    assert [(it["calls"], it["flops"]) for it in found["operators"]] == [(4, 8_000_000)]


def test_a_program_that_records_nothing_is_refused(ops, tmp_path):
    (tmp_path / "empty.py").write_text("")
    said = ops("@empty.py")
    assert said.exit_code == 2
    assert "the program ended with 0 and recorded nothing: it loads no backend" in said.output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nowhere.py"], "nowhere.py does not exist"),
        (["--bogus", "x.py"], "--bogus is no option"),
        (["--html", "nowhere/page.html", "@empty.py"], "there is no folder nowhere"),
    ],
)
def test_what_cannot_work_is_refused_before_the_program_runs(ops, tmp_path, arguments, why):
    (tmp_path / "empty.py").write_text("raise AssertionError('it ran')")
    said = ops(*arguments)
    assert said.exit_code == 2
    assert why in said.output


def test_the_kernels_are_those_of_a_process_that_used_the_device(tmp_path):
    files = tmp_path / "first.json", tmp_path / "second.json"
    unused = document(row(), device=None, kernels=None)
    for file, each in zip(files, (unused, document(row())), strict=True):
        file.write_text(json.dumps(each))
    whole = sum_of(map(read, files))
    assert (whole.device, whole.kernels) == ("Small device", "cpu")


# ---- Kernels to begin with


def test_an_elementwise_operator_gets_a_loop_and_all_variants():
    text = skeleton.text("aten::mul.Tensor")
    assert "struct mul_kernel : at::meta::structured_mul_Tensor" in text
    assert "outback::kernels::run_loops(*this, mul_loop);" in text
    assert re.search(r"mul_Tensor,\s+at::_ops::mul_out,\s+at::_ops::mul__Tensor>\(m\);", text)
    assert skeleton.text("mul") == text and skeleton.text("aten::mul_.Tensor") == text


def test_a_structured_operator_gets_a_class_and_others_a_function():
    addmm = skeleton.text("aten::addmm")
    assert "const at::Scalar& /*alpha*/, const at::Tensor& out) {" in addmm
    assert "run_loops" not in addmm and "kernel_stream stream(out.device())" in addmm
    assert "const meta_return_ty& /*computed*/" in skeleton.text("aten::max.dim")
    assert 'm.impl("native_layer_norm", &native_layer_norm_kernel);' in skeleton.text(
        "native_layer_norm"
    )


@pytest.mark.parametrize("operator", ["aten::no_such", "acme::mine", "aten::addmm.no_such", "a b"])
def test_an_operator_that_is_none_is_refused(operator):
    with pytest.raises(Refused, match=f"--skeleton {operator}: "):
        skeleton.text(operator)


@pytest.mark.slow
def test_kernels_to_begin_with_compile_as_they_are(tmp_path):
    operators = ("add.Tensor", "addmm", "clamp", "max.dim", "topk", "native_layer_norm", "relu")
    headers = ("", "torch/csrc/api/include")
    included = [f"-isystem{TORCH / 'torch/include' / it}" for it in headers]
    file = tmp_path / "kernels.cpp"
    file.write_text("".join(map(skeleton.text, operators)))
    flags = ("-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
    compiler = os.environ.get("CXX", "c++")
    include = f"-I{ROOT / 'backend_template/include'}"
    subprocess.check_call([compiler, *flags, include, *included, Path(file)])
