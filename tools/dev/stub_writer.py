"""Writes the type stubs of torch.acme: what the real module has, with the types that its functions
name themselves, and for those that take any object the types below.

A program of its own: python stub_writer.py FOLDER, with the backend on PYTHONPATH.
"""

import inspect
import re
import sys
import types
from pathlib import Path

_BEGIN = "# Made by ./dev docs from the module itself: what type checkers see of torch.acme.\n"
_WIDTH = 100
_NATIVE = "torch.acme._outback._native"

# Where a function takes any Python object and says by itself what it expected.
_ARGUMENTS = {
    "device": "_Device",
    "peer_device": "_Device",
    "obj": "torch.Tensor | torch.UntypedStorage | torch.TypedStorage",
    "stream": "torch.Stream | None",
    "event": "torch.Event | None",
    "data_ptr": "int",
    "debug_mode": "int | str",
    "dtype": "torch.dtype | None",
    "source": "str | bytes",
    "language": "str | int | None",
    "groups": "int | collections.abc.Sequence[int]",
    "items": "int | collections.abc.Sequence[int]",
    "cuda_graph": "ACMEGraph",
    "sample_args": "tuple[typing.Any, ...]",
    "generator": "torch.Generator",
    "new_state": "torch.Tensor",
    "new_states": "collections.abc.Iterable[torch.Tensor]",
    "seed": "int",
    "priority": "int",
    "enable_timing": "bool",
    "blocking": "bool",
    "interprocess": "bool",
}
_RESULTS = {
    "current_stream": "Stream",
    "default_stream": "Stream",
    "get_stream_from_external": "Stream",
    "get_amp_supported_dtype": "list[torch.dtype]",
    "graph_pool_handle": "tuple[int, int]",
    "get_rng_state": "torch.Tensor",
    "get_rng_state_all": "list[torch.Tensor]",
    "initial_seed": "int",
    "pool": "tuple[int, int]",
    "memory_stats": "dict[str, typing.Any]",
    "priority_range": "tuple[int, int]",
}
_ATTRIBUTES = {
    "Kernel.argument_count": "int | None",
    "Kernel.device": "torch.device",
    "Kernel.name": "str",
    "MemPool.id": "tuple[int, int]",
    "StreamContext.stream": "torch.Stream | None",
    "_DeviceProperties.uuid": "uuid.UUID | None",
}
_VALUES = {"default_generators": "tuple[torch.Generator, ...]"}
# Not in __all__, and yet a user's.
_MORE = (
    "AcceleratorError",
    "OutOfMemoryError",
    "_DeviceProperties",
    "_lazy_call",
    "_lazy_init",
    "_sleep",
)


def write(module: types.ModuleType, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder.parent / "py.typed").write_text("partial\n", encoding="utf-8")
    _write(folder / "__init__.pyi", _stub(module))
    for name, part in sorted(vars(module).items()):
        if isinstance(part, types.ModuleType) and not name.startswith("_"):
            _write(folder / f"{name}.pyi", _stub(part, module))


def _write(path: Path, body: str) -> None:
    path.write_text(_BEGIN + _imports(body) + body, encoding="utf-8")


def _imports(body: str) -> str:
    modules = ("collections.abc", "contextlib", "typing", "typing_extensions", "uuid")
    used = [name for name in modules if re.search(rf"(?<!\w){name}\.", body)]
    return "".join(f"import {name}\n" for name in used) + "\nimport torch\n"


def _stub(module: types.ModuleType, whole: types.ModuleType | None = None) -> str:
    public = sorted(set(module.__all__) | {name for name in _MORE if hasattr(module, name)})
    if whole is not None:
        public = sorted(module.__all__)
    shared, own = [], []
    for name in public:
        value = getattr(module, name)
        if (whole is not None and getattr(whole, name, None) is value) or isinstance(
            value, types.ModuleType
        ):
            shared.append(name)
        else:
            own.append(_member(name, value))
    text = ""
    if shared:
        source = "torch.acme" if whole is not None else "."
        text += f"from {source} import " + ", ".join(f"{name} as {name}" for name in shared) + "\n"
    body = "\n".join(own)
    if "_Device" in re.findall(r"\w+", body):  # as device_argument.h takes them
        text += "\n_Device: typing.TypeAlias = torch.device | str | int | None\n"
    if whole is not None and re.search(r"\bStream\b(?<!torch\.Stream)", body):
        text += "from torch.acme import Stream\n"
    listed = "".join(f'    "{name}",\n' for name in sorted(module.__all__))
    return f"{_wrap(text)}\n__all__ = [\n{listed}]\n\n{body}"


