"""A kernel in the dialect for a group of loops that Inductor has fused.

A loop without a reduction is a region in which all items share the elements (EACH). A reduction has
one of two forms. A group makes a row: what is the same for the row stands outside of regions, the
values of the row are shared by the items in a region (LANES), and a collective makes one of what
the items have. Or an item makes a row, one value after the other: for short rows, for scans, and
where neighbours of rows are neighbours in memory.
"""

import contextlib
import functools
import itertools
from collections.abc import Iterator
from typing import Any

import sympy
import torch
from torch._inductor.codegen.common import (
    CSE,
    CSEVariable,
    DeferredLine,
    IndentedBuffer,
    PythonPrinter,
)
from torch._inductor.runtime.hints import ReductionHint
from torch._inductor.virtualized import OpsValue, V
from torch.utils._sympy.symbol import SymT, symbol_is_type
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from ... import kernels
from .indices import text_of_index
from .operations import Operations
from .reductions import ReducingKernel
from .values import HALVES, computed, constant, convert, memory_type, register_type

# Rows of so many values or fewer are made by an item each.
_SHORT_ROW = 32
# And so many columns or more, whose neighbours are neighbours in memory.
_MANY_COLUMNS = 1024


class TypedVariables(CSE[CSEVariable, Any]):
    """Declares each temporary with its type."""

    def generate(
        self,
        buffer: IndentedBuffer,
        expr: Any,
        *,
        bounds: ValueRanges[Any] = ValueRanges.unknown(),  # noqa: B008
        write: bool = True,
        assignment: bool = True,
        dtype: torch.dtype | None = None,
        shape: Any = None,
    ) -> CSEVariable:
        if isinstance(expr, OpsValue):
            expr = expr.value
        if isinstance(expr, bool | int | float):
            assert dtype is not None
            expr = constant(expr, dtype)
        if not isinstance(expr, str) or not assignment:
            return super().generate(
                buffer,
                expr,
                bounds=bounds,
                write=write,
                assignment=assignment,
                dtype=dtype,
                shape=shape,
            )
        key = f"{expr}:{dtype}"  # the same text may be of another type
        variable = self.try_get(key)
        if variable is None:
            variable = self.newvar(bounds, dtype, shape)
            self.put(key, variable)
            if write:
                assert dtype is not None
                buffer.writeline(f"{register_type(dtype)} {variable} = {expr};")
            if not V.kernel.inside_reduction:
                V.kernel.of_row.add(variable)
        else:
            variable.bounds = variable.bounds.tighten(bounds)
            variable.use_count += 1
        return variable


