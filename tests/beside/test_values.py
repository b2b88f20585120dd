"""Operators and layers: the same values, to the last bit."""

import pytest
import torch
from torch import nn
from torch.nn import functional


def rand(*size, on, **options):
    """Drawn on the CPU, so that the same numbers are on each device."""
    return torch.randn(*size, **options).to(on)


def positive(on, size=24):
    x = rand(size, size, on=on, dtype=torch.float64)
    return x @ x.mT + size * torch.eye(size, dtype=x.dtype, device=on)


OPERATORS = {
    "mm": lambda on: rand(65, 33, on=on) @ rand(33, 17, on=on),
    "bmm, bfloat16": lambda on: rand(4, 64, 32, on=on).bfloat16() @ rand(32, 64, on=on).bfloat16(),
    "addmm": lambda on: torch.addmm(rand(8, on=on), rand(9, 7, on=on), rand(7, 8, on=on)),
    "fft": lambda on: torch.fft.fft(rand(8, 60, on=on)),
    "rfft2 and back": lambda on: torch.fft.irfft2(torch.fft.rfft2(rand(3, 16, 18, on=on))),
    "ifftn": lambda on: torch.fft.ifftn(rand(4, 8, 16, on=on, dtype=torch.complex64)),
    "stft": lambda on: torch.stft(
        rand(2, 400, on=on), 64, window=torch.hann_window(64, device=on), return_complex=True
    ),
    "cholesky": lambda on: torch.linalg.cholesky(positive(on)),
    "qr": lambda on: tuple(torch.linalg.qr(positive(on))),
    "svdvals": lambda on: torch.linalg.svdvals(rand(20, 12, on=on)),
    "eigh": lambda on: tuple(torch.linalg.eigh(positive(on))),
    "eigvals": lambda on: torch.linalg.eigvals(rand(12, 12, on=on)),
    "solve": lambda on: torch.linalg.solve(positive(on), rand(24, 3, on=on, dtype=torch.float64)),
    "lu": lambda on: tuple(torch.linalg.lu(positive(on))),
    "inv": lambda on: torch.linalg.inv(positive(on)),
    "det": lambda on: torch.linalg.det(positive(on, 6)),
    "lstsq": lambda on: torch.linalg.lstsq(rand(20, 5, on=on), rand(20, 2, on=on)).solution,
    "nonzero": lambda on: (rand(40, 30, on=on) > 0).nonzero(),
    "unique": lambda on: torch.unique(
        torch.randint(9, (200,)).to(on), return_inverse=True, return_counts=True
    ),
    "masked_select": lambda on: (lambda x: x[x > 0])(rand(40, 30, on=on)),
    "index_put": lambda on: torch.zeros(50, device=on).index_put_(
        (torch.randperm(50)[:20].to(on),), rand(20, on=on)
    ),
    "sort": lambda on: tuple(rand(7, 300, on=on).sort(stable=True)),
    "topk": lambda on: tuple(rand(7, 300, on=on).topk(5)),
    "bincount": lambda on: torch.bincount(torch.randint(20, (500,)).to(on)),
    "cumsum": lambda on: rand(7, 300, on=on).cumsum(-1),
    "sparse": lambda on: torch.sparse.mm(
        (rand(30, 40, on=on) * (rand(30, 40, on=on) > 1)).to_sparse_csr(), rand(40, 8, on=on)
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(same, name):
    same(OPERATORS[name])


@pytest.mark.draws
def test_random_numbers(same):
    same(
        lambda on: (
            torch.rand(1000, device=on),
            torch.randn(1000, device=on, dtype=torch.bfloat16),
            torch.randint(100, (1000,), device=on),
            torch.randperm(1000, device=on),
            torch.multinomial(torch.ones(50, device=on), 20),
            torch.empty(100, device=on).exponential_(),
        )
    )


LAYERS = {
    "conv1d": (lambda: nn.Conv1d(8, 16, 3, padding=1), (4, 8, 50)),
    "conv2d": (lambda: nn.Conv2d(8, 16, 3, stride=2, groups=2), (4, 8, 30, 30)),
    "conv3d": (lambda: nn.Conv3d(4, 8, 3), (2, 4, 9, 9, 9)),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(8, 4, 3, stride=2), (4, 8, 12, 12)),
    "batch_norm": (lambda: nn.BatchNorm2d(8), (4, 8, 12, 12)),
    "group_norm": (lambda: nn.GroupNorm(2, 8), (4, 8, 12, 12)),
    "layer_norm": (lambda: nn.LayerNorm(32), (4, 8, 32)),
    "LSTM": (lambda: nn.LSTM(16, 32, 2, batch_first=True, bidirectional=True), (4, 20, 16)),
    "GRU": (lambda: nn.GRU(16, 32, 2), (20, 4, 16)),
    "RNN": (lambda: nn.RNN(16, 32), (20, 4, 16)),
    "LSTMCell": (lambda: nn.LSTMCell(16, 32), (4, 16)),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(32, 4, dropout=0.0, batch_first=True),
        (4, 20, 32),
    ),
    "max_pool2d": (lambda: nn.MaxPool2d(3, 2), (4, 8, 13, 13)),
}
THAT_DRAW = {
    "dropout": (lambda: nn.Dropout(0.4), (4, 500)),
    "GRU with dropout": (lambda: nn.GRU(16, 32, 2, dropout=0.3), (20, 4, 16)),
    "transformer with dropout": (
        lambda: nn.TransformerEncoderLayer(32, 4, batch_first=True),
        (4, 20, 32),
    ),
}


