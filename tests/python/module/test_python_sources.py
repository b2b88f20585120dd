"""torch.acme._outback: the sources in Python that are a part of the backend's library."""

import importlib
import importlib.util
import inspect
import operator
import pickle
import sys
import traceback

import pytest
import torch

acme = torch.acme
pytestmark = pytest.mark.any_runtime

PACKAGE = "torch.acme._outback"
PARTS = [
    *("amp", "compile.fake_tensors", "compile.flex_attention", "graphed_callables", "graphs"),
    *("import_hook", "memory", "random"),
]
FUNCTIONS = [
    acme.make_graphed_callables,
    acme.amp.amp_definitely_not_available,
    acme._rebuild_sent_tensor,
]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_a_module_that_can_be_imported(part):
    module = importlib.import_module(f"{PACKAGE}.{part}")
    assert module is sys.modules[f"{PACKAGE}.{part}"]
    assert module is operator.attrgetter(part)(acme._outback)
    assert module.__spec__.origin == f"<{PACKAGE}>/{part.replace('.', '/')}.py"
    assert inspect.getsource(module).startswith('"""')


def test_the_package_itself_has_a_source_and_no_other_parts():
    package = importlib.import_module(PACKAGE)
    assert package is acme._outback and package.name == "acme"
    assert package.device_module is acme
    assert inspect.getsource(package).startswith('"""What of a backend')
    assert importlib.util.find_spec(f"{PACKAGE}.graphs").origin == f"<{PACKAGE}>/graphs.py"
    assert importlib.util.find_spec(f"{PACKAGE}.no_such_part") is None
    assert importlib.util.find_spec(f"{PACKAGE}.inductor") is None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{PACKAGE}.no_such_part")


def test_a_folder_of_sources_is_a_package():
    package = importlib.import_module(f"{PACKAGE}.compile")
    assert package is acme._outback.compile and package.__path__ == []
    assert package.__spec__.origin == f"<{PACKAGE}>/compile/__init__.py"
    assert package.fake_tensors.__package__ == package.__name__
    assert inspect.getsource(package).startswith('"""What torch.compile has to know')


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_public_function_shows_its_source_and_is_pickled_by_name(function):
    assert inspect.getsource(function).startswith(f"def {function.__name__}(")
    assert pickle.loads(pickle.dumps(function)) is function


def test_a_public_class_says_the_module_that_a_user_knows():
    assert acme.graph.__module__ == "torch.acme"
    assert acme.amp.GradScaler.__module__ == "torch.acme.amp"
    for public in (acme.graph, acme.amp.autocast, acme.FloatTensor, acme.HalfStorage):
        assert pickle.loads(pickle.dumps(public)) is public


def test_a_traceback_shows_file_line_and_text():
    with pytest.raises(NotImplementedError) as caught:
        acme.make_graphed_callables(lambda x: x, (), enable_annotations=True)
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert frame.filename == f"<{PACKAGE}>/graphs.py" and frame.name == "refuse_annotations"
    assert frame.line == "raise NotImplementedError("
    lines = inspect.getsource(acme._outback.graphs).splitlines()
    assert lines[frame.lineno - 1].strip() == frame.line


def test_a_program_that_fails_says_where(run_python):
    said = run_python(
        """
        import traceback
        import torch, torch_acme
        try:
            with torch.acme.graph(torch.acme.CUDAGraph(), pool="none"):
                pass
        except TypeError:
            print(traceback.format_exc())
        """
    ).output
    assert f'File "<{PACKAGE}>/graphs.py", line ' in said
    assert "pool_id(pool)  # refuses what is none" in said


def test_nothing_is_imported_before_it_is_used(run_interpreter):
    run_interpreter(
        f"""
import sys
import torch, torch_acme
late = {{"dynamo", "graphed_callables", "inductor"}}
assert not late & {{name.rpartition(".")[2] for name in sys.modules if "_outback" in name}}
assert not [name for name in sys.modules if name.startswith("torch_outback")]
assert sys.meta_path[-1] is sys.modules["{PACKAGE}"].__loader__
"""
    )


def test_two_threads_may_import_what_an_action_waits_for(run_python, tmp_path):
    """One has the lock of the package and goes on to import the module; the other looks for the
    module meanwhile, with the lock of all imports."""
    (tmp_path / "slow").mkdir()
    package = "import builtins, time\nbuiltins.begun.set()\ntime.sleep(0.5)\nimport slow.part\n"
    (tmp_path / "slow/__init__.py").write_text(package)
    (tmp_path / "slow/part.py").write_text("")
    run_python(
        f"""
import builtins, importlib, os, sys, threading
import torch, torch_acme
from torch.acme._outback.import_hook import when_imported
sys.path.insert(0, {str(tmp_path)!r})
ran = []
when_imported("slow.part", lambda: ran.append(sys.modules["slow.part"]))
builtins.begun = threading.Event()
def second():
    builtins.begun.wait()
    importlib.import_module("slow.part")
threads = [threading.Thread(target=it) for it in (lambda: importlib.import_module("slow"), second)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(30)
    if thread.is_alive():
        os._exit(3)
assert ran == [sys.modules["slow.part"]]
"""
    )


def test_an_import_that_has_begun_is_waited_for(run_python, tmp_path):
    """A library's import may be what imports torch, and so what loads the backend."""
    (tmp_path / "begun.py").write_text(
        "import builtins\n"
        "from torch.acme._outback.import_hook import when_imported\n"
        "for i in builtins.asked:\n"
        "    when_imported('begun', lambda i=i: builtins.ran.append((i, 'done' in globals())))\n"
        "assert not builtins.ran\n"
        "if builtins.fails:\n"
        "    raise LookupError\n"
        "done = True\n"
    )
    run_python(
        f"""
        import builtins, importlib.machinery, sys
        import torch, torch_acme
        sys.path.insert(0, {str(tmp_path)!r})
        builtins.asked, builtins.fails, builtins.ran = [1, 2], True, []
        try:
            import begun
        except LookupError:
            pass
        assert "begun" not in sys.modules and not builtins.ran
        builtins.asked, builtins.fails = [3], False
        import begun
        assert sorted(builtins.ran) == [(1, False), (2, False), (3, True)]
        assert type(begun.__spec__) is importlib.machinery.ModuleSpec
        """
    )


def test_the_compiler_does_not_trace_them():
    """A call of torch.cuda's functions is a graph break, and so was one of ours in C++."""
    from torch._dynamo import trace_rules

    for source in ("random", "compile/flex_attention"):
        assert trace_rules.check_file(f"<{PACKAGE}>/{source}.py").skipped
    assert trace_rules.check(acme.make_graphed_callables)


def test_a_watch_that_is_over_hides_no_finder_from_other_threads(run_python, tmp_path):
    """A thread on its way through sys.meta_path would miss the one that comes to stand where it has
    been already, PathFinder for one."""
    (tmp_path / "outback_wanted.py").touch()
    run_python(
        f"""
        import sys
        import torch, torch_acme
        sys.path.insert(0, {str(tmp_path)!r})
        acted = []
        torch.acme._outback.import_hook.when_imported("outback_wanted", lambda: acted.append(1))
        before = list(sys.meta_path)
        way = iter(sys.meta_path)
        passed = [next(way), next(way)]
        import outback_wanted
        assert acted == [1] and sys.meta_path == before[1:]
        assert [*passed, *way] == before
        """
    )
