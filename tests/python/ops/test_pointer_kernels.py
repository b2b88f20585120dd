"""The kernels that run on the device's memory as it is, beside what they have to leave alone."""

import pytest
import torch
import torch.nn.functional as F

pytestmark = pytest.mark.turns_on_memory


def rand(*size, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(size))
    return torch.randn(size, generator=generator).to(dtype)


def layer_norm_backward(on, *shape, normalized=(4,), weight=True, bias=True, wanted=(1, 1, 1)):
    x, gradient, rows = rand(*shape), rand(*shape) + 1, rand(*shape[:-1], 1)
    made = torch.ops.aten.native_layer_norm_backward(
        on(gradient), on(x), normalized, on(rows), on(rows.abs()),
        on(rand(*normalized)) if weight else None, on(rand(*normalized)) if bias else None, wanted,
    )  # fmt: skip
    return torch.cat([tensor.flatten() for tensor in made if tensor is not None])


# Each takes the function that puts its tensors where they are to be.
CALLS = {
    "mm": lambda on: on(rand(3, 4)) @ on(rand(4, 5)),
    "mm, transposed": lambda on: on(rand(4, 3)).t() @ on(rand(5, 4)).t(),
    "mm, every second row": lambda on: on(rand(6, 4))[::2] @ on(rand(4, 5)),
    "mm, nothing": lambda on: on(rand(0, 4)) @ on(rand(4, 5)),
    "mm over nothing": lambda on: on(rand(3, 0)) @ on(rand(0, 5)),
    "mm, double": lambda on: on(rand(3, 4).double()) @ on(rand(4, 5).double()),
    "mm, bfloat16": lambda on: on(rand(3, 4).bfloat16()) @ on(rand(4, 5).bfloat16()),
    "mm, half": lambda on: on(rand(3, 4).half()) @ on(rand(4, 5).half()),
    "mm, complex": lambda on: on(rand(3, 4).cfloat()).conj() @ on(rand(4, 5).cfloat()),
    "mm, integers": lambda on: on(rand(3, 4).int()) @ on(rand(4, 5).int()),
    "mm, two dtypes": lambda on: on(rand(3, 4)) @ on(rand(4, 5).double()),
    "mm, sizes": lambda on: on(rand(3, 4)) @ on(rand(3, 4)),
    "mm, a negative view": lambda on: on(rand(4, 4).cfloat()).conj().imag @ on(rand(4, 4)),
    "addmm": lambda on: torch.addmm(on(rand(5)), on(rand(3, 4)), on(rand(4, 5)), beta=2, alpha=3),
    "addmm, a number": lambda on: torch.addmm(on(rand(1)[0]), on(rand(3, 4)), on(rand(4, 5))),
    "addmm, beta 0": lambda on: torch.addmm(
        on(rand(5).fill_(float("nan"))), on(rand(3, 4)), on(rand(4, 5)), beta=0
    ),
    "bmm": lambda on: torch.bmm(on(rand(2, 3, 4)), on(rand(2, 4, 5))),
    "bmm, large": lambda on: torch.bmm(on(rand(8, 32, 64)), on(rand(8, 64, 16))),
    "baddbmm": lambda on: torch.baddbmm(on(rand(1, 5)), on(rand(2, 3, 4)), on(rand(2, 4, 5))),
    "linear": lambda on: F.linear(on(rand(2, 3, 4)), on(rand(5, 4)), on(rand(5))),
    "softmax": lambda on: torch.softmax(on(rand(3, 4)), 1),
    "softmax of columns": lambda on: torch.softmax(on(rand(3, 4, 5)), 1),
    "softmax of a number": lambda on: torch.softmax(on(rand(1)[0]), 0),
    "softmax to double": lambda on: torch.softmax(on(rand(3, 4)), 1, dtype=torch.float64),
    "softmax, half": lambda on: torch.softmax(on(rand(3, 4).half()), 1),
    "softmax, nothing": lambda on: torch.softmax(on(rand(0, 4)), 1),
    "softmax, integers": lambda on: torch.softmax(on(rand(3).int()), 0),
    "softmax, transposed": lambda on: torch.softmax(on(rand(3, 4)).t(), 1),
    "log_softmax": lambda on: torch.log_softmax(on(rand(3, 4)), 0),
    "sum": lambda on: on(rand(3, 4)).sum(),
    "sum of rows": lambda on: on(rand(3, 4)).sum(1, keepdim=True),
    "sum, transposed": lambda on: on(rand(3, 4)).t().sum(0),
    "sum to double": lambda on: on(rand(3, 4)).sum(dtype=torch.float64),
    "sum of integers": lambda on: on(rand(3, 4).int()).sum(0),
    "sum of half": lambda on: on(rand(3, 400).half()).sum(1),
    "sum of nothing": lambda on: on(rand(0, 4)).sum(0),
    "sum of a number": lambda on: on(rand(1)[0]).sum(),
    "sum, no such dimension": lambda on: on(rand(3, 4)).sum(2),
    "sum of a bfloat16 broadcast": lambda on: on(rand(5, 3, 4).bfloat16()).sum((0, 1), True),
    "mean": lambda on: on(rand(3, 4)).mean(),
    "mean of rows": lambda on: on(rand(3, 4)).mean((0, -1), keepdim=True),
    "mean of nothing": lambda on: on(rand(0, 4)).mean(0),
    "mean, empty": lambda on: on(rand(0, 4)).mean(1),
    "mean of half": lambda on: on(rand(3, 400).half()).mean(1),
    "mean to double": lambda on: on(rand(3, 4)).mean(dtype=torch.float64),
    "mean of integers": lambda on: on(rand(3, 4).int()).mean(),
    "cat": lambda on: torch.cat([on(rand(3, 4)), on(rand(2, 4))]),
    "cat, columns": lambda on: torch.cat([on(rand(3, 4)), on(rand(3, 2)).expand(3, 2)], 1),
    "cat, transposed": lambda on: torch.cat([on(rand(4, 3)).t(), on(rand(2, 4))]),
    "cat, two dtypes": lambda on: torch.cat([on(rand(3, 4)), on(rand(2, 4).double())]),
    "cat, an empty one": lambda on: torch.cat([on(rand(3, 4)), on(torch.empty(0))]),
    "cat, channels last": lambda on: torch.cat(
        [on(rand(1, 2, 3, 4)).to(memory_format=torch.channels_last)] * 2, 1
    ),
    "cat, sizes": lambda on: torch.cat([on(rand(3, 4)), on(rand(2, 5))]),
    "cat, numbers": lambda on: torch.cat([on(rand(1)[0]), on(rand(1)[0])]),
    "layer_norm": lambda on: F.layer_norm(on(rand(3, 4)), (4,), on(rand(4)), on(rand(4))),
    "layer_norm, alone": lambda on: F.layer_norm(on(rand(3, 4)).t(), (3,)),
    "layer_norm, two dtypes": lambda on: F.layer_norm(
        on(rand(3, 4).bfloat16()), (4,), on(rand(4)), on(rand(4))
    ),
    "layer_norm backward": lambda on: layer_norm_backward(on, 3, 4),
    "layer_norm backward, alone": lambda on: layer_norm_backward(
        on, 2, 3, 4, weight=False, bias=False, wanted=(1, 0, 0)
    ),
    "layer_norm backward, weight": lambda on: layer_norm_backward(on, 3, 4, wanted=(0, 1, 0)),
    "layer_norm backward, bias": lambda on: layer_norm_backward(on, 3, 4, wanted=(0, 0, 1)),
    "layer_norm backward, two": lambda on: layer_norm_backward(on, 2, 3, 4, normalized=(3, 4)),
    "layer_norm backward, nothing": lambda on: layer_norm_backward(on, 0, 4),
    "layer_norm backward, sizes": lambda on: layer_norm_backward(on, 3, 4, normalized=(5,)),
    "layer_norm backward of no weight": lambda on: layer_norm_backward(on, 3, 4, weight=False),
    "layer_norm, sizes": lambda on: F.layer_norm(on(rand(3, 4)), (5,)),
    "layer_norm, nothing": lambda on: F.layer_norm(on(rand(0, 4)), (4,)),
    "index_select": lambda on: on(rand(3, 4)).index_select(1, on(torch.tensor([3, 0, 0]))),
    "index_select, int32": lambda on: on(rand(3)).index_select(0, on(torch.tensor([2]).int())),
    "index_select, outside": lambda on: on(rand(3, 4)).index_select(0, on(torch.tensor([3]))),
    "index_select, a number": lambda on: on(rand(1)[0]).index_select(0, on(torch.tensor([0]))),
    "index_select by floats": lambda on: on(rand(3)).index_select(0, on(rand(2))),
    "gather": lambda on: on(rand(3, 4)).gather(1, on(torch.tensor([[3, 0], [1, 1]]))),
    "gather, transposed": lambda on: on(rand(4, 3)).t().gather(0, on(torch.tensor([[2, 0]]))),
    "gather, outside": lambda on: on(rand(3, 4)).gather(0, on(torch.tensor([[3]]))),
    "gather, nothing": lambda on: on(rand(3, 4)).gather(0, on(torch.zeros(0, 4).long())),
    "gather, integers": lambda on: on(rand(3).int()).gather(0, on(torch.tensor([2, 2]))),
    "gather by floats": lambda on: on(rand(3)).gather(0, on(rand(2))),
    "gather, a negative view": lambda on: (
        on(rand(3).cfloat() * 1j).conj().imag.gather(0, on(torch.tensor([2, 1])))
    ),
    "x[i]": lambda on: on(rand(3, 4))[on(torch.tensor([2, 0, -1]))],
    "x[i, j]": lambda on: on(rand(3, 4))[on(torch.tensor([[2], [0]])), on(torch.tensor([3, 1]))],
    "x[:, i]": lambda on: on(rand(3, 4))[:, on(torch.tensor([2, 0]))],
    "x[i, :, j]": lambda on: on(rand(3, 4, 5)).mT[on(torch.tensor([2])), :, on(torch.tensor([1]))],
    "x[i], by the CPU's": lambda on: on(rand(3, 4))[torch.tensor([2, 0])],
    "x[i], int32": lambda on: on(rand(3, 4))[on(torch.tensor([2, 0]).int())],
    "x[i], outside": lambda on: on(rand(3, 4))[on(torch.tensor([3]))],
    "x[i], nothing": lambda on: on(rand(3, 4))[on(torch.zeros(0).long())],
    "x[mask]": lambda on: on(rand(3, 4))[on(rand(3, 4)) > 0],
    "x[i], integers": lambda on: on(rand(3, 4).int())[on(torch.tensor([2, 0]))],
    "dot": lambda on: torch.dot(on(rand(5)), on(rand(5)) + 1),
    "dot, every second": lambda on: torch.dot(on(rand(6))[::2], on(rand(3))),
    "dot, sizes": lambda on: torch.dot(on(rand(5)), on(rand(4))),
    "dot, two dtypes": lambda on: torch.dot(on(rand(5)), on(rand(5).double())),
    "trace": lambda on: on(rand(4, 5)).trace(),
    "trace, transposed": lambda on: on(rand(4, 5)).t().trace(),
    "trace of integers": lambda on: on(rand(4, 5).int()).trace(),
    "trace of a vector": lambda on: on(rand(4)).trace(),
    "rsub": lambda on: torch.rsub(on(rand(3, 4)), on(rand(4)), alpha=2),
    "rsub, two dtypes": lambda on: torch.rsub(on(rand(3)), on(rand(3).int())),
    "floor_divide": lambda on: on(rand(3, 4)) // on(rand(4)),
    "floor_divide, a number": lambda on: on(rand(3, 4)) // 0.3,
    "floor_divide, two dtypes": lambda on: on(rand(3, 4)) // on(rand(4).double()),
    "floor_divide, sizes": lambda on: on(rand(3, 4)) // on(rand(3)),
    "searchsorted": lambda on: torch.searchsorted(on(rand(9).sort()[0]), on(rand(4)), right=True),
    "searchsorted, a sorter": lambda on: torch.searchsorted(
        on(rand(9)), on(rand(4)), sorter=on(rand(9).argsort()), out_int32=True
    ),
    "searchsorted, sizes": lambda on: torch.searchsorted(on(rand(2, 3)), on(rand(3, 3))),
    "searchsorted, two dtypes": lambda on: torch.searchsorted(on(rand(9)), on(rand(4).double())),
    "bucketize": lambda on: torch.bucketize(on(rand(3, 4)).t(), on(rand(9).sort()[0])),
    "clamp": lambda on: on(rand(3, 4)).clamp(-0.5, 0.5),
    "clamp, one side": lambda on: on(rand(3, 4)).t().clamp(max=0.5),
    "clamp to nan": lambda on: on(rand(3, 4)).clamp(float("nan"), 1),
    "clamp of integers by a fraction": lambda on: on(rand(3).int()).clamp(0.5),
    "clamp, no side": lambda on: on(rand(3)).clamp(),
    "clamp_": lambda on: on(rand(3, 4)).clamp_(-0.5, 0.5),
    "clamp by tensors": lambda on: on(rand(3, 4)).clamp(on(rand(4)), on(rand(3, 1)) + 1),
    "clamp by a tensor": lambda on: on(rand(3, 4)).clamp(max=on(rand(4))),
    "clamp by another dtype": lambda on: on(rand(3, 4)).clamp(on(rand(4).double())),
    "clamp by one number of a tensor's": lambda on: on(rand(3, 4)).clamp(on(rand(1)[0])),
    "clamp_ by tensors": lambda on: on(rand(3, 4)).clamp_(on(rand(4)), on(rand(3, 4)) + 1),
    "clamp_ by larger tensors": lambda on: on(rand(4)).clamp_(on(rand(3, 4)), on(rand(4))),
    "clamp_min by a tensor": lambda on: on(rand(3, 4)).clamp_min(on(rand(4))),
    "clamp_max by a tensor": lambda on: on(rand(3, 4)).clamp_max(on(rand(4).double())),
    "embedding": lambda on: F.embedding(on(torch.tensor([[1, 2], [0, 1]])), on(rand(3, 4))),
    "fill_": lambda on: on(rand(3, 4)).fill_(1.5),
    "fill_ one": lambda on: on(rand(3, 4))[1:2, 2].fill_(1.5),
    "fill_ half": lambda on: on(rand(3, 4).half()).fill_(1e6),
    "fill_ one half with too much": lambda on: on(rand(1).half()).fill_(1e6),
    "fill_ one long with too much": lambda on: on(rand(1).long()).fill_(1e30),
    "fill_ one float with too much": lambda on: on(rand(1)).fill_(1e300),
    "fill_ one bool": lambda on: on(rand(1).bool()).fill_(2),
    "fill_ one byte with too much": lambda on: on(rand(1).byte()).fill_(300),
    "fill_ one complex number": lambda on: on(rand(1).cfloat()).fill_(1j),
    "fill_ integers with a fraction": lambda on: on(rand(3, 4).int()).fill_(1.7),
    "fill_ one with a complex number": lambda on: on(rand(1)).fill_(1j),
    "fill_ a conjugate": lambda on: on(rand(3).cfloat()).conj().fill_(1j),
    "fill_ every second": lambda on: on(rand(6)).view(3, 2)[:, 0].fill_(2).add(1),
    "fill_ an expanded one": lambda on: on(rand(1)).expand(4).fill_(2),
    "copy_, transposed": lambda on: on(rand(3, 4)).copy_(on(rand(4, 3)).t()),
    "copy_, broadcast": lambda on: on(rand(3, 4)).copy_(on(rand(4))),
    "copy_, another dtype": lambda on: on(rand(3, 4).int()).copy_(on(rand(3, 4) * 9)),
    "copy_, half": lambda on: on(rand(3, 4).half()).copy_(on(rand(3, 4))),
    "copy_, complex to real": lambda on: on(rand(3).cfloat()).copy_(on(rand(3))),
    "copy_, conjugated": lambda on: on(rand(3).cfloat()).copy_(on(rand(3).cfloat() * 1j).conj()),
    "copy_, negated": lambda on: on(rand(3)).copy_(on(rand(3).cfloat() * 1j).conj().imag),
    "copy_, sizes": lambda on: on(rand(3, 4)).copy_(on(rand(3))),
    "copy_ to an expanded one": lambda on: on(rand(1)).expand(4).copy_(on(rand(4))),
    "sum of a mask": lambda on: (on(rand(3, 4)) > 0).sum(),
    "sum of a large mask": lambda on: (on(rand(300, 400)) > 0).sum(1),
    "all": lambda on: (on(rand(3, 4)) > -9).all(),
    "all of floats": lambda on: on(rand(300, 400)).all(1),
    "all of bytes": lambda on: on(rand(3, 4).byte()).all(0),
    "all of one": lambda on: on(rand(1)).all(),
    "all of nothing": lambda on: on(rand(0)).all(),
    "any of a dimension": lambda on: (on(rand(3, 4)) > 1).t().any(0, keepdim=True),
    "any of complex": lambda on: on(rand(3).cfloat()).any(),
    "max": lambda on: on(rand(3, 4)).max(),
    "max, transposed": lambda on: on(rand(3, 4)).t().max(),
    "max of nothing": lambda on: on(rand(0)).max(),
    "max of bools": lambda on: (on(rand(3)) > 0).max(),
    "max of complex": lambda on: on(rand(3).cfloat()).max(),
    "max of a conjugate's": lambda on: on(rand(4).cfloat() * 1j).conj().imag.max(),
    "max of rows": lambda on: on(rand(3, 4)).max(-1)[1],
    "max of a number's only": lambda on: on(rand(1)[0]).max(0)[0],
    "max, no such dimension": lambda on: on(rand(3, 4)).max(2)[0],
    "min of columns, kept": lambda on: on(rand(3, 4).int()).min(0, keepdim=True)[0],
    "aminmax": lambda on: on(rand(3, 4)).t().aminmax(dim=1)[1],
    "argmax": lambda on: on(rand(3, 4)).argmax(),
    "argmax of columns": lambda on: on(rand(3, 4)).t().argmax(0),
    "argmin of nothing": lambda on: on(rand(0)).argmin(),
    "topk": lambda on: on(rand(3, 9)).topk(4, 1)[1],
    "topk, too many": lambda on: on(rand(3)).topk(4)[1],
    "topk, transposed": lambda on: on(rand(9, 3)).t().topk(4, largest=False)[0],
    "nansum": lambda on: on(rand(3, 4)).log().nansum(1),
    "nansum of integers": lambda on: on(rand(3, 4).int()).nansum(),
    "nanmean": lambda on: on(rand(3, 4)).log().nanmean(0),
    "prod": lambda on: on(rand(3, 4)).prod(),
    "prod of rows to double": lambda on: on(rand(3, 4)).prod(1, dtype=torch.float64),
    "prod of integers": lambda on: on(rand(3, 4).int()).prod(1),
    "count_nonzero": lambda on: torch.count_nonzero(on(rand(3, 4)).relu()),
    "count_nonzero of rows": lambda on: torch.count_nonzero(on(rand(3, 4)).relu(), 1),
    "cumsum": lambda on: on(rand(3, 4)).t().cumsum(0),
    "cumsum of a number": lambda on: on(rand(1)[0]).cumsum(0),
    "cumsum of integers": lambda on: on(rand(3, 4).int()).cumsum(1),
    "cumprod to double": lambda on: on(rand(3, 4)).cumprod(1, dtype=torch.float64),
    "logcumsumexp": lambda on: on(rand(3, 4)).logcumsumexp(0),
    "ldl": lambda on: torch.linalg.ldl_factor_ex(on(rand(2, 5, 5)))[0],
    "ldl, pivots": lambda on: torch.linalg.ldl_factor_ex(on(rand(2, 5, 5)))[1],
    "ldl, transposed": lambda on: torch.linalg.ldl_factor_ex(on(rand(5, 5)).t())[0],
    "ldl, hermitian": lambda on: torch.linalg.ldl_factor_ex(
        on(rand(3, 3).cdouble()), hermitian=True
    )[0],
    "ldl, half": lambda on: torch.linalg.ldl_factor_ex(on(rand(3, 3).half()))[0],
    "ldl, singular": lambda on: torch.linalg.ldl_factor_ex(on(rand(3, 3) * 0), check_errors=True)[
        0
    ],
    "ldl of nothing": lambda on: torch.linalg.ldl_factor_ex(on(rand(0, 3, 3)))[0],
    "ldl, not square": lambda on: torch.linalg.ldl_factor_ex(on(rand(3, 4)))[0],
    "tril": lambda on: on(rand(3, 4)).tril(1),
    "triu, transposed": lambda on: on(rand(2, 3, 4)).mT.triu(-1),
    "triu of bools": lambda on: (on(rand(3, 4)) > 0).triu(),
    "triu of a vector": lambda on: on(rand(3)).triu(),
    "mv": lambda on: torch.mv(on(rand(3, 4)), on(rand(4))),
    "mv, transposed": lambda on: torch.mv(on(rand(4, 3)).t(), on(rand(8))[::2]),
    "mv, every second": lambda on: torch.mv(on(rand(6, 8))[::2, ::2], on(rand(4))),
    "mv, sizes": lambda on: torch.mv(on(rand(3, 4)), on(rand(3))),
    "mv over nothing": lambda on: torch.mv(on(rand(3, 0)), on(rand(0))),
    "mv of integers": lambda on: torch.mv(on(rand(3, 4).int()), on(rand(4).int())),
    "addmv": lambda on: torch.addmv(on(rand(3)), on(rand(3, 4)), on(rand(4)), beta=2, alpha=3),
    "addmv, a number": lambda on: torch.addmv(on(rand(1)[0]), on(rand(3, 4)), on(rand(4))),
    "addmv, beta 0": lambda on: torch.addmv(
        on(rand(3).fill_(float("nan"))), on(rand(3, 4)), on(rand(4)), beta=0
    ),
    "addmv_, sizes": lambda on: on(rand(1)).addmv_(on(rand(3, 4)), on(rand(4))),
    "addmv_": lambda on: on(rand(6))[::2].addmv_(on(rand(3, 4)), on(rand(4)), alpha=2).add(1),
    "addr": lambda on: torch.addr(on(rand(4)), on(rand(3)), on(rand(4)), beta=2),
    "addr, sizes": lambda on: torch.addr(on(rand(3)), on(rand(3)), on(rand(4))),
    "cross": lambda on: torch.linalg.cross(on(rand(4, 3)), on(rand(1, 3))),
    "equal": lambda on: on(torch.tensor(torch.equal(on(rand(3, 4)), on(rand(3, 4))))),
    "equal, another dtype": lambda on: on(
        torch.tensor(torch.equal(on(rand(3)), on(rand(3).double())))
    ),
    "take": lambda on: on(rand(3, 4)).t().take(on(torch.tensor([[5, 0], [-1, 1]]))),
    "take, outside": lambda on: on(rand(3, 4)).take(on(torch.tensor([12]))),
    "take by a mask": lambda on: on(rand(3)).take(on(torch.tensor([True]))),
    "index_copy": lambda on: on(rand(3, 4)).index_copy(
        -1, on(torch.tensor([3, 0])), on(rand(3, 2))
    ),
    "index_copy, outside": lambda on: on(rand(3)).index_copy(0, on(torch.tensor([3])), on(rand(1))),
    "index_copy, no such dimension": lambda on: on(rand(3)).index_copy(
        1, on(torch.tensor([0])), on(rand(1))
    ),
    "index_copy to a number": lambda on: on(rand(1)[0]).index_copy(
        0, on(torch.tensor([0])), on(rand(1))
    ),
    "scatter": lambda on: on(rand(3, 4)).scatter(0, on(torch.tensor([[2, 0, 1]])), on(rand(2, 4))),
    "scatter of a number": lambda on: on(rand(3, 4).int()).scatter(
        1, on(torch.tensor([[3], [0], [0]])), 7
    ),
    "scatter, outside": lambda on: on(rand(3)).scatter(0, on(torch.tensor([3])), on(rand(3))),
    "scatter, nothing": lambda on: on(rand(3)).scatter(0, on(torch.zeros(0).long()), on(rand(3))),
    "scatter over a broadcast": lambda on: (
        on(rand(3, 1)).expand(3, 4).scatter(1, on(torch.tensor([[3], [0], [0]])), on(rand(3, 4)))
    ),
    "scatter_add": lambda on: on(rand(3)).scatter_add(0, on(torch.tensor([1, 1, 0])), on(rand(3))),
    "scatter_add of wide rows": lambda on: on(rand(5, 40)).scatter_add(
        0, on(torch.tensor([[1], [4], [1], [1]])).expand(4, 40), on(rand(4, 40))
    ),
    "hardtanh": lambda on: F.hardtanh(on(rand(3, 4)), -0.2, 0.3),
    "hardtanh, in place": lambda on: F.hardtanh(on(rand(3, 4)), inplace=True),
    "hardtanh of integers": lambda on: F.hardtanh(on(rand(3, 4).int())),
    "hardtanh of bools": lambda on: F.hardtanh(on(rand(3)) > 0),
    "relu6": lambda on: F.relu6(on(rand(3, 4)) * 9),
    "hardswish": lambda on: F.hardswish(on(rand(3, 4)).t()),
    "hardswish, in place": lambda on: F.hardswish(on(rand(3, 4)).t(), inplace=True),
    "complex": lambda on: torch.complex(on(rand(3, 1)), on(rand(4))),
    "complex of half": lambda on: torch.complex(on(rand(3).half()), on(rand(3).half())),
    "complex of bfloat16": lambda on: torch.complex(on(rand(3).bfloat16()), on(rand(3).bfloat16())),
    "complex of two dtypes": lambda on: torch.complex(on(rand(3)), on(rand(3).double())),
    "polar": lambda on: torch.polar(on(rand(3, 4)).t(), on(rand(4, 1))),
    "angle": lambda on: on(rand(3, 4)).angle(),
    "angle of complex": lambda on: on(rand(3).cfloat() * 1j).conj().angle(),
    "isnan": lambda on: on(rand(3, 4)).log().isnan(),
    "isposinf": lambda on: (on(rand(3, 4)) / 0).isposinf(),
    "logical_and": lambda on: torch.logical_and(on(rand(3, 4)), on(rand(4)).relu()),
    "logical_or of masks": lambda on: (on(rand(3)) > 0).logical_or(on(rand(3)) > 1),
    "logical_xor of two dtypes": lambda on: torch.logical_xor(on(rand(3)), on(rand(3).int())),
    "logical_and of an index": lambda on: torch.logical_and(on(rand(3)), on(rand(3).long())),
    "logical_or of a mask": lambda on: torch.logical_or(on(rand(3)), on(rand(3) > 0)),
    "logical_not": lambda on: on(rand(3, 4)).relu().logical_not_(),
    "logical_not to integers": lambda on: torch.logical_not(
        on(rand(3)).relu(), out=on(torch.ones(3).long())
    ),
    "logical_and to floats": lambda on: torch.logical_and(
        on(rand(3)).relu(), on(rand(3)), out=on(rand(3))
    ),
    "nan_to_num": lambda on: on(rand(3, 4)).log().nan_to_num(7),
    "nan_to_num to bools": lambda on: torch.nan_to_num(on(rand(3)), out=on(rand(3) > 0)),
    "logit": lambda on: on(rand(3, 4)).logit(0.1),
    "round to two places": lambda on: on(rand(3, 4)).round(decimals=2),
    "round_ to tens": lambda on: (on(rand(3, 4)) * 99).round_(decimals=-1),
    "polygamma": lambda on: torch.polygamma(2, on(rand(3, 4))),
    "polygamma of integers": lambda on: torch.polygamma(1, on(torch.tensor([1, 2]))),
    "prelu": lambda on: F.prelu(on(rand(2, 3, 4)), on(rand(3))),
    "glu": lambda on: F.glu(on(rand(3, 4)), 0 - 1),
    "glu, odd": lambda on: F.glu(on(rand(3, 4)), 0),
    "chebyshev": lambda on: torch.special.chebyshev_polynomial_t(on(rand(3)), on(rand(3).abs())),
    "arange": lambda on: torch.arange(0, 3, 0.5, out=on(rand(6))),
    "arange of integers": lambda on: torch.arange(2, 9, 3, out=on(torch.zeros(0).long())),
    "arange, every second": lambda on: torch.arange(3, out=on(torch.zeros(6).long())[::2]),
    "linspace": lambda on: torch.linspace(0, 1, 5, out=on(rand(5))),
    "group_norm": lambda on: F.group_norm(on(rand(2, 4, 3)), 2, on(rand(4)), on(rand(4))),
    "group_norm, channels last": lambda on: F.group_norm(
        on(rand(2, 4, 3, 3)).to(memory_format=torch.channels_last), 2
    ),
    "group_norm of one channel": lambda on: F.group_norm(
        on(rand(2, 1, 3, 3)).to(memory_format=torch.channels_last), 1
    ),
    "group_norm, two dtypes": lambda on: F.group_norm(
        on(rand(2, 4, 3).bfloat16()), 2, on(rand(4)), on(rand(4))
    ),
    "pad by reflection": lambda on: F.pad(on(rand(2, 3, 4, 5)), (1, 2, 2, 1), mode="reflect"),
    "pad by reflection, a row": lambda on: F.pad(on(rand(2, 3, 4)), (1, 2), mode="reflect"),
    "pad by too much": lambda on: F.pad(on(rand(2, 3, 4)), (4, 2), mode="reflect"),
    "pad by replication": lambda on: F.pad(on(rand(2, 3, 4, 5)), (1, 0, 2, -1), mode="replicate"),
    "pad by replication, channels last": lambda on: F.pad(
        on(rand(2, 3, 4, 5)).to(memory_format=torch.channels_last), (1, 0, 2, 1), mode="replicate"
    ),
    "pool to averages": lambda on: F.adaptive_avg_pool2d(on(rand(2, 3, 7, 5)), (3, 2)),
    "pool one channel": lambda on: F.adaptive_avg_pool2d(
        on(rand(2, 1, 7, 5)).to(memory_format=torch.channels_last), 3
    ),
    "pool of cubes": lambda on: F.avg_pool3d(on(rand(2, 3, 4, 4, 4)), 2),
    "pool, maxima": lambda on: F.max_pool2d(on(rand(2, 3, 7, 5)), 3, 2, 1, return_indices=True)[1],
    "pool, maxima, channels last": lambda on: F.max_pool2d(
        on(rand(2, 3, 7, 5)).to(memory_format=torch.channels_last), 2
    ),
    "pool, maxima of integers": lambda on: F.max_pool2d(on(rand(2, 3, 7, 5).long()), 2),
    "pool, a kernel that is too large": lambda on: F.max_pool2d(on(rand(2, 3, 2, 2)), 3),
    "pool, maxima of cubes": lambda on: F.max_pool3d(on(rand(2, 3, 4, 4, 4)), 2),
    "pool to maxima": lambda on: F.adaptive_max_pool2d(on(rand(2, 3, 7, 5)), 3),
    "grid_sample": lambda on: F.grid_sample(
        on(rand(1, 2, 4, 5)), on(rand(1, 3, 3, 2)), align_corners=False
    ),
    "grid_sample of cubes": lambda on: F.grid_sample(
        on(rand(1, 2, 3, 4, 5)), on(rand(1, 2, 3, 3, 3)), align_corners=True
    ),
    "pixel_shuffle": lambda on: F.pixel_shuffle(on(rand(2, 8, 3, 3)), 2),
    "pixel_shuffle of integers": lambda on: F.pixel_shuffle(on(rand(1, 4, 3, 3).int()), 2),
    "pixel_shuffle, sizes": lambda on: F.pixel_shuffle(on(rand(2, 6, 3, 3)), 2),
    "pixel_unshuffle, channels last": lambda on: F.pixel_unshuffle(
        on(rand(2, 2, 4, 4)).to(memory_format=torch.channels_last), 2
    ),
    "narrow_copy": lambda on: torch.narrow_copy(on(rand(3, 4)), 1, 1, 2),
    "narrow_copy, outside": lambda on: torch.narrow_copy(on(rand(3, 4)), 1, 3, 2),
    "flip": lambda on: on(rand(2, 3, 4)).flip(0, 2),
    "flip, transposed": lambda on: on(rand(3, 4)).t().flip(0),
    "flip of bools": lambda on: (on(rand(3, 4)) > 0).flip(1),
    "roll": lambda on: on(rand(3, 4)).roll((1, -2), (0, 1)),
    "roll of all": lambda on: on(rand(3, 4).int()).roll(5),
    "huber_loss": lambda on: F.huber_loss(on(rand(3, 4)), on(rand(3, 4)) * 2, delta=0.3),
    "logsigmoid": lambda on: F.logsigmoid(on(rand(3, 4))),
    "multi_margin_loss": lambda on: F.multi_margin_loss(
        on(rand(3, 4)), on(torch.tensor([0, 3, 1])), weight=on(rand(4).abs())
    ),
    "nll_loss": lambda on: F.nll_loss(
        on(rand(3, 4)), on(torch.tensor([0, 3, -100])), weight=on(rand(4).abs())
    ),
    "nll_loss of bytes": lambda on: F.nll_loss(on(rand(2, 4)), on(torch.tensor([0, 3]).byte())),
    "nll_loss, outside": lambda on: F.nll_loss(on(rand(2, 4)), on(torch.tensor([0, 4]))),
    "equal, masks": lambda on: on(torch.tensor(torch.equal(on(rand(9)) > 0, on(rand(9)) > 0))),
    "equal, sizes": lambda on: on(torch.tensor(torch.equal(on(rand(3)), on(rand(4))))),
    "scatter_add_": lambda on: on(rand(3)).scatter_add_(0, on(torch.tensor([1, 0])), on(rand(2))),
    "scatter_ a number": lambda on: on(rand(3)).scatter_(-1, on(torch.tensor([1, 1])), 2.5),
    "scatter_add_ to a row": lambda on: on(rand(3))
    .expand(2, 3)
    .scatter_add_(0, on(torch.tensor([[1, 0]])), on(rand(1, 2))),
    **{
        f"{kind}_reduce, {way}, {'with' if kept else 'without'} self": call
        for way in ("prod", "mean", "amax", "amin")
        for kept in (True, False)
        for kind, call in (
            (
                "scatter",
                lambda on, way=way, kept=kept: on(rand(3, 4)).scatter_reduce(
                    0, on(torch.tensor([[1, 0], [1, 2]])), on(rand(2, 2)), way, include_self=kept
                ),
            ),
            (
                "index",
                lambda on, way=way, kept=kept: on(rand(3, 4)).index_reduce(
                    -1, on(torch.tensor([1, 3, 1])), on(rand(3, 3)), way, include_self=kept
                ),
            ),
        )
    },
    "index_reduce of a vector": lambda on: on(rand(3)).index_reduce(
        0, on(torch.tensor([1, 1])), on(rand(2)), "mean"
    ),
    "scatter_reduce, no such way": lambda on: on(rand(3)).scatter_reduce(
        0, on(torch.tensor([1])), on(rand(1)), "sums"
    ),
    "index_add": lambda on: on(rand(3, 4)).index_add(
        -2, on(torch.tensor([1, 1])), on(rand(2, 4)), alpha=3
    ),
    "index_add_ of integers": lambda on: on(rand(3).int()).index_add_(
        0, on(torch.tensor([1, 1])), on(torch.tensor([4, 5]).int())
    ),
    "index_add, outside": lambda on: on(rand(3)).index_add(0, on(torch.tensor([3])), on(rand(1))),
    "index_add, transposed": lambda on: on(rand(4, 3))
    .t()
    .index_add(0, on(torch.tensor([1, 2])), on(rand(2, 4))),
    "index_fill_ with a number": lambda on: on(rand(3, 4)).index_fill_(
        1, on(torch.tensor([1, -1])), 2.5
    ),
    "index_fill with a tensor": lambda on: on(rand(3, 4)).index_fill(
        0, on(torch.tensor([1])), on(rand(1)[0])
    ),
    "x[i] = y": lambda on: on(rand(3, 4)).index_put_((on(torch.tensor([2, 0])),), on(rand(4))),
    "x[:, i] = y": lambda on: on(rand(3, 4)).index_put(
        (None, on(torch.tensor([2, 0]))), on(rand(3, 2))
    ),
    "x[i] += y": lambda on: on(rand(3, 4)).index_put(
        (on(torch.tensor([2, 2])),), on(rand(2, 4)), accumulate=True
    ),
    "x[i] = y, by the CPU's": lambda on: on(rand(3)).index_put((torch.tensor([2]),), on(rand(1))),
    "x[i] = y, outside": lambda on: on(rand(3)).index_put((on(torch.tensor([3])),), on(rand(1))),
    "x[i] = y, sizes": lambda on: on(rand(3)).index_put((on(torch.tensor([1])),), on(rand(2))),
    "x[i] = y, two dtypes": lambda on: on(rand(3)).index_put(
        (on(torch.tensor([1])),), on(rand(1).double())
    ),
    "x[i] += y, by the CPU's": lambda on: on(rand(3, 4)).index_put(
        (torch.tensor([0, 0]), None), on(rand(2, 4)), accumulate=True
    ),
    "x[:, i] += y": lambda on: on(rand(3, 4)).index_put(
        (None, on(torch.tensor([1, 1, 0]))), on(rand(3, 3)), accumulate=True
    ),
    "x[mask] += y": lambda on: on(rand(3, 4)).index_put(
        (on(rand(3, 4)) > 0,), on(rand(1)[0]), accumulate=True
    ),
    "x[mask] = y": lambda on: on(rand(3, 4)).index_put((on(rand(3, 4)) > 0,), on(rand(1)[0])),
    "norm": lambda on: torch.norm(on(rand(3, 4)), 3.0, 0, keepdim=True),
    "norm of integers": lambda on: torch.norm(on(rand(3).int()), 2, 0),
    "dist": lambda on: torch.dist(on(rand(3, 4)), on(rand(4)), 1),
    "var_mean": lambda on: torch.stack(torch.var_mean(on(rand(3, 4)), 0)),
    "var_mean, transposed": lambda on: torch.stack(
        torch.var_mean(on(rand(3, 4)).t(), (0, 1), correction=0.5)
    ),
    "var_mean of one": lambda on: torch.stack(torch.var_mean(on(rand(1)), 0)),
    "var_mean of nothing": lambda on: torch.stack(torch.var_mean(on(rand(0, 4)), 0)),
    "var_mean of integers": lambda on: torch.stack(torch.var_mean(on(rand(3).int()), 0)),
    "std_mean": lambda on: torch.stack(torch.std_mean(on(rand(3, 4)), -1, keepdim=True)),
    "std_mean of half": lambda on: torch.stack(torch.std_mean(on(rand(3, 40).half()), 1)),
    "addmm over nothing": lambda on: torch.addmm(on(rand(3, 5)), on(rand(3, 0)), on(rand(0, 5))),
    "addmm of nothing": lambda on: torch.addmm(on(rand(5)), on(rand(0, 4)), on(rand(4, 5))),
    "bmm over nothing": lambda on: torch.bmm(on(rand(2, 3, 0)), on(rand(2, 0, 5))),
    "kthvalue": lambda on: on(rand(3, 4)).kthvalue(2, 0)[0],
    "contiguous": lambda on: on(rand(3, 4)).t().contiguous(),
    "contiguous, large": lambda on: on(rand(80, 90)).t().contiguous(),
}


