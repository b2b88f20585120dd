"""What fails below arrives above: the right exception, with the call, the device and the size."""

from pathlib import Path

import pytest
import torch
import torch_acme

pytestmark = pytest.mark.turns_on_memory

# What a driver does not do, by the folder of its backend, and which function asks for it: CUDA
# opens no handle of the process's own, and the Level Zero of the tests has no sensors.
NOT_DONE = {
    "python_cuda": {"ipc.open_event": "from_ipc_handle"},
    "python_level_zero": {
        "telemetry.read": "utilization",
        "telemetry.processes": "list_gpu_processes",
    },
}.get(Path(torch_acme.__file__).parents[1].name, {})

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
    ("streams.priorities:1@0", "torch.acme.Stream.priority_range()", "device 0"),
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
    ("callbacks.enqueue:1", "torch.acme._sleep(1)", "device 0"),
    ("native.stream:1", "s.native_handle", "device 0"),
    ("native.event:1", "e.native_handle", "device 0"),
    ("native.wrap_stream:1", "torch.acme.ExternalStream(s.native_handle)", "device 0"),
    ("peer.can_access:1", "torch.acme.can_device_access_peer(0, 1)", "device 0"),
    ("ipc.get_event:1", "i = torch.acme.Event(interprocess=True); h = i.ipc_handle()", "device 0"),
    ("ipc.open_event:1", "torch.acme.Event.from_ipc_handle(1, h)", "device 1"),
    ("telemetry.read:1", "torch.acme.utilization(1)", "device 1"),
    ("telemetry.processes:1", "torch.acme.list_gpu_processes(1)", "device 1"),
    ("device_state.select:1@1", "torch.acme.set_device(1)", "device 1"),
]

# A torch with CUDA's kernels asks every device at the start whether they are its kernels too.
ASKS_AT_START = torch.acme._outback._native.may_have_twins()
if ASKS_AT_START:
    CALLS = [each for each in CALLS if each[0] != "device_info:1@1"]

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
        again = lines.pop(0)
        assert again == "done" or call.partition(":")[0] in NOT_DONE, (statement, again)


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
        assert line.startswith("acme: out of memory. Tried to allocate 4.00 MiB on acme:0")
        assert "This process's tensors hold 1.00 MiB, and its cache was emptied" in line
    assert counts == "2 True"


# ---- Every slot below every call

# Python calls of all kinds, each of which may be repeated. Names that one makes, the next ones use.
PROGRAM = """
for d in 0, 1: torch.ones(1, device=f"acme:{d}", requires_grad=True).sum().backward()
x = torch.arange(4096.0, device="acme"); torch.acme.synchronize()
y = torch.ones(64, 64, device="acme:1")
pinned = torch.ones(4096).pin_memory()
assert torch.empty(4096, pin_memory=True).shape == (4096,)
x.copy_(pinned, non_blocking=True)
host = x.to("cpu", non_blocking=True); torch.acme.synchronize()
assert torch.equal(x.to("acme:1").cpu(), x.cpu())
x.fill_(2.0); x.zero_()
torch.zeros(1 << 18, device="acme").add_(1).sum().item()
s = torch.acme.Stream(); t = torch.acme.Stream(device="acme:1", priority=-1)
s.query(); s.synchronize(); torch.acme.Stream.priority_range()
with torch.acme.stream(s): torch.acme._sleep(1000)
e = torch.acme.Event(enable_timing=True); f = torch.acme.Event(enable_timing=True)
e.record(s); f.record(s)
s.wait_event(e); s.wait_stream(torch.acme.current_stream())
e.query(); e.synchronize(); f.synchronize(); e.elapsed_time(f)
with torch.acme.stream(s): z = x.clone()
z.record_stream(torch.acme.current_stream())
torch.acme.synchronize(); torch.acme.synchronize(1)
torch.accelerator.synchronize()
torch.acme.set_device(1); torch.acme.set_device(0)
with torch.acme.device(1): assert torch.ones(3, device="acme").sum().item() == 3
torch.acme.get_device_properties(1)
torch.acme.mem_get_info(0); torch.acme.empty_cache()
torch.manual_seed(3); torch.rand(100, device="acme"); torch.acme.get_rng_state()
x.untyped_storage().resize_(8192 * 4); x.resize_(8192)
file = io.BytesIO(); torch.save({"x": x, "y": y}, file); file.seek(0); torch.load(file)
pickle.loads(pickle.dumps(y))
torch.from_dlpack(y).add_(0)
copy.deepcopy(torch.nn.Linear(4, 4).acme())
module = torch.nn.Linear(64, 64).acme(1); module(y).sum().backward()
torch.optim.Adam(module.parameters()).step()
with torch.autocast("acme", torch.bfloat16): module(y)
torch.utils.checkpoint.checkpoint(module, y, use_reentrant=False).sum().backward()
torch.compile(lambda v: v + 1, backend="eager")(y)
assert y.tolist()[0][0] == 1.0
repr(y); str(x[:3])
torch.acme.can_device_access_peer(0, 1); s.native_handle; e.native_handle
shared = torch.acme.Event(interprocess=True); shared.record()
handle = shared.ipc_handle()
torch.acme.Event.from_ipc_handle("acme:0", handle).query()
torch.acme.utilization(); torch.acme.utilization(1); torch.acme.device_memory_used()
torch.acme.list_gpu_processes()
torch.acme.ExternalStream(torch.acme.Stream().native_handle).synchronize()
y.to_sparse().to_dense(); y.is_pinned(); pinned.is_pinned()
torch.cat([y, y]).sum(0).cpu(); y.numpy(force=True)
"""

