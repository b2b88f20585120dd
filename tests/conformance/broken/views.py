"""Views, their memory and their versions."""

from __future__ import annotations

import torch

from .defect import defect
from .kernels import number_as_tensor, replace


@defect("views", "writes_go_through[transpose]")
def transpose_copies() -> None:
    """transpose gives a copy."""

    @replace("transpose.int")
    def _(transpose, x, first, second):
        return transpose(x, first, second).clone(memory_format=torch.preserve_format)


@defect("views", "views_outlive_their_base[unfold]", says="the view with")
def unfold_does_not_keep_memory() -> None:
    """unfold gives a tensor on its base's memory that does not own it."""

    @replace("unfold")
    def _(unfold, x, dimension, size, step):
        owner = unfold(x, dimension, size, step)
        storage = owner.untyped_storage()
        lent = torch._C._construct_storage_from_data_pointer(
            storage.data_ptr(), storage.device, storage.nbytes()
        )
        found = torch.empty(0, dtype=x.dtype, device=x.device)
        return found.set_(lent, owner.storage_offset(), owner.shape, owner.stride())


@defect("views", "versions_count_changes", says="not (2, 2)")
def changes_are_not_counted() -> None:
    """mul_ leaves the version of its tensor."""

    @replace("mul_.Tensor", key="ADInplaceOrView")
    def _(mul_, x, y):
        version = x._version
        mul_(x, number_as_tensor(y, x))
        torch._C._autograd._unsafe_set_version_counter((x,), (version,))
        return x


@defect("methods", "storages_go_where_they_are_sent")
def storages_go_to_device_zero() -> None:
    """UntypedStorage.acme(device) is on device 0, whichever was asked for."""
    was = torch.UntypedStorage.acme
    torch.UntypedStorage.acme = lambda self, device=None, non_blocking=False: was(
        self, torch.device("acme:0"), non_blocking
    )


@defect("methods", "the_property_tells_the_device", says="is_acme is not True")
def property_is_swapped() -> None:
    """Tensor.is_acme is true of all other tensors."""
    torch.Tensor.is_acme = property(lambda self: self.device.type != "acme")


@defect("methods", "subclasses_are_asked")
def subclasses_are_not_asked() -> None:
    """Tensor.acme passes by __torch_function__."""
    was = torch.Tensor.acme

    def acme(self, *args, **kwargs):
        with torch._C.DisableTorchFunctionSubclass():
            return was(self, *args, **kwargs)

    torch.Tensor.acme = acme


@defect("dlpack", "the_device_is_told", says="index of another is 0")
def dlpack_says_device_zero() -> None:
    """__dlpack_device__ says the index 0 of every tensor."""
    was = torch.Tensor.__dlpack_device__
    torch.Tensor.__dlpack_device__ = lambda self: (was(self)[0], 0)


@defect("dlpack", "memory_is_shared")
def dlpack_copies() -> None:
    """__dlpack__ hands out a copy."""
    was = torch.Tensor.__dlpack__
    torch.Tensor.__dlpack__ = lambda self, **how: was(self.detach().clone(), **how)


@defect(
    "serialization", "map_location_moves[a dictionary of others]", says="on acme:0, not on acme:1"
)
def location_is_ignored() -> None:
    """What is loaded is on device 0, whatever map_location says."""
    registry = torch.serialization._package_registry
    registry[:] = [(priority, tagger, _on_device_0(load)) for priority, tagger, load in registry]


def _on_device_0(load):
    return lambda storage, location: load(storage, "acme:0" if "acme" in location else location)


@defect("views", "views_of_leaves_outlive_them[alias]", says="no gradient")
def alias_requires_no_gradient() -> None:
    """An alias of a tensor that requires a gradient requires none."""

    @replace("alias", key="AutogradPrivateUse1")
    def _(alias, x):
        with torch.no_grad():
            return x.detach()
