"""What `outback upgrade-report` sees of C++: virtual functions, stubs, headers, deprecations, and
the project's lines that they touch."""

import time

import pytest
from conftest import ROOT  # puts torch_outback on the path  # noqa: F401
from small_torch import GUARD, changes, files, lines
from torch_outback.upgrade.cpp import classes
from torch_outback.upgrade.project.cpp import CppSources
from torch_outback.upgrade.project.files import Source

_GUARD = "c10::impl::DeviceGuardImplInterface"


def guard(*members: str) -> str:
    body = "\n".join(members)
    begin = "namespace c10 { namespace impl {\nclass C10_API DeviceGuardImplInterface {\n"
    return f"{begin}{body}\n}};\n}} }}\n"


@pytest.fixture
def of_guards(tmp_path):
    def compared(old: list[str], new: list[str], project: str = "int unrelated;") -> dict:
        releases = files("2.14", GUARD=guard(*old)), files("2.15", GUARD=guard(*new))
        return changes(tmp_path, *releases, {"guard.cpp": project})

    return compared


def derived(*members: str) -> str:
    return "\n".join(["struct guard : c10::impl::DeviceGuardImplInterface {", *members, "};"])


# ---- Virtual functions


def test_a_new_virtual_that_nobody_has(of_guards):
    found = of_guards([], ["virtual bool isStreamCapturing(const Stream& s) const;"], derived())
    change = found["new", f"{_GUARD}::isStreamCapturing"]
    assert change["after"] == "bool isStreamCapturing(const Stream&) const"
    assert change["where"] == GUARD
    assert lines(change) == []


def test_a_new_virtual_that_the_project_has_already(of_guards):
    own = derived("  bool isStreamCapturing(const Stream&) const override;")
    found = of_guards([], ["virtual bool isStreamCapturing(const Stream& s) const;"], own)
    change = found["new", f"{_GUARD}::isStreamCapturing"]
    assert lines(change) == ["guard.cpp:2 already has a function of this name"]


def test_a_new_pure_virtual_touches_who_does_not_define_it(of_guards):
    found = of_guards([], ["virtual void block(void* event) const = 0;"], derived())
    change = found["new", f"{_GUARD}::block"]
    assert change["note"] == "each class that is made has to define block"
    assert lines(change) == ["guard.cpp:1 does not define it"]


def test_a_virtual_that_became_pure(of_guards):
    found = of_guards(
        ["virtual void block(void* event) const {}"],
        ["virtual void block(void* event) const = 0;"],
        derived(),
    )
    assert lines(found["became pure", f"{_GUARD}::block"]) == ["guard.cpp:1 does not define it"]


def test_a_virtual_that_has_a_default_now(of_guards):
    found = of_guards(["virtual void block() const = 0;"], ["virtual void block() const {}"])
    assert found["changed", f"{_GUARD}::block"]["note"] == "is no longer pure: it has a default"


def test_a_virtual_that_is_gone(of_guards):
    own = derived("  void block() const override {}")
    found = of_guards(["virtual void block() const {}"], [], own)
    assert lines(found["removed", f"{_GUARD}::block"]) == ["guard.cpp:2 overrides it"]


def test_a_virtual_that_became_an_ordinary_function(of_guards):
    found = of_guards(["virtual void block() const {}"], ["void block() const {}"])
    assert found["removed", f"{_GUARD}::block"]["note"] == "is no longer virtual"


def test_a_function_that_became_virtual(of_guards):
    own = derived("  void block() const {}")
    found = of_guards(["void block() const {}"], ["virtual void block() const {}"], own)
    assert lines(found["became virtual", f"{_GUARD}::block"]) == ["guard.cpp:2 overrides it"]


