"""What `outback upgrade-report` sees of Python and of operators: classes, names of the device's
module, operators, entries of test samples, deprecations, and the project's lines they touch."""

import textwrap

import pytest
from small_torch import changes, files, lines, operators

_CLASS = "torch._dynamo.device_interface.DeviceInterface"


def interface(*members: str) -> str:
    body = textwrap.indent("\n".join(members) or "pass", "    ")
    return f"class Base:\n    def inherited(self): ...\n\nclass DeviceInterface(Base):\n{body}\n"


@pytest.fixture
def of_interfaces(tmp_path):
    def compared(old: list[str], new: list[str], project: str) -> dict:
        texts = interface(*old), interface(*new)
        releases = files("2.14", INTERFACE=texts[0]), files("2.15", INTERFACE=texts[1])
        return changes(tmp_path, *releases, {"acme.py": textwrap.dedent(project)})

    return compared


DERIVED = """\
from torch._dynamo import device_interface as they

class Acme(they.DeviceInterface):
    def device_count(self): return self.ask(1)
"""

# ---- Classes


def test_methods_that_are_new_gone_and_changed(of_interfaces):
    found = of_interfaces(
        ["def device_count(): ...", "def ask(self, what): ...", "def inherited(self): ..."],
        [
            "def device_count(all=False): ...",
            "def is_gpu(): ...",
            "@abstractmethod\ndef name(): ...",
        ],
        DERIVED,
    )
    count = found.pop(("changed", f"{_CLASS}.device_count"))
    assert (count["before"], count["after"], count["note"]) == ("()", "(all=False)", "")
    assert lines(count) == ["acme.py:4 overrides it"]
    assert lines(found.pop(("removed", f"{_CLASS}.ask"))) == ["acme.py:4 uses it"]
    assert lines(found.pop(("new", f"{_CLASS}.is_gpu"))) == []
    assert lines(found.pop(("new", f"{_CLASS}.name"))) == ["acme.py:3 does not define it"]
    assert not found  # what moved to a base is there


def test_a_method_that_is_assigned_now(of_interfaces):
    assert of_interfaces(["def name(): ..."], ["name = staticmethod(len)"], DERIVED) == {}


def test_a_call_that_still_fits(of_interfaces):
    old, new = "def ask(self, what): ...", "def ask(self, what, how=None): ..."
    assert lines(of_interfaces([old], [new], DERIVED)["changed", f"{_CLASS}.ask"]) == []


def test_a_new_method_that_a_class_of_the_project_has_already(of_interfaces):
    found = of_interfaces([], ["def device_count(): ..."], DERIVED)
    change = found["new", f"{_CLASS}.device_count"]
    assert lines(change) == ["acme.py:4 already has a member of this name"]


def test_a_method_that_became_abstract(of_interfaces):
    found = of_interfaces(["def name(): ..."], ["@abstractmethod\ndef name(): ..."], DERIVED)
    assert lines(found["became abstract", f"{_CLASS}.name"]) == ["acme.py:3 does not define it"]


def test_a_class_that_type_makes(of_interfaces):
    project = """\
    from torch._dynamo.device_interface import DeviceInterface
    members = {"device_count": lambda: 1}
    made = type("Acme", (DeviceInterface,), members)
    """
    found = of_interfaces(["def device_count(): ..."], [], project)
    assert lines(found["removed", f"{_CLASS}.device_count"]) == ["acme.py:2 overrides it"]


def test_a_class_that_derives_from_the_projects_own(of_interfaces):
    project = DERIVED + "\nclass Other(Acme):\n    def name(self): ...\n"
    found = of_interfaces(["def name(): ..."], [], project)
    assert lines(found["removed", f"{_CLASS}.name"]) == ["acme.py:7 overrides it"]


def test_a_class_of_the_same_name_in_another_file_is_no_base(tmp_path):
    old = files("2.14", INTERFACE=interface("def name(): ..."))
    new = files("2.15", INTERFACE=interface())
    other = "class Acme: ...\nclass Other(Acme):\n    def name(self): ...\n"
    found = changes(tmp_path, old, new, {"acme.py": DERIVED, "other.py": other})
    assert lines(found["removed", f"{_CLASS}.name"]) == []


def test_a_call_of_a_method_whose_parameters_changed(of_interfaces):
    found = of_interfaces(["def ask(self, what): ..."], ["def ask(self, who, what): ..."], DERIVED)
    change = found["changed", f"{_CLASS}.ask"]
    assert change["note"] == "calls that fit the older parameters may fail"
    assert lines(change) == ["acme.py:4 uses it"]


# ---- The device's module


