"""`outback ops`: what it shows of a document, how it runs a program, kernels to begin with."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import ROOT, TORCH

sys.path.insert(0, str(ROOT))
from torch_outback.cli import main
from torch_outback.operators import gain, skeleton, skeleton_in_dialect
from torch_outback.operators.document import read, sum_of
from torch_outback.refused import Refused

from conformance import by_schema

SCHEMA = json.loads(
    (ROOT / "generators/cli/torch_outback/operators/schema/operators-1.json").read_text()
)
COUNTS = ["bytes_to_host", "bytes_to_device", "bytes_on_devices", "copies", "waits", "waited_ns"]


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
    assert lines[begin + 2].split()[:4] == ["3.500*", "4.000", "0.000", "2"]
    assert lines[begin + 3].split()[:4] == ["1.000", "5.000", "0.000", "2"]
    assert "outback ops --skeleton aten::add" in said.output
    assert len([line for line in lines[begin + 2 :] if "aten::view" in line]) == 1


def test_a_wait_for_earlier_work_is_no_gain(ops, tmp_path):
    rows = (
        row("aten::sum", own_ns=300_000_000, waited_ns=299_000_000, waits=1, served="over copies"),
        row("aten::exp", own_ns=2_000_000),
    )
    shown = document(*rows)
    said = ops("--html", "@a.html", "--json", "@b.json", "--read", "@a.json", a=shown)
    assert said.exit_code == 0, said.output
    lines = said.output.splitlines()
    assert lines[1] == "1.50 s; 3.000 ms in operators: in place 67%, over copies 33%"
    assert lines[2].endswith("the host waited 1 times, 299.000 ms for work from before")
    begin = next(at for at, line in enumerate(lines) if line.startswith("write these next"))
    assert lines[begin + 1].split()[:6] == ["gain", "ms", "own", "ms", "waited", "ms"]
    assert lines[begin + 2].split()[:3] == ["2.000", "2.000", "0.000"]
    assert lines[begin + 3].split()[:3] == ["1.000", "300.000", "299.000"]
    assert (tmp_path / "a.html").read_text().count(">299.000<") == 2
    assert json.loads((tmp_path / "b.json").read_text())["operators"][0]["waited_ns"] == 299_000_000


def test_a_document_from_before_waits_had_a_time_is_read(ops):
    shown = document(row(waits=1))
    del shown["operators"][0]["waited_ns"], shown["outside"]["waited_ns"]
    said = ops("--read", "@a.json", a=shown)
    assert said.exit_code == 0, said.output
    assert "the host waited 1 times, 0.000 ms for work from before" in said.output


def test_what_is_wrong_with_a_device_model_is_told():
    assert gain.read_model("2TB/s") == gain.DeviceModel(2e12)
    assert gain.read_model("1.5GB/s, 3e2MFLOP/s") == gain.DeviceModel(1.5e9, 3e8)
    assert gain.read_model("1e-3TB/s") == gain.DeviceModel(1e9)
    for wrong in ("2", "2TB", "0B/s", "1TB/s,2TB/s", "1.2.3B/s", "1e400B/s"):
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


@pytest.mark.parametrize(
    "changes",
    [
        {"seconds": "1"},
        {"outside": {}},
        {"outside": 3},
        {"processes": "3"},
        {"device": 7},
        {"operators": {"a": 1}},
        {"operators": [row(own_ns=None)]},
        {"operators": [row(dtype=7)]},
        {"operators": [row(calls=True)]},
        {"operators": [row(flops=0.5)]},
    ],
)
def test_a_document_with_a_value_of_another_kind_is_refused(ops, changes):
    said = ops("--read", "@a.json", a=document(**changes))
    assert said.exit_code == 2
    assert "a.json: no document of `outback ops`: " in said.output


@pytest.mark.parametrize("text", ["[]", "null", "", "[" * 100_000])
def test_json_that_is_no_object_is_refused(ops, tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    said = ops("--read", "@a.json")
    assert said.exit_code == 2
    assert "no document of `outback ops`" in said.output


def test_a_terminal_gets_no_orders_of_a_documents(ops):
    evil = "\x1b[2J\nred"
    rows = (row(f"aten::{evil}", place=evil, dtype=evil, served=evil), row(place=evil))
    whole = document(*rows, backend=evil, torch=evil, device=evil, kernels=evil)
    for said in (
        ops("--read", "@a.json", a=whole),
        ops("--diff", "@a.json", "@b.json", a=whole, b=document()),
    ):
        assert said.exit_code == 0, said.output
        assert "\x1b" not in said.output and "\nred" not in said.output
        assert "\\x1b[2J\\nred" in said.output


def test_a_star_has_a_word_that_explains_it(ops):
    shown = document(row(flops=None))
    assert "*" not in ops("--read", "@a.json", a=shown).output.replace(" *,", "")
    said = ops("--device-model", "1TB/s", "--read", "@a.json", a=shown).output
    assert "4.999* " in said and "\n  * by its bytes alone" in said


def test_where_no_device_was_used_nobody_knows_how_kernels_run(ops):
    said = ops("--read", "@a.json", a=document(device=None, kernels=None))
    assert said.output.splitlines()[0] == "acme: no device was used, torch 2.13.0"


def test_the_operator_to_write_is_one_that_a_device_has(ops):
    rows = (
        row("aten::_scaled_dot_product_flash_attention_for_cpu"),
        row("aten::mkldnn_rnn_layer", own_ns=4_000_000),
        row("aten::mkldnn_reorder_conv2d_weight"),
    )
    said = ops("--read", "@a.json", a=document(*rows)).output
    (flash,) = re.findall(r".*, for aten::_scaled_dot_product_flash_attention_for_cpu\(.*", said)
    (rnn,) = re.findall(r".*aten::lstm.input, for aten::mkldnn_rnn_layer\(.*", said)
    assert " aten::_scaled_dot_product_fused_attention_overrideable, for" in flash
    assert said.index(flash) < said.index(rnn)
    assert "--skeleton aten::_scaled_dot_product_fused_attention_overrideable\n" in said
    assert "left out, since only the CPU has them: aten::mkldnn_reorder_conv2d_weight\n" in said
    for each in re.findall(r"(aten::\S+), for", said):
        assert skeleton.text(each)


def test_an_option_that_would_write_nothing_is_refused(ops):
    for way in (["--list"], ["--diff", "@a.json", "@a.json"], ["--skeleton", "aten::mm"]):
        said = ops(*way, "--html", "@page.html", a=document())
        assert said.exit_code == 2 and f"{way[0]} has nothing for --html" in said.output


def test_a_skeleton_is_found_in_another_operators_header():
    text = skeleton.text("aten::normal_functional")
    assert "normal_functional" in text and "at::Tensor" in text


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


def test_the_page_has_what_was_copied_and_waited_for(ops, tmp_path):
    shown = document(row(bytes_to_host=2048, waits=2, waited_ns=1_500_000))
    assert ops("--html", "@a.html", "--read", "@a.json", a=shown).exit_code == 0
    page = (tmp_path / "a.html").read_text()
    assert "<dd>2.0 KiB to the host, 0 B to the device, 0 B on devices</dd>" in page
    assert "<dt>The host waited</dt><dd>2 times, 1.500 ms for work from before</dd>" in page


def test_a_file_that_cannot_be_written_costs_nothing_else(ops, tmp_path):
    said = ops("--json", "/dev/full", "--html", "@a.html", "--read", "@a.json", a=document(row()))
    assert said.exit_code == 2
    assert "outback: /dev/full cannot be written: No space left on device" in said.output
    assert "aten::mm" in said.output and "aten::mm" in (tmp_path / "a.html").read_text()


def test_a_report_that_cannot_be_finished_leaves_the_old_one(ops, tmp_path):
    old = tmp_path / "b.json"
    old.write_text("old")
    (tmp_path / "a.json").write_text(json.dumps(document(row())))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, hard))
    try:
        said = ops("--json", "@b.json", "--read", "@a.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert f"{old} cannot be written: File too large" in said.output
    assert old.read_text() == "old" and len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(
    os.geteuid() == 0, reason="needs a user other than root, who may write everywhere"
)
def test_a_file_without_a_right_to_it_is_refused_before_the_program_runs(ops, tmp_path):
    (tmp_path / "empty.py").write_text("raise AssertionError('it ran')")
    (tmp_path / "a.json").touch(mode=0o400)
    said = ops("--json", "@a.json", "@empty.py")
    assert said.exit_code == 2
    assert "cannot be written: Permission denied" in said.output


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


# What a program does that is asked to end, and ends in order.
ENDS_IN_ORDER = """
import os, signal, sys
def end(number, frame):
    process = str(os.getpid())
    with open(os.environ["OUTBACK_OPERATORS"].replace("%p", process), "w") as file:
        file.write(sys.argv[1])
    sys.exit(7)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
