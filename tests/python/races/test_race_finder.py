"""torch.acme._sanitizer finds the races of small programs, and none in right ones."""

import os
import threading
import warnings

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from .racy_programs import PROGRAMS, kept, ones

pytestmark = pytest.mark.any_runtime
sanitizer = torch.acme._sanitizer


@pytest.fixture
def watch():
    """Begins, and ends after the test. The variable may have begun before."""
    sanitizer.disable()
    yield sanitizer.enable
    sanitizer.disable()
    kept.clear()
    if os.environ.get("OUTBACK_SANITIZER"):
        sanitizer.enable()


@pytest.fixture(autouse=True)
def streams_are_real(real_streams) -> None:
    """Without streams there is nothing to order."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_race_is_found(name, watch, two_devices):
    program, kind = PROGRAMS[name]
    watch()
    with pytest.raises(sanitizer.RaceError) as caught:
        program(right=False)
    assert caught.value.kind == kind
    # Both operators' places. In a backward pass in a thread of autograd's there is none.
    places = str(caught.value).count("racy_programs.py")
    assert places + str(caught.value).count("in a backward pass, for") >= 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_race_is_found_in_a_right_program(name, watch, two_devices):
    program, _ = PROGRAMS[name]
    watch()
    for _ in range(3):  # the memory of the rounds before is handed out again
        program(right=True)
        torch.acme.synchronize()
        torch.acme.synchronize(1)
        kept.clear()


def test_a_race_is_told_with_both_operators(watch):
    watch()
    x = ones(4, 2)
    side = torch.acme.Stream()
    with torch.acme.stream(side), pytest.raises(sanitizer.RaceError) as caught:
        x.t().mul_(2)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("acme: two operators use the same memory")
    on = f"on stream {side.stream_id} of acme:0"
    assert lines[1] == f"  aten::mul_ {on}, which writes `self` (float32[2, 4] on acme:0)"
    assert "x.t().mul_(2)" in "\n".join(lines[2 : lines.index("The earlier one:")])
    after = lines[lines.index("The earlier one:") + 1]
    assert after.startswith("  aten::ones on stream 0 of acme:0, which writes its result")
    assert x.tolist() == [[1, 1]] * 4  # the later one has not run


def test_an_operator_that_raised_has_used_nothing(watch):
    watch()
    x = ones(4)
    torch.acme.synchronize()
    with (
        torch.acme.stream(torch.acme.Stream()),
        pytest.raises(RuntimeError, match="must be a matrix"),
    ):
        torch.mm(x, x)
    x.add_(1)
    assert x.tolist() == [2, 2, 2, 2]


def test_a_race_may_only_warn(watch):
    watch(on_race="warn")
    x = ones(4)
    with torch.acme.stream(torch.acme.Stream()):
        with pytest.warns(sanitizer.RaceWarning, match="two operators use the same memory"):
            x.add_(1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            x.add_(1)  # behind the one that was told of
    torch.acme.synchronize()
    assert x.tolist() == [3, 3, 3, 3]


def test_a_backward_pass_is_watched(watch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(context, x, factor):
            context.save_for_backward(factor)
            return x * factor

        @staticmethod
        def backward(context, gradient):
            (factor,) = context.saved_tensors
            return gradient * factor, None

    watch()
    x, factor = ones(4).requires_grad_(), ones(4)
    loss = Scale.apply(x, factor).sum()
    with torch.acme.stream(torch.acme.Stream()):
        torch.acme.current_stream().wait_stream(torch.acme.default_stream())
        factor.data.zero_()
    with pytest.raises(sanitizer.RaceError, match="in a backward pass, for ScaleBackward"):
        loss.backward()


def test_what_is_asked_wrongly_is_refused(watch):
    with pytest.raises(ValueError, match='on_race must be "raise" or "warn", not \'no\''):
        watch(on_race="no")
    watch()
    with pytest.raises(RuntimeError, match="enabled already: call disable"):
        watch()
    sanitizer.disable()
    sanitizer.disable()
    with torch.acme.stream(torch.acme.Stream()):
        ones(4)
    watch()  # knows nothing of before


def test_other_kinds_of_tensors_are_left_alone(watch):
    watch()
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]).to("acme")
    sparse = torch.eye(3).to_sparse().to("acme")
    assert (nested + 1).unbind()[1].tolist() == [2, 2, 2]
    assert (sparse * 2).to_dense().diagonal().tolist() == [2, 2, 2]


def test_what_came_before_is_not_known(watch):
    x = ones(4)
    ready = torch.acme.Event()
    ready.record()
    watch()
    side = torch.acme.Stream()
    side.wait_event(ready)
    with torch.acme.stream(side):
        x.add_(1)


def test_operators_are_forgotten(watch, monkeypatch):
    """What later ones cannot race with is not kept."""
    part = torch.acme._outback.sanitizer
    monkeypatch.setattr(part, "_REMEMBERED", 50)
    watch()
    x = ones(4)
    ((active, _),) = part._active
    for _ in range(400):
        x.add_(1)
    assert len(active._operators) < 120


def test_fake_tensors_are_left_alone(watch):
    watch()
    with FakeTensorMode():
        x = torch.ones(4, device="acme")
        with torch.acme.stream(torch.acme.Stream()):
            assert (x + 1).shape == (4,)


def race() -> None:
    x = ones(4)
    with torch.acme.stream(torch.acme.Stream()):
        x.add_(1)


def test_a_warning_is_about_the_programs_line(watch):
    watch(on_race="warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        race()
        x = ones(4)
        with torch.acme.stream(torch.acme.Stream()):
            torch.nn.functional.relu(x, inplace=True)
    first = race.__code__.co_firstlineno
    here = test_a_warning_is_about_the_programs_line.__code__.co_firstlineno
    assert [(each.filename, each.lineno) for each in caught] == [
        *((__file__, first + 3), (__file__, here + 7))
    ]


def test_a_module_whose_name_begins_as_torchs_is_the_programs(watch):
    file = f"{torch.__path__[0]}vision/models.py"
    made = {}
    exec(compile("def use(x):\n    return x.add_(1)", file, "exec"), made)
    watch()
    x = ones(4)
    with torch.acme.stream(torch.acme.Stream()), pytest.raises(sanitizer.RaceError, match=file):
        made["use"](x)


def test_only_the_thread_that_began_ends_it(watch):
    watch()
    refused = []

    def work() -> None:
        try:
            sanitizer.disable()
        except RuntimeError as error:
            refused.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert refused == [
        "torch.acme._sanitizer was enabled on the thread 'MainThread': call disable() on it"
    ]
    with pytest.raises(sanitizer.RaceError):
        race()
    sanitizer.disable()
    race()


def test_a_thread_that_is_gone_leaves_nothing_behind(watch):
    sanitizer.disable()
    thread = threading.Thread(target=watch)
    thread.start()
    thread.join()
    sanitizer.disable()
    watch()
    with pytest.raises(sanitizer.RaceError):
        race()


def test_it_ends_within_a_mode_that_began_later(watch):
    seen = []

    class Seeing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    watch()
    with Seeing():
        sanitizer.disable()
        race()
    assert len(seen) == 2
    race()
    assert len(seen) == 2


def test_a_variable_begins_it(run_python):
    done = run_python(
        """
        import torch
        x = torch.ones(4, device="acme")
        with torch.acme.stream(torch.acme.Stream()):
            x.add_(1)
        """,
        check=False,
        OUTBACK_SANITIZER="1",
    )
    assert done.code == 1
    assert "RaceError: acme: two operators use the same memory" in done.errors


def test_a_model_trains_on_two_streams(watch):
    """What people do, without an alarm: the next batch is copied while this one is computed."""
    watch()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    model.to("acme")
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    copies = torch.acme.Stream()

    def fetched():
        with torch.acme.stream(copies):
            batch = torch.randn(8, 16).pin_memory()
            return batch.to("acme", non_blocking=True)

    batch = fetched()
    for _ in range(20):
        torch.acme.current_stream().wait_stream(copies)
        batch.record_stream(torch.acme.current_stream())
        following = fetched()
        optimizer.zero_grad()
        with torch.autocast("acme", torch.bfloat16):
            loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        batch = following
    assert loss.item() < 1