def asked(tmp_path, old: str, new: str, project: str = "") -> dict:
    releases = files("2.14") | {"torch/asks.py": old}, files("2.15") | {"torch/asks.py": new}
    found = changes(tmp_path, *releases, {"acme.py": project})
    return {name.removeprefix("torch.<device>."): it for (_, name), it in found.items()}


@pytest.mark.parametrize(
    "text",
    [
        "torch.get_device_module(device).name()",
        "_get_device_module(kind).name()",
        "getattr(torch, device.type).name()",
        "getattr(torch, acc.type, None).name()",
        "module = getattr(torch, backend_name)\nmodule.name()",
        "self.mod = torch.cpu if x else getattr(torch, device_type)\nself.mod.name()",
        "getattr(device_module, 'name')()",
        "self._device_handle.name",
        "WHICH = 'name'\ngetattr(device_mod, WHICH)()",
        "_get_custom_mod_func('name')()",
        "if (it := _get_device_handle(kind)): it.name()",
    ],
)
def test_a_name_that_torch_asks_for(tmp_path, text):
    found = asked(tmp_path, "", text)
    assert list(found) == ["name"]
    assert found["name"]["kind"] == "new"
    assert found["name"]["note"].startswith("asked for in torch/asks.py:")


@pytest.mark.parametrize(
    "text",
    [
        "getattr(torch, 'int8').itemsize",
        "getattr(torch, device_dtype).itemsize",
        "getattr(torch, op)(x)",
        "device.index",
        "device_module.__name__",
        "device_module.name = 3",
        "# device_module.name",
    ],
)
def test_what_asks_nothing_of_the_device(tmp_path, text):
    assert asked(tmp_path, "", text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "hasattr(device_mod, 'name')",
        "getattr(device_mod, 'name', None)",
        "if hasattr(device_mod, 'name'): device_mod.name()",
        "if hasattr(device_mod, 'name'): getattr(device_mod, 'name')()",
    ],
)
def test_a_name_without_which_torch_does(tmp_path, text):
    assert asked(tmp_path, "", text)["name"]["note"].startswith("optional, asked for in ")


def test_a_name_that_was_optional(tmp_path):
    found = asked(tmp_path, "hasattr(device_mod, 'name')", "device_mod.name()")
    assert found["name"]["note"] == "was optional; asked for in torch/asks.py:1"
    assert asked(tmp_path / "less", "device_mod.name()", "hasattr(device_mod, 'name')") == {}


def test_a_name_that_torch_no_longer_asks_for(tmp_path):
    assert asked(tmp_path, "device_mod.name()", "")["name"]["kind"] == "removed"


def test_a_name_that_another_file_has_asked_for_before(tmp_path):
    old, new = files("2.14"), files("2.15") | {"torch/asks.py": "device_mod.name()"}
    for texts in (old, new):
        texts["torch/same.py"] = "getattr(torch, device_type).name()"
    assert changes(tmp_path, old, new, {"acme.py": ""}) == {}


def test_where_the_project_has_the_name(tmp_path):
    project = "def use_pool(): ...\nname = 'use_pool'\ndef init(): ...\nwords = ['init']\n"
    found = asked(tmp_path, "", "device_mod.use_pool()\ndevice_mod.init()", project)
    assert lines(found["use_pool"]) == ["acme.py:1 defines it", "acme.py:2 names it in a text"]
    assert lines(found["init"]) == ["acme.py:3 defines it"]  # a word such as this is in many texts


# ---- Operators


def of_operators(tmp_path, old: str, new: str, **project: str) -> dict:
    texts = {name.replace("_py", ".py").replace("_cpp", ".cpp"): it for name, it in project.items()}
    releases = files("2.14", YAML=operators(old)), files("2.15", YAML=operators(new))
    return changes(tmp_path, *releases, texts or {"acme.py": ""})


FACTORIZE = """\
- func: factorize(Tensor self, bool upper=False) -> Tensor
  dispatch:
    CPU, CUDA: factorize
  autogen: factorize.out
"""


def test_an_operator_that_is_gone(tmp_path):
    found = of_operators(
        tmp_path,
        FACTORIZE,
        "",
        a_cpp='m.impl("aten::factorize", &f);\nat::factorize(x);\nour::factorize(x);\n'
        '"factorize";\n// at::factorize\nat::_ops::factorize::call(x);\n',
        b_py="import torch\ntorch.ops.aten.factorize.default(x)\nname = 'aten::factorize'\n",
    )
    assert lines(found["removed", "aten::factorize"]) == [
        "a.cpp:1 names it in a text",
        "a.cpp:2 names it",
        "a.cpp:6 names it",
        "b.py:2 names it",
        "b.py:3 names it in a text",
    ]
    assert ("removed", "aten::factorize.out") in found


