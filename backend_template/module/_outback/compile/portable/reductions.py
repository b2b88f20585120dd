"""How kernels in the dialect reduce and scan the values of a row: each item collects some of them
in accumulators, and a collective of the group makes one of what the items have."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import sympy
import torch
from torch._inductor.codegen.common import CSEVariable, IndentedBuffer
from torch._inductor.codegen.simd import SIMDKernel
from torch.utils._ordered_set import OrderedSet
from torch.utils._sympy.value_ranges import ValueRanges

from .values import computed, constant, convert, register_type


class ReducingKernel(SIMDKernel[CSEVariable]):
    by_items: bool  # an item makes a row, one value after the other; else a group does

    def __init__(self, tiling: dict[str, sympy.Expr], **named: Any) -> None:
        super().__init__(tiling, **named)
        self.begin = IndentedBuffer()  # of a loop over a row: what the items collect
        self.end = IndentedBuffer()  # of the loop: what the items leave to each other
        self.after = IndentedBuffer()  # the loop: collectives, and the results of rows
        self.of_row = OrderedSet[CSEVariable]()  # what outlives a loop
        self.locals: dict[str, str] = {}  # declarations of the group's memory
        self.taken: dict[str, int] = {}  # how many arrays of a type the loop at hand uses
        self.accumulators = itertools.count()

    def reduction(self, dtype: torch.dtype, src_dtype: torch.dtype, kind: Any, value: Any) -> Any:
        key = (src_dtype, kind, value)
        if key not in self.cse.reduction_cache:
            self.cse.reduction_cache[key] = self._reduced(dtype, src_dtype, kind, value)
        return self.cse.reduction_cache[key]

    def _accumulator(self, dtype: torch.dtype, first: str) -> str:
        name = f"acc{next(self.accumulators)}"
        self.begin.writeline(f"{register_type(dtype)} {name} = {first};")
        return name

    def _collected(
        self, accumulators: list[tuple[str, torch.dtype]], collective: Callable[..., str]
    ) -> list[CSEVariable]:
        """The row's values of what the items have collected. `collective` writes the statement for
        the names of the group's memory."""
        shared = [name for name, _ in accumulators]
        if not self.by_items:
            shared = [self._memory_of_group(dtype) for _, dtype in accumulators]
            for (name, _), memory in zip(accumulators, shared, strict=True):
                self.end.writeline(f"{memory}[LID] = {name};")
            self.after.writeline(collective(*shared))
        results = []
        for name, (_, dtype) in zip(shared, accumulators, strict=True):
            result = self.cse.newvar(dtype=dtype)
            text = name if self.by_items else f"{name}[0]"
            self.after.writeline(f"{register_type(dtype)} {result} = {text};")
            self.of_row.add(result)
            results.append(result)
        return results

    def _memory_of_group(self, dtype: torch.dtype) -> str:
        """An array with a value for each item. The next loop uses it again."""
        kind = register_type(dtype)
        number = self.taken[kind] = self.taken.get(kind, 0) + 1
        name = f"shared_{kind}_{number}"
        if name not in self.locals:
            self.locals[name] = f"LOCAL({kind}, {name}, LSIZE);"
        return name

    def _reduced(self, dtype: torch.dtype, src_dtype: torch.dtype, kind: str, value: Any) -> Any:
        dtype, src_dtype = computed(dtype), computed(src_dtype)
        if kind in ("argmax_value", "argmin_value"):
            kind = kind[3:6]
            value = value[0] if isinstance(value, tuple) else value
        if kind in ("sum", "prod", "xor_sum", "any"):
            return self._folded(dtype, kind, value)
        if kind in ("max", "min"):
            return self._extreme(src_dtype, kind, value)
        if kind in ("argmax", "argmin"):
            return self._place_of_extreme(src_dtype, kind, value)
        if kind in ("welford_reduce", "welford_combine"):
            return self._welford(dtype, value)
        if kind == "online_softmax_reduce":
            return self._softmax(dtype, value)
        raise NotImplementedError(f"kernels in the dialect do not reduce by {kind}")

    def _folded(self, dtype: torch.dtype, kind: str, value: Any) -> CSEVariable:
        if dtype == torch.bool:  # the sum of truth values, and their product
            kind = {"sum": "any", "prod": "all"}.get(kind, kind)
        first = "1" if kind in ("prod", "all") else "0"
        sign = {"sum": "+", "prod": "*", "xor_sum": "^", "any": "|", "all": "&"}[kind]
        each = self._accumulator(dtype, first)
        self.compute.writeline(f"{each} = {each} {sign} {convert(value, dtype)};")

        def collective(all_values: str) -> str:
            if kind == "xor_sum":
                return f"FOLD(i_, j_, {all_values}[i_] ^= {all_values}[j_])"
            return f"GROUP_{kind.upper()}({all_values})"

        [result] = self._collected([(each, dtype)], collective)
        return result

    @staticmethod
    def _least(kind: str, dtype: torch.dtype) -> str:
        """What every value comes before."""
        is_max = kind.endswith("max")
        if dtype.is_floating_point:
            return constant(-math.inf if is_max else math.inf, dtype)
        if dtype == torch.bool:
            return "0" if is_max else "1"
        limits = torch.iinfo(dtype)
        return constant(limits.min if is_max else limits.max, dtype)

    def _extreme(self, dtype: torch.dtype, kind: str, value: Any) -> CSEVariable:
        each, text = self._accumulator(dtype, self._least(kind, dtype)), convert(value, dtype)
        function = "LARGER" if kind == "max" else "SMALLER"
        self.compute.writeline(f"{each} = {function}({each}, {text});")
        [result] = self._collected([(each, dtype)], lambda name: f"GROUP_{kind.upper()}({name})")
        return result

    def _place_of_extreme(self, dtype: torch.dtype, kind: str, value: Any) -> CSEVariable:
        best = self._accumulator(dtype, self._least(kind, dtype))
        place = self._accumulator(torch.int64, "0x7fffffffffffffffL")
        # With the value its place in the order of the dimensions, where memory has another order.
        index = next(tree for tree in self.range_trees if tree.is_reduction).name
        if isinstance(value, tuple):
            value, index = value
        text = convert(value, dtype)
        test = "IS_LARGER" if kind == "argmax" else "IS_SMALLER"
        self.compute.writeline(f"if ({test}({text}, {index}, {best}, {place})) {{")
        self.compute.writeline(f"  {best} = {text};")
        self.compute.writeline(f"  {place} = {index};")
        self.compute.writeline("}")
        return self._collected(
            [(best, dtype), (place, torch.int64)],
            lambda values, places: f"GROUP_{kind.upper()}({values}, {places})",
        )[1]

    def _welford(self, dtype: torch.dtype, value: Any) -> tuple[CSEVariable, ...]:
        kind = register_type(dtype)
        three = [self._accumulator(dtype, "0") for _ in range(3)]
        given = value if isinstance(value, tuple) else (value,)
        statement = "WELFORD_MERGE" if isinstance(value, tuple) else "WELFORD_ADD"
        texts = ", ".join([kind, *three, *(convert(each, dtype) for each in given)])
        self.compute.writeline(f"{statement}({texts})")
        return tuple(
            self._collected(
                [(each, dtype) for each in three],
                lambda *names: f"GROUP_WELFORD({', '.join([kind, *names])})",
            )
        )

    def _softmax(self, dtype: torch.dtype, value: Any) -> tuple[CSEVariable, ...]:
        kind = register_type(dtype)
        top = self._accumulator(dtype, constant(-math.inf, dtype))
        total = self._accumulator(dtype, "0")
        given = value if isinstance(value, tuple) else (value,)
        statement = "SOFTMAX_MERGE" if isinstance(value, tuple) else "SOFTMAX_ADD"
        texts = ", ".join([kind, top, total, *(convert(each, dtype) for each in given)])
        self.compute.writeline(f"{statement}({texts})")
        return tuple(
            self._collected(
                [(top, dtype), (total, dtype)],
                lambda *names: f"GROUP_SOFTMAX({', '.join([kind, *names])})",
            )
        )

    def scan(self, dtypes: Any, combine: Callable[..., Any], values: Any) -> Any:
        dtypes = tuple(map(computed, dtypes))
        has_any = self._accumulator(torch.bool, "0")
        carried = [
            CSEVariable(self._accumulator(dtype, "0"), ValueRanges.unknown(), dtype)
            for dtype in dtypes
        ]
        taken = [
            self.cse.generate(self.compute, f"({convert(value, dtype)})", dtype=dtype)
            for value, dtype in zip(values, dtypes, strict=True)
        ]
        combined = combine(tuple(carried), tuple(taken))
        results = []
        for dtype, new, value in zip(dtypes, combined, taken, strict=True):
            result = self.cse.newvar(dtype=dtype)
            text = f"{has_any} ? {convert(new, dtype)} : {value}"
            self.compute.writeline(f"{register_type(dtype)} {result} = {text};")
            results.append(result)
        for carry, result in zip(carried, results, strict=True):
            self.compute.writeline(f"{carry} = {result};")
        self.compute.writeline(f"{has_any} = 1;")
        return tuple(results)
