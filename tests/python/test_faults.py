"""What fails below arrives above: the right exception, with the call, the device and the size."""

import pytest
import torch

FAILED = """
import torch
import torch_acme

def attempt(statement):
    try:
        exec(statement, globals())
    except Exception as e:
        kind = type(e).__name__
        code = getattr(e, "error_code", "-")
        print(kind, code, str(e).splitlines()[0], sep=" | ")
    else:
        print("done")
"""

# Which call of a slot, the statement that makes it, what is said of device and size.
CALLS = [
    ("mem_alloc:1", "torch.empty(2**20, device='acme')", "device 0, 4194304 bytes"),
    ("host_memory.alloc:1", "pinned = torch.ones(2**20).pin_memory()", "4194304 bytes"),
    ("mem_copy:1", "pinned.to('acme', non_blocking=True)", "device 0, 4194304 bytes"),
    ("streams.create:1", "s = torch.acme.Stream()", "device 0"),
    ("streams.query:1", "s.query()", "device 0"),
    ("streams.sync:1@0", "s.synchronize()", "device 0"),
    ("events.create:1@0", "torch.acme.Event().record()", "device 0"),
    ("events.record:2@0", "e = torch.acme.Event(enable_timing=True); e.record()", "device 0"),
    ("events.wait:1", "s.wait_event(e)", "device 0"),
    ("events.query:1", "e.query()", "device 0"),
    ("events.sync:1", "e.synchronize()", "device 0"),
    ("events.elapsed:1", "e.elapsed_time(e)", "device 0"),
    ("device_sync:1", "torch.acme.synchronize(1)", "device 1"),
    ("device_info:1@1", "torch.acme.get_device_properties(1)", "device 1"),
    ("device_state.memory_usage:1", "torch.acme.mem_get_info(1)", "device 1"),
    ("device_state.select:1", "torch.acme.set_device(1)", "device 1"),
]

STATUSES = {
    "internal": ("AcceleratorError | 6", "internal error"),
    "invalid_argument": ("RuntimeError | -", "invalid argument"),
    "unsupported": ("NotImplementedError | -", "unsupported"),
}


@pytest.fixture
def whole_runtime():
    if torch.acme.device_count() < 2 or torch.acme.Stream().stream_id == 0:
        pytest.skip("needs the host runtime")


@pytest.mark.parametrize("status", STATUSES)
def test_a_failed_call_is_named_and_the_process_goes_on(run_python, whole_runtime, status):
    rules = [call.partition("@") for call, _, _ in CALLS]
    faults = ";".join(f"{call}={status}{at}{device}" for call, at, device in rules)
    source = FAILED + "".join(f"attempt({s!r})\nattempt({s!r})\n" for _, s, _ in CALLS)
    lines = run_python(source, OUTBACK_FAULTS=faults).output.splitlines()
    kind, words = STATUSES[status]
    for call, statement, where in CALLS:
        expected = f"{kind} | acme: {call.partition(':')[0]}({where}): {words}: "
        assert lines.pop(0).startswith(expected), statement
        assert lines.pop(0) == "done", statement


LOST = """
import torch
import torch_acme
held = torch.ones(1000, device="acme:1")
for _ in range(3):
    try:
        torch.acme.synchronize(1)
    except torch.AcceleratorError as e:
        print(e.error_code, str(e).splitlines()[0])
    else:
        print("alive")
x = torch.arange(4.0, device="acme:0")
print((x + x).tolist(), torch.empty(2**22, device="acme:0").sum().isnan().item() in (True, False))
torch.acme.synchronize(0)
try:
    torch.empty(2**22, device="acme:1")
except torch.AcceleratorError as e:
    print(e.error_code, str(e).splitlines()[0])
"""


