"""torch.acme.record_operators: which operators ran, who served them, and what that took."""

import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
import torch
import torch_acme
from torch._subclasses import FakeTensorMode
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from .models import MODELS, cnn

ROOT = Path(__file__).parents[3]
CLI = ROOT / "generators/cli"
sys.path.insert(0, str(ROOT))
from conformance import by_schema  # noqa: E402

pytestmark = pytest.mark.any_runtime
acme = torch.acme
# Where the CPU's kernels do not reach the device's memory they run over copies.
IN_PLACE = acme._outback._native.kernels_of(0) == "cpu"
SERVED = "in place" if IN_PLACE else "over copies"
# These projects have kernels of their own (src/kernels.cpp), the tests' others none.
WITH_KERNELS = ("python", "python_cuda", "python_level_zero", "python_opencl")
OF_ZERO = "vendor" if Path(torch_acme.__file__).parents[1].name in WITH_KERNELS else "own"


@pytest.fixture
def records():
    x = torch.ones(2, device="acme")
    try:
        with acme.graph(acme.CUDAGraph()):
            x + x
    except RuntimeError:
        pytest.skip("needs graphs, and memory that the CPU can address")


def calls_of(record, **fields) -> int:
    return sum(
        row.calls
        for row in record.operators
        if all(getattr(row, name) == value for name, value in fields.items())
    )


def row_of(record, operator: str):
    """The one of the device; that of other tensors only if there is none."""
    rows = [row for row in record.operators if row.name == operator]
    (row,) = [row for row in rows if row.served != "elsewhere"] or rows
    return row


@pytest.mark.parametrize("name", MODELS)
def test_counts_are_the_profilers(name):
    step = MODELS[name]()
    step()
    with profile(activities=[ProfilerActivity.CPU]) as profiled, acme.record_operators() as record:
        step()
    # The profiler's own list leaves out calls within calls of the same name.
    events = [
        each
        for each in profiled.profiler.kineto_results.events()
        if each.name().startswith("aten::")
    ]
    ours, theirs = Counter(), Counter(each.name() for each in events)
    for row in record.operators:
        ours[row.operator] += row.calls
    assert ours == theirs
    assert sum(row.own_ns for row in record.operators) < record.seconds * 1e9


def test_times_are_the_profilers():
    x = torch.ones(300, 300, device="acme")

    def times() -> tuple[int, int]:
        with profile(activities=[ProfilerActivity.CPU]) as it, acme.record_operators() as record:
            x.mm(x)
        (theirs,) = (
            each for each in it.profiler.kineto_results.events() if each.name() == "aten::mm"
        )
        return row_of(record, "aten::mm").total_ns, theirs.duration_ns()

    times()
    # Once is enough: a process may lose its core between the two clocks.
    assert any(abs(ours - theirs) < 0.05 * theirs for ours, theirs in (times() for _ in range(20)))


def test_who_served_is_told():
    x = torch.ones(3, 4, device="acme")
    layer = torch.nn.Linear(4, 2, device="acme")
    with acme.record_operators() as record:
        layer(x + 1).zero_()
        torch.ones(2).add_(1)
        x.cpu()
    assert row_of(record, "aten::add.Tensor").served == SERVED
    assert row_of(record, "aten::linear").served == "composed"
    assert row_of(record, "aten::addmm").served == SERVED
    assert row_of(record, "aten::zero_").served == OF_ZERO
    assert row_of(record, "aten::copy_").served == "own"
    assert row_of(record, "aten::add_.Tensor").served == "elsewhere"
    assert row_of(record, "aten::add.Tensor").dtype == "float32"
    assert row_of(record, "aten::copy_").bytes_to_host == 48


