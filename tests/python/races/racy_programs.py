"""Small programs on two streams, each in two versions: with a race, and right though it looks
alike. A program gets `right`, by which the two differ.
"""

from collections.abc import Callable

import torch

acme = torch.acme
PROGRAMS: dict[str, tuple[Callable[[bool], None], str]] = {}


def program(kind: str = "streams") -> Callable:
    """Adds the decorated function to PROGRAMS. `kind` is that of the RaceError."""

    def add(function: Callable[[bool], None]) -> Callable[[bool], None]:
        PROGRAMS[function.__name__] = (function, kind)
        return function

    return add


class Renamed(torch.Tensor):
    """Adds nothing to a tensor."""


class Wrapped(torch.Tensor):
    """Holds another tensor, on which it does what it is asked for, as DTensor does."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        inner = [each.inner if isinstance(each, cls) else each for each in args]
        return cls(func(*inner, **(kwargs or {})))


kept: list[torch.Tensor] = []  # until the streams are done with it


def ones(*size: int) -> torch.Tensor:
    made = torch.ones(size, device="acme")
    kept.append(made)
    return made


def side_stream() -> torch.Stream:
    """A stream behind all work of the current one."""
    made = acme.Stream()
    made.wait_stream(acme.current_stream())
    return made


@program()
def read_of_what_is_written(right):
    side = acme.Stream()
    x = ones(8)
    if right:
        side.wait_stream(acme.current_stream())
    with acme.stream(side):
        x + 1


@program()
def write_of_what_is_read(right):
    x = ones(8)
    side = side_stream()
    with acme.stream(side):
        x + 1
    if right:
        acme.current_stream().wait_stream(side)
    x.zero_()


@program()
def reads_at_once_and_a_write(right):
    x = ones(8)
    side = side_stream()
    with acme.stream(side):
        x + 1
        if not right:
            x.zero_()
    x + 2


@program()
def event_recorded_too_early(right):
    side = acme.Stream()
    ready = acme.Event()
    x = ones(8)
    if not right:
        ready.record()
    x.add_(1)
    if right:
        ready.record()
    side.wait_event(ready)
    with acme.stream(side):
        x * 2


@program()
def event_of_another_stream(right):
    side, other = acme.Stream(), acme.Stream()
    x = ones(8)
    ready = acme.Event()
    ready.record(acme.current_stream() if right else other)
    side.wait_event(ready)
    with acme.stream(side):
        x * 2


@program()
def wait_in_the_wrong_direction(right):
    x = ones(8)
    side = side_stream()
    with acme.stream(side):
        y = x * 2
    if right:
        acme.current_stream().wait_stream(side)
    else:
        side.wait_stream(acme.current_stream())
    kept.append(y)
    y + 1


@program()
def two_parts_of_a_matrix(right):
    x = ones(6, 6)
    side = side_stream()
    with acme.stream(side):
        x[:, :3].add_(1)
    x[:, 3:].add_(1) if right else x[:, 2:].add_(1)


@program()
def two_rows_by_view(right):
    x = ones(6, 6)
    side = side_stream()
    with acme.stream(side):
        x.t()[:, 2].zero_()
    x.view(36)[:12].zero_() if right else x.view(36)[:13].zero_()


@program()
def waits_that_add_up(right):
    first, second = acme.Stream(), acme.Stream()
    x = ones(8)
    first.wait_stream(acme.current_stream())
    with acme.stream(first):
        y = x * 2
    kept.append(y)
    if right:
        second.wait_stream(first)
    else:
        second.wait_stream(acme.current_stream())
    with acme.stream(second):
        x + y


@program()
def result_given_by_the_caller(right):
    x, out = ones(8), ones(8)
    side = side_stream()
    with acme.stream(side):
        torch.mul(x, 2, out=out)
    if right:
        side.synchronize()
    out.sum()


@program()
def lists_of_tensors(right):
    parameters = [ones(4) for _ in range(3)]
    side = side_stream()
    with acme.stream(side):
        torch._foreach_add_(parameters, 1)
    if right:
        acme.synchronize()
    torch._foreach_mul_([ones(2), parameters[2]], 2)


@program()
def gradients_on_another_stream(right):
    weight = ones(4, 4).requires_grad_()
    side = acme.Stream()
    weight.sum().backward()
    kept.append(weight)
    if right:
        side.wait_stream(acme.current_stream())
    with acme.stream(side), torch.no_grad():
        weight.grad.add_(1)


@program("freed")
def memory_that_goes_too_early(right):
    x = torch.ones(1 << 12, device="acme")
    side = side_stream()
    with acme.stream(side):
        y = x * 2
        if right:
            x.record_stream(side)
    del x
    torch.ones(1 << 12, device="acme")
    kept.append(y)


@program("freed")
def memory_that_goes_before_a_wait(right):
    x = torch.ones(1 << 12, device="acme")
    side = side_stream()
    with acme.stream(side):
        y = x * 2
    del x
    if right:
        acme.current_stream().wait_stream(side)
    torch.ones(1 << 12, device="acme")
    kept.append(y)


@program("freed")
def memory_that_goes_while_others_get_some(right):
    """The memory is its own stream's, which waits before it is given any."""
    side = side_stream()
    with acme.stream(side):
        x = torch.ones(1 << 12, device="acme")
    acme.current_stream().wait_stream(side)
    kept.append(x * 2)
    del x
    torch.ones(1 << 12, device="acme")
    if right:
        side.wait_stream(acme.current_stream())
    with acme.stream(side):
        torch.ones(1 << 12, device="acme")


@program("host")
def pinned_source_overwritten(right):
    source = torch.ones(8).pin_memory()
    x = source.to("acme", non_blocking=True)
    if right:
        copied = acme.Event()
        copied.record()
        copied.synchronize()
    source.zero_()
    kept.append(x)


@program("host")
def pinned_result_read(right):
    target = torch.empty(8).pin_memory()
    target.copy_(ones(8), non_blocking=True)
    if right:
        acme.current_stream().synchronize()
    target.sum()


@program()
def pinned_buffer_of_two_copies(right):
    buffer = torch.empty(8).pin_memory()
    x, y = ones(8), ones(8)
    side = side_stream()
    buffer.copy_(x, non_blocking=True)
    if right:
        side.wait_stream(acme.current_stream())
    with acme.stream(side):
        y.copy_(buffer, non_blocking=True)


@program()
def copy_between_devices(right):
    x = ones(8)
    there = x.to("acme:1")
    kept.append(there)
    there.add_(1)  # its own device's stream waits for the copy
    side = acme.Stream("acme:1")
    if right:
        side.wait_stream(acme.current_stream("acme:1"))
    with acme.stream(side):
        there.mul_(2)


@program()
def copy_that_blocks(right):
    x = ones(8)
    side = acme.Stream()
    x.cpu() if right else x.sum()
    with acme.stream(side):
        x.add_(1)


@program()
def class_of_the_programs(right):
    x = ones(8).as_subclass(Renamed)
    with acme.stream(side_stream() if right else acme.Stream()):
        x + 1


@program()
def tensor_within_a_tensor(right):
    x = Wrapped(ones(8))
    with acme.stream(side_stream() if right else acme.Stream()):
        x + 1


@program()
def statistics_of_a_batch(right):
    layer = torch.nn.BatchNorm1d(4).to("acme")
    x, side = ones(3, 4), side_stream()
    layer.train(not right)(x)
    with acme.stream(side):
        layer.running_mean.add(1)
