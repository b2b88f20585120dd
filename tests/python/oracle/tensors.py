"""Tensors of every kind, and what is to be seen of one."""

import torch
from torch.overrides import TorchFunctionMode
from torch.testing._internal.two_tensor import TwoTensor

from oracle.description import TensorSource

# ---- what __torch_function__ is told

told: list = []


def is_method(function) -> bool:
    return function.__name__ == "acme" or function == torch.Tensor.is_acme.__get__


def tell(function, arguments, keywords) -> None:
    named = sorted((name, repr(value)) for name, value in (keywords or {}).items())
    told.append((function.__name__, [repr(a) for a in arguments[1:]], named))


class Watching(torch.Tensor):
    """Notes what is called on it, and lets it happen."""

    @classmethod
    def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
        if is_method(function):
            tell(function, arguments, keywords)
        return super().__torch_function__(function, kinds, arguments, keywords or {})


class Answering(torch.Tensor):
    """Answers for itself, and nothing happens."""

    @classmethod
    def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
        if not is_method(function):
            return super().__torch_function__(function, kinds, arguments, keywords or {})
        tell(function, arguments, keywords)
        return "an answer"


class Raising(torch.Tensor):
    """Cannot be moved."""

    @classmethod
    def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
        if function.__name__ == "acme":
            raise LookupError("mine")
        return super().__torch_function__(function, kinds, arguments, keywords or {})


class Disabled(torch.Tensor):
    """A subclass that overrides nothing."""

    __torch_function__ = torch._C._disabled_torch_function_impl


class Mode(TorchFunctionMode):
    """Notes the methods that are called while it is active."""

    def __torch_function__(self, function, kinds, arguments=(), keywords=None):
        if is_method(function):
            tell(function, arguments, keywords)
        return function(*arguments, **(keywords or {}))


SUBCLASSES = {
    "watching": Watching,
    "answering": Answering,
    "raising": Raising,
    "disabled": Disabled,
}

# ---- making one


# The same in both processes, and different at every position.
def numbers(count: int, dtype: torch.dtype) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.arange(count) % 2 == 0
    values = torch.arange(1, count + 1) % 100
    if not dtype.is_floating_point and not dtype.is_complex:
        return values.to(dtype)
    values = values.double() / 4
    if count > 1:
        values[1] = float("nan")
    return (torch.complex(values, -values) if dtype.is_complex else values).to(dtype)


def with_layout(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    match layout:
        case "contiguous":
            return tensor
        case "transposed":
            return tensor.mT
        case "stepped":
            return tensor[..., ::2]
        case "offset":
            return tensor[..., 1:]
        case "expanded":
            return tensor.unsqueeze(0).expand(3, *tensor.shape)
        case "channels_last":
            return tensor.to(memory_format=torch.channels_last)
        case "conjugated":
            return tensor.conj()
        case "negated":
            return torch._neg_view(tensor)
        case "sparse":
            return tensor.to_sparse()
    raise ValueError(layout)


def with_kind(tensor: torch.Tensor, kind: str) -> torch.Tensor:
    match kind:
        case "plain" | "mode" | "inference" | "fake" | "function disabled":
            return tensor
        case "pinned":
            return tensor.pin_memory()
        case "leaf":
            return tensor.requires_grad_()
        case "view of a leaf":
            return tensor.requires_grad_()[...]
        case "parameter":
            return torch.nn.Parameter(tensor)
        case "frozen parameter":
            return torch.nn.Parameter(tensor, requires_grad=False)
        case "buffer":
            return torch.nn.Buffer(tensor)
        case "two tensors":
            return TwoTensor(tensor, tensor.clone())
    return tensor.as_subclass(SUBCLASSES[kind])


def make(source: TensorSource) -> torch.Tensor:
    dtype = getattr(torch, source.dtype)
    count = torch.Size(source.shape).numel()
    with torch.inference_mode(source.kind == "inference"):
        tensor = numbers(count, dtype).reshape(source.shape).to(source.device)
        tensor = with_kind(with_layout(tensor, source.layout), source.kind)
    if source.kind != "fake":
        return tensor
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode().from_tensor(tensor)


# ---- looking at one


def data_of(tensor: torch.Tensor) -> bytes | None:
    if tensor.device.type == "meta" or type(tensor).__name__ == "FakeTensor":
        return None
    if not tensor.numel():
        return b""
    with torch.no_grad():
        host = tensor.cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
        return bytes(host.view(torch.uint8).tolist())


def storage_of(tensor: torch.Tensor) -> int | None:
    """Which storage it is: tensors that share one have the same."""
    if tensor.layout != torch.strided or isinstance(tensor, TwoTensor):
        return None
    return tensor.untyped_storage()._cdata


def look(tensor: torch.Tensor) -> dict:
    """All that is to be compared of a tensor alone."""
    with torch._C.DisableTorchFunction():
        seen = {
            "class": type(tensor).__name__,
            "device": str(tensor.device),
            "dtype": str(tensor.dtype),
            "layout": str(tensor.layout),
            "shape": tuple(tensor.shape),
            "requires_grad": tensor.requires_grad,
            "is_leaf": tensor.is_leaf,
            "grad_fn": type(tensor.grad_fn).__name__,
            "attributes": sorted(vars(tensor)) if hasattr(tensor, "__dict__") else [],
        }
        if isinstance(tensor, TwoTensor):
            return seen | {"parts": [look(tensor.a), look(tensor.b)]}
        if tensor.layout != torch.strided:
            parts = [tensor._indices(), tensor._values()]
            return seen | {"parts": [look(part.detach()) for part in parts]}
        return seen | {
            "stride": tensor.stride(),
            "offset": tensor.storage_offset(),
            "storage size": tensor.untyped_storage().nbytes(),
            "conj": tensor.is_conj(),
            "neg": tensor.is_neg(),
            "inference": tensor.is_inference(),
            "data": data_of(tensor),
        }


def compare(source: torch.Tensor, result: torch.Tensor) -> dict:
    """What a result is, and what it is to the tensor that it was made of."""
    if not isinstance(result, torch.Tensor):
        return {"value": repr(result)}
    with torch._C.DisableTorchFunction():
        shares = storage_of(source) is not None and storage_of(source) == storage_of(result)
        return {"tensor": look(result), "is source": result is source, "shares storage": shares}


def around(source: TensorSource):
    """What is active during the call."""
    import contextlib

    match source.kind:
        case "mode":
            return Mode()
        case "inference":
            return torch.inference_mode()
        case "function disabled":
            return torch._C.DisableTorchFunction()
    return contextlib.nullcontext()
