"""Everyday operators, modules and optimizers do as on the CPU. All of them: tests/conformance."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).parents[2]))
from conformance.opinfo import cli
from conformance.opinfo.settings import SHARED
from conformance.running.process import fork_server

pytestmark = pytest.mark.turns_on_memory

EVERYDAY = """
add sub mul div.no_rounding_mode true_divide pow neg abs exp log sqrt rsqrt sigmoid tanh clamp
maximum minimum where eq lt logical_and bitwise_and isnan
mm bmm addmm matmul einsum linalg.norm linalg.solve
sum mean var prod amax argmax cumsum sort topk unique
cat stack split chunk view reshape transpose permute expand unbind
index_select gather scatter masked_fill __getitem__ index_put nonzero
nn.functional.linear nn.functional.conv2d nn.functional.max_pool2d nn.functional.batch_norm
nn.functional.layer_norm nn.functional.relu nn.functional.gelu softmax nn.functional.cross_entropy
nn.functional.dropout nn.functional.embedding nn.functional.scaled_dot_product_attention
tensor_split randn zeros_like arange
"""
# With every dtype: arithmetic, sums, indices, views, and what is random or has no input.
A_FEW = "mul mm sum cat sort where index_put nn.functional.conv2d t arange randn unique"
MODULES = "nn.Linear nn.Conv2d nn.BatchNorm2d nn.LSTM nn.LazyConv1d nn.TransformerEncoderLayer"
OPTIMIZERS = "SGD AdamW LBFGS Muon SparseAdam"


Run = Callable[..., None]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Runs samples of these names. One process imports them, and forks the workers of all runs."""
    with fork_server(*SHARED) as server:

        def run(device: str, names: str, *options: str) -> None:
            command = ["--device", device, "--import", "torch_acme", "--strict", "--jobs", "1"]
            with pytest.raises(SystemExit) as ended:
                cli.main([*command, "--ops", ",".join(names.split()), *options], server)
            assert ended.value.code == 0

        yield run


def test_everyday_operators_agree_with_the_cpu(run):
    run("acme", EVERYDAY, "--dtypes", "float32")


def test_every_dtype_and_modules_and_optimizers_agree_with_the_cpu(run):
    run("acme", " ".join((A_FEW, MODULES, OPTIMIZERS)))


@pytest.mark.usefixtures("two_devices")
def test_everything_stays_on_a_device_that_is_not_the_current_one(run):
    assert torch.acme.current_device() == 0
    run("acme:1", " ".join((A_FEW, "nn.Linear nn.LSTM AdamW")), "--dtypes", "float32,int64")
