"""How much of PyTorch's samples each level runs; of the checks, each says its own level."""

from __future__ import annotations

import dataclasses

from .opinfo.settings import ALL_SAMPLES, DTYPES

LEVELS = ("quick", "standard", "full")

# Something of each kind of operator: what is used every day, and what backends get wrong.
_QUICK_OPERATORS = """
add sub mul div.no_rounding_mode pow neg abs exp sqrt clamp maximum eq where
mm bmm addmm matmul sum mean var amax argmax cumsum sort topk
cat stack split view transpose expand index_select gather scatter masked_fill __getitem__ index_put
nn.functional.linear nn.functional.conv2d nn.functional.layer_norm softmax
nn.functional.cross_entropy
"""
_QUICK_OTHERS = "nn.Linear nn.Conv2d nn.LSTM nn.TransformerEncoderLayer SGD AdamW"
# All that an operator can have; those that it does not claim on the CPU do not run.
_EVERY_DTYPE = (
    *("float32", "float64", "float16", "bfloat16", "complex64", "complex128", "complex32"),
    *("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool"),
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
)


@dataclasses.dataclass(frozen=True)
class Samples:
    """What is run of them: of which names, with which dtypes, how many of each."""

    names: tuple[str, ...]  # of operators, modules and optimizers; none: all
    dtypes: tuple[str, ...]
    count: int


SAMPLES = {
    "quick": Samples((*_QUICK_OPERATORS.split(), *_QUICK_OTHERS.split()), ("float32",), 1),
    "standard": Samples((), DTYPES, 3),
    "full": Samples((), _EVERY_DTYPE, ALL_SAMPLES),
}
