"""torch.compile's default code generator, Inductor, for a device that shares its memory with
PyTorch's own: its graphs are compiled for that device, cuda:0 say, and run on aliases of our
tensors. So Inductor's kernels in Triton, its templates and its tuning are torch.cuda's. Imported
when Inductor is.
"""

import contextlib
import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import torch
from torch._inductor import compile_fx as inductor
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.fx import GraphModule, Node
from torch.fx.node import map_aggregate
from torch.utils._pytree import tree_leaves

from .. import _native, device_module, name
from .generators import twin_of


def _is_lent(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and twin_of(value.device) is not None


# ---- At compile time: a graph that names our devices becomes one that names the other


def _on_twin(value: Any) -> Any:
    """Of an argument in a graph."""
    return twin_of(value) or value


def _parts(graph_module: GraphModule) -> list[GraphModule]:
    """It and the graphs within it."""
    return [part for part in graph_module.modules() if isinstance(part, GraphModule)]


def _rename_devices(graph_module: GraphModule, rename: Callable[[Any], Any] = _on_twin) -> None:
    for part in _parts(graph_module):
        for node in part.graph.nodes:
            node.args = map_aggregate(node.args, rename)
            node.kwargs = map_aggregate(node.kwargs, rename)


def _lend_constants(graph_module: GraphModule) -> None:
    for part in _parts(graph_module):
        for node in part.graph.find_nodes(op="get_attr"):
            owner, _, attribute = node.target.rpartition(".")
            holder = part.get_submodule(owner)
            constant: Any = getattr(holder, attribute, None)
            if _is_lent(constant) and not isinstance(constant, FakeTensor):
                with unset_fake_temporarily():  # torch 2.15 compiles within the mode it traces in
                    setattr(holder, attribute, device_module.as_cuda(constant.detach()))


def _fakes(graph_module: GraphModule, inputs: Sequence[Any] = ()) -> list[FakeTensor]:
    """What stands for tensors in it."""
    nodes = (node for part in _parts(graph_module) for node in part.graph.nodes)
    leaves = tree_leaves([*inputs, *(list(node.meta.values()) for node in nodes)])
    return list({id(leaf): leaf for leaf in leaves if isinstance(leaf, FakeTensor)}.values())


@contextlib.contextmanager
def _fakes_on_twin(fakes: Sequence[FakeTensor]) -> Iterator[None]:
    """What stands for tensors of ours stands for tensors of the other device."""
    before = [fake.fake_device for fake in fakes]
    for fake in fakes:
        fake.fake_device = _on_twin(fake.fake_device)
    try:
        yield
    finally:
        for fake, device in zip(fakes, before, strict=True):
            fake.fake_device = device


def _pass_for_twin(
    run_passes: Callable[..., GraphModule],
    graph_module: GraphModule,
    *rest: Any,
    **named: Any,
) -> GraphModule:
    """In place of Inductor's passes over what it has not yet divided into forward and backward:
    some do their work for CUDA's tensors alone, as the one that pads matrices. What they leave is
    of our devices again."""
    fakes = _fakes(graph_module)
    ours = {twin: fake.device for fake in fakes if (twin := twin_of(fake.device))}
    if not ours or any(fake.device.type == "cuda" for fake in fakes):
        return run_passes(graph_module, *rest, **named)

    def back(value: Any) -> Any:
        return ours.get(value, value) if isinstance(value, torch.device) else value

    _rename_devices(graph_module)
    rest, named = tuple(map(_on_twin, rest)), {key: _on_twin(each) for key, each in named.items()}
    with _fakes_on_twin(fakes):
        result = run_passes(graph_module, *rest, **named)
    for fake in _fakes(result):
        fake.fake_device = back(fake.fake_device)
    _rename_devices(result, back)
    return result


def _ours_in(outputs: Sequence[Any]) -> list[bool]:
    """Which outputs of a graph become tensors of ours again.

    The seed and the offset of attention's random numbers are on the CPU, whatever its meta kernel
    says: those stay where they are."""
    return [isinstance(each, Node) and _is_lent(each.meta.get("val")) for each in outputs]


def _copied(ours: Sequence[bool], output: Node, named: dict[str, Any]) -> list[int]:
    """Which of them are copied before.

    The outputs of a CUDA graph are overwritten when it runs again. torch knows which of its tensors
    have become invalid so, and says it to whoever reads one. It would not know of ours: those that
    reach the user are copies."""
    if not named.get("cudagraphs"):
        return []
    every = range(len(ours))
    in_forward: Collection[int] = output.meta.get("user_visible_output_idxs", every)
    reach_user = every if named.get("is_backward") else in_forward
    return [i for i in every if i in reach_user and ours[i]]


def compile_inner(
    inner_compile: Callable[..., Any],
    graph_module: GraphModule,
    example_inputs: Sequence[Any],
    **named: Any,
) -> Any:
    """In place of Inductor's compile_fx_inner, which `inner_compile` is."""
    fakes = [fake for fake in _fakes(graph_module, example_inputs) if _is_lent(fake)]
    if not fakes:
        return inner_compile(graph_module, example_inputs, **named)
    if V.aot_compilation:
        raise NotImplementedError(
            f"{name}: AOTInductor's libraries are for PyTorch's own device: export the model there"
        )
    [output] = graph_module.graph.find_nodes(op="output")
    ours = _ours_in(output.args[0])
    copied = _copied(ours, output, named)
    _rename_devices(graph_module)
    _lend_constants(graph_module)
    with _fakes_on_twin(fakes):
        compiled = inner_compile(graph_module, example_inputs, **named)

    # ---- At run time

    def run(arguments: list[Any]) -> list[Any]:
        results = compiled(_native.lend_all(arguments))
        if copied:
            results = list(results)
            for i in copied:
                results[i] = results[i].clone()
        return _native.take_all(results, ours)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def register() -> None:
    passes = inductor._recursive_joint_graph_passes
    passes_for_any = functools.wraps(passes)(functools.partial(_pass_for_twin, passes))
    setattr(inductor, passes.__name__, passes_for_any)
