"""Work that fails after it was enqueued: every way in which PyTorch meets that, and
OUTBACK_LAUNCH_BLOCKING, which names the operator. The host runtime lets work fail."""

import textwrap
from pathlib import Path

import pytest
import torch_acme

pytestmark = pytest.mark.turns_on_memory

if Path(torch_acme.__file__).parents[1].name not in ("python", "python_protected"):
    pytest.skip("only the host runtime lets work fail late", allow_module_level=True)

# `copied` is the first work that a stream of the process runs: OUTBACK_HOST_FAIL_WORK=1 fails it.
PRELUDE = """
import torch, torch_acme
acme = torch.acme
HINT = "An operator that ran earlier may be the cause: OUTBACK_LAUNCH_BLOCKING=1"

def failure(call):
    try:
        call()
    except torch.AcceleratorError as error:
        assert error.error_code == 6 and "piece of work number 1, " in str(error), error
        return str(error)

def late(call):
    text = failure(call)
    assert text is not None, "nothing was raised"
    assert HINT in text, text
    return text

def copied(to=None):
    pinned = torch.ones(4).pin_memory()
    if to is None:
        return pinned.to("acme", non_blocking=True)
    return to.copy_(pinned, non_blocking=True)

def poll(query):
    while not query():
        pass

def works():
    x = torch.ones(4).acme()
    assert (x + x).sum().item() == 8
    acme.synchronize()
"""

# After the copy to `x` has failed. Each of them raises the error.
WAYS = {
    "the device": "late(acme.synchronize)",
    "the accelerator": "late(torch.accelerator.synchronize)",
    "the stream": "late(acme.current_stream().synchronize)",
    "a query of the stream": "late(lambda: poll(acme.current_stream().query))",
    "an event": "e = acme.Event(); e.record(); late(e.synchronize)",
    "a query of an event": "e = acme.Event(); e.record(); late(lambda: poll(e.query))",
    "an event, and not a stream that waits for it": """
        other, e = acme.Stream(), acme.Event()
        e.record()
        other.wait_event(e)
        other.synchronize()
        late(e.synchronize)""",
    "item": "late(x[0].item)",
    "cpu": "late(x.cpu)",
    "printing": "late(lambda: repr(x))",
    "an operator": "late(lambda: x * 2)",
    "an operator that writes": "late(lambda: x.add_(1))",
    "a copy to the host": "late(lambda: torch.empty(4).copy_(x))",
    "saving": "import io; late(lambda: torch.save(x, io.BytesIO()))",
    "emptying the cache": """
        torch.empty(1 << 20, device="acme")
        late(acme.empty_cache)""",
    "a pass backward": """
        y = x.detach().requires_grad_()
        z = y.expand(2, 4)
        late(lambda: z.backward(torch.empty(2, 4, device="acme")))""",
    "the end of memory that a stream uses": """
        here = acme.current_stream()
        with acme.stream(acme.Stream()):
            used = torch.empty(1 << 20, device="acme")
            used.record_stream(here)
            del used
            late(lambda: poll(lambda: torch.empty(1 << 20, device="acme") is None))""",
}


@pytest.mark.parametrize("seed", ["0", "7"], ids=["prompt", "adversarial"])
@pytest.mark.parametrize("way", WAYS)
def test_who_waits_is_told_once(run_python, way, seed):
    program = f"{PRELUDE}\nx = copied()\n{textwrap.dedent(WAYS[way])}\nworks()\n"
    run_python(program, OUTBACK_HOST_FAIL_WORK="1", OUTBACK_HOST_ADVERSARIAL=seed)


