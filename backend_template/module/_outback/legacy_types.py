"""The types by device and dtype that came before torch.device: torch.<name>.FloatTensor,
torch.<name>.FloatStorage and so on.

torch.set_default_tensor_type does not accept them: it takes only types that torch made itself.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import torch

from . import _native, device_module, name

_MODULE = f"torch.{name}"
_STORAGES = {
    "BFloat16": torch.bfloat16,
    "Bool": torch.bool,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "ComplexDouble": torch.cdouble,
    "ComplexFloat": torch.cfloat,
    "Double": torch.double,
    "Float": torch.float,
    "Half": torch.half,
    "Int": torch.int,
    "Long": torch.long,
    "Short": torch.short,
}
_TENSORS = {prefix: dtype for prefix, dtype in _STORAGES.items() if not dtype.is_complex}


class _TensorTypeMeta(type):
    dtype: torch.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        """A tensor is no instance of the class, so this compares device, layout and dtype."""
        if not isinstance(instance, torch.Tensor):
            return False
        with torch._C.DisableTorchFunctionSubclass():
            return (
                instance.device.type == name
                and instance.layout == torch.strided
                and instance.dtype == cls.dtype
            )


class _TensorType(metaclass=_TensorTypeMeta):
    layout = torch.strided
    is_cuda = False
    is_sparse = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """The legacy constructor, which Tensor.new has too."""
        return torch.empty(0, dtype=cls.dtype, device=name).new(*args, **kwargs)


def _refused(method: str) -> Callable[..., NoReturn]:
    """torch.cuda's storages refuse these class methods in the same words."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{method}: Not available for {name} storage")

    return refuse


_REFUSED = ("from_buffer", "_new_with_weak_ptr", "_new_shared_filename")


def _make(suffix: str, base: type, doc: str, dtypes: dict[str, torch.dtype], **members: Any) -> Any:
    """Makes a class for each dtype, and yields it when it is a member of the device module."""
    for prefix, dtype in dtypes.items():
        body = {"__module__": _MODULE, "__doc__": doc, "dtype": dtype, **members}
        made = type(base)(prefix + suffix, (base,), body)
        setattr(device_module, made.__name__, made)
        yield made


def define() -> None:
    for storage in _make(
        "Storage",
        torch.storage._LegacyStorage,
        "A typed storage on the device. Deprecated, as all of them: see torch.UntypedStorage.",
        _STORAGES,
        **{method: classmethod(_refused(method)) for method in _REFUSED},
    ):
        storage._dtype = storage.dtype
        torch._storage_classes.add(storage)
    for tensor in _make(
        "Tensor",
        _TensorType,
        "The type of tensors on the device with this dtype: for isinstance() and tensor.type(). "
        "See torch.tensor.",
        _TENSORS,
    ):
        # Tensor.type(torch.<name>.FloatTensor) reads the name that C sees, and expects it so.
        _native.qualify_name(tensor)