def put_later(tensor):
    """Returns a copy on the device, whose bytes arrive there a millisecond from now."""
    torch.acme._sleep(1_000_000)
    return torch.empty_like(tensor, device="acme").copy_(tensor.pin_memory(), non_blocking=True)


@pytest.fixture(params=["now", "later"])
def put(request):
    """How a tensor gets to the device."""
    if request.param == "now":
        return torch.Tensor.acme
    request.getfixturevalue("callbacks")
    return put_later


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.filterwarnings("ignore:Use of index_")
def test_equals_the_cpu(call, put):
    try:
        expected = call(lambda tensor: tensor.clone())
    except Exception as refused:
        with pytest.raises(type(refused)) as caught:
            call(put)
        said, says = str(refused).splitlines()[0], str(caught.value).splitlines()[0]
        assert says.replace("acme:0", "cpu") == said
        return
    result = call(put)
    assert result.is_acme
    assert (result.dtype, result.stride()) == (expected.dtype, expected.stride())
    torch.testing.assert_close(result.cpu(), expected, rtol=0, atol=0, equal_nan=True)


def least(x):
    found = x.aminmax().min
    # torch 2.11 has no derivative of it.
    return found if type(found.grad_fn).__name__ != "NotImplemented" else x.min()


def gradients(function, *tensors):
    tensors = [tensor.detach().requires_grad_() for tensor in tensors]
    return torch.autograd.grad(function(*tensors).square().sum(), tensors)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x: torch.softmax(x, -1), [(3, 4)]),
        (lambda x: torch.log_softmax(x, 0), [(3, 4)]),
        (lambda x, w, b: F.layer_norm(x, (4,), w, b), [(3, 4), (4,), (4,)]),
        (lambda x: F.layer_norm(x, (3, 4)), [(2, 3, 4)]),
        (lambda x, w, b: F.linear(x, w, b), [(2, 3, 4), (5, 4), (5,)]),
        (lambda a, b: torch.cat([a, b], 1), [(3, 4), (3, 1)]),
        (lambda x: x.mean(0), [(3, 4)]),
        (lambda x: x.sum(1, keepdim=True), [(3, 4)]),
        (lambda x: x.max(1)[0] + x.max() + least(x), [(3, 4)]),
        (lambda x: x.cumsum(0).prod(1), [(3, 4)]),
        (lambda x, v: torch.addr(torch.addmv(x[:, 0], x, v), x[:, 1], v[:3]), [(3, 4), (4,)]),
        (lambda x, y: x.scatter_add(0, torch.tensor([1, 1], device=x.device), y), [(3,), (2,)]),
        (lambda x: F.pad(F.max_pool2d(x, 2), (1, 1, 2, 0), mode="reflect"), [(1, 2, 6, 6)]),
        (lambda x, w: F.prelu(F.group_norm(x, 2), w), [(2, 4, 3), (4,)]),
        (lambda x, y: F.huber_loss(F.logsigmoid(x), y), [(3, 4), (3, 4)]),
        (lambda x, y: torch.complex(x, y).abs() + torch.logit(x.sigmoid()), [(3,), (3,)]),
        (lambda x: x.index_select(0, torch.tensor([1, 1, 0], device=x.device)), [(3, 4)]),
    ],
    ids=[
        *("softmax", "log_softmax", "layer_norm", "all", "linear", "cat", "mean", "sum", "max"),
        *("cumsum", "addr", "scatter", "pool", "prelu", "loss", "complex", "index"),
    ],
)
def test_gradients_equal_the_cpus(function, shapes):
    tensors = [rand(*shape) for shape in shapes]
    expected = gradients(function, *tensors)
    for result, want in zip(
        gradients(function, *(t.acme() for t in tensors)), expected, strict=True
    ):
        assert result.is_acme
        torch.testing.assert_close(result.cpu(), want, rtol=0, atol=0)


