"""torch.acme.compile_kernel: kernels in the driver's own language, on tensors and numbers."""

import ctypes
import gc
from pathlib import Path

import numpy as np
import pytest
import torch
import torch_acme
from conftest import BUILD
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.two_tensor import TwoTensor

pytestmark = [pytest.mark.turns_on_memory, pytest.mark.turns_on_groups]

CODE = BUILD / "tests/liboutback_runtime_suite_host_kernels.so"  # of tests/runtime/suite/kernels

# In the build tree, by the runtime: to ask would start the device while tests are collected.
HAS_KERNELS = Path(torch_acme.__file__).parts[-3] != "python_null"
needs_kernels = pytest.mark.skipif(not HAS_KERNELS, reason="needs a runtime with the group kernels")


def compiled(name: str, **how):
    return torch.acme.compile_kernel(CODE.read_bytes(), name, **how)


def test_a_runtime_without_the_group_says_so():
    if HAS_KERNELS:
        pytest.skip("needs a runtime without the group kernels")
    with pytest.raises(
        NotImplementedError, match=r"compile_kernel cannot be had: .* group kernels"
    ):
        torch.acme.compile_kernel("source", "name")


@needs_kernels
def test_tensors_become_pointers_to_their_first_element():
    add = compiled("add")
    a = torch.arange(100.0, device="acme")
    out = torch.zeros(200, device="acme")
    add(4, 32, (out[50:], a, a, 100))
    assert out.cpu().equal(torch.cat((torch.zeros(50), a.cpu() * 2, torch.zeros(50))))
    add((1,), [4, 1, 1], [out, out[50:].t(), a, 4])
    assert out[:4].cpu().equal(a[:4].cpu() * 3)