# Where nothing can be raised, or torch would lose something by it: the next wait raises the error.
KEPT = {
    "the end of pinned memory": """
        size = lambda: acme.host_memory_stats()["allocated_bytes.current"]
        copied(torch.empty(4, device="acme"))
        before = size()
        for _ in range(20):
            torch.empty(4, pin_memory=True)
        late(acme.synchronize)
        for _ in range(20):
            torch.empty(4, pin_memory=True)
        assert size() <= before + 64, (before, size())""",
    "a profile, which asks what is over": """
        from torch.profiler import ProfilerActivity, profile
        def profiled():
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]):
                for _ in range(3000):
                    copied()
                late(acme.synchronize)
        profiled()""",
    "the replay of a graph": """
        pinned, y = torch.ones(4).pin_memory(), torch.empty(4, device="acme")
        graph = acme.CUDAGraph()
        with acme.graph(graph):
            y.copy_(pinned, non_blocking=True)
        graph.replay()
        assert "a launch of a graph" in late(acme.synchronize)
        graph.replay()
        acme.synchronize()
        assert y.sum().item() == 4""",
    "a loader that pins": """
        from torch.utils.data import DataLoader
        loader = DataLoader(torch.arange(64.0), batch_size=8, pin_memory=True)
        def epoch():
            return sum(each.to("acme", non_blocking=True).sum().item() for each in loader)
        late(epoch)
        assert epoch() == 64 * 63 / 2""",
    "a thread": """
        import threading
        seen = []
        def run():
            copied()
            seen.append(late(acme.synchronize))
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert len(seen) == 1""",
}


@pytest.mark.parametrize("seed", ["0", "7"], ids=["prompt", "adversarial"])
@pytest.mark.parametrize("what", KEPT)
def test_nothing_is_lost(run_python, what, seed):
    program = f"{PRELUDE}\n{textwrap.dedent(KEPT[what])}\nworks()\n"
    done = run_python(
        program, check=False, OUTBACK_HOST_FAIL_WORK="1", OUTBACK_HOST_ADVERSARIAL=seed
    )
    assert done.code == 0, done  # a profile warns of work that has no time


def test_a_process_ends_with_work_that_failed(run_to_the_end):
    run_to_the_end(f"{PRELUDE}\nx = copied()", OUTBACK_HOST_FAIL_WORK="1")


# ---- OUTBACK_LAUNCH_BLOCKING


def blocking(run_python, program, **environment):
    source = f"{PRELUDE}\n{textwrap.dedent(program)}\nworks()\n"
    return run_python(source, OUTBACK_LAUNCH_BLOCKING="1", **environment)


@pytest.mark.parametrize("seed", ["0", "7"], ids=["prompt", "adversarial"])
def test_the_operator_itself_raises(run_python, seed):
    program = """
        text = failure(copied)
        assert "a copy to the device" in text and "OUTBACK_LAUNCH_BLOCKING" not in text, text
        assert "in aten::copy_ on acme:0" in text or "in aten::_to_copy on acme:0" in text, text"""
    blocking(run_python, program, OUTBACK_HOST_FAIL_WORK="1", OUTBACK_HOST_ADVERSARIAL=seed)


def test_a_kernel_of_the_vendor_is_named(run_python):
    # The scaffold's kernel for zero_ has returned when the wait tells of the failure, so the sum
    # raises it. Outback's own zero_ raises it itself.
    program = """
        text = failure(lambda: torch.empty(4, device="acme").zero_() + 1)
        assert text is not None and "in aten::zero_ on acme:0" in text, text"""
    blocking(run_python, program, OUTBACK_HOST_FAIL_WORK="1")


@pytest.mark.parametrize("kernels", [1, 2, 3])
def test_kernels_that_follow_lose_no_failure(run_python, kernels):
    """The first one's failure is kept, and told once, by the next operator that can raise."""
    program = f"""
        def runs():
            for _ in range({kernels}):
                x = torch.empty(4, device="acme").zero_()
            return (x + 1).tolist()
        text = failure(runs)
        assert text is not None and text.count("in aten::") == 1, text
        assert text.count("work has failed") <= 1, text"""
    blocking(run_python, program, OUTBACK_HOST_FAIL_WORK="1")


def test_a_replay_raises(run_python):
    program = """
        pinned, y = torch.ones(4).pin_memory(), torch.empty(4, device="acme")
        graph = acme.CUDAGraph()
        with acme.graph(graph):  # does not wait for what it captures
            y.copy_(pinned, non_blocking=True)
        assert "a launch of a graph" in failure(graph.replay)"""
    blocking(run_python, program, OUTBACK_HOST_FAIL_WORK="1")


def test_each_operator_waits(run_python):
    program = """
        x, pinned = torch.empty(1 << 22, device="acme"), torch.ones(1 << 22).pin_memory()
        x.copy_(pinned, non_blocking=True)
        assert acme.current_stream().query()"""
    blocking(run_python, program, OUTBACK_HOST_ADVERSARIAL="7")