def test_a_virtual_that_became_final(of_guards):
    found = of_guards(["virtual void block();"], ["virtual void block() final;"])
    assert ("became final", f"{_GUARD}::block") in found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("virtual void f(int index);", "virtual void f(long index);"),
        ("virtual void f(int index);", "virtual void f(int index, bool all = false);"),
        ("virtual void f();", "virtual bool f();"),
        ("virtual void f();", "virtual void f() const;"),
        ("virtual void f() const;", "virtual void f() const noexcept;"),
        ("virtual void f(const Stream& s);", "virtual void f(Stream s);"),
    ],
)
def test_another_signature(of_guards, old, new):
    found = of_guards([old], [new], derived("  void f();"))
    assert lines(found["changed", f"{_GUARD}::f"]) == ["guard.cpp:2 overrides it"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("virtual void f(DeviceIndex index);", "virtual void f(DeviceIndex /*index*/);"),
        ("virtual void f(DeviceIndex index);", "virtual void f(c10::DeviceIndex other);"),
        ("virtual void f(int a = 1);", "virtual void f(int a = 2);"),
        ("virtual void f(int a = 1);", "virtual void f([[maybe_unused]] int a);"),
        ("virtual void f(const void* data);", "virtual   void\nf(const void *)\n;"),
        ("virtual void f();", '// Long.\nvirtual void f() { if (true) { g("}"); } }'),
        ("virtual void f();", 'C10_PUSH("-Wall")\nvirtual void f();\nC10_POP()'),
        ("virtual void f();", "#define X { \\\n  {\nvirtual void f();"),
        ("virtual void f();", "#if 0\nvirtual void g();\n#endif\nvirtual void f();"),
        ("virtual void f();", "struct Inner { virtual void g(); int x{0}; };\nvirtual void f();"),
        ("virtual void f();", "virtual void f();\nint count_{0};\nvoid (*call)(int) = nullptr;"),
        ("virtual void f(std::vector<int, A<B>> x);", "virtual void f(std::vector<int, A<B>>);"),
        (
            "virtual void f();",
            "DeviceGuardImplInterface() : a_{1}, b_(2) { g(); }\nvirtual void f();",
        ),
    ],
)
def test_the_same_function_in_other_words(of_guards, old, new):
    assert of_guards([old], [new]) == {}


def test_overloads_are_told_apart(of_guards):
    one, other = "virtual void f(int index);", "virtual void f(long index);"
    found = of_guards([one], [one, other])
    assert list(found) == [("new", f"{_GUARD}::f")]
    assert found["new", f"{_GUARD}::f"]["after"] == "void f(long)"


def test_branches_of_the_preprocessor_are_read_alike(of_guards):
    both = "#ifdef A\nvirtual void f();\n#else\nvirtual void g();\n#endif"
    assert list(of_guards([], [both])) == [("new", f"{_GUARD}::f"), ("new", f"{_GUARD}::g")]


def test_a_branch_that_does_not_balance_is_left_out(of_guards):
    uneven = "#ifdef A\nvoid f() {\n#else\nvoid f() const {\n#endif\n}\nvirtual void g();"
    assert list(of_guards([], [uneven])) == [("new", f"{_GUARD}::g")]


def test_a_comment_deprecates_a_virtual(of_guards):
    own = derived("  void f() override;")
    new = "// Deprecated: use g instead.\nvirtual void f();"
    found = of_guards(["virtual void f();"], [new], own)
    change = found["deprecated", f"{_GUARD}::f"]
    assert change["note"] == "Deprecated: use g instead."
    assert lines(change) == ["guard.cpp:2 overrides it"]


def test_a_virtual_that_was_deprecated_before(of_guards):
    both = ["// Deprecated: use g instead.\nvirtual void f();"]
    assert of_guards(both, both) == {}


def test_a_word_in_a_comment_deprecates_nothing(of_guards):
    new = "// It cannot be deprecated yet.\nvirtual void f();"
    assert of_guards(["virtual void f();"], [new]) == {}


# ---- Which classes


def test_classes_that_derive_from_the_projects_own(of_guards):
    own = derived() + "\nclass other final : public guard {\n  void block() const override {}\n};"
    found = of_guards(["virtual void block() const {}"], [], own)
    assert lines(found["removed", f"{_GUARD}::block"]) == ["guard.cpp:4 overrides it"]


def test_a_base_without_its_namespace(of_guards):
    own = "using namespace c10::impl;\nstruct guard : DeviceGuardImplInterface { void block(); };"
    found = of_guards(["virtual void block();"], [], own)
    assert lines(found["removed", f"{_GUARD}::block"]) == ["guard.cpp:2 overrides it"]


def test_a_class_of_the_project_with_the_interfaces_name(of_guards):
    """It may be declared in another file, and is not torch's."""
    own = "namespace us { struct DeviceGuardImplInterface : base {};\n"
    own += "struct guard : DeviceGuardImplInterface { void block(); }; }"
    assert lines(of_guards(["virtual void block();"], [], own)["removed", f"{_GUARD}::block"]) == []