@pytest.mark.skipif(acme.Stream().stream_id == 0, reason="needs streams, which copies run on")
def test_what_is_copied_and_waited_for_is_what_the_trace_has(run_python, tmp_path):
    trace = tmp_path / "trace.txt"
    told = run_python(
        f"""
        import json, sys, torch
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        with torch.acme.record_operators() as record:
            from operators.models import training_of_cnn
            training_of_cnn()()
        names = ("bytes_to_host", "bytes_to_device", "copies", "waits")
        sums = {{
            name: sum(getattr(row, name) for row in record.operators) + record.outside[name]
            for name in names
        }}
        copied = [row for row in record.operators if row.served == "over copies"]
        in_rows = {{
            name: sum(getattr(row, name) for row in copied) for name in ("calls", *names[:2])
        }}
        stats = torch.acme.fallback_stats()
        in_stats = {{name: sum(each[name] for each in stats.values()) for name in in_rows}}
        print(json.dumps([sums, in_rows, in_stats, len(stats)]))
        """,
        OUTBACK_HOST_ADDRESSABLE="0",
        OUTBACK_PORTABLE="never",
        OUTBACK_TRACE=str(trace),
    )
    sums, in_rows, in_stats, counted = json.loads(told.output)
    lines = trace.read_text().splitlines()
    copies = [line for line in lines if " mem_copy(" in line]
    to_host = [line for line in copies if "dst_device=-1" in line]
    size = lambda line: int(line.split("size=")[1].split(",")[0])  # noqa: E731
    assert sums == {
        "bytes_to_host": sum(map(size, to_host)),
        "bytes_to_device": sum(map(size, copies)) - sum(map(size, to_host)),
        "copies": len(copies),
        "waits": sum("sync(" in line for line in lines),
    }
    assert in_rows == in_stats and in_rows["calls"] > 50
    assert counted > 10


def test_flops_are_those_that_torch_counts():
    x = torch.randn(2, 3, 16, 16)
    with FlopCounterMode(display=False) as counted:
        cnn("cpu")(x).sum().backward()
    model, x = cnn("acme"), x.to("acme")
    with acme.record_operators() as record:
        model(x).sum().backward()
    flops = sum(row.flops or 0 for row in record.operators if row.served == SERVED)
    assert flops == counted.get_total_flops()
    assert row_of(record, "aten::relu").flops is None
    assert row_of(record, "aten::relu").tensor_bytes == 2 * 4 * (2 * 8 * (16 * 16 + 3 * 3))


def bytes_of(record, operator: str) -> float:
    """Of each call."""
    row = row_of(record, operator)
    return row.tensor_bytes / row.calls


def test_bytes_are_those_that_a_kernel_has_to_touch():
    x, table = torch.ones(1000, device="acme"), torch.ones(10_000, 4, device="acme")
    at = torch.tensor([1, 5, 7], device="acme")
    first = torch.tensor([[0], [0], [0]], device="acme")
    with acme.record_operators() as record:
        x.fill_(2.0)
        x.zero_()
        x.copy_(torch.ones(1000))
        torch.nn.functional.embedding(at, table)
        table.index_select(0, at)
        table[at]
        table[:3].gather(1, first)
        x.add_(x)
    assert bytes_of(record, "aten::fill_.Scalar") == 4000
    assert bytes_of(record, "aten::zero_") == 4000
    assert bytes_of(record, "aten::copy_") == 8000
    for gathering in ("aten::embedding", "aten::index_select", "aten::index.Tensor"):
        assert bytes_of(record, gathering) == 3 * 8 + 2 * 3 * 16, gathering
    assert bytes_of(record, "aten::gather") == 3 * 8 + 2 * 3 * 4
    assert bytes_of(record, "aten::add_.Tensor") == 12000


def test_fake_tensors_are_nothing_of_the_devices():
    with acme.record_operators() as record, FakeTensorMode():
        y = torch.ones(100, 100, device="acme")
        (y @ y).relu()
    assert {(row.served, row.own_ns) for row in record.operators} == {("elsewhere", 0)}


