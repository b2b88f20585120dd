"""Index expressions of Inductor's in the dialect."""

from typing import Any

import sympy
from sympy.printing.precedence import PRECEDENCE
from torch.utils._sympy.printers import ExprPrinter


class _Printer(ExprPrinter):
    """Divisions and remainders round down in Inductor, and to 0 in the dialect: whose operands may
    be negative goes by a function."""

    def _pair(self, expr: sympy.Expr) -> tuple[str, str]:
        first, second = (f"({self.doprint(each)})" for each in expr.args[:2])
        return first, second

    @staticmethod
    def _rounds_alike(expr: sympy.Expr) -> bool:
        return bool(expr.args[0].is_nonnegative and expr.args[1].is_positive)

    def _print_Integer(self, expr: sympy.Integer) -> str:
        number = int(expr)
        return f"{number}L" if abs(number) >= 1 << 31 else str(number)

    def _print_FloorDiv(self, expr: sympy.Expr) -> str:
        a, b = self._pair(expr)
        return f"({a} / {b})" if self._rounds_alike(expr) else f"floor_quotient({a}, {b})"

    def _print_PythonMod(self, expr: sympy.Expr) -> str:
        a, b = self._pair(expr)
        return f"({a} % {b})" if self._rounds_alike(expr) else f"floor_remainder({a}, {b})"

    _print_Mod = _print_PythonMod

    def _print_ModularIndexing(self, expr: sympy.Expr) -> str:
        value, divisor, modulus = expr.args
        text = f"({self.doprint(value)})"
        if value.is_nonnegative:
            if divisor != 1:
                text = f"({text} / ({self.doprint(divisor)}))"
            return f"({text} % ({self.doprint(modulus)}))"
        if divisor != 1:
            text = f"floor_quotient({text}, {self.doprint(divisor)})"
        return f"floor_remainder({text}, {self.doprint(modulus)})"

    def _nested(self, function: str, expr: sympy.Expr) -> str:
        first: str = self.doprint(expr.args[0])
        others = map(self.doprint, expr.args[1:])
        for other in others:
            first = f"{function}({first}, {other})"
        return first

    def _print_Min(self, expr: sympy.Expr) -> str:
        return self._nested("SMALLER", expr)

    def _print_Max(self, expr: sympy.Expr) -> str:
        return self._nested("LARGER", expr)

    def _print_Abs(self, expr: sympy.Expr) -> str:
        return f"whole_size({self.doprint(expr.args[0])})"

    def _print_Where(self, expr: sympy.Expr) -> str:
        condition, then, otherwise = (
            self.parenthesize(each, PRECEDENCE["Atom"] - 0.5) for each in expr.args
        )
        return f"({condition} ? {then} : {otherwise})"

    def _print_IntTrueDiv(self, expr: sympy.Expr) -> str:
        a, b = self._pair(expr)
        return f"((wide){a} / (wide){b})"

    _print_FloatTrueDiv = _print_IntTrueDiv

    def _print_PowByNatural(self, expr: sympy.Expr) -> str:
        a, b = self._pair(expr)
        return f"whole_power({a}, {b})"

    def _print_Pow(self, expr: sympy.Expr) -> str:
        base, exponent = expr.args
        if exponent.is_integer and exponent.is_positive:
            return f"whole_power({self.doprint(base)}, {self.doprint(exponent)})"
        return f"pow((wide)({self.doprint(base)}), (wide)({self.doprint(exponent)}))"

    _print_FloatPow = _print_Pow

    def _print_Float(self, expr: sympy.Float) -> str:
        return f"WIDE({float(expr)!r})"

    def _print_ToFloat(self, expr: sympy.Expr) -> str:
        return f"((wide)({self.doprint(expr.args[0])}))"

    def _to_integer(self, function: str, expr: sympy.Expr) -> str:
        return f"((i64){function}((wide)({self.doprint(expr.args[0])})))"

    def _print_floor(self, expr: sympy.Expr) -> str:
        return self._to_integer("floor", expr)

    _print_FloorToInt = _print_floor

    def _print_ceiling(self, expr: sympy.Expr) -> str:
        return self._to_integer("ceil", expr)

    _print_CeilToInt = _print_ceiling

    def _print_TruncToInt(self, expr: sympy.Expr) -> str:
        return self._to_integer("trunc", expr)

    def _print_RoundToInt(self, expr: sympy.Expr) -> str:
        return self._to_integer("rint", expr)

    def _print_TruncToFloat(self, expr: sympy.Expr) -> str:
        return f"trunc((wide)({self.doprint(expr.args[0])}))"

    def _print_OpaqueUnaryFn_sqrt(self, expr: sympy.Expr) -> str:
        return f"sqrt((wide)({self.doprint(expr.args[0])}))"

    def _print_OpaqueUnaryFn_log2(self, expr: sympy.Expr) -> str:
        return f"log2((wide)({self.doprint(expr.args[0])}))"

    def _print_BooleanTrue(self, expr: Any) -> str:
        return "1"

    def _print_BooleanFalse(self, expr: Any) -> str:
        return "0"

    def _print_And(self, expr: Any) -> str:
        return "(" + " && ".join(f"({self.doprint(each)})" for each in expr.args) + ")"

    def _print_Or(self, expr: Any) -> str:
        return "(" + " || ".join(f"({self.doprint(each)})" for each in expr.args) + ")"

    def _print_Not(self, expr: Any) -> str:
        return f"!({self.doprint(expr.args[0])})"


def text_of_index(expr: Any) -> str:
    if isinstance(expr, sympy.Expr):
        # Sizes lose what sympy knows of them when they become arguments of a kernel.
        sizes = [each for each in expr.free_symbols if each.name.startswith("ks")]
        expr = expr.xreplace(
            {each: sympy.Symbol(each.name, integer=True, nonnegative=True) for each in sizes}
        )
    return str(_Printer().doprint(expr))