@needs_kernels
@pytest.mark.parametrize(
    "five",
    [
        *(5, ctypes.c_int32(5), ctypes.c_uint32(5), np.int32(5), np.uint32(5)),
        torch.tensor(5, dtype=torch.int32),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_have_their_own_width(five):
    out = torch.zeros(8, dtype=torch.int32, device="acme")
    compiled("count_from")(1, 8, (out, five, five))
    assert out.tolist() == [5, 6, 7, 8, 9, 0, 0, 0]


@needs_kernels
def test_a_float64_of_numpy_has_64_bits():
    out = torch.zeros(8, dtype=torch.int32, device="acme")
    with pytest.raises(RuntimeError, match=r"argument 1 .* has 4 bytes, and the launch gives 8"):
        compiled("count_from")(1, 8, (out, np.float64(5), 5))


@needs_kernels
def test_groups_and_items_may_be_numbers_of_numpy():
    out = torch.zeros(8, dtype=torch.int32, device="acme")
    compiled("count_from")(np.int64(1), (np.int32(8), 1), (out, 5, 3))
    assert out.tolist() == [5, 6, 7, 0, 0, 0, 0, 0]


class Numbers(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int32), ("b", ctypes.c_float), ("c", ctypes.c_uint64))


@needs_kernels
def test_structs_are_passed_by_value():
    out = torch.zeros(5, dtype=torch.int64, device="acme")
    numbers = (Numbers(1, 2.0, 3 << 40), np.uint8(4), ctypes.c_uint16(5))
    compiled("take_numbers")(1, 1, (out, *numbers))
    assert out.tolist() == [1, 2, 3 << 40, 4, 5]


@needs_kernels
def test_groups_share_local_memory():
    numbers = torch.arange(1, 7, dtype=torch.int32, device="acme")
    out = torch.zeros(2, dtype=torch.int32, device="acme")
    compiled("sum_of_group")(2, 3, (out, numbers), local_memory=3 * 4)
    assert out.tolist() == [3 * 9 + 2 * 3 + 1, 6 * 9 + 5 * 3 + 4]


@needs_kernels
def test_runs_on_the_current_stream_or_the_given_one():
    count = compiled("count_from")
    for how in ("current", "given"):
        out = torch.zeros(4, dtype=torch.int32, device="acme")
        stream = torch.acme.Stream()
        stream.wait_stream(torch.acme.current_stream())
        with torch.acme.stream(stream):
            torch.acme._sleep(20_000_000)
        if how == "current":
            with torch.acme.stream(stream):
                count(1, 4, (out, 3, 4))
        else:
            count(1, 4, (out, 3, 4), stream=stream)
        assert not stream.query()
        stream.synchronize()
        assert out.tolist() == [3, 4, 5, 6]


@needs_kernels
def test_is_captured_and_the_graph_keeps_its_code():
    out = torch.zeros(4, dtype=torch.int32, device="acme")
    count = compiled("count_from")
    graph = torch.acme.CUDAGraph()
    with torch.acme.graph(graph):
        for first in range(10):
            count(1, 4, (out, first, 4))
    assert out.tolist() == [0, 0, 0, 0]
    del count
    gc.collect()
    for _ in range(2):
        out.zero_()
        graph.replay()
        assert out.tolist() == [9, 10, 11, 12]


@needs_kernels
def test_advice_on_numbers_is_for_their_sizes_alone():
    out = torch.zeros(8, dtype=torch.int32, device="acme")
    count_from = compiled("count_from")
    with pytest.raises(RuntimeError, match=r"pass ctypes\.c_int64"):
        count_from(1, 8, (out, 5, ctypes.c_int64(5)))
    with pytest.raises(RuntimeError, match="local memory") as refused:
        count_from(1, 8, (out, 5, 5), local_memory=1 << 40)
    assert "ctypes" not in str(refused.value)


@needs_kernels
def test_more_groups_than_numbers_is_refused():
    out = torch.zeros(1, dtype=torch.int32, device="acme")
    with pytest.raises(RuntimeError, match=r"2\^64 groups or more"):
        compiled("count_from")((1 << 31, 1 << 31, 4), 1, (out, 1, 1))


@needs_kernels
def test_a_launch_outlives_its_kernel():
    out = torch.zeros(1, dtype=torch.int32, device="acme")
    compiled("take_time")(1, 1, (out, 3_000_000))
    gc.collect()
    x = 1
    for _ in range(3_000_000):
        x = x * 1664525 + 1013904223 & 0xFFFFFFFF
    assert out.item() & 0xFFFFFFFF == x


@needs_kernels
def test_an_operator_of_ones_own_with_a_derivative():
    add = compiled("add")

    @torch.library.custom_op("kernel_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        add(-(-x.numel() // 64), 64, (out, x, x, x.numel()))
        return out

    twice.register_fake(lambda x: torch.empty_like(x, memory_format=torch.contiguous_format))
    twice.register_autograd(lambda ctx, grad: twice(grad))
    x = torch.randn(5, 7, device="acme", requires_grad=True)
    twice(x.t()).sum().backward()
    assert x.grad.cpu().equal(torch.full((5, 7), 2.0))
    of_torch = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    torch.library.opcheck(twice, (x,), test_utils=of_torch)


@needs_kernels
def test_what_it_knows_of_a_kernel():
    add = compiled("add", language="host", device="acme:1")
    assert repr(add) == "<kernel add on acme:1>"
    assert (add.name, add.device, add.argument_count) == ("add", torch.device("acme:1"), 4)
    assert add.max_items == 1024


def test_kernel_has_no_constructor():
    with pytest.raises(TypeError):
        torch.acme.Kernel()


@needs_kernels
@pytest.mark.parametrize(
    "source, name, how, error, text",
    [
        (None, "nope", {}, RuntimeError, 'the module has no kernel "nope"'),
        ("text", "add", {}, ValueError, r"acme:0 does not take text: it takes host \(bytes\)"),
        (b"", "add", {}, ValueError, "source is empty"),
        (b"junk", "add", {}, RuntimeError, "no shared object for this processor"),
        (None, None, {}, TypeError, "name is None: expected text, or a sequence of texts"),
        (None, b"add", {}, TypeError, "name is b'add': expected text"),
        (None, "add\0", {}, ValueError, "no kernel's name has a NUL"),
        (b"junk", "add", {"language": "spirv"}, ValueError, "does not take 'spirv'"),
        (b"junk", "add", {"language": 1234}, ValueError, "does not take 1234"),
        (b"junk", "add", {"language": 1.5}, TypeError, "language is a float"),
        (5, "add", {}, TypeError, "source is a int: expected text or bytes"),
        (b"junk", "add", {"device": "cpu"}, ValueError, "cpu"),
        (b"junk", "add", {"device": 99}, RuntimeError, "99"),
    ],
)
def test_wrong_sources(source, name, how, error, text):
    with pytest.raises(error, match=text):
        torch.acme.compile_kernel(CODE.read_bytes() if source is None else source, name, **how)


@needs_kernels
@pytest.mark.parametrize(
    "groups, items, last, how, error, text",
    [
        (1, 1, (), {}, RuntimeError, "argument_count is 3|has 4 arguments, and the launch gives 3"),
        (1, 1, (1 << 40,), {}, ValueError, r"does not fit in 32 bits.* ctypes.c_int64\(1099511"),
        (1, 1, (ctypes.c_int64(1),), {}, RuntimeError, "argument 3 of the kernel add has 4 bytes"),
        (1, 1, ("x",), {}, TypeError, r"arguments\[3\] is a str"),
        (1, 1, (None,), {}, TypeError, r"arguments\[3\] is a NoneType"),
        (1, 1, (torch.ones(3),), {}, ValueError, r"arguments\[3\] is a Float tensor on cpu"),
        (-1, 1, (1,), {}, ValueError, "groups is -1: expected one to three numbers"),
        (1.5, 1, (1,), {}, ValueError, "groups is 1.5"),
        ((), 1, (1,), {}, ValueError, r"groups is \(\)"),
        ((1, 1, 1, 1), 1, (1,), {}, ValueError, r"groups is \(1, 1, 1, 1\)"),
        (1, 1 << 40, (1,), {}, ValueError, "items is 1099511627776"),
        (1, 0, (1,), {}, RuntimeError, "expected at least 1 item in each dimension"),
        (1, 1025, (1,), {}, RuntimeError, "at most 1024"),
        (1, 1, (1,), {"local_memory": 1 << 40}, RuntimeError, "bytes of local memory"),
        (1, 1, (1,), {"stream": 5}, TypeError, "expected a torch.acme.Stream, got int"),
    ],
)
def test_wrong_launches(groups, items, last, how, error, text):
    out = torch.zeros(8, device="acme")
    with pytest.raises(error, match=text):
        compiled("add")(groups, items, (out, out, out, *last), **how)
    assert out.tolist() == [0.0] * 8


@needs_kernels
def test_tensors_of_another_device_or_layout():
    out = torch.zeros(8, device="acme")
    with pytest.raises(ValueError, match="tensor on acme:1: expected a strided tensor on acme:0"):
        compiled("add")(1, 1, (out, out, torch.ones(3, device="acme:1"), 1))
    with pytest.raises(ValueError, match="expected a strided tensor on acme:0"):
        compiled("add")(1, 1, (out, out, torch.eye(3).to_sparse().to("acme"), 1))


@needs_kernels
def test_what_does_not_lie_in_memory_as_it_is():
    out, z = torch.zeros(8, device="acme"), torch.ones(8, dtype=torch.complex64, device="acme")
    for wrong in (z.conj(), z.conj().imag):
        with pytest.raises(ValueError, match=r"arguments\[1\] .* resolve_conj\(\)"):
            compiled("add")(1, 1, (out, wrong, out, 1))
    for wrong in (torch.tensor(1 + 2j).conj(), torch.tensor(1 + 2j).conj().imag):
        with pytest.raises(ValueError, match=r"arguments\[3\] .* resolve_conj\(\)"):
            compiled("add")(1, 1, (out, out, out, wrong))
    with pytest.raises(ValueError, match="contiguous"):
        compiled("add")(1, 1, (out, out, out, np.arange(4, dtype=np.int16)[::2]))
    with pytest.raises(ValueError, match=r"arguments\[3\] has 0 bytes"):
        compiled("add")(1, 1, (out, out, out, b""))


@needs_kernels
def test_tensors_without_memory():
    add, out = compiled("add"), torch.zeros(8, device="acme")
    with FakeTensorMode():
        fakes = torch.empty(8, device="acme"), torch.empty(8, device="acme")[3:]
        number = torch.empty((), dtype=torch.int32)
    freed = torch.zeros(8, device="acme")
    freed.untyped_storage().resize_(0)
    for each in (*fakes, TwoTensor(out, out), freed):
        with pytest.raises(ValueError, match=r"arguments\[1\] is a tensor without memory"):
            add(1, 1, (out, each, out, 1))
    with pytest.raises(ValueError, match=r"arguments\[3\] is a tensor without memory"):
        add(1, 1, (out, out, out, number))
    with pytest.raises(ValueError, match=r"without memory: .* inside of a custom operator"):
        torch.func.functionalize(lambda x: add(1, 1, (x, x, x, 1)))(out)
    add(1, 1, (out, out[:0], torch.empty(0, device="acme"), 0))


@needs_kernels
def test_pinned_memory_is_kept_until_the_launch_is_over():
    take_time, count_from = compiled(["take_time", "count_from"])
    pinned = torch.zeros(100, dtype=torch.int32).pin_memory()
    take_time(1, 1, (torch.zeros(1, dtype=torch.int32, device="acme"), 3_000_000))
    count_from(1, 100, (pinned, 5, 100))
    del pinned
    others = [torch.zeros(100, dtype=torch.int32).pin_memory() for _ in range(3)]
    torch.acme.synchronize()
    assert all(other.eq(0).all() for other in others)


@needs_kernels
def test_a_stream_of_another_device():
    out = torch.zeros(8, device="acme")
    with pytest.raises(ValueError, match="stream is one of acme:1: expected a stream of acme:0"):
        compiled("add")(1, 1, (out, out, out, 1), stream=torch.acme.Stream("acme:1"))


@needs_kernels
def test_no_groups_do_nothing():
    out = torch.zeros(8, device="acme")
    compiled("add")((4, 0, 1), 8, (out, out + 1, out + 1, 8))
    assert out.tolist() == [0.0] * 8


@needs_kernels
def test_a_fault_is_told_by_a_later_call():
    out = torch.zeros(1, dtype=torch.int32, device="acme")
    compiled("fault")(1, 1, (out,))
    with pytest.raises(torch.AcceleratorError, match="the kernel fault faulted while it ran"):
        torch.acme.synchronize()
    assert out.item() == 0


@needs_kernels
def test_ends_with_kernels_loaded_and_in_a_child(run_to_the_end):
    said = run_to_the_end(
        f"""
        import os, torch, torch_acme
        code = open({str(CODE)!r}, "rb").read()
        out = torch.zeros(1, dtype=torch.int32, device="acme")
        kept = torch.acme.compile_kernel(code, "take_time")
        kept(1, 1, (out, 1_000_000))
        child = os.fork()
        if child == 0:
            del kept
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        kept(1, 1, (out, 1_000_000))
        """,
        OUTBACK_VALIDATE="1",
    )
    assert "module" not in said.errors