def test_a_replay_calls_no_operators(records):
    x = torch.ones(8, 8, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        (x @ x).relu()
    with acme.record_operators() as record:
        graph.replay()
        acme.synchronize()
    assert record.operators == []


def test_each_block_has_a_record_of_its_own():
    x, recording = torch.ones(3, device="acme"), acme.record_operators()
    with recording as first:
        x.neg()
        with pytest.raises(RuntimeError, match="records already: make another one"), recording:
            pass
    with recording as second:
        x.exp()
    assert [row.name for row in first.operators] == ["aten::neg"]
    assert [row.name for row in second.operators] == ["aten::exp"]
    with pytest.raises(RuntimeError, match="records nothing: enter it first"):
        recording.__exit__(None, None, None)


def test_a_call_that_calls_the_operator_again_is_composed():
    x = torch.ones(3, 3, device="acme")
    with acme.record_operators() as record, torch.autocast("acme", torch.bfloat16):
        x.mm(x)
    with acme.record_operators() as of_vmap:
        torch.func.vmap(lambda row: row.add(1))(x)
    rows = {
        (row.dtype, row.served, row.calls) for row in record.operators if row.name == "aten::mm"
    }
    assert rows == {("float32", "composed", 1), ("bfloat16", SERVED, 1)}
    assert calls_of(of_vmap, name="aten::add.Tensor", served=SERVED) == 1
    assert {row.served for row in of_vmap.operators if row.name == "aten::add.Tensor"} == {
        *("composed", SERVED)
    }


def test_what_a_capture_records_is_served_in_place(records):
    x, y = torch.ones(3, device="acme"), torch.ones(3, device="acme")
    graph = acme.CUDAGraph()
    with acme.record_operators() as record, acme.graph(graph):
        torch.add(x, x, out=y)
    assert row_of(record, "aten::add.out").served == SERVED


def test_a_recording_within_another_has_its_own_calls_only():
    x = torch.ones(3, device="acme")
    with acme.record_operators() as outer:
        x.add(1)
        with acme.record_operators() as inner:
            x.add(1)
        x.add(1)
    assert calls_of(outer, operator="aten::add") == 3
    assert calls_of(inner, operator="aten::add") == 1
    x.add(1)
    with acme.record_operators() as later:
        pass
    assert later.operators == []


def test_an_operators_own_time_is_without_those_that_it_calls():
    x = torch.ones(1000, 1000, device="acme")
    with acme.record_operators() as record:
        torch.nn.functional.linear(x, x, x[0])
    linear, addmm = row_of(record, "aten::linear"), row_of(record, "aten::addmm")
    assert linear.total_ns > addmm.own_ns > 1_000_000
    assert linear.own_ns < linear.total_ns - addmm.total_ns + 1


def test_a_call_that_fails_and_those_of_a_thread_that_is_gone_count():
    x = torch.ones(3, device="acme")

    def work() -> None:
        for _ in range(5):
            x.mul(2)

    with acme.record_operators() as record:
        with pytest.raises(RuntimeError, match="must match"):
            x.add(torch.ones(2, device="acme"))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        x.sub(1)
    assert calls_of(record, name="aten::add.Tensor") == 1
    assert calls_of(record, name="aten::mul.Tensor") == 5
    assert calls_of(record, name="aten::sub.Tensor") == 1


def test_the_place_is_the_programs_line():
    x = torch.ones(3, device="acme")
    layer = torch.nn.Softplus()
    with acme.record_operators(with_stack=True) as record:
        for _ in range(3):
            layer(x)
        x.exp()
    lines = [int(row_of(record, each).place.rpartition(":")[2])
             for each in ("aten::softplus", "aten::exp")]  # fmt: skip
    assert row_of(record, "aten::softplus").place.startswith(f"{__file__}:")
    assert row_of(record, "aten::softplus").calls == 3
    assert lines[1] == lines[0] + 1


def test_a_document_has_a_schema_and_the_signatures(tmp_path):
    x = torch.ones(3, device="acme")
    with acme.record_operators() as record:
        x.neg()
    record.save(tmp_path / "record.json")
    document = json.loads((tmp_path / "record.json").read_text())
    assert document["schema"] == 1 and document["backend"] == "acme"
    schema = json.loads((CLI / "torch_outback/operators/schema/operators-1.json").read_text())
    assert not list(by_schema.problems(document, schema, schema))
    (neg,) = document["operators"]
    assert neg["signature"] == "aten::neg(Tensor self) -> Tensor"
    assert [file.name for file in tmp_path.iterdir()] == ["record.json"]
    assert str(record).splitlines()[1].split()[:4] == ["aten::neg", "float32", *SERVED.split()]


def test_a_variable_records_the_whole_process(run_python, tmp_path):
    program = "import torch\ntorch.ones(3, device='acme').neg()\nimport os; print(os.getpid())"
    process = run_python(program, OUTBACK_OPERATORS=str(tmp_path / "%p.json")).output
    document = json.loads((tmp_path / f"{process}.json").read_text())
    assert "aten::neg" in {row["operator"] for row in document["operators"]}


def test_who_would_serve_is_known_of_each_overload():
    from torch.acme._outback import operators

    served = operators.providers()
    assert len(served) > 2500
    for operator, who in (
        ("aten::add.Tensor", SERVED),
        ("aten::native_batch_norm", SERVED),
        ("aten::linear", "composed"),
        ("aten::zero_", OF_ZERO),
        ("aten::copy_", "own"),
        ("aten::_cudnn_rnn", "refused"),
    ):
        assert served[operator] == who, operator


def test_a_record_that_is_not_over_is_not_saved(tmp_path):
    with acme.record_operators() as record:
        torch.ones(3, device="acme").neg()
        with pytest.raises(RuntimeError, match=r"is empty until the `with` block .* ends"):
            record.save(tmp_path / "record.json")
    record.save(tmp_path / "record.json")
    assert [each.name for each in tmp_path.iterdir()] == ["record.json"]


def test_a_table_has_the_places(tmp_path):
    x = torch.ones(3, device="acme")
    with acme.record_operators(with_stack=True) as record:
        x.neg()
    assert re.search(r"aten::neg .*test_operator_report\.py:\d+$", str(record), re.MULTILINE)


def test_a_file_is_written_where_the_program_began(run_python, tmp_path):
    run_python(
        "import os, torch; torch.ones(3, device='acme').neg(); os.chdir('/')",
        OUTBACK_OPERATORS=os.path.relpath(tmp_path / "record.json"),
    )
    assert (tmp_path / "record.json").exists()


def test_the_command_shows_what_a_program_called(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("import torch\ntorch.ones(3, device='acme').neg()\n")
    path = os.pathsep.join([os.environ["PYTHONPATH"], str(CLI)])
    told = subprocess.run(
        [sys.executable, "-m", "torch_outback", "ops", str(script)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told
    assert re.search(rf"1  {SERVED} +float32  aten::neg\(Tensor self\) -> Tensor\n", told.stdout)


def test_the_report_is_loaded_when_somebody_asks_for_it(run_python):
    """And stays out of the module's members, which programs replace and go through."""
    run_python(
        """
        import pickle, sys
        import torch, torch_acme
        acme = torch.acme
        file = f"{acme._outback.__name__}.operators"
        assert file not in sys.modules
        names = {"record_operators", "OperatorRecord", "OperatorCalls"}
        assert names <= set(dir(acme)) & set(acme.__all__)
        acme.OperatorCalls = "mine"
        for _ in vars(acme):
            assert acme.OperatorRecord.__module__ == "torch.acme"
        assert file in sys.modules and acme.OperatorCalls == "mine"
        del acme.OperatorCalls
        calls = acme.OperatorCalls("aten::add", "Tensor", "float32", "own", "")
        assert pickle.loads(pickle.dumps(calls)) == calls
        """
    )


WAITING = """
import json, torch
x = torch.ones(64, 64, device="acme")
x.cos()
torch.acme.synchronize()
with torch.acme.record_operators() as record:
    torch.acme._sleep(300_000_000)
    x.cos()
    x.exp()
    torch.acme.synchronize()
    torch.acme._sleep(100_000_000)
    torch.acme.synchronize()
rows = {row.operator: (row.own_ns, row.waits, row.waited_ns) for row in record.operators}
print(json.dumps([rows["aten::cos"], rows["aten::exp"], record.outside["waited_ns"]]))
"""


@pytest.mark.parametrize("addressable", ["0", "1"], ids=["over_copies", "in_place"])
def test_a_wait_for_earlier_work_is_told_apart(run_python, addressable):
    """cos waits for the sleep, and takes no time itself; exp finds nothing to wait for but, over
    copies, what it copies."""
    if acme.Stream().stream_id == 0:
        pytest.skip("needs streams, and callbacks to sleep in")
    told = run_python(WAITING, OUTBACK_HOST_ADDRESSABLE=addressable, OUTBACK_PORTABLE="never")
    (own, waits, waited), (_, _, waited_by_exp), outside = json.loads(told.output)
    assert waits >= 1
    assert 0.2e9 < waited <= own < waited + 0.1e9
    assert waited_by_exp < 0.05e9
    assert outside > 0.05e9


def test_a_wait_for_copies_of_its_own_is_time_that_an_operator_takes(run_python):
    if acme.Stream().stream_id == 0:
        pytest.skip("needs streams, which copies run on")
    told = run_python(
        """
        import torch
        x = torch.ones(1 << 22, device="acme")
        torch.acme.synchronize()
        with torch.acme.record_operators() as record:
            x.exp_()
        (row,) = record.operators
        print(row.served, row.waits, row.waited_ns)
        """,
        OUTBACK_HOST_ADDRESSABLE="0",
        OUTBACK_PORTABLE="never",
    )
    assert told.output.split() == ["over", "copies", "1", "0"]
