"""Which operators take a CPU tensor without dimensions among tensors of a device, and where.

Each operator that PyTorch's samples come to, forward and backward, on the CPU, is called again on
the device, with the same arguments but one: that is a tensor without dimensions, of the device, and
where this is an argument that it takes, of the CPU. With it its variants in place and with out=.

An answer has a line for each: the operator's overload, the argument, "yes" or "no".
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from families.operators import gradients
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.opinfo import modules, operators, optimizers, sampling
from conformance.opinfo.calls import run
from conformance.opinfo.settings import Settings

# Errors spell their arguments, and these are many.
torch.Tensor.__repr__ = lambda self, **_: "a tensor"

SAMPLES = 20  # of an operator
CALLS = 3  # of an overload
FOREACH = ("unary", "binary", "pointwise", "reduce", "other")
answered: dict[tuple[str, str], str] = {}


@dataclass(frozen=True)
class Call:
    overload: torch._ops.OpOverload
    args: tuple
    kwargs: dict


class Recorder(TorchDispatchMode):
    """Keeps a copy of the first calls of each overload with tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = args, kwargs
        known = sum(each.overload is function for each in self.calls)
        if function.namespace == "aten" and tensors(given) and known < CALLS:
            kept = pytree.tree_map(copied, given)
            self.calls.append(Call(function, *kept))
        return function(*args, **kwargs)


def copied(leaf: object) -> object:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def tensors(tree: object) -> list[torch.Tensor]:
    return [each for each in pytree.tree_leaves(tree) if isinstance(each, torch.Tensor)]


def units(device: str) -> Iterator[tuple[str, Callable[[], str]]]:
    settings = Settings(device="cpu", dtypes=("float32",))
    there = torch.device(device, 0)
    for operator in operators.load(settings):
        if operator.dtype is not None:
            yield operator.name, functools.partial(ask, functools.partial(on_cpu, operator), there)
    for kind in FOREACH:
        for info in operators.database(
            f"torch.testing._internal.common_methods_invocations:foreach_{kind}_op_db"
        ):
            yield info.name, functools.partial(ask, functools.partial(foreach, info), there)
    for module in modules.load(settings):
        if module.dtype is not None:
            yield module.name, functools.partial(ask, functools.partial(of_module, module), there)
    for optimizer in optimizers.load(settings):
        yield optimizer.name, functools.partial(ask, functools.partial(steps, optimizer), there)


def on_cpu(operator: operators.Operator) -> None:
    for sample in sampling.samples_of(operator, SAMPLES, 0, requires_grad=operator.differentiable):
        call = sampling.place(sample, torch.device("cpu"))
        gradients(call.process(run(operator.info, call)))


def foreach(info: object) -> None:
    for sample in list(info.sample_inputs("cpu", torch.float32))[:8]:
        for function in (info.method_variant, info.inplace_variant):
            if function is not None:
                function(sample.input, *sample.args)


def of_module(module: modules.Module) -> None:
    for training in (True, False):
        inputs = module.info.module_inputs_func(
            module.info, device="cpu", dtype=module.dtype, requires_grad=True, training=training
        )
        for given in list(inputs)[:CALLS]:
            sample = modules._Sample(module, given, training)
            args, kwargs = sample.arguments(torch.device("cpu"))
            gradients(modules._plain(sample.on_cpu()(*args, **kwargs)))


def steps(optimizer: optimizers.Optimizer) -> None:
    for phase in optimizer.phases:
        for given in list(optimizer.info.optim_inputs_func(device="cpu"))[:CALLS]:
            optimizer._run(given.kwargs | optimizer._implementation(phase), torch.device("cpu"))


def ask(program: Callable[[], None], device: torch.device) -> str:
    recorder = Recorder()
    sampling.seed_everything(0)
    try:
        with recorder:
            program()
    except Exception:
        pass  # what came before it counts
    found = {}
    with torch.no_grad():
        for call in [variant for each in recorder.calls for variant in variants(each)]:
            name = call.overload._schema.name.removeprefix("aten::")
            name += f".{call.overload._overloadname}"
            for path in paths(call):
                key = name, spelled(path)
                if key not in answered and (answer := answer_of(call, path, device)):
                    answered[key] = found[key] = answer
    return "\n".join(f"{name} {argument} {answer}" for (name, argument), answer in found.items())


def variants(call: Call) -> Iterator[Call]:
    """It, in place, and with out=."""
    yield call
    schema = call.overload._schema
    if schema.is_mutable:
        return
    wanted = [(argument.name, str(argument.type)) for argument in schema.arguments]
    name = schema.name.removeprefix("aten::")
    in_place = getattr(torch.ops.aten, f"{name}_", None)
    if in_place is not None and call.overload._overloadname in in_place.overloads():
        yield Call(getattr(in_place, call.overload._overloadname), call.args, call.kwargs)
    packet = getattr(torch.ops.aten, name)
    for each in packet.overloads():
        overload = getattr(packet, each)
        outs = [a.name for a in overload._schema.arguments if a.is_out]
        rest = [(a.name, str(a.type)) for a in overload._schema.arguments if not a.is_out]
        if outs and rest == wanted:
            try:
                results = tensors(call.overload(*call.args, **call.kwargs))
            except Exception:
                continue
            if len(results) == len(outs):
                empty = {
                    out: torch.empty_like(each) for out, each in zip(outs, results, strict=True)
                }
                yield Call(overload, call.args, {**call.kwargs, **empty})


def paths(call: Call) -> Iterator[tuple]:
    """Where its tensors are: (argument, None), or (argument, index) in a list."""
    for argument, value in arguments(call).items():
        if isinstance(value, torch.Tensor):
            yield argument, None
        elif isinstance(value, (list, tuple)):
            yield from ((argument, i) for i, each in enumerate(value[:2]) if is_tensor(each))


def is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)


def spelled(path: tuple) -> str:
    argument, index = path
    return argument if index is None else f"{argument}[{'0' if index == 0 else 'i'}]"


def arguments(call: Call) -> dict[str, object]:
    names = [argument.name for argument in call.overload._schema.arguments]
    return {**dict(zip(names, call.args, strict=False)), **call.kwargs}


def answer_of(call: Call, path: tuple, device: torch.device) -> str:
    """ "yes", "no", or empty: it takes no such tensor at all."""
    if len(tensors((call.args, call.kwargs))) < 2:
        return ""
    for every in (False, True):
        if goes(call, path, device, device, every):
            return "yes" if goes(call, path, device, torch.device("cpu"), every) else "no"
    return ""


def goes(call: Call, path: tuple, device: torch.device, where: torch.device, every: bool) -> bool:
    """With a tensor without dimensions there; `every`: all others have none, too."""
    move = sampling.Mover(device)

    def given(leaf: object) -> object:
        small = every and isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided
        return move(scalar(leaf) if small else leaf)

    values = pytree.tree_map(given, arguments(call))
    argument, index = path
    whole = arguments(call)[argument]
    if index is None:
        values[argument] = scalar(whole).to(where)
    else:
        values[argument] = list(values[argument])
        values[argument][index] = scalar(whole[index]).to(where)
    try:
        call.overload(**values)
    except Exception:
        return False
    return True


def scalar(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout != torch.strided or tensor.numel() == 0:
        return torch.zeros((), dtype=tensor.dtype)
    return tensor.flatten()[0].clone()