def test_a_name_of_several_overloads_touches_none_of_them(tmp_path):
    new = "- func: add.Other(Tensor self) -> Tensor\n"
    found = of_operators(tmp_path, "", new, a_cpp='at::add(x);\nm.impl("add.Other", &f);\n')
    assert lines(found["new", "aten::add.Other"]) == ["a.cpp:2 names it in a text"]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("  dispatch:\n    CPU, CUDA: f\n  tags: [b, a] # both\n", "needs a kernel; tags a, b"),
        ("  dispatch:\n    CompositeExplicitAutograd: f\n", "has a kernel for every device"),
        ("  dispatch:\n    CompositeImplicitAutograd: f\n    CPU: g\n", "composed of others"),
        ("  variants: method  # only\n", "composed of others"),
        ("  structured_delegate: new.out\n", "computed by its out= variant's kernel"),
    ],
)  # fmt: skip
def test_whether_a_new_operator_needs_a_kernel(tmp_path, text, note):
    found = of_operators(tmp_path, "", f"- func: new(Tensor self) -> Tensor\n{text}")
    assert found["new", "aten::new"]["note"] == note


def test_an_operator_that_changed(tmp_path):
    new = FACTORIZE.replace("upper=False", "upper=True").replace(
        "CPU, CUDA", "CompositeExplicitAutograd"
    )
    found = of_operators(tmp_path, FACTORIZE, new + "  tags: core\n")
    change = found["changed", "aten::factorize"]
    assert change["note"] == (
        "another schema; has a kernel for every device, and before: needs a kernel; "
        "has the tag core"
    )
    assert change["before"] == "factorize(Tensor self, bool upper=False) -> Tensor"


def test_another_devices_kernel_is_no_change(tmp_path):
    assert of_operators(tmp_path, FACTORIZE, FACTORIZE.replace("CUDA", "CUDA, XPU")) == {}


# ---- Entries of test samples


def test_entries(tmp_path):
    old = "ops = [OpInfo('linalg.qr'), UnaryUfuncInfo('exp'), DecorateInfo('none', 'x')]"
    new = """\
ops = [
    OpInfo('exp'),
    OpInfo('topk', variant_test_name='sorted', dtypes=floats()),
    ForeachUnaryFuncInfo("erf"),
]
"""
    releases = files("2.14", OPINFO=old), files("2.15", OPINFO=new)
    project = {"known.py": "KNOWN = ['linalg.qr', 'topk sorted']\n"}
    found = changes(tmp_path, *releases, project)
    assert lines(found.pop(("removed", "linalg.qr"))) == ["known.py:1 names it in a text"]
    assert lines(found.pop(("new", "topk sorted"))) == ["known.py:1 names it in a text"]
    assert lines(found.pop(("new", "_foreach_erf"))) == []
    assert not found


# ---- Deprecations


_KEPT = "def old():\n    warnings.warn('old is going', FutureWarning)\n"
_NEW = """\
@deprecated("use other", category=FutureWarning)
def first(): ...

class Second:
    def __init__(self, x=None):
        if x:
            warnings.warn(f"the x {x}, " "which goes", category=DeprecationWarning, stacklevel=2)

    def method(self):
        warnings.warn("no deprecation", UserWarning)

def third(y=None):
    warnings.warn("soon", FutureWarning)

def renamed():
    warnings.warn("old is going", FutureWarning)
"""


def test_deprecations(tmp_path):
    old = files("2.14") | {"torch/things.py": _KEPT}
    new = files("2.15") | {"torch/things.py": _KEPT + _NEW}
    for texts in (old, new):
        texts["torch/__init__.py"] = "from .things import *\n"
    project = (
        "import torch\nfrom torch.things import first, old\ntorch.Second(x=1)\ntorch.Second()\n"
        "torch.third(1)\nx = torch.third\n"
    )
    found = changes(tmp_path, old, new, {"acme.py": project})
    first = found.pop(("deprecated", "torch.things.first"))
    assert (first["note"], lines(first)) == ("use other", ["acme.py:2 imports it"])
    second = found.pop(("deprecated", "torch.things.Second"))
    assert second["note"] == "the x {x}, which goes"
    assert lines(second) == ["acme.py:3 uses it"]  # and not who names no x
    assert lines(found.pop(("deprecated", "torch.things.third"))) == ["acme.py:5 uses it"]
    assert not found


# ---- Names that the project uses


