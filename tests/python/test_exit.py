"""The interpreter ends with code 0 and without a word, whatever is still alive."""

import pytest

pytestmark = pytest.mark.turns_on_driver

ALIVE = {
    "tensors": "x = torch.ones(1000, device='acme'); y = [x + 1, x.view(10, 100)]",
    "a cycle of tensors": "x = torch.ones(9, device='acme'); x.me = [x]",
    "a graph": "x = torch.ones(9, device='acme', requires_grad=True); y = (x * 2).sum()",
    "gradients": "x = torch.ones(9, device='acme', requires_grad=True); (x * 2).sum().backward()",
    "a module and its optimizer": """
m = torch.nn.Linear(3, 3).acme()
o = torch.optim.Adam(m.parameters())
m(torch.ones(1, 3, device='acme')).sum().backward()
o.step()""",
    "streams": "s = [torch.acme.Stream() for _ in range(40)]; torch.acme.set_stream(s[3])",
    "a stream context": "c = torch.acme.stream(torch.acme.Stream()); c.__enter__()",
    "a device context": "c = torch.acme.device(torch.acme.device_count() - 1); c.__enter__()",
    "recorded events": "e = [torch.acme.Event(True) for _ in range(40)]; [i.record() for i in e]",
    "events without a recording": "e = [torch.acme.Event() for _ in range(4)]",
    "generators": "g = torch.Generator('acme'), torch.acme.default_generators; torch.acme.seed()",
    "pinned memory": "p = torch.ones(1000).pin_memory(); q = p.acme(non_blocking=True)",
    "storages": "s = torch.ones(9, device='acme').untyped_storage()",
    "properties": "p = torch.acme.get_device_properties()",
    "nothing but the import": "",
    "work in the queue": """
x = torch.ones(1 << 20, device='acme')
s = torch.acme.Stream()
with torch.acme.stream(s):
    for _ in range(50):
        y = x.clone(); x.copy_(y, non_blocking=True)
e = s.record_event()""",
    "pinned copies in the queue": """
p = torch.ones(1 << 22).pin_memory()
for _ in range(20):
    q = p.acme(non_blocking=True)
    r = q.to('cpu', non_blocking=True)""",
    "a capsule": "c = torch.ones(3, device='acme').__dlpack__()",
    "what was read from a capsule": "y = torch.from_dlpack(torch.ones(3, device='acme'))",
    "a tensor of a state": """
import io
f = io.BytesIO(); torch.save(torch.ones(3, device='acme'), f); f.seek(0); y = torch.load(f)""",
    "a sparse tensor and a nested one": """
import warnings
warnings.simplefilter('ignore')
s = torch.eye(3, device='acme').to_sparse()
n = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], device='acme')""",
    "a default device": "torch.set_default_device('acme'); x = torch.ones(3)",
    "a script": """
import warnings
warnings.simplefilter('ignore')
m = torch.jit.script(torch.nn.Linear(2, 2).acme()); y = m(torch.ones(1, 2, device='acme'))""",
    "everything, in a cycle": """
class Owner: pass
o = Owner()
o.self, o.x = o, torch.ones(9, device='acme', requires_grad=True)
o.y, o.s, o.e = (o.x * 2).sum(), torch.acme.Stream(), torch.acme.Event()
o.e.record(o.s); o.g = torch.Generator('acme'); o.x.owner = o""",
    "a compiled function": """
f = torch.compile(lambda x: x + 1, backend='eager')
y = f(torch.ones(3, device='acme'))""",
}


@pytest.mark.parametrize("what", ALIVE)
def test_in_globals(run_to_the_end, what):
    run_to_the_end("import torch, torch_acme\n" + ALIVE[what])


def test_of_a_process_that_was_started_for_it(run_interpreter):
    run_interpreter("import torch, torch_acme\n" + "\n".join(ALIVE.values()))


def test_an_exception_is_the_only_thing_said(run_to_the_end):
    run = run_to_the_end(
        "import torch, torch_acme\nx = torch.ones(9, device='acme')\nraise SystemExit(3)",
        check=False,
    )
    assert (run.code, run.errors) == (3, "")


def test_in_a_daemon_thread_that_sleeps(run_to_the_end):
    # One that computes ends in std::terminate with CPU tensors too: Python unwinds it in C++.
    run_to_the_end(
        """
        import threading, time, torch, torch_acme
        ready = threading.Event()
        def work():
            with torch.acme.stream(torch.acme.Stream()):
                x = torch.ones(1 << 12, device='acme') + 1
                ready.set()
                time.sleep(1000)
        threading.Thread(target=work, daemon=True).start()
        ready.wait()
        """
    )


def test_in_a_thread_that_has_ended(run_to_the_end):
    run_to_the_end(
        """
        import threading, torch, torch_acme
        kept = []
        def work():
            with torch.acme.stream(torch.acme.Stream()):
                kept.append(torch.ones(9, device='acme') + 1)
                kept.append(torch.acme.current_stream().record_event())
        thread = threading.Thread(target=work)
        thread.start(); thread.join()
        """
    )


@pytest.mark.parametrize("before", [True, False], ids=["registered first", "registered last"])
def test_in_an_exit_handler(run_interpreter, run_to_the_end, before):
    imports = "import torch, torch_acme"
    handler = """
import atexit
def last():
    import torch
    x = torch.ones(9, device='acme') + 1
    torch.acme.Stream().record_event().synchronize()
    torch.acme.synchronize()
    assert x.sum().item() == 18
atexit.register(last)
"""
    if before:
        run_interpreter(handler + imports)
    else:
        run_to_the_end(f"{imports}\n{handler}")


def test_in_a_destructor_at_the_very_end(run_to_the_end):
    run_to_the_end(
        """
        import torch, torch_acme
        class Last:
            def __init__(self):
                self.x = torch.ones(9, device='acme')
                self.event = torch.acme.Event()
            def __del__(self):
                self.event.record()
                self.x.add_(1)
        import builtins
        builtins.last = Last()
        """
    )


def test_while_autograd_threads_sleep(run_to_the_end):
    run_to_the_end(
        """
        import torch, torch_acme
        for device in range(torch.acme.device_count()):
            x = torch.ones(9, device=f'acme:{device}', requires_grad=True)
            x.sum().backward()
        """
    )


def test_right_after_a_backward(run_to_the_end):
    # The thread that finished the backward may still hold a Python object.
    for _ in range(10):
        run_to_the_end(
            """
            import torch, torch_acme
            x = torch.ones(9, device='acme', requires_grad=True)
            (x * 2).sum().backward()
            """
        )


def test_from_another_thread_than_the_first(run_to_the_end):
    run_to_the_end(
        """
        import os, threading, torch, torch_acme
        x = torch.ones(9, device='acme')
        thread = threading.Thread(target=lambda: x.add_(1))
        thread.start(); thread.join()
        import sys; sys.exit(0)
        """
    )
