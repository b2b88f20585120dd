"""Modules of every kind, and what is to be seen of one."""

import contextlib
import warnings
import weakref

import torch
from torch import nn

from oracle import tensors
from oracle.description import ModuleSource

# ---- kinds of modules


class Careful(nn.Linear):
    """Overrides _apply, and says so."""

    asked = 0

    def _apply(self, function, recurse=True):
        self.asked += 1
        return super()._apply(function, recurse)


class Everything(nn.Module):
    """Parameters and buffers of many dtypes, in containers, absent, or of an odd class."""

    def __init__(self) -> None:
        super().__init__()
        self.listed = nn.ParameterList([torch.ones(2), torch.ones(0)])
        self.named = nn.ParameterDict({"short": torch.ones(2, dtype=torch.half)})
        self.register_parameter("absent", None)
        self.complex = nn.Parameter(torch.ones(2, dtype=torch.complex64))
        self.strided = nn.Parameter(torch.arange(6.0).reshape(2, 3).t())
        self.register_buffer("steps", torch.tensor(3))
        self.register_buffer("mask", torch.tensor([True, False]), persistent=False)
        self.register_buffer("none", None)
        self.register_buffer("view", self.strided.detach()[0])
        self.new_style = nn.Buffer(torch.ones(1, dtype=torch.uint8))
        self.plain_attribute = torch.ones(2)

    def forward(self, x):
        return x * self.listed[0].sum() + self.steps


class Watched(nn.Module):
    """Its buffers are told."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("first", torch.ones(1).as_subclass(tensors.Watching))
        self.register_buffer("second", torch.ones(1).as_subclass(tensors.Watching))


class Stuck(nn.Module):
    """The second of its buffers cannot be moved."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("first", torch.ones(1))
        self.register_buffer("second", torch.ones(1).as_subclass(tensors.Raising))


def shared_module() -> nn.Module:
    linear = nn.Linear(3, 3)
    return nn.Sequential(linear, nn.Sequential(linear), linear)


def scripted() -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.script(nn.Linear(3, 2))


def lazy() -> nn.Module:
    return nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d())


def lazy_no_more() -> nn.Module:
    module = lazy()
    module(torch.ones(2, 3))
    return module


MODULES = {
    "linear": lambda: nn.Linear(3, 2),
    "nested": lambda: nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2))),
    "without parameters": nn.ReLU,
    "batch norm": lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)),
    "careful": lambda: Careful(3, 3),
    "everything": Everything,
    "watched": Watched,
    "stuck": Stuck,
    "shared module": shared_module,
    "lstm": lambda: nn.LSTM(3, 2),
    "two lstms": lambda: nn.ModuleList([nn.LSTM(3, 2), nn.LSTM(3, 2)]),
    "lazy": lazy,
    "lazy no more": lazy_no_more,
    "scripted": scripted,
    "parametrized": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)),
}

# ---- changes to them


def tie(module: nn.Module) -> None:
    """Every parameter that equals another in shape and dtype becomes that other one."""
    first: dict = {}
    for part in module.modules():
        for name, parameter in list(part._parameters.items()):
            if parameter is not None:
                kept = first.setdefault((parameter.shape, parameter.dtype), parameter)
                setattr(part, name, kept)


def tie_buffers(module: nn.Module) -> None:
    shared = nn.Buffer(torch.ones(2))
    for part in module.modules():
        part.register_buffer("shared_buffer", shared)


def alias(module: nn.Module) -> None:
    """A second name for each parameter in the module that holds it."""
    for part in module.modules():
        for name, parameter in list(part._parameters.items()):
            part.register_parameter(f"{name}_too", parameter)


def give_gradients(module: nn.Module) -> None:
    for parameter in module.parameters():
        parameter.grad = torch.full_like(parameter, 2)


def freeze_first(module: nn.Module) -> None:
    for parameter in list(module.parameters())[:1]:
        parameter.requires_grad = False


def remove_bias(module: nn.Module) -> None:
    for part in module.modules():
        if isinstance(part, nn.Linear):
            part.bias = None


def evaluate_only(module: nn.Module) -> None:
    module.eval()


def add_hooks(module: nn.Module) -> None:
    module.fired = []
    module.register_forward_pre_hook(lambda *_: module.fired.append("before"))
    module.register_forward_hook(lambda *_: module.fired.append("after"))
    module.register_state_dict_post_hook(lambda *_: module.fired.append("state"))


def mark_parameters(module: nn.Module) -> None:
    for parameter in module.parameters():
        parameter.mark = 1


def move_first_child(module: nn.Module) -> None:
    for child in list(module.children())[:1]:
        if not any(tensor.is_meta for _, tensor in tensors_of(child)):
            child.to("acme:1")