def test_a_cpu_tensor_among_them_is_refused():
    here, cpu = rand(4, 4).acme(), rand(4, 4)
    for call in (
        lambda: here @ cpu,
        lambda: cpu @ here,
        lambda: torch.addmm(cpu, here, here),
        lambda: torch.cat([here, cpu]),
        lambda: F.layer_norm(here, (4,), cpu[0]),
        lambda: here.index_select(0, torch.tensor([0])),
        lambda: torch.equal(here, cpu),
        lambda: torch.logical_and(here, cpu),
        lambda: torch.complex(here, cpu),
        lambda: torch.mv(here, cpu[0]),
        lambda: here.scatter(0, torch.zeros(4, 4).long(), here),
        lambda: here.index_add_(0, torch.tensor([0]), here[:1]),
        lambda: F.nll_loss(here, torch.zeros(4).long()),
        lambda: F.group_norm(here, 2, cpu[0]),
    ):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            call()


def test_two_devices_do_not_meet(two_devices):
    first, second = rand(4, 4).acme(0), rand(4, 4).acme(1)
    for call in (
        lambda: first @ second,
        lambda: torch.cat([first, second]),
        lambda: F.layer_norm(first, (4,), second[0]),
    ):
        with pytest.raises(RuntimeError, match="found at least two devices"):
            call()


