"""Random numbers that the device draws: distributions, positions of generators, dropout."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.turns_on_kernels

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
floats = pytest.mark.parametrize("dtype", FLOATS, ids=str)
any_dtype = pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool], ids=str)
N = 50_000


@pytest.fixture(autouse=True)
def seed():
    torch.acme.manual_seed(2)


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="acme")


def distance(drawn: torch.Tensor, cdf) -> float:
    """Kolmogorov's and Smirnov's: 1.95 and more once in a thousand draws of that distribution."""
    x = drawn.cpu().double().sort().values
    places = torch.arange(len(x) + 1, dtype=torch.float64) / len(x)
    of_x = cdf(x)
    most = torch.maximum((places[1:] - of_x).abs().max(), (of_x - places[:-1]).abs().max())
    return most.item() * math.sqrt(len(x))


def normal_cdf(z: torch.Tensor) -> torch.Tensor:
    return (1 + torch.erf(z / math.sqrt(2))) / 2


DISTRIBUTIONS = {
    "uniform": (lambda x: x.uniform_(-2, 3), lambda x: (x + 2) / 5),
    "normal": (lambda x: x.normal_(1, 2), lambda x: normal_cdf((x - 1) / 2)),
    "log_normal": (lambda x: x.log_normal_(0.2, 0.5), lambda x: normal_cdf((x.log() - 0.2) / 0.5)),
    "exponential": (lambda x: x.exponential_(2.5), lambda x: 1 - torch.exp(-2.5 * x)),
    "cauchy": (lambda x: x.cauchy_(1, 2), lambda x: 0.5 + torch.atan((x - 1) / 2) / math.pi),
}


@floats
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(on_device, name, dtype):
    draw, cdf = DISTRIBUTIONS[name]
    # Rounding moves a value by half of the last digit, which shows if there are many.
    count = N if dtype in (torch.float32, torch.float64) else N // 20
    assert distance(draw(empty(count, dtype=dtype)), cdf) < 1.95


@floats
def test_normal_numbers_have_their_moments(on_device, dtype):
    z = empty(N, dtype=dtype).normal_(1, 2).cpu().double()
    assert z.mean().item() == pytest.approx(1, abs=0.03)
    assert z.std().item() == pytest.approx(2, abs=0.03)
    assert ((z - 1) / 2).pow(4).mean().item() == pytest.approx(3, abs=0.2)


@floats
@pytest.mark.parametrize("bounds", [(0, 1), (-1, 0), (1, 1.01), (-5, -4), (100, 101), (3, 3)])
def test_uniform_numbers_are_below_their_bound(on_device, dtype, bounds):
    low, high = (torch.tensor(bound, dtype=dtype).item() for bound in bounds)
    x = empty(N, dtype=dtype).uniform_(*bounds).cpu()
    assert x.min() >= low
    assert x.max() < high or low == high == x.max()


@floats
def test_exponential_numbers_are_above_0(on_device, dtype):
    assert empty(N, dtype=dtype).exponential_().cpu().min() > 0


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_geometric_numbers(on_device, dtype):
    x = empty(N, dtype=dtype).geometric_(0.3).cpu().double()
    assert x.min() == 1
    assert x.mean().item() == pytest.approx(1 / 0.3, rel=0.02)
    assert x.var().item() == pytest.approx(0.7 / 0.09, rel=0.05)


@any_dtype
def test_truth_values(on_device, dtype):
    for p, tolerance in ((0.3, 0.01), (0.0, 0.0), (1.0, 0.0), (1e-3, 1e-3)):
        x = empty(N, dtype=dtype).bernoulli_(p).cpu().double()
        assert set(x.tolist()) <= {0.0, 1.0}
        assert x.mean().item() == pytest.approx(p, abs=tolerance)


@floats
def test_truth_values_by_a_tensor(on_device, dtype):
    p = torch.linspace(0, 1, 11, dtype=torch.float64).to(dtype)
    each = p.acme().expand(5000, 11)
    for drawn in (
        torch.bernoulli(each),
        empty(5000, 11, dtype=torch.int32).bernoulli_(each),
        empty(11, 5000, dtype=torch.bool).t().bernoulli_(p.acme()),
    ):
        means = drawn.cpu().double().mean(0)
        torch.testing.assert_close(means, p.double(), rtol=0, atol=0.03)
        assert (means[0], means[-1]) == (0, 1)
    assert empty(3).bernoulli_(torch.tensor(1.0)).tolist() == [1, 1, 1]


# By dtype: the largest number of random_().
LARGEST = {
    torch.bool: 1,
    torch.float16: 2**11,
    torch.bfloat16: 2**8,
    torch.float32: 2**24,
    torch.float64: 2**53,
} | {dtype: torch.iinfo(dtype).max for dtype in INTEGERS}


@any_dtype
def test_integers(on_device, dtype):
    largest = LARGEST[dtype]
    x = empty(N, dtype=dtype).random_().cpu().double()
    assert 0 <= x.min() <= 0.01 * largest
    assert 0.98 * largest <= x.max() <= largest
    assert x.mean().item() == pytest.approx(largest / 2, rel=0.02)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 1),
        (-3, 4),
        (0, 1000),
        (-5, 2**31),
        (7, 2**40),
        (-(2**62), 2**62 + 9),
        (2**62, 2**63 - 1),
    ],
)
def test_integers_between_two(on_device, low, high):
    x = torch.randint(low, high, (N,), device="acme").cpu()
    assert low <= x.min()
    assert x.max() < high
    places = (x.double() - low) / (high - low)
    assert places.mean().item() == pytest.approx(
        0.5 if high - low > 7 else 3 / 7 * (high > 1), abs=0.01
    )
    if high - low == 7:
        assert x.unique().tolist() == list(range(low, high))


@pytest.mark.filterwarnings("ignore:to - 1 is out of bounds")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_integers_that_round_stay_below_their_bound(on_device, dtype):
    assert empty(N, dtype=dtype).random_(0, 1001).cpu().max() <= 1000


def test_a_range_of_all_integers(on_device):
    x = empty(N, dtype=torch.int64).random_(-(2**63), None).cpu()
    assert (x < 0).double().mean().item() == pytest.approx(0.5, abs=0.01)
    assert (x & 1).double().mean().item() == pytest.approx(0.5, abs=0.01)


# ---- Positions


def test_philox(on_device):
    generator = torch.Generator("acme").manual_seed(0)
    drawn = empty(1, dtype=torch.int64).random_(-(2**63), None, generator=generator)
    assert drawn.item() & (2**64 - 1) == 0xE169C58D_6627E8D5  # Random123's vector for zeros


def test_the_same_position_gives_the_same_numbers(on_device):
    def draw() -> list:
        drawn = [
            torch.rand(1000, device="acme"),
            torch.randn(1000, device="acme", dtype=torch.float64),
            torch.randint(9, (1000,), device="acme"),
            F.dropout(torch.ones(1000, device="acme")),
        ]
        return [each.tolist() for each in drawn]

    state = torch.acme.get_rng_state()
    first = draw()
    with torch.random.fork_rng(devices=[0], device_type="acme"):
        assert draw() != first
    torch.acme.set_rng_state(state)
    assert draw() == first
    torch.acme.manual_seed(2)
    assert draw() == first
    torch.acme.manual_seed(3)
    assert draw() != first


@pytest.mark.parametrize("count", [1, 5, 4096, 100_000, (1 << 20) + 3])
def test_no_number_comes_twice(on_device, count):
    """Two launches draw other words, and the second one what the offset says."""
    generator = torch.Generator("acme").manual_seed(5)

    def draw() -> torch.Tensor:
        words = empty(count, dtype=torch.int64).random_(-(2**63), None, generator=generator)
        return words.cpu()

    first, offset = draw(), generator.get_offset()
    second = draw()
    assert len(torch.cat([first, second]).unique()) == 2 * count
    generator.set_offset(offset)
    assert torch.equal(draw(), second)


def test_numbers_of_two_offsets_and_seeds_are_independent(on_device):
    generator = torch.Generator("acme").manual_seed(5)
    drawn = [torch.randn(N, device="acme", generator=generator).cpu() for _ in range(3)]
    drawn += [torch.randn(N, device="acme", generator=generator.manual_seed(6)).cpu()]
    drawn += [drawn[0].roll(shift) for shift in (1, 2, 256, 1024)]
    others = torch.corrcoef(torch.stack(drawn)) - torch.eye(len(drawn))
    assert others.abs().max() < 5 / math.sqrt(N)


def test_a_generator_of_another_device_is_refused(on_device):
    for draw in (
        lambda: torch.rand(3, device="acme", generator=torch.Generator()),
        lambda: empty(3).random_(generator=torch.Generator()),
        lambda: empty(3).bernoulli_(generator=torch.Generator()),
    ):
        with pytest.raises(RuntimeError, match="Expected a 'acme' device type for generator"):
            draw()
    if torch.acme.device_count() > 1:
        with pytest.raises(RuntimeError, match="Expected a generator of acme:0"):
            torch.rand(3, device="acme:0", generator=torch.Generator("acme:1"))


def test_tensors_that_are_not_dense(on_device):
    x = torch.zeros(40, 50, device="acme")
    for draw in (
        lambda each: each.uniform_(1, 2),
        lambda each: each.random_(1, 9),
        lambda each: each.bernoulli_(1.0),
        lambda each: each.bernoulli_(torch.ones(50, 40, device="acme").t()[:, ::2]),
        lambda each: each.geometric_(0.5),
    ):
        draw(x.zero_()[:, ::2])
        assert (x[:, ::2].cpu() >= 1).all()
        assert (x[:, 1::2].cpu() == 0).all()
    torch.acme.manual_seed(2)
    y = empty(50, 40).t().uniform_()
    torch.acme.manual_seed(2)
    assert torch.equal(y.t().cpu(), empty(50, 40).uniform_().cpu())


def test_empty_tensors_draw_nothing(on_device):
    x, before = empty(3, 0), torch.acme.default_generators[0].get_offset()
    for drawn in (
        x.uniform_(),
        x.normal_(),
        x.bernoulli_(),
        x.random_(),
        F.dropout(x),
        x.bernoulli(),
    ):
        assert drawn.shape == (3, 0)
    assert torch.acme.default_generators[0].get_offset() == before


def test_wrong_arguments(on_device):
    for wrong, message in (
        (lambda: empty(3).uniform_(2, 1), "uniform_ expects to return"),
        (lambda: empty(3).normal_(0, -1), "normal expects std >= 0.0"),
        (lambda: empty(3).bernoulli_(1.5), "bernoulli_ expects p to be in"),
        (lambda: empty(3).exponential_(0), "exponential_ expects lambda > 0.0"),
        (lambda: empty(3).geometric_(1), "geometric_ expects p to be in"),
        (lambda: empty(3).random_(5, 5), "random_ expects 'from' to be less than 'to'"),
        (lambda: empty(3, dtype=torch.int8).random_(0, 300), "to - 1 is out of bounds"),
        (lambda: empty(1).expand(3).uniform_(), "unsupported operation"),
    ):
        with pytest.raises(RuntimeError, match=message):
            wrong()


# ---- Dropout


@floats
def test_dropout(on_device, dtype):
    x = (torch.rand(100, 501) + 1).to(dtype).acme().requires_grad_()
    out = F.dropout(x, 0.3)
    out.backward(torch.ones(1, dtype=dtype, device="acme").expand(out.shape))
    kept = out.detach().cpu() != 0
    assert kept.double().mean().item() == pytest.approx(0.7, abs=0.01)
    scaled = (x.detach().cpu().double() / 0.7).to(dtype)
    torch.testing.assert_close(out.detach().cpu(), scaled * kept)
    torch.testing.assert_close(x.grad.cpu(), (kept.double() / 0.7).to(dtype))


def test_dropout_of_nothing_and_of_everything(on_device):
    x = torch.rand(5, 7).acme() + 1
    for p, of_x in ((0.0, 1), (1.0, 0)):
        assert torch.equal(F.dropout(x, p).cpu(), x.cpu() * of_x)
        out, mask = torch.native_dropout(x, p, True)
        assert torch.equal(out.cpu(), x.cpu() * of_x)
        assert mask.dtype == torch.bool
        assert (mask.cpu() == bool(of_x)).all()
    out, mask = torch.native_dropout(x, 0.5, False)
    assert torch.equal(out.cpu(), x.cpu())
    assert mask.cpu().all()


def test_dropout_keeps_strides(on_device):
    for x in (
        torch.ones(40, 50).acme().t(),
        torch.ones(2, 8, 5, 5).acme().contiguous(memory_format=torch.channels_last),
    ):
        leaf = x.requires_grad_()
        out = F.dropout(leaf)
        out.backward(torch.ones(x.shape, device="acme"))
        assert out.stride() == x.stride()
        assert torch.equal(leaf.grad.cpu(), out.detach().cpu())


def test_dropout_of_channels_and_alpha_dropout(on_device):
    channels = F.dropout2d(torch.ones(30, 20, 4, 4, device="acme"), 0.5).cpu()
    assert set(channels.sum((2, 3)).unique().tolist()) == {0, 32}
    alpha = F.alpha_dropout(torch.randn(N).acme(), 0.3).cpu()
    assert alpha.mean().item() == pytest.approx(0, abs=0.03)
    assert alpha.std().item() == pytest.approx(1, abs=0.03)


def test_a_checkpoint_drops_the_same_again(on_device):
    def forward(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(F.dropout(x, 0.2) * 2, 0.2)

    x = torch.ones(1000, device="acme", requires_grad=True)
    out = checkpoint(forward, x, use_reentrant=False)
    torch.rand(10, device="acme")
    out.backward(torch.ones(1000, device="acme"))
    assert torch.equal(x.grad.cpu(), out.detach().cpu())


def test_normal_numbers_around_tensors():
    mean, std = torch.tensor([[-5.0], [5.0]]).acme(), torch.linspace(0, 3, 4).acme()
    for drawn, wanted_mean, wanted_std in (
        (torch.normal(mean.expand(2, N), 2.0), [-5, 5], [2, 2]),
        (torch.normal(mean.expand(2, N), torch.ones(2, N).acme() * 3), [-5, 5], [3, 3]),
        (torch.normal(1.0, std.expand(N, 4)).t(), [1, 1, 1, 1], [0, 1, 2, 3]),
    ):
        assert drawn.is_acme
        rows = drawn.cpu()
        torch.testing.assert_close(
            rows.mean(1), torch.tensor(wanted_mean).float(), rtol=0, atol=0.06
        )
        torch.testing.assert_close(rows.std(1), torch.tensor(wanted_std).float(), rtol=0, atol=0.06)
    with pytest.raises(RuntimeError, match="normal expects all elements of std"):
        torch.normal(mean, -torch.ones(2, 1, device="acme"))