def test_any_class_of_torch_that_the_project_derives_from(tmp_path):
    header = "torch/include/c10/util/Logging.h"
    old, new = files("2.14"), files("2.15")
    old[header] = "namespace c10 { class WarningHandler { virtual void process(int); }; }"
    new[header] = "namespace c10 { class WarningHandler { virtual void process(long); }; }"
    project = {"log.h": "struct quiet : c10::WarningHandler {\n  void process(int) override;\n};"}
    found = changes(tmp_path, old, new, project)
    assert lines(found["changed", "c10::WarningHandler::process"]) == ["log.h:2 overrides it"]
    assert changes(tmp_path / "apart", old, new, {"log.h": "struct quiet {};"}) == {}


def test_the_bases_that_an_interface_has_in_torch(tmp_path):
    backend = "namespace c10d {{ class Backend : public torch::Holder {{}}; }}"
    holder = "namespace torch {{ struct Holder {{ virtual void {}(); }}; }}"
    old, new = (files(it, BACKEND=backend.format()) for it in ("2.14", "2.15"))
    old["torch/include/torch/csrc/holder.h"] = holder.format("before")
    new["torch/include/torch/csrc/holder.h"] = holder.format("after")
    found = changes(
        tmp_path, old, new, {"group.h": "struct group : c10d::Backend { void before(); };"}
    )
    assert lines(found["removed", "torch::Holder::before"]) == ["group.h:1 overrides it"]


def test_overrides_inside_of_torch_are_their_bases_matter(tmp_path):
    text = "namespace c10d {{ class Backend : public Base {{ void release() {}; }}; }}"
    less, more = "namespace c10d { class Backend : public Base {}; }", text.format("override")
    old, new = files("2.14", BACKEND=less), files("2.15", BACKEND=more)
    assert changes(tmp_path / "added", old, new, {"a.cpp": ""}) == {}
    old, new = files("2.14", BACKEND=more), files("2.15", BACKEND=less)
    assert changes(tmp_path / "gone", old, new, {"a.cpp": ""}) == {}
    old, new = files("2.14", BACKEND=less), files("2.15", BACKEND=text.format("final"))
    found = changes(tmp_path / "final", old, new, {"a.cpp": ""})
    assert list(found) == [("became final", "c10d::Backend::release")]


def test_a_macro_before_a_namespace(tmp_path):
    begin = 'C10_PUSH("-Wall")\n'
    old, new = files("2.14", GUARD=begin + guard("virtual void f();")), files("2.15", GUARD=guard())
    found = changes(tmp_path, old, new, {"guard.cpp": derived()})
    assert list(found) == [("removed", f"{_GUARD}::f")]


def test_an_interface_that_is_gone(tmp_path):
    old, new = files("2.14", GUARD=guard("virtual void f();")), files("2.15")
    found = changes(tmp_path, old, new, {"guard.cpp": derived()})
    assert lines(found["removed", _GUARD]) == ["guard.cpp:1 derives from it"]


def test_an_interface_that_is_new(tmp_path):
    old, new = files("2.14"), files("2.15", GUARD=guard("virtual void f();"))
    assert ("new", _GUARD) in changes(tmp_path, old, new, {"guard.cpp": "int x;"})


def test_the_scanner_reads_nested_classes_of_a_class():
    text = """\
namespace a::b {
template <typename T, class U = std::less<T>>
class TORCH_API [[nodiscard]] Outer final : public virtual Base<T, U>, private c::Other {
 public:
  struct Inner : Base<int>::type { virtual ~Inner() = default; };
  explicit operator bool() const { return true; }
  bool operator()(int x) const;
  virtual auto run(std::function<void(int, int)>&& f, const char* names[] = {"a", "b"})
      -> std::vector<int> override;
};
enum class Kind : int { one, two };
}  // namespace a::b
"""
    inner, outer = classes.read(text)
    assert (inner.name, inner.bases) == ("a::b::Outer::Inner", ("Base::type",))
    assert (outer.name, outer.bases, outer.line) == ("a::b::Outer", ("Base", "c::Other"), 3)
    assert [it.name for it in outer.functions] == ["operator bool", "operator()", "run"]
    run = outer.functions[-1]
    assert (run.returns, run.is_override, run.line) == ("std::vector<int>", True, 8)
    assert run.parameters[0] == "std::function<void(int, int)>&&"


# ---- Texts that no compiler takes


@pytest.mark.parametrize(
    "text",
    [
        "// " + "a class : of things, " * 800,
        "class a\n" * 20_000,
        'R"(\n' * 50_000,
        '"' + '\\"' * 50_000,
        "'" + "\\'" * 50_000,
        "class a : " + "<" * 20_000 + "b {};",
        "class a : b {}; " + "template <" * 20_000,
        "a::" * 60_000,
    ],
    ids=lambda it: it[:12],
)
def test_the_time_grows_with_the_text_alone(text):
    """Each took more than ten seconds, or more memory than there was."""
    start = time.process_time()
    found = CppSources([Source("a.cpp", text)], {})
    assert found.derived is not None and len(found.qualified) < 100
    assert found.strings is not None
    assert time.process_time() - start < 5