EVERY_CALL = """
import collections, copy, io, pickle, re, sys, warnings
import torch
import torch.utils.checkpoint
import torch_acme

warnings.simplefilter("ignore")
program, slots = sys.argv[1].strip().splitlines(), sys.argv[2].split()
attempts = 12 * max(1, len(slots))
failures, wrong = collections.Counter(), []
for statement in program:
    text = ""
    for _ in range(attempts):
        try:
            exec(statement, globals())
            break
        except (torch.AcceleratorError, RuntimeError) as error:
            text = str(error)
            code = getattr(error, "error_code", None)
            named = re.search(r"acme: ([a-z_.]+)\\(", text)
            if named is None or named[1] not in slots or "internal error" not in text:
                wrong.append((statement, type(error).__name__, text.splitlines()[0]))
            elif code != 6 and not isinstance(error, torch.AcceleratorError):
                wrong.append((statement, type(error).__name__, "has no error_code"))
            else:
                failures[named[1]] += 1
        except Exception as error:
            wrong.append((statement, type(error).__name__, str(error)[:200]))
    else:
        wrong.append((statement, "never succeeded", text[:200]))
        break

# The process is whole: the state is what it was, and the devices compute.
for _ in range(attempts):
    try:
        torch.acme.set_device(0)
        assert torch.acme.current_stream() == torch.acme.default_stream(), "stream"
        for device in ("acme:0", "acme:1"):
            result = (torch.arange(1000.0).to(device) * 2).sum().item()
            assert result == 999000, result
        torch.acme.synchronize()
        break
    except torch.AcceleratorError:
        pass
else:
    wrong.append(("at the end", "never computed", ""))
print(*sorted(failures))
for each in wrong:
    print(*each, sep=" | ")
"""