def of_names(tmp_path, old: str, new: str, project: str) -> dict:
    releases = files("2.14") | {"torch/things.py": old}, files("2.15") | {"torch/things.py": new}
    return changes(tmp_path, *releases, {"acme.py": textwrap.dedent(project)})


def test_a_name_that_is_gone(tmp_path):
    project = """\
    import torch.things
    from torch.things import one as ours, two
    torch.things.one()
    ours.attribute
    torch.nothing.of.that
    """
    found = of_names(tmp_path, "def one(): ...\ntwo = 2\n", "two = 3\n", project)
    assert list(found) == [("removed", "torch.things.one")]
    assert lines(found["removed", "torch.things.one"]) == [
        "acme.py:2 imports it",
        "acme.py:3 uses it",
        "acme.py:4 uses it",
    ]


def test_a_name_that_moved(tmp_path):
    old, new = files("2.14"), files("2.15")
    old["torch/things.py"] = "class One: ...\n"
    new |= {"torch/things.py": "", "torch/others.py": "class One: ...\n"}
    found = changes(tmp_path, old, new, {"acme.py": "from torch.things import One\n"})
    note = found["removed", "torch.things.One"]["note"]
    assert note == "torch/others.py has a new definition of this name"


def test_a_module_that_is_gone(tmp_path):
    old, new = files("2.14") | {"torch/things.py": ""}, files("2.15")
    found = changes(tmp_path, old, new, {"acme.py": "import torch.things\n"})
    assert lines(found["removed", "torch.things"]) == ["acme.py:1 imports it"]


@pytest.mark.parametrize(
    "new",
    [
        "from torch.elsewhere import one",
        "from .elsewhere import *",
        "def __getattr__(name): ...",
        "globals()['one'] = 1",
        "if True:\n    try:\n        one = 1\n    except Exception:\n        pass",
        "import torch.elsewhere as one",
    ],
)
def test_a_name_that_is_there_in_another_way_or_may_be(tmp_path, new):
    old, now = files("2.14"), files("2.15")
    old["torch/things.py"], now["torch/things.py"] = "def one(): ...", new
    for texts in (old, now):
        texts["torch/elsewhere.py"] = "from torch.things import *\ndef one(): ...\n"
    assert changes(tmp_path, old, now, {"acme.py": "from torch.things import one\n"}) == {}


def test_calls_that_no_longer_fit(tmp_path):
    project = """\
    from torch import things
    things.one(1, gone=2)
    things.one(1)
    things.one(1, 2, 3)
    things.one(1, 2, 3, *all)
    things.one
    """
    found = of_names(
        tmp_path, "def one(a, b=0, c=0, gone=0): ...", "def one(a, b=0, *, c=0): ...", project
    )
    change = found["changed", "torch.things.one"]
    assert change["note"] == "calls that fit the older parameters may fail"
    assert lines(change) == ["acme.py:2 uses it", "acme.py:4 uses it"]


def test_an_argument_that_has_another_place(tmp_path):
    project = "from torch.things import one\none(1, 2)\none(1)\n"
    found = of_names(tmp_path, "def one(a, b=0): ...", "def one(a, c=0, b=0): ...", project)
    assert lines(found["changed", "torch.things.one"]) == ["acme.py:2 uses it"]


def test_what_makes_a_classs_instances(tmp_path):
    project = "from torch.things import One\nOne(1, x=2)\n"
    found = of_names(
        tmp_path,
        "class One:\n    def __init__(self, a, x=0): ...",
        "class One:\n    def __init__(self, a): ...",
        project,
    )
    assert lines(found["changed", "torch.things.One"]) == ["acme.py:2 uses it"]


def test_overloads_are_not_compared(tmp_path):
    """Their types would have to be."""
    overloads = "".join(
        f"    @overload\n    def __init__(self, {it}): ...\n" for it in ("a", "b, c")
    )
    new = "class One:\n    def __init__(self, b, c): ...\n"
    project = "from torch.things import One\nOne(1)\n"
    assert of_names(tmp_path, f"class One:\n{overloads}", new, project) == {}


def test_optional_parameters_that_are_added_touch_what_replaces_the_function(tmp_path):
    old, new = "def one(a): ...", "def one(a, *, b=None): ..."
    project = "import torch.things\ntorch.things.one(1)\n"
    assert of_names(tmp_path, old, new, project) == {}
    project += "torch.things.one = ours\nsetattr(torch.things, 'one', ours)\n"
    found = of_names(tmp_path / "replaced", old, new, project)
    assert lines(found["changed", "torch.things.one"]) == [
        "acme.py:3 replaces it",
        "acme.py:4 replaces it",
    ]