def test_a_result_is_on_the_arguments_device_not_the_current_one(two_devices):
    x = rand(4, 4).acme(1)
    for result in (x @ x, x.sum(), x.mean(0), torch.cat([x, x]), torch.softmax(x, 0)):
        assert result.device == torch.device("acme", 1)


@pytest.mark.parametrize("precision", ["medium", "high"])
def test_a_users_wish_for_shorter_products_is_the_cpus_affair(precision):
    a, b = rand(64, 64), rand(64, 64)
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision(precision)
        expected = [a @ b, torch.addmm(a, a, b), torch.bmm(a[None], b[None])]
        a, b = a.acme(), b.acme()
        results = [a @ b, torch.addmm(a, a, b), torch.bmm(a[None], b[None])]
    finally:
        torch.set_float32_matmul_precision(before)
    for result, want in zip(results, expected, strict=True):
        torch.testing.assert_close(result.cpu(), want, rtol=0, atol=0)


def test_they_wait_for_the_stream():
    x = torch.zeros(1 << 20, device="acme")
    ones = torch.ones(1 << 20, device="acme")
    for _ in range(20):
        x.copy_(ones)
        assert x.sum().item() == 1 << 20
        x.zero_()
        assert x.sum().item() == 0
        x.fill_(2)
        assert x.view(1024, 1024).mean(0)[7].item() == 2
        x.copy_(ones)
        assert torch.equal(x, ones)
        x.zero_()
        assert x.max().item() == 0
        assert torch.var_mean(x)[1].item() == 0
        x.copy_(ones)
        assert x.all().item()
        x.zero_()
        assert x.bool().sum().item() == 0


