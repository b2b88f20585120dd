"""Operators of other libraries, with and without kernels for the device."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory


@pytest.fixture
def library():
    with torch.library._scoped_library("outback_test", "FRAGMENT") as made:
        yield made


def test_a_cpu_kernel_serves_a_custom_operator(library):
    library.define("twice(Tensor x, Tensor? y, Tensor[] more) -> (Tensor, Tensor[])")
    seen = []

    def twice(x, y, more):
        seen.append(x.device.type)
        return x * 2, [m * 2 for m in more]

    library.impl("twice", twice, "CPU")
    x = torch.ones(3, device="acme")
    doubled, more = torch.ops.outback_test.twice(x, None, [x, x + 1])
    assert seen == ["cpu"] and doubled.device == x.device
    assert [m.cpu().tolist() for m in more] == [[2, 2, 2], [4, 4, 4]]


def test_a_cpu_kernel_that_writes(library):
    library.define("fill_two(Tensor(a!) x) -> ()")

    def fill_two(x):
        x.fill_(2)

    library.impl("fill_two", fill_two, "CPU")
    x = torch.zeros(4, device="acme")
    torch.ops.outback_test.fill_two(x[1:3])
    assert x.cpu().tolist() == [0, 2, 2, 0]


def test_a_kernel_that_returns_a_view(library):
    library.define("first(Tensor(a) x) -> Tensor(a)")
    library.impl("first", lambda x: x[0], "CPU")
    x = torch.arange(6.0, device="acme").view(2, 3)
    first = torch.ops.outback_test.first(x)
    first.fill_(9)
    assert x.cpu().tolist() == [[9, 9, 9], [3, 4, 5]]


def test_a_kernel_for_the_device_is_preferred(library):
    library.define("who(Tensor x) -> Tensor")
    library.impl("who", lambda x: torch.zeros(1), "CPU")
    library.impl("who", lambda x: x + 1, "PrivateUse1")
    assert torch.ops.outback_test.who(torch.zeros(1, device="acme")).item() == 1


def test_an_operator_without_any_kernel_says_so(library):
    library.define("nothing(Tensor x) -> Tensor")
    with pytest.raises(
        NotImplementedError, match="outback_test::nothing is not implemented for acme"
    ):
        torch.ops.outback_test.nothing(torch.zeros(1, device="acme"))


def test_a_kernel_for_a_composed_operator_says_what_is_missing(run_python):
    run_python(
        """
        import warnings
        import torch, torch_acme
        warnings.simplefilter("ignore")  # torch's, of a kernel that is replaced
        library = torch.library.Library("aten", "IMPL")
        library.impl("linear", lambda x, w, b=None: torch.addmm(b, x, w.t()), "PrivateUse1")
        layer = torch.nn.Linear(3, 2).acme()
        y = layer(torch.ones(4, 3, device="acme"))
        try:
            y.sum().backward()
        except NotImplementedError as error:
            said = str(error)
            assert "aten::linear_backward is not implemented for acme" in said
            assert "its kernel for aten::linear takes the place of what PyTorch composes" in said
        else:
            raise AssertionError("a derivative")
        """
    )
