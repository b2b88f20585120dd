"""The modules that PyTorch describes (ModuleInfo): results, gradients, and creation on the device.

A sample is a way to construct the module and to call it, once in training mode and once in
evaluation mode. The module on the device has the parameters of the one on the CPU.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence
from torch.utils import _pytree as pytree

from . import gradients, sampling
from .calls import CPU, NothingToCompare, depends_on_seed
from .comparing import WrongDevice, aliases
from .gradients import cotangents_of, requiring_grad
from .judging import widened
from .sampling import Mover
from .settings import PHASES
from .subjects import Bench, Case, Entry, database, first_dtype

if TYPE_CHECKING:
    from torch.testing._internal.common_modules import ModuleInfo, ModuleInput

    from .settings import Settings

Answer = Callable[[nn.Module, tuple[tuple, dict]], dict[str, Any]]
INPUTS = 20  # of each module in each mode: a loss has hundreds, which differ in one option


@dataclasses.dataclass(frozen=True)
class Module:
    """One ModuleInfo with one dtype."""

    name: str
    info: ModuleInfo
    dtype: torch.dtype | None

    kind = "modules"

    @property
    def family(self) -> str:
        return self.name

    @property
    def phases(self) -> tuple[str, ...]:
        if self.dtype is None:
            return ("forward",)
        lacks = set() if _takes_device(self.info.module_cls) else {"created"}
        return tuple(phase for phase in PHASES[self.kind] if phase not in lacks)

    def cases(self, phase: str, bench: Bench) -> Iterator[Case]:
        for sample in self._samples(bench.settings):
            yield partial(self._check, phase, sample, bench)

    def depends_on_seed(self, settings: Settings) -> bool:
        """Whether the CPU's answer to any of the samples is another one after another seed."""
        samples = self._samples(settings)
        return any(depends_on_seed(partial(sample.cpu_answer, _results)) for sample in samples)

    def _samples(self, settings: Settings) -> Iterator[_Sample]:
        for training in (True, False):
            sampling.seed_everything(settings.seed)
            inputs = self.info.module_inputs_func(
                self.info, device="cpu", dtype=self.dtype, requires_grad=True, training=training
            )
            for module_input in itertools.islice(inputs, INPUTS):
                yield _Sample(self, module_input, training)

    def _check(self, phase: str, sample: _Sample, bench: Bench, entry: Entry) -> None:
        answer = _gradients if phase == "backward" else _results
        comparison = bench.comparison(self, phase, entry, partial(sample.cpu_answer, answer))
        on_device = sample.created if phase == "created" else sample.moved
        expected, actual = bench.sides.both(
            partial(sample.cpu_answer, answer),
            lambda: answer(on_device(bench.device), sample.arguments(bench.device)),
        )
        in_float64 = functools.cache(
            lambda: bench.sides.ask_cpu(partial(sample.answer_in_float64, answer))
        )
        for what, cpus in expected.items():
            comparison.check(what, actual[what], cpus, lambda w=what: in_float64()[w])


def load(settings: Settings) -> list[Module]:
    wanted = getattr(torch, settings.dtypes[0])
    return [
        Module(info.name, info, first_dtype(wanted, set(info.dtypes), settings.other_dtypes))
        for info in database(settings.module_db)
    ]


@dataclasses.dataclass(frozen=True)
class _Sample:
    """One module and the arguments of its call, on any device, always with the same parameters."""

    subject: Module
    given: ModuleInput
    training: bool

    def arguments(self, device: torch.device, *, wide: bool = False) -> tuple[tuple, dict]:
        move = Mover(device, wide=wide)
        return move(self.given.forward_input.args), move(self.given.forward_input.kwargs)

    def on_cpu(self) -> nn.Module:
        return self._with_state(self._construct(CPU))

    def moved(self, device: torch.device) -> nn.Module:
        """Made on the CPU, then moved: a lazy one while it has no parameters yet."""
        return self._with_state(self._construct(CPU).to(device))

    def created(self, device: torch.device) -> nn.Module:
        """Made with device=: nothing of it may be anywhere else, not even at first."""
        module = self._construct(device, device=device)
        for name, tensor in itertools.chain(module.named_parameters(), module.named_buffers()):
            if tensor.device != device:
                raise WrongDevice(f"created with device=: {name} on {tensor.device}")
        return self._with_state(module)

    def cpu_answer(self, answer: Answer) -> dict[str, Any]:
        return answer(self.on_cpu(), self.arguments(CPU))

    def answer_in_float64(self, answer: Answer) -> dict[str, Any]:
        """The CPU's, of the same parameters and arguments."""
        with gradients.in_float64(self.subject.dtype):
            return answer(self.on_cpu()._apply(widened), self.arguments(CPU, wide=True))

    def _construct(self, arguments_on: torch.device, **more: Any) -> nn.Module:
        # Not seed_torch, which depends_on_seed() shifts: parameters are no random results.
        torch.default_generator.manual_seed(0)
        move = Mover(arguments_on)
        given = self.given.constructor_input
        options = move(given.kwargs) | more
        module = self.subject.info.module_cls(*move(given.args), **options)
        return module.to(self.subject.dtype).train(self.training)

    def _with_state(self, module: nn.Module) -> nn.Module:
        """With the parameters of a module on the CPU, which a lazy one has after its first call."""
        model = self._construct(CPU)
        if self.subject.info.is_lazy:
            args, kwargs = self.arguments(CPU)
            model(*args, **kwargs)
        module.load_state_dict(model.state_dict())
        return module


def _results(module: nn.Module, arguments: tuple[tuple, dict]) -> dict[str, Any]:
    """What comes back, which of the arguments' memory it shares, and the state after the call."""
    args, kwargs = arguments
    sampling.seed_torch(0)
    results = module(*args, **kwargs)
    tensors = [x for x in pytree.tree_leaves(arguments) if isinstance(x, torch.Tensor)]
    return {
        "result": _plain(results),
        "aliasing": aliases(results, tensors),
        "state after the call": dict(module.state_dict()),
    }


def _gradients(module: nn.Module, arguments: tuple[tuple, dict]) -> dict[str, Any]:
    """Of the parameters and of the arguments, as backward() leaves them in `grad`."""
    args, kwargs = arguments
    sampling.seed_torch(0)
    outputs = requiring_grad(_plain(module(*args, **kwargs)))
    inputs = requiring_grad(arguments)
    parameters = dict(module.named_parameters())
    if not outputs or not (inputs or parameters):
        raise NothingToCompare("no result that requires a gradient")
    torch.autograd.backward(outputs, cotangents_of(outputs))
    return {
        "gradient of a parameter": {name: tensor.grad for name, tensor in parameters.items()},
        "gradient of an argument": [tensor.grad for tensor in inputs],
    }


def _plain(results: Any) -> Any:
    """Packed sequences by their parts: batch_sizes belong on the CPU, on every device."""

    def unpacked(node: Any) -> Any:
        if not isinstance(node, PackedSequence):
            return node
        return [node.data, node.batch_sizes.tolist(), node.sorted_indices, node.unsorted_indices]

    return pytree.tree_map(unpacked, results, is_leaf=lambda node: isinstance(node, PackedSequence))


def _takes_device(module_class: type) -> bool:
    """Also where a class hands its keywords on, as the recurrent ones do."""
    return any(
        "device" in inspect.signature(base.__init__).parameters for base in module_class.__mro__
    )