def test_a_larger_out_does_not_get_its_old_bytes():
    count = 1 << 21
    x = torch.rand(count)
    expected = {
        torch.abs: x.abs(),
        torch.angle: x.angle(),
        torch.logical_not: x.logical_not().float(),
        torch.nan_to_num: x,
    }
    here = x.acme()
    for function, want in expected.items():
        for _ in range(5):
            out = torch.full((count // 2,), 7.0, device="acme").resize_(0)
            assert torch.equal(function(here, out=out).cpu(), want)


def test_no_kernel_reads_what_another_still_copies():
    torch.manual_seed(0)
    a, b, c = (torch.randn(512, 512) for _ in range(3))
    batch = torch.randn(4, 256, 256)
    rows, weight = torch.randn(4, 16384), torch.randn(16384)
    expected = {
        "addmm": torch.addmm(c, a, b),
        "addmm of a transposed one": torch.addmm(c, a[::2, ::2].repeat(2, 2), b.t()),
        "baddbmm": torch.baddbmm(batch, batch, batch),
        "mm of every second": a[:, ::2] @ b[::2, :],
        "softmax, transposed": torch.softmax(a.t(), -1),
        "index_select by every second": a.index_select(0, torch.arange(512)[::2]),
        "sum": a.sum(0),
    }
    a_, b_, c_, batch_ = (x.acme() for x in (a, b, c, batch))
    for _ in range(10):
        results = {
            "addmm": torch.addmm(c_, a_, b_),
            "addmm of a transposed one": torch.addmm(c_, a_[::2, ::2].repeat(2, 2), b_.t()),
            "baddbmm": torch.baddbmm(batch_, batch_, batch_),
            "mm of every second": a_[:, ::2] @ b_[::2, :],
            "softmax, transposed": torch.softmax(a_.t(), -1),
            "index_select by every second": a_.index_select(
                0, torch.arange(512, device="acme")[::2]
            ),
            "sum": a_.sum(0),
        }
        for name, result in results.items():
            torch.testing.assert_close(result.cpu(), expected[name], msg=name)

    def gradient(x, w):
        w = w.detach().requires_grad_()
        return torch.autograd.grad(F.layer_norm(x, (16384,), w).square().sum(), w)[0]

    want = gradient(rows, weight)
    for _ in range(10):
        torch.testing.assert_close(gradient(rows.acme(), weight.acme()).cpu(), want)