def _wrap(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if len(line) > _WIDTH and " import " in line:
            before, names = line.split(" import ")
            listed = "".join(f"    {name},\n" for name in names.split(", "))
            line = f"{before} import (\n{listed})"
        lines.append(line)
    return "".join(f"{line}\n" for line in lines)


def _member(name: str, value: object) -> str:
    if isinstance(value, type):
        is_other_name = value.__name__ != name and value.__module__ == "torch.acme"
        return f"{name} = {value.__name__}\n" if is_other_name else _class(name, value)
    if name in _VALUES:
        return f"{name}: {_VALUES[name]}\n"
    if callable(value):
        return _function(name, value)
    return f"{name}: {_name_of(type(value))}\n"


# ---- Functions


def _function(name: str, value: object, *, indent: str = "") -> str:
    found = _from_docstring(name, value) or _from_signature(name, value)
    arguments, result, doc = found
    line = _signature(name, arguments, result, indent)
    doc = inspect.cleandoc(doc)
    if not doc:
        return f"{line} ...\n"
    if "\n" in doc or len(doc) > _WIDTH - 12 - len(indent):
        doc = _fill(doc, indent + "    ")
    return f'{line}\n{indent}    """{doc}"""\n'


def _signature(name: str, arguments: list[str], result: str, indent: str) -> str:
    line = f"{indent}def {name}({', '.join(arguments)}) -> {result}:"
    if len(line) <= _WIDTH - 4:
        return line
    listed = "".join(f"{indent}    {argument},\n" for argument in arguments)
    return f"{indent}def {name}(\n{listed}{indent}) -> {result}:"


def _fill(doc: str, indent: str) -> str:
    first, *rest = doc.split("\n")
    words, lines, line = first.split(" "), [], ""
    for word in words:
        room = _WIDTH - len(indent) - (3 if not lines else 0)
        if line and len(line) + 1 + len(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    lines += [line, *rest]
    body = lines[0] + "".join(f"\n{indent}{each}" if each else "\n" for each in lines[1:])
    return f"{body}\n{indent}"


def _from_docstring(name: str, value: object):
    """pybind11 begins the docstring with the signature: None where there is none."""
    head, _, doc = (value.__doc__ or "").partition("\n")
    found = re.fullmatch(r"(\w+)\((.*)\)(?: -> (.*))?", head)
    if found is None:
        return None
    arguments = [_argument(each) for each in _split(found.group(2))]
    result = _RESULTS.get(name) or _type(found.group(3) or "object")
    return arguments, result, doc


def _from_signature(name: str, value: object):
    try:
        signature = inspect.signature(value)
    except ValueError:
        return ["*args: typing.Any", "**kwargs: typing.Any"], "typing.Any", value.__doc__ or ""
    arguments, is_keyword_only = [], False
    for it in signature.parameters.values():
        text = str(it)
        if it.kind is it.KEYWORD_ONLY and not is_keyword_only:
            arguments.append("*")
            is_keyword_only = True
        if it.kind is it.VAR_POSITIONAL:
            is_keyword_only = True
        if it.name not in ("self", "cls"):
            bare = text.split("=")[0].split(":")[0].strip()
            text = f"{bare}: {_ARGUMENTS.get(it.name) or _annotation(value, it.annotation)}"
            text += "" if it.default is it.empty else " = ..."
        arguments.append(text)
        if it.kind is it.POSITIONAL_ONLY and it.name != "self":
            arguments.append("/")
    source = getattr(value, "func", value)  # of a functools.partial
    doc = (source.__doc__ or "").partition("--\n\n")[2] or source.__doc__ or ""
    result = _RESULTS.get(name) or _annotation(value, signature.return_annotation)
    return arguments, result, doc


def _annotation(function: object, annotation: object) -> str:
    """Of a function in Python, which says its types itself; torch's own say more than they keep."""
    if annotation is inspect.Parameter.empty or not inspect.isfunction(function):
        return "typing.Any"
    if annotation is None:
        return "None"
    is_class = isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias)
    return _name_of(annotation) if is_class else repr(annotation)


def _split(text: str) -> list[str]:
    """At the commas between arguments, not at those within their types."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _argument(text: str) -> str:
    name, _, kind = text.partition(":")
    kind, equals, _ = kind.partition("=")
    kind = kind.strip()
    if name in ("self", "*"):
        return name
    if name.startswith("*"):
        return f"{name}: {_type(kind) if kind else 'typing.Any'}"
    known = _ARGUMENTS.get(name) if kind in ("object", "") else None
    return f"{name}: {known or _type(kind)}" + (" = ..." if equals else "")


def _type(text: str) -> str:
    text = text.replace("torch_acme._C.", "").replace("torch.acme.", "")
    text = re.sub(r"typing\.SupportsInt( \| typing\.SupportsIndex)?", "int", text)
    text = re.sub(r"typing\.SupportsFloat( \| typing\.SupportsIndex)?", "float", text)
    return "typing.Any" if text == "object" else text


# ---- Classes


def _class(name: str, cls: type) -> str:
    if cls.__module__ not in ("torch.acme", "torch.acme.amp"):
        return f"{name} = {_name_of(cls)}\n"
    bases = [_name_of(base) for base in cls.__bases__ if _is_base(base)]
    head = f"class {name}({', '.join(bases)}):" if bases else f"class {name}:"
    if name.endswith("Tensor"):
        head = f"class {name}(torch.Tensor):"
    if name.endswith(("Tensor", "Storage")):
        return head + " ...\n"
    doc = inspect.cleandoc((cls.__doc__ or "").partition("--\n\n")[2] or cls.__doc__ or "")
    lines = [f'    """{_fill(doc, "    ") if len(doc) > _WIDTH - 10 else doc}"""\n'] if doc else []
    for member, kind in inspect.get_annotations(cls).items():  # each of which is read-only
        annotation = _name_of(kind) if isinstance(kind, type) else repr(kind)
        lines.append(f"    @property\n    def {member}(self) -> {annotation}: ...\n")
    lines += _constructor(cls)
    for member, value in _members(cls).items():
        if member in ("__call__", "__enter__", "__exit__") or not member.startswith("_"):
            lines += _class_member(name, cls, member, value)
    return head + "\n" + "".join(lines) if lines else head + " ...\n"


def _constructor(cls: type) -> list[str]:
    if "__init__" in _members(cls) and callable(cls.__init__):
        found = _from_docstring("__init__", cls.__init__)
        if found is None and not inspect.isfunction(cls.__init__):
            return []
        found = found or _from_signature("__init__", cls.__init__)
        arguments = ["self", *(each for each in found[0] if not each.startswith("self"))]
        return [_signature("__init__", arguments, "None", "    ") + " ...\n"]
    if "__new__" not in cls.__dict__:
        return []
    arguments = _from_signature("__new__", cls)[0]
    line = _signature("__new__", ["cls", *arguments], "typing_extensions.Self", "    ")
    return [line + " ...\n"]


def _class_member(name: str, cls: type, member: str, value: object) -> list[str]:
    # The base's own are declared there, where torch says their types.
    if any(hasattr(base, member) for base in cls.__bases__ if _is_base(base)):
        return []
    if isinstance(value, property) or inspect.isgetsetdescriptor(value):
        kind = _ATTRIBUTES.get(f"{name}.{member}", "int")
        return [f"    @property\n    def {member}(self) -> {kind}: ...\n"]
    if isinstance(value, staticmethod):
        found = _function(member, value.__func__, indent="    ")
        return ["    @staticmethod\n", found]
    if callable(value):
        return [_function(member, value, indent="    ")]
    return []


def _is_base(base: type) -> bool:
    return base is not object and not base.__module__.startswith(("pybind11", _NATIVE))


def _members(cls: type) -> dict[str, object]:
    """Those of a part in C++, a base that no user sees, are the class's own."""
    bases = [base for base in cls.__bases__ if base.__module__ == _NATIVE]
    return {name: value for each in (*bases, cls) for name, value in vars(each).items()}


def _name_of(cls: type) -> str:
    module = cls.__module__
    if module in ("builtins", "torch.acme"):
        return cls.__qualname__
    return f"{module}.{cls.__qualname__}"


if __name__ == "__main__":
    import torch
    import torch_acme  # noqa: F401

    write(torch.acme, Path(sys.argv[1]) / "torch-stubs" / "acme")
