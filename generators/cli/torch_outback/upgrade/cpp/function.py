"""A function of a class from the tokens of its declaration.

Types are kept as they are written, without the names of parameters, default arguments and the
prefixes at:: and c10::, which say the same type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.']*|::|\.\.\.|->|&&|\"\"|[^\s\w]")
_OPEN, _CLOSE = "([{", ")]}"
_PREFIXES = ("at", "c10")
_NOT_A_TYPE_ALONE = {"const", "volatile", "typename", "struct", "class", "enum"}
_BUILT_IN = {
    *("bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned", "void"),
    *("auto", "wchar_t", "char8_t", "char16_t", "char32_t"),
}
_BEFORE_A_TYPE = {"virtual", "static", "inline", "explicit", "constexpr", "friend", "extern"}
_DEEPEST = 100  # angles in one another
_WORD = re.compile(r"[A-Za-z_]\w*")
_MACRO = re.compile(r"[A-Z][A-Z0-9_]+")


@dataclass(frozen=True)
class Function:
    """`parameters` are types. `is_virtual` counts `override` and `final` too."""

    name: str
    returns: str
    parameters: tuple[str, ...]
    tail: str  # "const", "noexcept", "const&": what makes another type of the function
    is_virtual: bool
    is_pure: bool
    is_override: bool
    is_final: bool
    line: int

    @property
    def signature(self) -> str:
        """What an override has to repeat."""
        tail = f" {self.tail}" if self.tail else ""
        return f"{self.returns} {self.name}({', '.join(self.parameters)}){tail}".strip()


def read(tokens: list[str], line: int) -> Function | None:
    """None for what declares no function: a field, a type, a friend, a macro."""
    tokens = _without_prefixes(tokens)
    if not tokens or tokens[0] in ("using", "typedef", "friend", "static_assert", "enum"):
        return None
    found = _parameters_at(tokens)
    if found is None:
        return None
    first, last = found
    head, inner, tail = tokens[:first], tokens[first + 1 : last], tokens[last + 1 :]
    name, head = _name(head)
    if not name:
        return None
    if ":" in tail:  # of a constructor: what it initializes
        tail = tail[: tail.index(":")]
    is_pure = tail[-2:] == ["=", "0"]
    is_override = "override" in tail or "final" in tail
    returns = [it for it in head if it not in _BEFORE_A_TYPE and it != "mutable"]
    if "->" in tail:
        returns, tail = tail[tail.index("->") + 1 :], tail[: tail.index("->")]
        returns = [it for it in returns if it not in ("override", "final")]
        if "=" in returns:
            returns = returns[: returns.index("=")]
    return Function(
        name=name,
        returns=_joined(returns),
        parameters=_types(inner),
        tail=" ".join(it for it in tail if it in ("const", "noexcept", "&", "&&", "volatile")),
        is_virtual="virtual" in head or is_override,
        is_pure=is_pure,
        is_override=is_override,
        is_final="final" in tail,
        line=line,
    )


def _without_prefixes(tokens: list[str]) -> list[str]:
    """Without attributes, template<...>, and macros before the declaration."""
    left: list[str] = []
    at = 0
    while at < len(tokens):
        if tokens[at] == "[" and tokens[at + 1 : at + 2] == ["["]:
            at = after_brackets(tokens, at)
        elif tokens[at] == "template" and tokens[at + 1 : at + 2] == ["<"]:
            at = after_angles(tokens, at + 1)
        elif not left and _MACRO.fullmatch(tokens[at]) and len(tokens) > at + 2:
            has_arguments = tokens[at + 1] == "("
            if not has_arguments and not _WORD.fullmatch(tokens[at + 1]):
                left.append(tokens[at])
                at += 1
                continue
            behind = after_brackets(tokens, at + 1) if has_arguments else at + 1
            if behind >= len(tokens) or tokens[behind] in ("const", "noexcept", ":", "="):
                return [*left, *tokens[at:]]  # a function with such a name
            at = behind
        else:
            left.append(tokens[at])
            at += 1
    return left


def after_brackets(tokens: list[str], at: int) -> int:
    """The index behind the bracket that closes the one at `at`."""
    depth = 0
    while at < len(tokens):
        depth += (tokens[at] in _OPEN) - (tokens[at] in _CLOSE)
        at += 1
        if depth == 0:
            break
    return at


def after_angles(tokens: list[str], at: int) -> int:
    """The index behind the > that closes the < at `at`; `at` + 1 where none does, or where too many
    are open: of many that nothing closes, each would be searched for to the end.
    """
    depth, index = 0, at
    while index < len(tokens):
        if tokens[index] in ("(", "[", "{"):
            index = after_brackets(tokens, index)
            continue
        if tokens[index] == ";":
            break
        depth += (tokens[index] == "<") - (tokens[index] == ">")
        index += 1
        if depth == 0:
            return index
        if depth > _DEEPEST:
            break
    return at + 1


def _parameters_at(tokens: list[str]) -> tuple[int, int] | None:
    """Of the first parentheses outside of angles that follow a name: the indices of both."""
    at = 0
    while at < len(tokens):
        if tokens[at] == "operator":
            at += 2 if tokens[at + 1 : at + 3] != ["(", ")"] else 3
            while at < len(tokens) and tokens[at] != "(":
                at += 1
            return (at, after_brackets(tokens, at) - 1) if at < len(tokens) else None
        if tokens[at] == "<" and at and _WORD.fullmatch(tokens[at - 1]):
            at = after_angles(tokens, at)
        elif tokens[at] == "=":
            return None
        elif tokens[at] == "(":
            if at and _WORD.fullmatch(tokens[at - 1]) and tokens[at - 1] not in ("decltype",):
                return at, after_brackets(tokens, at) - 1
            at = after_brackets(tokens, at)
        else:
            at += 1
    return None


def _name(head: list[str]) -> tuple[str, list[str]]:
    """Also what is before the name."""
    if "operator" in head:
        at = head.index("operator")
        return f"operator {_joined(head[at + 1 :])}".replace("operator (", "operator("), head[:at]
    if head[-2:-1] == ["~"]:
        return "~" + head[-1], head[:-2]
    if head[-2:-1] == ["::"]:  # defined outside of its class
        return "", head
    return head[-1], head[:-1]


def _parts(tokens: list[str]) -> list[list[str]]:
    """Parameters: by commas outside of brackets and angles."""
    parts: list[list[str]] = [[]]
    at = 0
    while at < len(tokens):
        behind = at + 1
        if tokens[at] in _OPEN:
            behind = after_brackets(tokens, at)
        elif tokens[at] == "<" and at and _WORD.fullmatch(tokens[at - 1]):
            behind = after_angles(tokens, at)
        if behind == at + 1 and tokens[at] == ",":
            parts.append([])
        else:
            parts[-1] += tokens[at:behind]
        at = behind
    return parts


def _types(tokens: list[str]) -> tuple[str, ...]:
    """Of all parameters."""
    found = tuple(filter(None, map(_type, _parts(tokens))))
    return () if found == ("void",) else found


def pointer(text: str) -> str:
    """The type of a pointer to a function, in one spelling: "void(*)(Tensor&, int64_t)". What is no
    such type stays as it is, apart from blanks."""
    tokens = TOKEN.findall(text)
    for at in range(len(tokens) - 3):
        if tokens[at : at + 4] == ["(", "*", ")", "("]:
            inner = tokens[at + 4 : after_brackets(tokens, at + 3) - 1]
            return f"{_joined(tokens[:at])}(*)({', '.join(_types(inner))})"
    return _joined(tokens)


def _type(tokens: list[str]) -> str:
    """Of a parameter."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += (token in ("(", "[", "{", "<")) - (token in (")", "]", "}", ">"))
        if token == "=" and depth == 0:
            tokens = tokens[:at]
            break
    last = tokens[-1] if tokens else ""
    if len(tokens) > 1 and _WORD.fullmatch(last) and last not in _BUILT_IN | _NOT_A_TYPE_ALONE:
        before = tokens[-2]
        is_word = bool(_WORD.fullmatch(before)) and before not in _NOT_A_TYPE_ALONE
        if is_word or before in (">", "*", "&", "&&", "...", "]", ")"):
            tokens = tokens[:-1]
        elif before in _NOT_A_TYPE_ALONE and len(tokens) > 2 and before in ("const", "volatile"):
            tokens = tokens[:-1]  # `T const name`
    return _joined(tokens)


def _joined(tokens: list[str]) -> str:
    """One spelling for one type."""
    kept: list[str] = []
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else ""
        if token in _PREFIXES and tokens[at + 1 : at + 2] == ["::"] and before != "::":
            continue
        if token == "::" and (not kept or not _WORD.fullmatch(before) or before in _PREFIXES):
            continue
        kept.append(token)
    text = ""
    for at, token in enumerate(kept):
        before = kept[at - 1] if at else ""
        is_word = _WORD.match(token) is not None
        gap = is_word and bool(_WORD.match(before) or before in (">", "*", "&", ","))
        text += f" {token}" if gap else token
    return text