@pytest.mark.parametrize(
    "name", [*LAYERS, *(pytest.param(name, marks=pytest.mark.draws) for name in THAT_DRAW)]
)
def test_layers_forward_and_backward(same, name):
    make, size = (LAYERS | THAT_DRAW)[name]

    def program(on):
        layer, x = make(), torch.randn(*size)
        layer.to(on)
        x = x.to(on).requires_grad_()
        result = layer(x)
        output = result if isinstance(result, torch.Tensor) else result[0]
        output.square().sum().backward()
        return output, x.grad, [parameter.grad for parameter in layer.parameters()]

    same(program)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_layers_over_packed_sequences(same, kind):
    def program(on):
        layer, x = getattr(nn, kind)(16, 32, 2, bidirectional=True).to(on), torch.randn(9, 4, 16)
        packed = nn.utils.rnn.pack_padded_sequence(x, [9, 6, 6, 2]).to(on)
        output = layer(packed)[0].data
        output.square().sum().backward()
        return output, [parameter.grad for parameter in layer.parameters()]

    same(program)


def test_an_lstm_with_a_projection(same):
    def program(on):
        layer, x = nn.LSTM(16, 32, proj_size=8).to(on), torch.randn(9, 4, 16).to(on)
        output, (h, c) = layer(x)
        output.square().sum().backward()
        return output, h, c, [parameter.grad for parameter in layer.parameters()]

    same(program)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_layers_under_autocast(same, other, kind, dtype):
    if other.type == "cpu":
        pytest.skip("needs a device with CUDA's rules for autocast; the CPU has its own")

    def program(on):
        layer, x = getattr(nn, kind)(16, 32).to(on), torch.randn(9, 4, 16).to(on)
        with torch.autocast(on.type, dtype):
            output = layer(x)[0]
        output.square().sum().backward()
        return output, [parameter.grad for parameter in layer.parameters()]

    same(program)


@pytest.mark.draws
def test_dropout_between_layers_begins_anew_with_a_seed(same):
    def program(on):
        layer, x = nn.LSTM(16, 32, 3, dropout=0.4).to(on), torch.randn(9, 4, 16).to(on)
        drawn = []
        for seed in (1, None, 1, None):
            if seed is not None:
                torch.manual_seed(seed)
                torch.rand(100, device=on)  # moves on what the dropout's seed is drawn from
            drawn.append(layer(x)[0])
        return drawn

    same(program)


@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_attention(same, dtype, causal):
    def program(on):
        q, k, v = (rand(2, 4, 64, 32, on=on).to(dtype).requires_grad_() for _ in range(3))
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        out.sum().backward()
        return out, q.grad, k.grad, v.grad

    same(program)


def test_ctc_loss(same):
    def program(on):
        scores = rand(50, 4, 20, on=on).log_softmax(-1).requires_grad_()
        targets = torch.randint(1, 20, (4, 10)).to(on)
        loss = functional.ctc_loss(scores, targets, torch.full((4,), 50), torch.full((4,), 10))
        loss.backward()
        return loss, scores.grad

    same(program)


def test_detection(same):
    torchvision = pytest.importorskip("torchvision", reason="needs torchvision")

    def program(on):
        corners = torch.rand(200, 2) * 100
        boxes = torch.cat((corners, corners + 1 + torch.rand(200, 2) * 30), 1).to(on)
        return torchvision.ops.nms(boxes, torch.rand(200).to(on), 0.4)

    same(program)