signal.pause()
"""


def test_a_program_is_asked_to_end_when_the_command_is(tmp_path):
    (tmp_path / "program.py").write_text(ENDS_IN_ORDER)
    command = [sys.executable, "-m", "torch_outback", "ops", "program.py"]
    with subprocess.Popen(
        [*command, json.dumps(document(row()))],
        env={**os.environ, "PYTHONPATH": str(ROOT / "generators/cli")},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGTERM)
        shown, _ = running.communicate(timeout=60)
    assert running.returncode == 7
    assert "aten::mm" in shown


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

# With long names, schemas, results and arguments.
LONG = (
    "_upsample_nearest_exact3d_backward.grad_input",
    "_cudnn_rnn_backward",
    "special_chebyshev_polynomial_v",
    "randn.generator",
    "_convert_indices_from_csr_to_coo",
)


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
    assert 'm.impl("native_layer_norm", &outback' in skeleton.text("native_layer_norm")


def test_a_skeleton_serves_float32_and_declines_other_calls():
    addmm = skeleton.text("aten::addmm")
    assert "static bool supports(const at::Tensor& self, const at::Tensor& /*mat1*/," in addmm
    assert "return self.scalar_type() == at::kFloat;" in addmm
    plain = skeleton.text("aten::relu")
    assert "bool relu_supports(const at::Tensor& self) {" in plain
    assert "when<at::_ops::relu, &relu_supports, &relu_kernel>::run" in plain
    assert "bool supports(const at::Tensor& self, int64_t /*dim*/" in skeleton.text("aten::max.dim")


def test_a_skeleton_in_the_dialect_is_a_kernel_and_its_launch(ops, tmp_path):
    said = ops("--skeleton", "aten::addmm", "--dialect", "@mine.k")
    assert said.exit_code == 0, said.output
    assert 'find_packed(dense.device(), "mine",' in said.output
    assert "self, mat1, mat2, beta.to<float>(), alpha.to<float>());" in said.output
    kernel = (tmp_path / "mine.k").read_text()
    assert "KERNEL(addmm_kernel, i64 count, GLOBAL f32* out, const GLOBAL f32* self" in kernel
    assert "const GLOBAL f32* mat2, f32 beta, f32 alpha) {" in kernel
    again = ops("--skeleton", "aten::mm", "--dialect", "@mine.k")
    assert again.exit_code == 2 and "mine.k cannot be written: File exists" in again.output
    assert (tmp_path / "mine.k").read_text() == kernel


@pytest.mark.parametrize(
    "arguments, why",
    [
        (("--skeleton", "aten::topk", "--dialect", "@a.k"), "leave out --dialect"),
        (("--skeleton", "aten::randn", "--dialect", "@a.k"), "leave out --dialect"),
        (("--skeleton", "aten::mm", "--dialect", "@a.cpp"), "expected a name such as addmm.k"),
        (("--list", "--dialect", "@a.k"), "--dialect is for --skeleton"),
    ],
)
def test_a_skeleton_in_the_dialect_that_would_be_none_is_refused(ops, tmp_path, arguments, why):
    said = ops(*arguments)
    assert said.exit_code == 2 and why in said.output
    assert not list(tmp_path.iterdir())


def test_a_name_without_an_overload_is_that_one_if_there_is_one():
    assert 'm.impl("max", &outback::kernels::when<at::_ops::max, ' in skeleton.text("aten::max")
    assert "structured_max_dim" in skeleton.text("aten::max.dim")


def test_operators_of_pythons_own_names_are_known():
    for operator in ("__and__.Scalar", "__iand__.Tensor", "__ior__.Scalar", "__lshift__.Tensor"):
        assert f'm.impl("{operator}", ' in skeleton.text(f"aten::{operator}")


def test_it_is_told_that_a_kernel_replaces_a_composition():
    replaced = "Without it PyTorch composes the operator of others"
    assert replaced in skeleton.text("aten::linear")
    assert "the key\n// AutogradPrivateUse1" in skeleton.text("aten::linear")
    assert replaced in skeleton.text("aten::native_layer_norm.out")
    assert "AutogradPrivateUse1" not in skeleton.text("aten::native_layer_norm.out")
    assert replaced not in skeleton.text("aten::native_layer_norm")


@pytest.mark.parametrize("operator", LONG)
def test_lines_are_no_longer_than_the_format_has_them(operator):
    assert max(map(len, skeleton.text(operator).splitlines())) <= 100


def test_lines_in_the_dialect_are_no_longer_either():
    for operator in ("addmm", "special_chebyshev_polynomial_v", "softmax.int"):
        made = skeleton_in_dialect.texts(operator, "a_module_with_a_name")
        assert max(map(len, f"{made.launch}\n{made.kernel}".splitlines())) <= 100


def test_a_loop_in_the_dialect_takes_operands_of_the_same_sizes():
    of_loop, of_rows = (skeleton_in_dialect.texts(it, "mine").launch for it in ("mul.Tensor", "mm"))
    assert "other.sizes() == self.sizes()" in of_loop
    assert "sizes() ==" not in of_rows
    # Neither a number on the CPU nor a result of another dtype is memory for the kernel.
    assert "is_privateuseone()" in of_loop
    assert "dtype(at::kFloat)" in of_loop


@pytest.mark.parametrize("operator", ["aten::no_such", "acme::mine", "aten::addmm.no_such", "a b"])
def test_an_operator_that_is_none_is_refused(operator):
    with pytest.raises(Refused, match=f"--skeleton {operator}: "):
        skeleton.text(operator)


@pytest.mark.slow
def test_kernels_to_begin_with_compile_as_they_are(tmp_path):
    operators = ("add.Tensor", "addmm", "clamp", "max.dim", "topk", "native_layer_norm", "relu",
                 "max", "linear", "__and__.Scalar", *LONG)  # fmt: skip
    headers = ("", "torch/csrc/api/include")
    included = [f"-isystem{TORCH / 'torch/include' / it}" for it in headers]
    texts = [skeleton.text(each) for each in operators]
    for operator in ("baddbmm", "softmax.int"):
        made = skeleton_in_dialect.texts(operator, "mine")
        texts.append(made.launch.replace("is_dense_float", f"is_dense_float_{len(texts)}"))
    file = tmp_path / "kernels.cpp"
    file.write_text("".join(texts))
    flags = ("-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
    compiler = os.environ.get("CXX", "c++")
    include = f"-I{ROOT / 'backend_template/include'}"
    subprocess.check_call([compiler, *flags, include, *included, Path(file)])


def test_a_kernel_to_begin_with_compiles_in_the_dialect(tmp_path):
    kernel = skeleton_in_dialect.texts("addmm", "mine").kernel
    file = tmp_path / "kernel.cpp"
    file.write_text(kernel)
    include = f"-I{ROOT / 'backend_template/include'}"
    compiler = os.environ.get("CXX", "c++")
    subprocess.check_call([compiler, "-std=c++20", "-Wall", "-fsyntax-only", include, file])
