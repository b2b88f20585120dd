"""What training uses: autocast, GradScaler."""

from __future__ import annotations

import torch

from .defect import defect
from .kernels import replace


@defect("amp", "a_step_with_infinities_is_left_out", says="a gradient with inf", blind=True)
def scaler_skips_nothing() -> None:
    """Gradients that are not finite are not reported to GradScaler."""

    @replace("_amp_foreach_non_finite_check_and_unscale_")
    def _(check, gradients, found, inverse):
        for each in gradients:
            each.mul_(inverse)


@defect("amp", "the_scale_grows_after_good_steps")
def scale_never_grows() -> None:
    """The operator that updates GradScaler's scale does nothing."""

    @replace("_amp_update_scale_")
    def _(update, scale, tracker, found, grows, shrinks, interval):
        return scale


@defect("amp", "it_runs_in_the_lower_dtype[mm]", says="torch.float32, not torch.float16")
def autocast_leaves_products_in_float32() -> None:
    """autocast has no rule for mm."""

    @replace("mm", key="AutocastPrivateUse1")
    def _(mm, x, y):
        with torch.autocast("acme", enabled=False):
            return torch.mm(x, y)


@defect("amp", "layers_with_a_fast_path_are_cast", says="the dtype of MultiheadAttention")
def autocast_leaves_out_attention() -> None:
    """The fast paths of attention are open under autocast, and the operator has no rule."""
    torch.backends.mha.get_fastpath_enabled = lambda: torch.backends.mha._is_fastpath_enabled

    @replace("_native_multi_head_attention", key="AutocastPrivateUse1")
    def _(attention, *args, **kwargs):
        with torch.autocast("acme", enabled=False):
            return torch._native_multi_head_attention(*args, **kwargs)


@defect("functorch", "recurrent_layers_have_forward_derivatives", says="forward AD")
def cells_have_no_forward_derivative() -> None:
    """The fused cell of a GRU is differentiated backwards alone."""

    @replace("_thnn_fused_gru_cell", key="AutogradPrivateUse1")
    def _(cell, *args):
        raise RuntimeError("forward AD is not there")


@defect("amp", "the_default_dtype_is_supported")
def autocast_lists_no_dtype() -> None:
    """get_amp_supported_dtype() lists float32 alone."""
    torch.acme.get_amp_supported_dtype = lambda: [torch.float32]


@defect("compile", "dynamo_knows_the_device", says="CpuInterface has no")
def dynamo_has_the_cpus_interface() -> None:
    """Dynamo is told that the device is the CPU."""
    from torch._dynamo import device_interface

    device_interface.get_interface_for_device("acme")
    for name in ("acme", "acme:0", "acme:1"):
        device_interface.register_interface_for_device(name, device_interface.CpuInterface)


@defect("nn", "fused_steps_are_those_of_float32[SGD, bfloat16]", says="Mismatched elements: 32 /")
def fused_sgd_updates_what_is_left_of_vectors() -> None:
    """Of parameters in reduced precision whole vectors are computed, and not stored."""

    @replace("_fused_sgd_")
    def _(step, parameters, gradients, momenta, **how):
        before = [each.clone() for each in parameters]
        step(parameters, gradients, momenta, **how)
        for each, was in zip(parameters, before, strict=True):
            each[: each.numel() // 16 * 16].copy_(was[: each.numel() // 16 * 16])