# Single calls of a slot fail, ever further apart, so that what is tried again succeeds.
# device_state.select not before autograd's threads have selected their devices, at the first
# backward: torch ends the process where that fails (Engine::thread_init has no handler for it).
def now_and_then(slot: str) -> str:
    first = 25 if slot == "device_state.select" else 0
    calls = [k * (k + 1) // 2 for k in range(1, 13)] + [k**3 for k in range(5, 40)]
    return ";".join(f"{slot}:{first + call}=internal" for call in calls)


# Those of one line fail in one process, which costs a tenth of a process for each.
RAISING = [
    "mem_alloc mem_copy mem_fill device_sync host_memory.alloc host_memory.info",
    "streams.create streams.query streams.sync streams.priorities device_state.memory_usage",
    "events.create events.record events.wait events.query events.sync events.elapsed",
    "device_state.select peer.can_access native.stream native.event native.wrap_stream",
    "device_info callbacks.enqueue ipc.get_event ipc.open_event telemetry.read telemetry.processes",
]
GIVING_BACK = "mem_free streams.destroy events.destroy host_memory.free"


@pytest.fixture
def run_program(run_python, tmp_path):
    """Runs PROGRAM while calls of these slots fail. Answers those that raised something."""

    def run(slots: str) -> list[str]:
        (tmp_path / "program.py").write_text(EVERY_CALL)
        lines = PROGRAM.strip().splitlines()
        program = [line for line in lines if not any(it in line for it in NOT_DONE.values())]
        done = run_python(
            f"""
            import runpy, sys
            sys.argv = ["program.py", {chr(10).join(program)!r}, {slots!r}]
            runpy.run_path({str(tmp_path / "program.py")!r}, run_name="__main__")
            """,
            check=False,
            imports="import torch, torch._dynamo.backends.common",  # half of the time, in each
            OUTBACK_FAULTS=";".join(map(now_and_then, slots.split())),
        )
        assert done.code == 0, done
        failed, *wrong = done.output.splitlines() or [""]
        assert wrong == [], done
        return failed.split()

    return run


@pytest.mark.parametrize("slots", RAISING)
def test_every_call_below_every_function(run_program, whole_runtime, slots):
    hidden = {*NOT_DONE, "device_info"} if ASKS_AT_START else NOT_DONE
    made = sorted(slot for slot in slots.split() if slot not in hidden)
    assert run_program(slots) == made, "no function of the program made the others"


def test_what_fails_while_something_is_given_back_ends_nothing(run_program, whole_runtime):
    run_program(GIVING_BACK)


def test_nothing_fails_by_itself(run_program, whole_runtime):
    assert run_program("") == []


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


# The end of the process is the driver's too: the caches are given back to it there.
@pytest.mark.turns_on_driver
def test_validation_finds_nothing_to_refuse_in_training(run_python):
    done = run_python(
        """
        import torch
        import torch_acme
        model = torch.nn.Linear(8, 4).acme()
        optimizer = torch.optim.Adam(model.parameters())
        stream = torch.acme.Stream()
        for _ in range(3):
            stream.wait_stream(torch.acme.current_stream())  # it reads the gradients until then
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
    assert not done.errors, done  # what the allocators keep is no leak


@pytest.mark.turns_on_driver
def test_validation_tells_what_the_program_forgot(run_python):
    done = run_python(
        """
        import ctypes
        import torch
        import torch_acme
        forgotten = torch.ones(2**20, device="acme")
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(forgotten))
        """,
        check=False,
        OUTBACK_VALIDATE="1",
    )
    assert done.code == 0, done
    lines = done.errors.splitlines()
    assert lines[0] == "outback: never freed or destroyed:", done
    assert lines[1].startswith("  1 allocation of memory of device 0, "), done
    assert len(lines) == 3, done


def test_a_trace_names_the_calls(run_python, tmp_path):
    run_python(
        "import torch, torch_acme\ntorch.ones(2**20).acme().cpu()",
        OUTBACK_TRACE=str(tmp_path / "calls.txt"),
    )
    text = (tmp_path / "calls.txt").read_text()
    assert "mem_alloc(device=0, size=4194304) = ok (ptr=0x" in text


def test_without_pinned_memory_operators_go_through_pageable_memory(run_python, whole_runtime):
    done = run_python(
        """
        import torch
        import torch_acme
        x = torch.ones(1000, device="acme")
        print(x.add(1).sum().item(), x[0].item())
        try:
            torch.ones(3).pin_memory()
        except torch.OutOfMemoryError:
            print("refused")
        """,
        OUTBACK_FAULTS="host_memory.alloc:1+=out_of_memory",
        PYTHONWARNINGS="ignore",
    )
    assert done.output.splitlines() == ["2000.0 1.0", "refused"]


BETWEEN_DEVICES = """
import torch
import torch_acme
x = torch.full((100,), 32.0, device="acme:0")
freed = torch.zeros(100, device="acme:1")
torch.acme.synchronize(1)
del freed
torch.acme.synchronize(0)
torch.acme._sleep(300_000_000)
try:
    x.to("acme:1", non_blocking=True)
except (RuntimeError, torch.OutOfMemoryError) as error:
    print(type(error).__name__)
z = torch.full((100,), 1.0, device="acme:1")  # where the copy was to go
torch.acme.synchronize(0)
print(z.unique().tolist())
"""


@pytest.mark.parametrize("fault", ["events.record:1=internal", "events.create:1=out_of_memory"])
def test_a_copy_whose_event_fails_writes_to_nobody_else(run_python, two_devices, fault):
    done = run_python(BETWEEN_DEVICES, OUTBACK_FAULTS=fault)
    error, values = done.output.splitlines()
    assert error in ("AcceleratorError", "OutOfMemoryError")
    assert values == "[1.0]"
