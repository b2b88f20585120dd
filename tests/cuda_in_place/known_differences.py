"""What programs ask of the device in another way than of torch.cuda, each with its reason. The list
only shrinks: test_device_and_cuda.py fails where one of these no longer differs.

Most reasons are that PyTorch's own code asks a tensor is_cuda, or for the type "cuda".
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


def minor(release: str) -> int:
    """15 of 2.15.0."""
    return int(release.split(".")[1])


@dataclass(frozen=True)
class Known:
    reason: str
    programs: Sequence[str]
    tells: str  # an expression that is found in what tells them apart: in the last word on each
    since: str = "2.11"  # of torch, the first and
    until: str = "2.99"  # the last release that differ

    def is_of(self, release: str) -> bool:
        return minor(self.since) <= minor(release) <= minor(self.until)

    def explains(self, words: Sequence[str]) -> bool:
        return re.search(self.tells, "\n".join(words)) is not None


GAP = "a parameter has a gap that nobody writes, and what was on the stack there is an address"
OUTER_PRODUCT = (
    "PyTorch's outer product in Triton is for tensors of the accelerator, which is ours, and the "
    "kernels of CUDA have torch.cuda's"
)
MIOPEN = "torch.cuda copies the targets to the host, to ask whether MIOpen takes them"
KNOWN: Mapping[str, Sequence[Known]] = {
    "operators": (
        Known(
            "torch.cuda has no kernel; the CPU's runs over copies",
            ("sparse.mm.reduce", "histogram", "histogramdd"),
            "success and NotImplementedError",
        ),
        Known(
            "torch.cuda has no kernel; the CPU's runs over copies",
            ("torch.ops.aten._scaled_dot_product_flash_attention_for_cpu",),
            "success and NotImplementedError",
            since="2.15",
        ),
        Known(
            OUTER_PRODUCT,
            (
                "bmm.triton_optimized",
                "nn.functional.bilinear",
                "nn.functional.multi_head_attention_forward",
            ),
            "_bmm_outer_product_kernel",
            since="2.15",
        ),
        Known(GAP, ("put",), "put_kernel.*: memory", since="2.15"),
        Known(
            "the derivative of a single largest, smallest or middle element asks is_cuda: "
            "elsewhere the host reads whether it is a number, and waits",
            ("max.reduction_no_dim", "median", "min.reduction_no_dim", "nanmedian"),
            "device to pinned",
        ),
        Known(
            "the derivative asks is_cuda, and sums in double precision elsewhere",
            ("renorm",),
            "unrolled_elementwise_kernel",
        ),
        Known(MIOPEN, ("nn.functional.ctc_loss",), "device to pageable"),
        Known(
            "torch.cuda.jiterator takes CUDA's tensors alone",
            (
                "jiterator_2inputs_2outputs",
                "jiterator_4inputs_with_extra_args",
                "jiterator_binary",
                "jiterator_binary_return_by_ref",
                "jiterator_unary",
            ),
            "RuntimeError and success",
        ),
    ),
    "modules": (
        Known(MIOPEN, ("nn.CTCLoss",), "device to pageable"),
        Known(GAP, ("nn.GaussianNLLLoss",), r"CUDAFunctor_add.*: 1\.32: memory", until="2.11"),
        Known(
            OUTER_PRODUCT,
            ("nn.Bilinear", "nn.MultiheadAttention"),
            "_bmm_outer_product_kernel",
            since="2.15",
        ),
    ),
    "optimizers": (
        Known(
            "Python hands x[mask] = number over as a tensor of the CPU for CUDA alone, and "
            "elsewhere as one of the device, which is filled first",
            ("Rprop, forloop", "Rprop, foreach"),
            "FillFunctor",
            until="2.14",
        ),
        Known(
            "torch.optim of torch 2.11 has a fused Adagrad for a backend's tensors, and none for "
            "CUDA's",
            ("Adagrad, fused",),
            "success and RuntimeError",
            until="2.11",
        ),
    ),
    "choices": (
        Known(
            "ctc_loss asks for the type cuda before it asks for cuDNN, whose targets are the CPU's",
            (
                "asked, _use_cudnn_ctc_loss",
                "recurrent, ctc_loss, lengths on the CPU",
                "recurrent, ctc_loss, lengths on the device",
            ),
            "_cudnn_ctc_loss|RuntimeError and success",
        ),
        Known(
            "torch.cuda asks cuDNN how the weights lie before it calls the operator of the layer",
            tuple(
                f"recurrent, {kind}, torch.bfloat16{both}"
                for kind in ("RNN", "GRU", "LSTM")
                for both in ("", ", bidirectional")
            ),
            "_cudnn_rnn RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
        ),
        Known(
            "torch.backends.cudnn asks for the type cuda",
            tuple(
                f"asked, is_acceptable, torch.{each}" for each in ("float16", "float32", "float64")
            ),
            "False and True",
        ),
    ),
    "training": (Known(GAP, ("demo",), "ArgMaxOps.*: memory", since="2.15"),),
    "compiled": (
        Known(
            "what a graph of CUDA's returns is copied, so that a later call does not overwrite it",
            ("replayed", "replayed step"),
            "device to device",
        ),
    ),
}


def known(family: str, release: str) -> Iterator[tuple[str, Known]]:
    """Each program of the family that is known to differ with that release of torch."""
    for each in KNOWN.get(family, ()):
        if each.is_of(release):
            for program in each.programs:
                yield program, each
