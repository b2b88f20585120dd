"""Parameters of a Python function: as text, and whether a change of them breaks its callers."""

from __future__ import annotations

import ast

Function = ast.FunctionDef | ast.AsyncFunctionDef
_TEMPLATE = "({})"


def text(node: Function) -> str:
    """Without annotations: "(self, device, *, stream=None)"."""
    return _TEMPLATE.format(", ".join(_words(node.args)))


def _words(args: ast.arguments) -> list[str]:
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    words = []
    for at, (it, default) in enumerate(zip(positional, defaults, strict=True)):
        words.append(it.arg if default is None else f"{it.arg}={ast.unparse(default)}")
        if args.posonlyargs and at + 1 == len(args.posonlyargs):
            words.append("/")
    if args.vararg:
        words.append(f"*{args.vararg.arg}")
    elif args.kwonlyargs:
        words.append("*")
    for it, keyword in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        words.append(it.arg if keyword is None else f"{it.arg}={ast.unparse(keyword)}")
    if args.kwarg:
        words.append(f"**{args.kwarg.arg}")
    return words


def names(node: Function) -> list[str]:
    """The parameters with their stars, without defaults: what an override has to take."""
    return [it.partition("=")[0] for it in _words(node.args)]


def still_takes(old: Function, new: Function) -> bool:
    """Whether each call that fits the older parameters fits the newer ones: none is gone, none has
    another place, and those that were added are optional."""
    before, after = old.args, new.args
    was, now = positional(old), positional(new)
    if now[: len(was)] != was or len(before.posonlyargs) < len(after.posonlyargs):
        return False
    if len(now) - len(after.defaults) > len(was) - len(before.defaults):
        return False
    if (before.vararg and not after.vararg) or (before.kwarg and not after.kwarg):
        return False
    named = {
        it.arg: default for it, default in zip(after.kwonlyargs, after.kw_defaults, strict=True)
    }
    for it in before.kwonlyargs:
        if it.arg not in named and it.arg not in now and not after.kwarg:
            return False
    known = {it.arg for it in before.kwonlyargs}
    required = {name for name, default in named.items() if default is None}
    required_before = {
        it.arg
        for it, default in zip(before.kwonlyargs, before.kw_defaults, strict=True)
        if default is None
    }
    return required & known <= required_before and not required - known


def function_of(node: ast.stmt | None) -> Function | None:
    """The function that a call of it calls: of a class, what makes an instance."""
    if isinstance(node, ast.ClassDef):
        made = [it for it in node.body if isinstance(it, Function) and it.name == "__init__"]
        return made[0] if len(made) == 1 else None  # types tell overloads apart
    return node if isinstance(node, Function) else None


def parameters(node: Function) -> set[str]:
    """The names by which arguments can be given."""
    return {it.arg for it in (*node.args.args, *node.args.kwonlyargs)} - {"self", "cls"}


def positional(node: Function) -> list[str]:
    """The names of the parameters that take arguments by their place."""
    return [it.arg for it in (*node.args.posonlyargs, *node.args.args)]


def fits(node: Function, count: int, keywords: frozenset[str]) -> bool:
    """Whether a call with `count` arguments without a name, `self` included, and these names,
    fits."""
    args = node.args
    names = positional(node)
    if count > len(names) and not args.vararg:
        return False
    by_name = set(names[len(args.posonlyargs) :]) | {it.arg for it in args.kwonlyargs}
    if not keywords <= by_name and not args.kwarg:
        return False
    if keywords & set(names[:count]):
        return False
    required = set(names[count : len(names) - len(args.defaults)])
    required |= {
        it.arg
        for it, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        if default is None
    }
    return required <= keywords


def is_abstract(node: Function) -> bool:
    return any("abstractmethod" in ast.unparse(it) for it in node.decorator_list)