class PortableKernel(ReducingKernel):
    overrides = Operations
    pexpr = staticmethod(PythonPrinter().doprint)
    sexpr = kexpr = staticmethod(text_of_index)
    inside_reduction: bool

    def __init__(self, tiling: dict[str, sympy.Expr], **named: Any) -> None:
        super().__init__(tiling, **named)
        self.cse = TypedVariables("", ";")
        # The type of numbers that are not whole, of which the host computes with float64.
        device = V.graph.get_current_device_or_throw()
        self.wide = torch.float64 if kernels.target_of(device.index).has_float64 else torch.float32
        self.by_items = self._is_by_items()
        self.headers = ["dialect.h", "dialect/generated.h"]
        self.has_shared = False  # an earlier loop of the row has used the group's memory
        self.guards: list[tuple[sympy.Expr, str]] = []  # of indices that may be out of range
        self.masks = itertools.count(1)
        self.faults: dict[str, str] = {}  # parameters with the numbers of faults, by their letters

    def _is_by_items(self) -> bool:
        if not self.features.is_reduction():
            return False
        if self.features.contains_op("scan"):
            return True
        hint = functools.partial(V.graph.sizevars.optimization_hint, fallback=8192)
        if hint(self.features.reduction_numel) <= _SHORT_ROW:
            return True
        by_columns = self.features.get_reduction_hint() == ReductionHint.OUTER
        return bool(by_columns and hint(self.features.numel) >= _MANY_COLUMNS)

    def include(self, header: str) -> None:
        if header not in self.headers:
            self.headers.append(header)

    # ---- Indices

    def dtype_to_str(self, dtype: torch.dtype) -> str:
        return register_type(dtype)

    @property
    def index_type(self) -> str:
        return register_type(self.features.select_index_dtype())

    def rename_indexing(self, index: Any) -> Any:
        index = super().rename_indexing(index)
        if not isinstance(index, sympy.Expr):
            return index
        # Numbers that are not whole stay arguments, as they do in Triton's kernels.
        floats = [each for each in index.free_symbols if symbol_is_type(each, SymT.FLOAT)]
        return index.xreplace({each: sympy.Symbol(self.args.size(each)) for each in floats})

    def codegen_iteration_ranges_entry(self, entry: Any) -> None:
        text = self.kexpr(self.rename_indexing(entry.expr))
        line = f"const {self.index_type} {entry.name} = {text};"
        (self.indexing_code if entry.root.is_loop else self.body).writeline(line)

    def widened(self, expr: Any) -> Any:
        """An index expression as a value, in 64 bits unless all of its parts fit into 32: that
        indices of memory do says nothing of it."""
        if self.index_type == "i64" or not isinstance(expr, sympy.Expr) or expr.is_symbol:
            return expr
        nodes = {each: self.range_tree_nodes.get(each) for each in expr.free_symbols}
        ranges = {
            each: ValueRanges(0, node.length - 1)
            for each, node in nodes.items()
            if node is not None and node.length.is_number
        }
        parts = [each for each in sympy.preorder_traversal(expr) if isinstance(each, sympy.Expr)]
        if all(_fits_32_bits(bound_sympy(each, ranges)) for each in parts):
            return expr
        indices = [each for each, node in nodes.items() if node is not None]
        return expr.xreplace(
            {
                each: sympy.Symbol(f"((i64){each})", integer=True, nonnegative=True)
                for each in indices
            }
        )

    def check_bounds(self, expr: Any, size: Any, lower: bool, upper: bool) -> None:
        """Nothing outside is touched, and a later wait of the host raises the error. A variable
        that is out of range becomes 0; what is read at another expression is 0, and what is
        written there is not."""
        if not lower and not upper:
            return
        text, most = self.index_to_str(self.prepare_indexing(expr)), self.index_to_str(size)
        test = " || ".join([f"{text} < 0"] * lower + [f"{text} >= {most}"] * upper)
        self.faults["n"] = "out_of_range"
        if expr.is_symbol and symbol_is_type(expr, SymT.TMP):
            self.compute.writeline(f"if ({test}) {{ *fault = out_of_range; {text} = 0; }}")
            return
        is_inside = self.cse.newvar(dtype=torch.bool)
        self.compute.writeline(f"const b8 {is_inside} = !({test});")
        self.compute.writeline(f"if (!{is_inside}) *fault = out_of_range;")
        self.guards.append((expr, str(is_inside)))

    def _guards_of(self, index: sympy.Expr) -> list[str]:
        """What must be true before memory is touched there."""
        return [test for expr, test in self.guards if expr.free_symbols <= index.free_symbols]

    def device_assert_async(self, condition: Any, message: str) -> None:
        self.faults["a"] = "failed_assertion"
        self.compute.writeline(f"if (!({condition})) *fault = failed_assertion;")

    @contextlib.contextmanager
    def inside_of_mask(self, buffer: IndentedBuffer) -> Iterator[None]:
        guards = list(self.guards)
        with self.swap_buffers(buffer), buffer.indent():
            # Names inside are seen outside nowhere.
            self.cse.name_prefix += "m"
            self.cse.iter_buffer_ids = itertools.count(next(self.masks) * 1000)
            yield
        self.guards = guards

    # ---- Memory

    def load(self, name: str, index: sympy.Expr) -> CSEVariable:
        memory, dtype = self.args.input(name), V.graph.get_dtype(name)
        if _is_number(name):
            text = f"({register_type(dtype)}){memory}"
            return self.cse.generate(self.loads, text, dtype=computed(dtype))
        where = self.index_to_str(self.prepare_indexing(index))
        kind = memory_type(dtype)
        text = f"{memory}[{where}]"
        if dtype in HALVES:
            text = f"load_{kind}({memory}, {where})"
        elif dtype == torch.bool:
            text = f"{memory}[{where}] != 0"
        if guards := self._guards_of(index):
            text = f"{' && '.join(guards)} ? ({text}) : 0"
        buffer = self.compute if guards else self.loads
        return self.cse.generate(buffer, text, dtype=computed(dtype))

    def _stored(self, name: str, index: sympy.Expr, value: Any, mode: str | None) -> str:
        memory, dtype = self.args.output(name), V.graph.get_dtype(name)
        where = self.index_to_str(self.prepare_indexing(index))
        kind, text = memory_type(dtype), convert(value, dtype)
        if mode == "atomic_add":
            line = f"atomic_add_to_{kind}({memory} + ({where}), {text});"
        elif mode is not None:
            raise NotImplementedError(f"kernels in the dialect do not store by {mode}")
        elif dtype in HALVES:
            line = f"store_{kind}({memory}, {where}, {text});"
        else:
            line = f"{memory}[{where}] = {text};"
        guards = self._guards_of(index)
        return f"if ({' && '.join(guards)}) {{ {line} }}" if guards else line

    def store(self, name: str, index: sympy.Expr, value: Any, mode: Any = None) -> None:
        line = self._stored(name, index, value, mode)
        if self.features.is_reduction() and not self.inside_reduction:
            line = self._once(line)
        self.stores.writeline(DeferredLine(name, line))

    def store_reduction(self, name: str, index: sympy.Expr, value: Any) -> None:
        inside, self.inside_reduction = self.inside_reduction, False
        line = self._once(self._stored(name, index, value, None))
        self.inside_reduction = inside
        self.after.writeline(DeferredLine(name, line))

    def _once(self, line: str) -> str:
        """By one item of the group that makes the row."""
        return line if self.by_items else f"ONE {{ {line} }}"

    def bucketize(
        self,
        values: Any,
        boundaries: Any,
        boundary_indices: Any,
        indexing_dtype: torch.dtype,
        right: bool,
        sorter: Any = None,
        sorter_indices: Any = None,
    ) -> CSEVariable:
        name, size, _, stride = boundaries
        memory, dtype = self.args.input(name), V.graph.get_dtype(name)
        count, step = self.index_to_str(size), self.index_to_str(stride)
        place = f"middle * {step}"
        if sorter is not None:
            order, order_step = self.args.input(sorter[0]), self.index_to_str(sorter[1])
            place = f"{order}[(i64){sorter_indices} + middle * {order_step}] * {step}"
        where = f"(i64){boundary_indices} + {place}"
        boundary = f"load_{memory_type(dtype)}({memory}, {where})"
        of_floats = dtype.is_floating_point or values.dtype.is_floating_point
        kind = register_type(self.wide) if of_floats else "i64"
        result = self.cse.newvar(dtype=indexing_dtype)
        comes_after = "boundary > value" if right else "boundary >= value"
        self.compute.splice(
            f"""
            {register_type(indexing_dtype)} {result};
            {{
              i64 low = 0, high = {count};
              const {kind} value = ({kind}){values};
              while (low < high) {{
                const i64 middle = low + (high - low) / 2;
                const {kind} boundary = ({kind}){boundary};
                if ({comes_after}) high = middle; else low = middle + 1;
              }}
              {result} = low;
            }}""",
            strip=True,
        )
        return result

    # ---- The whole

    def codegen_body(self) -> None:
        """Moves what has been written since the last call into the body: a loop over the values of
        a row, or what is done once."""
        parts = (self.indexing_code, self.loads, self.compute, self.stores)
        if not any((*parts, self.after)):
            return
        loops = [tree for tree in self.range_trees if tree.is_loop]
        if self.inside_reduction and loops:
            [tree] = loops
            self._write_loop(tree, parts)
            self.cse.invalidate(self.of_row)
            tree.cache_clear()
        else:
            for part in parts:
                self.body.splice(part)
        self.body.splice(self.after)
        for part in (*parts, self.begin, self.end, self.after):
            part.clear()
        self.guards.clear()

    def _write_loop(self, tree: Any, parts: tuple[IndentedBuffer, ...]) -> None:
        of_group = not self.by_items
        count = f"{tree.prefix}numel"
        if of_group:
            if self.taken and self.has_shared:  # whose results all items have read by then
                self.body.writeline("BARRIER;")
            self.has_shared = self.has_shared or bool(self.taken)
            self.taken.clear()
            self.body.writeline("ITEMS {")
        with self.body.indent(int(of_group)):
            self.body.splice(self.begin)
            each = f"each_{tree.name}"
            head = f"LANES({each}, {count})" if of_group else _counting(each, count)
            self.body.writeline(f"{head} {{")
            with self.body.indent():
                self.body.writeline(f"const {self.index_type} {tree.name} = {each};")
                for part in parts:
                    self.body.splice(part)
            self.body.writeline("}")
            self.body.splice(self.end)
        if of_group:
            self.body.writeline("}")

    def signature(self) -> list[tuple[str, Any, str]]:
        """Of each parameter its declaration, what the caller passes, and the letter of its kind
        (module/generated_kernel.cpp)."""
        parameters: list[tuple[str, Any, str]] = []
        definitions, calls, _, types = self.args.python_argdefs()
        real = (register_type(self.wide), "d" if self.wide == torch.float64 else "f")
        for definition, call, of in zip(definitions, calls, types, strict=True):
            if isinstance(of, torch.dtype) and _is_number(call):
                kind, letter = real if of.is_floating_point else ("i64", "l")
                parameters.append((f"{kind} {definition.name}", f"{call}.item()", letter))
            elif isinstance(of, torch.dtype):
                is_read = definition.name.startswith("in_ptr")
                kind = f"{'const ' if is_read else ''}GLOBAL {memory_type(of)}*"
                parameters.append((f"{kind} {definition.name}", call, "p"))
            elif isinstance(call, sympy.Symbol) and symbol_is_type(
                call, (SymT.FLOAT, SymT.UNBACKED_FLOAT)
            ):
                kind, letter = real
                parameters.append((f"{kind} {definition.name}", call, letter))
            else:
                parameters.append((f"i64 {definition.name}", call, "l"))
        if self.faults:
            parameters.append(("GLOBAL i32* fault", None, "w"))
        for letter, fault in sorted(self.faults.items()):
            parameters.append((f"i32 {fault}", None, letter))
        letter_of_count = {"ROWS": "r", "EACH": "e", "EACH_PAIR": "t"}[self._loop().split("(")[0]]
        for tree in self.range_trees:
            if not tree.is_reduction:
                parameters.append((f"i64 {tree.prefix}numel", tree.numel, letter_of_count))
            elif self.features.is_reduction():
                parameters.append((f"i64 {tree.prefix}numel", tree.numel, "l"))
        return parameters

    def _indices(self) -> list[str]:
        return [tree.prefix for tree in self.range_trees if not tree.is_reduction]

    def _loop(self) -> str:
        """Over rows, elements, or the elements of tiles."""
        if self._indices() == ["x"]:
            return f"{'ROWS' if self._is_by_rows() else 'EACH'}(each_x, xnumel)"
        return "EACH_PAIR(each_x, xnumel, each_y, ynumel)"

    def _is_by_rows(self) -> bool:
        return self.features.is_reduction() and not self.by_items

    def codegen_kernel(self, name: str = "KERNEL_NAME") -> str:
        self.codegen_body()
        rows = self._is_by_rows()
        code = IndentedBuffer()
        for header in self.headers:
            code.writeline(f'#include "outback/{header}"')
        declared = ", ".join(declaration for declaration, _, _ in self.signature())
        code.writeline(f"KERNEL({name}, {declared}) {{")
        with code.indent():
            for declaration in self.locals.values():
                code.writeline(declaration)
            code.writeline(f"{self._loop()} {{")
            with code.indent():
                for name in self._indices():
                    code.writeline(f"const {self.index_type} {name}index = each_{name};")
                code.splice(self.body)
                if rows:  # the next row's values come into the same memory
                    code.writeline("BARRIER;")
            code.writeline("}")
        code.writeline("}")
        return str(code.getvalue())

    def call_kernel(self, name: str, node: Any = None, deallocate_ws: bool = True) -> None:
        wrapper = V.graph.wrapper_code
        for size in self.args.sizevars:
            wrapper.ensure_size_computed(size)
        passed = [call for _, call, kind in self.signature() if kind not in "wna"]
        wrapper.generate_kernel_call(
            name,
            [call if isinstance(call, str) else self.pexpr(call) for call in passed],
            device=V.graph.get_current_device_or_throw(),
            triton=False,
            arg_types=[kind for _, _, kind in self.signature() if kind not in "wna"],
            raw_args=passed,
        )


def _is_number(name: str) -> bool:
    """Of a CPU tensor without dimensions, which a kernel takes as a number."""
    if V.graph.is_unspec_arg(name):
        return True
    buffer = V.graph.try_get_buffer(name)
    if buffer is None:
        return False
    device = buffer.get_device()
    return device is not None and device.type == "cpu" and not buffer.get_size()


def _fits_32_bits(bounds: ValueRanges[Any]) -> bool:
    return bool(bounds.lower >= -(1 << 31) and bounds.upper < 1 << 31)


def _counting(name: str, count: str) -> str:
    return f"for (i64 {name} = 0; {name} < {count}; ++{name})"