def test_a_lost_device_stays_lost_and_the_others_work(run_python, whole_runtime):
    done = run_python(LOST, check=False, OUTBACK_FAULTS="device_sync:2=device_lost@1")
    assert done.code == 0, done
    alive, second, third, sums, alloc = done.output.splitlines()
    assert alive == "alive"
    assert second.startswith("4 acme: device_sync(device 1): device lost: ")
    assert third.startswith("4 acme: device_sync(device 1): device lost: ")
    assert sums == "[0.0, 2.0, 4.0, 6.0] True"
    assert alloc.startswith("4 acme: ") and "(device 1): device lost: " in alloc


RETRY = """
import torch
import torch_acme
cached = torch.empty(2**20, device="acme")
del cached
reserved = torch.acme.memory_stats()["reserved_bytes.all.current"]
x = torch.empty(2**21, device="acme")
stats = torch.acme.memory_stats()
print(reserved > 0, stats["num_alloc_retries"], stats["num_ooms"],
      stats["reserved_bytes.all.current"] == x.nbytes)
"""


def test_out_of_memory_empties_the_cache_and_tries_again(run_python, whole_runtime):
    done = run_python(RETRY, OUTBACK_FAULTS="mem_alloc:2=out_of_memory")
    assert done.output == "True 1 0 True"


OUT_OF_MEMORY = """
import torch
import torch_acme
kept = torch.empty(2**18, device="acme")
for _ in range(2):
    try:
        torch.empty(2**20, device="acme")
    except torch.OutOfMemoryError as e:
        print(str(e).splitlines()[0])
stats = torch.acme.memory_stats()
print(stats["num_ooms"], stats["allocated_bytes.all.current"] == kept.nbytes)
"""


def test_out_of_memory_says_who_has_it(run_python, whole_runtime):
    done = run_python(OUT_OF_MEMORY, OUTBACK_FAULTS="mem_alloc:2+=out_of_memory")
    first, second, counts = done.output.splitlines()
    for line in (first, second):
        assert line.startswith("acme: out of memory: tried to allocate 4.00 MiB on acme:0")
        assert "This process's tensors hold 1.00 MiB, and its cache was emptied" in line
    assert counts == "2 True"


MALFORMED = """
import torch
try:
    import torch_acme
except Exception as e:
    print(type(e).__name__, str(e).splitlines()[0], sep=" | ")
print(torch.ones(2).sum().item(), torch._C._get_privateuse1_backend_name())
"""


@pytest.mark.parametrize(
    ("variable", "value"),
    [("OUTBACK_FAULTS", "mem_alloc:often=oom"), ("OUTBACK_VALIDATE", "perhaps")],
)
def test_a_malformed_variable_registers_nothing(run_python, variable, value):
    done = run_python(
        MALFORMED, check=False, **{variable: value, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    )
    assert done.code == 0, done
    error, after = done.output.splitlines()
    assert variable in error and value.split(":")[-1].split("=")[0] in error
    assert after == "2.0 privateuseone"


def test_validation_finds_nothing_to_refuse_in_training(run_python):
    done = run_python(
        """
        import torch
        import torch_acme
        model = torch.nn.Linear(8, 4).acme()
        optimizer = torch.optim.Adam(model.parameters())
        stream = torch.acme.Stream()
        for _ in range(3):
            with torch.acme.stream(stream):
                x = torch.randn(16, 8).pin_memory().to("acme", non_blocking=True)
                model(x).square().mean().backward()
            stream.synchronize()
            optimizer.step()
            optimizer.zero_grad()
        print(torch.isfinite(model.weight.cpu()).all().item())
        """,
        check=False,
        OUTBACK_VALIDATE="1",
    )
    assert done.code == 0 and done.output == "True", done
    assert "validation:" not in done.errors, done


def test_a_trace_names_the_calls(run_python, tmp_path):
    run_python(
        "import torch, torch_acme\ntorch.ones(2**20).acme().cpu()",
        OUTBACK_TRACE=str(tmp_path / "calls.txt"),
    )
    text = (tmp_path / "calls.txt").read_text()
    assert "mem_alloc(device=0, size=4194304) = ok (ptr=0x" in text