CHANGES = {
    "first child on acme:1": move_first_child,
    "without bias": remove_bias,
    "tied": tie,
    "aliased": alias,
    "tied buffers": tie_buffers,
    "frozen": freeze_first,
    "marked": mark_parameters,
    "gradients": give_gradients,
    "hooks": add_hooks,
    "eval": evaluate_only,
}

# torch.__future__'s two other ways to move a module: active while it happens.
WAYS = {
    "swapped": torch.__future__.set_swap_module_params_on_conversion,
    "overwritten": torch.__future__.set_overwrite_module_params_on_conversion,
}


def make(source: ModuleSource) -> nn.Module:
    # Nothing is drawn on a device. torch.manual_seed() would keep three stack traces, for CUDA, XPU
    # and MTIA: half of the time of a call.
    torch.default_generator.manual_seed(0)
    module = MODULES[source.name]()
    if source.device != "cpu":
        module.to(source.device)
    for name, change in CHANGES.items():
        if name in source.changes:
            change(module)
    _first[module] = {name: (held, gradient_of(held)) for name, held in tensors_of(module)}
    return module


@contextlib.contextmanager
def around(source: ModuleSource):
    chosen = [switch for name, switch in WAYS.items() if name in source.changes]
    for switch in chosen:
        switch(True)
    try:
        yield
    finally:
        for switch in chosen:
            switch(False)


# ---- looking at one

# What each module held when it was made.
_first: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def gradient_of(tensor: torch.Tensor) -> torch.Tensor | None:
    return tensor.grad if tensor.is_leaf else None


def tensors_of(module: nn.Module) -> list:
    parameters = list(module.named_parameters(remove_duplicate=False))
    return parameters + list(module.named_buffers(remove_duplicate=False))


def groups(keys: dict) -> list[list[str]]:
    """The names whose values are equal, where there are several."""
    found: dict = {}
    for name, key in keys.items():
        found.setdefault(key, []).append(name)
    return [names for names in found.values() if len(names) > 1]


def is_lazy(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, nn.parameter.UninitializedTensorMixin)


def look_at_one(tensor: torch.Tensor) -> dict:
    if is_lazy(tensor):
        return {
            "class": type(tensor).__name__,
            "device": str(tensor.device),
            "dtype": str(tensor.dtype),
            "requires_grad": tensor.requires_grad,
            "attributes": sorted(vars(tensor)),
        }
    seen = tensors.look(tensor)
    gradient = gradient_of(tensor)
    return seen if gradient is None else seen | {"grad": tensors.look(gradient)}


def look(module: nn.Module) -> dict:
    held = dict(tensors_of(module))
    storages = {
        name: tensors.storage_of(tensor)
        for name, tensor in held.items()
        if not is_lazy(tensor) and tensor.numel()
    }
    return {
        "tensors": {name: look_at_one(tensor) for name, tensor in held.items()},
        "parameters": [name for name, _ in module.named_parameters(remove_duplicate=False)],
        "tied": groups({name: id(tensor) for name, tensor in held.items()}),
        "share storage": groups(storages),
        "state": list(module.state_dict()),
        "training": [part.training for part in module.modules()],
        "asked": getattr(module, "asked", None),
        "flat weights": [flat_weights(part) for part in module.modules()],
    }


def flat_weights(part: nn.Module) -> list[bool]:
    """An RNN has a list of its weights too: are they its parameters?"""
    if not isinstance(part, nn.RNNBase):
        return []
    held = [getattr(part, name) for name in part._flat_weights_names]
    return [old is new for old, new in zip(part._flat_weights, held, strict=True)]


def run(module: nn.Module) -> dict:
    """What a forward and a backward say, on the device of the first parameter."""
    held = next(iter(module.parameters()), None)
    # Numbers that a lazy module draws now depend on where it is.
    fresh = any(is_lazy(tensor) for _, tensor in tensors_of(module))
    x = torch.ones(2, 3, device="cpu" if held is None else held.device)
    try:
        result = module(x)
        result = result[0] if isinstance(result, tuple) else result
        if result.requires_grad:
            result.sum().backward()
    except Exception as error:
        return {"raised": type(error).__name__}
    seen = {"device": str(result.device), "shape": tuple(result.shape)}
    if not fresh:
        seen["data"] = tensors.data_of(result)
    return seen


def compare(source: nn.Module, result) -> dict:
    if not isinstance(result, nn.Module):
        return {"value": repr(result)}
    now = dict(tensors_of(result))
    before = _first[source]
    seen = {
        "is source": result is source,
        "same objects": [name for name in now if now[name] is before[name][0]],
        "same gradients": [
            name
            for name in now
            if before[name][1] is not None and gradient_of(now[name]) is before[name][1]
        ],
        "run": run(result),
    }
    return seen | {"fired": getattr(result, "fired", None)}