def test_a_raw_text_without_an_end_hides_what_is_behind_it():
    text = 'struct A : B {};\nauto text = R"x(\n;struct C : D {};\n'
    assert [it.name for it in classes.read(text)] == ["A"]
    assert [it.name for it in classes.read(text.replace("R", "FOR"))] == ["A", "C"]


# ---- Dispatch stubs


_STUB = """\
namespace at::native {{
using activation_fn = void (*)({});
DECLARE_DISPATCH(activation_fn, gelu_stub)
DECLARE_DISPATCH(void (*)(TensorIteratorBase&), {});
}}
"""


def test_stubs(tmp_path):
    old = files("2.14", STUBS=_STUB.format("TensorIteratorBase& iter", "silu_stub"))
    new = files("2.15", STUBS=_STUB.format("TensorIteratorBase& iter, bool fast", "mish_stub"))
    project = {"stubs.cpp": "// silu_stub\nfill<gelu_stub>();\nauto one = &silu_stub;\n"}
    found = changes(tmp_path, old, new, project)
    gelu = found.pop(("changed", "at::native::gelu_stub"))
    assert gelu["before"] == "void(*)(TensorIteratorBase&)"
    assert gelu["after"] == "void(*)(TensorIteratorBase&, bool)"
    assert lines(gelu) == ["stubs.cpp:2 names it"]
    assert lines(found.pop(("removed", "at::native::silu_stub"))) == ["stubs.cpp:3 names it"]
    assert lines(found.pop(("new", "at::native::mish_stub"))) == []
    assert not found


def test_a_stub_with_other_names_of_parameters_is_the_same(tmp_path):
    old = files("2.14", STUBS=_STUB.format("at::TensorIteratorBase& iter, int64_t n", "silu_stub"))
    new = files("2.15", STUBS=_STUB.format("TensorIteratorBase &it,\n  int64_t", "silu_stub"))
    assert changes(tmp_path, old, new, {"a.cpp": ""}) == {}


# ---- Headers and deprecations


def test_a_header_that_is_gone(tmp_path):
    old, new = files("2.14"), files("2.15")
    old["torch/include/c10/util/Array.h"] = ""
    old["torch/include/c10/util/complex_utils.h"] = ""
    new["torch/include/torch/headeronly/util/complex_utils.h"] = ""
    project = {"a.cpp": '#include <c10/util/Array.h>\n#  include "c10/util/complex_utils.h"\n'}
    found = changes(tmp_path, old, new, project)
    assert lines(found["removed", "c10/util/Array.h"]) == ["a.cpp:1 includes it"]
    moved = found["removed", "c10/util/complex_utils.h"]
    assert lines(moved) == ["a.cpp:2 includes it"]
    assert moved["note"] == "torch/headeronly/util/complex_utils.h is new, and has this name"


_DEPRECATED = """\
#define C10_DEPRECATED_MESSAGE(text) [[deprecated(text)]]
[[deprecated("use "
             "newer()")]] inline bool older_name(int x) { return true; }
C10_DEPRECATED_MESSAGE("renamed") c10::Device make_device(int x);
class [[deprecated]] OldKind : Base {};
using OtherKind [[deprecated("write it out")]] = int;
// [[deprecated]] void not_at_all();
#define C10_DEPRECATED_TOO \\
  [[deprecated("none")]]
void current_name();
"""


def test_deprecations_of_headers(tmp_path):
    header = "torch/include/c10/util/old.h"
    kept = '[[deprecated("long ago")]] void ancient_one();\n'
    old = files("2.14") | {header: kept}
    new = files("2.15") | {header: kept + _DEPRECATED}
    project = {"a.cpp": "if (c10::older_name(1)) ancient_one();\n// make_device\nOtherKind x;\n"}
    found = changes(tmp_path, old, new, project)
    notes = {name: it["note"] for (kind, name), it in found.items() if kind == "deprecated"}
    assert notes == {
        "older_name": "use newer()",
        "make_device": "renamed",
        "OldKind": "",
        "OtherKind": "write it out",
    }
    assert lines(found["deprecated", "older_name"]) == ["a.cpp:1 names it"]
    assert lines(found["deprecated", "make_device"]) == []
    assert lines(found["deprecated", "OtherKind"]) == ["a.cpp:3 names it"]
