"""What a device may be called, as the registration in C++ sees it (registration/name.cpp)."""

import importlib.util
import keyword
import re
from pathlib import Path

_LONGEST = 32
# torch's own, and names that torch takes for its own all the same.
_IN_TREE = frozenset(
    re.findall(
        "[a-z0-9]+",
        """
        cpu cuda mkldnn opengl opencl ideep hip fpga maia xla vulkan metal xpu mps meta hpu ve lazy
        ipu mtia privateuse privateuse1 privateuseone gpu accelerator
        """,
    )
)


def problem(name: str) -> str:
    """Why `name` cannot be a device's name; "" when it can."""
    if not name:
        return "it is empty; expected lower-case letters and underscores, such as acme"
    if len(name) > _LONGEST:
        return f"it has {len(name)} characters, at most {_LONGEST} are allowed"
    if re.search("[A-Z]", name):
        return "upper-case letters are not allowed, torch lowers them in C++ only"
    if re.search("[0-9]", name) and name not in _IN_TREE:
        return "digits are not allowed, torch.device cannot parse them"
    if re.search("[^a-z_]", name) and name not in _IN_TREE:
        return (
            "only lower-case letters and underscores are allowed, torch.device cannot parse "
            "anything else"
        )
    if name.startswith("_") or name.endswith("_"):
        return "it must begin and end with a letter"
    if name in _IN_TREE:
        return "PyTorch has a device of that name already"
    if name.startswith("mps"):
        return 'torch.load takes every device that begins with "mps" for Apple\'s'
    if keyword.iskeyword(name):
        return f"Python has a keyword of that name: nobody could write tensor.{name}()"
    if taken := _taken_in_torch(name):
        return f"{taken} is there already"
    return ""


def suggestion(name: str) -> str:
    """A name like `name` that can be a device's."""
    letters = re.sub("[^a-z_]+", "_", name.lower()).strip("_")[: _LONGEST - 4].strip("_")
    for candidate in (letters, f"my_{letters}"):
        if not problem(candidate):
            return candidate
    return "acme"


def _taken_in_torch(name: str) -> str:
    """What of the torch of this Python has the name; "" where there is none, or no torch.

    By the text of its files: importing it would take longer than all else that is done here. What
    this overlooks, the registration finds.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return ""
    torch = Path(next(iter(spec.submodule_search_locations)))
    if (torch / name).is_dir() or (torch / f"{name}.py").exists():
        return f"torch.{name}"
    if f"\ndef {name}(" in _text(torch / "_C/_VariableFunctions.pyi"):
        return f"torch.{name}()"
    _, _, methods = _text(torch / "_C/__init__.pyi").partition("\nclass TensorBase")
    if f"\n    def {name}(" in methods.partition("\nclass ")[0]:
        return f"torch.Tensor.{name}()"
    return ""


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""
