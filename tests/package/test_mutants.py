"""tests/mutants: its list fits the tree, and its script says what happened and nothing else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests/mutants"))
from defects import by_a_reader
from mutation import mutants as lists
from mutation.copy import Copy
from mutation.evidence import failed_test
from mutation.mutant import Mutant, WrongList
from mutation.proof import Proof, is_proof
from mutation.results import Result, Results
from mutation.test_command import Outcome, TestCommand

AREAS = lists.by_area()
MUTANTS = [mutant for area in AREAS.values() for mutant in area]
# Every kind of code has defects that somebody looks for.
PLACES = [
    "registration/",
    "backend_template/core/",
    "backend_template/ops/",
    "backend_template/kernels/",
    "backend_template/layers/",
    "backend_template/module/",
    "backend_template/runtimes/host/",
    "backend_template/runtimes/cuda/",
    "backend_template/runtimes/level_zero/",
    "backend_template/runtimes/opencl/",
    "backend_template/runtimes/null/",
    "generators/methods/",
    "generators/project/",
    "generators/cli/",
    "tools/dev/",
]


# ---- The list


def test_the_list_fits_the_tree():
    lists.check(MUTANTS, ROOT)


def test_there_are_enough_and_everywhere():
    assert len(MUTANTS) >= 40
    assert len(by_a_reader.MUTANTS) >= 10
    assert not [place for place in PLACES if not any(it.file.startswith(place) for it in MUTANTS)]


@pytest.fixture(scope="module")
def cpp_tests() -> set[str]:
    pattern = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
    sources = (ROOT / "tests").rglob("*.cpp")
    return {".".join(found) for file in sources for found in pattern.findall(file.read_text())}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_test_that_finds_it_is_there(mutant, cpp_tests):
    if mutant.found_by.startswith("tests/"):
        file, _, test = mutant.found_by.partition("::")
        assert re.search(rf"^def {test}\(", (ROOT / file).read_text(), re.MULTILINE)
    else:
        test = ".".join(mutant.found_by.split(".")[-2:])  # before it, a program of the suite
        assert test in cpp_tests or mutant.found_by.endswith(".summary")


MUTANT = Mutant("m", "Nothing works.", "src/a.py", "good", "bad", "tests/a.py::test_a")


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"old": "goods"}, "m: the text that it replaces is in src/a.py 0 times, not once"),
        ({"old": "o"}, "m: the text that it replaces is in src/a.py 2 times, not once"),
        ({"file": "src/b.py"}, "m: there is no src/b.py"),
        ({"new": "good"}, "m: it changes nothing"),
        ({"found_by": ""}, "m: it names no test that finds it"),
    ],
)
def test_a_mutant_that_does_not_fit_is_named(tmp_path, wrong, words):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("good\n")
    lists.check([MUTANT], tmp_path)
    with pytest.raises(WrongList, match=words):
        lists.check([Mutant(**{**vars(MUTANT), **wrong})], tmp_path)


def test_two_of_one_name_are_refused(tmp_path):
    with pytest.raises(WrongList, match="there are two mutants of that name"):
        lists.check([MUTANT, Mutant("m", "", "b", "c", "d", "e")], tmp_path)


# ---- The copy


@pytest.fixture
def tree(tmp_path):
    """A repository with a file that is committed, one that is not, and one that git ignores."""
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("good\n")
    (root / ".gitignore").write_text("/build/\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    (root / "src/new.py").write_text("new\n")
    (root / "build").mkdir()
    (root / "build/made").write_text("made\n")
    return root


@pytest.fixture
def copy(tree, tmp_path):
    return Copy(tree, tmp_path / "copy")


def test_the_copy_is_of_what_git_does_not_ignore(copy):
    copy.update()
    files = {file.relative_to(copy.folder).as_posix() for file in copy.folder.rglob("*.*")}
    ours = {file for file in files if not f"{file}/".startswith(".git/")}
    assert ours == {".gitignore", "src/a.py", "src/new.py"}


def test_git_finds_the_copys_files_below_a_folder_that_is_ignored(tree):
    """./dev test asks git which there are."""
    copy = Copy(tree, tree / "build/copy")
    copy.update()
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=copy.folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert sorted(listed) == [".gitignore", "src/a.py", "src/new.py"]


def test_the_copy_follows_the_tree_and_leaves_alone_what_has_not_changed(copy, tree):
    before = copy.update()
    time = (copy.folder / "src/a.py").stat().st_mtime_ns
    (copy.folder / "build").mkdir()
    (copy.folder / "build/made").write_text("of the copy's own\n")
    assert copy.update() == before
    (tree / "src/new.py").write_text("newer\n")
    assert copy.update() != before
    assert (copy.folder / "src/new.py").read_text() == "newer\n"
    assert (copy.folder / "src/a.py").stat().st_mtime_ns == time
    (tree / "src/new.py").unlink()
    assert copy.update() != before
    assert not (copy.folder / "src/new.py").exists() and (copy.folder / "build/made").exists()


def test_what_a_killed_run_has_left_is_mended(copy):
    before = copy.update()
    (copy.folder / "src/a.py").write_text("bad\n")
    assert copy.update() == before
    assert (copy.folder / "src/a.py").read_text() == "good\n"


def test_a_defect_is_in_the_copy_alone_and_only_for_a_while(copy, tree):
    copy.update()
    with pytest.raises(ZeroDivisionError), copy.carrying(MUTANT):
        assert (copy.folder / "src/a.py").read_text() == "bad\n"
        assert (tree / "src/a.py").read_text() == "good\n"
        raise ZeroDivisionError
    assert (copy.folder / "src/a.py").read_text() == "good\n"


# ---- What is made of ./dev test's answers


class Answers:
    """Stands in for TestCommand: what it was asked, and what it answers to that."""

    def __init__(self, *outcomes: tuple[int | None, str]) -> None:
        self.asked: list[object] = []
        self._outcomes = list(outcomes)

    def run(self, tests, on="", limit=None) -> Outcome:
        self.asked.append([*tests])
        code, output = self._outcomes.pop(0)
        return Outcome(code, 1.25, output)


@pytest.fixture
def proof_of(copy, tmp_path):
    def make(*outcomes: tuple[int | None, str], resume: bool = False) -> tuple[Proof, Answers]:
        answers = Answers(*outcomes)
        results = Results(tmp_path / "results.json", copy.update(), resume)
        return Proof(copy, answers, results), answers

    return make


FAILURE = "FAILED tests/a.py::test_a - assert 1 == 2\n"


@pytest.mark.parametrize(
    "code, output, verdict",
    [
        (1, FAILURE, "found"),
        (0, "1 passed", "survived"),
        (3, "error: expected ;", "does not build"),
        (None, "...", "too slow"),
        (2, "There is no test", "no test ran"),
        (1, "ImportError while loading conftest", "no test ran"),
    ],
)
def test_only_a_test_that_fails_finds_a_mutant(proof_of, code, output, verdict):
    proof, _ = proof_of((code, output))
    result = proof.of(MUTANT)
    assert result == Result("m", verdict, 1.2)
    assert is_proof([result]) == (verdict == "found")


@pytest.mark.parametrize(
    "output, test",
    [
        (FAILURE, "tests/a.py::test_a"),
        ("FAILED tests/a.py::test_a[1-x y] - no\n", "tests/a.py::test_a[1-x"),
        ("7: [  FAILED  ] EventTest.Records (0 ms)\n", "EventTest.Records"),
        ("[  FAILED  ] S/T.N/0, where GetParam() = 1\n", "S/T.N/0"),
        ("\t 12 - host_suite.CopyTest.A (SEGFAULT)\n", "host_suite.CopyTest.A"),
        ("\t 12 - host_suite.CopyTest.A (Not Run)\n", ""),
        (
            "python failed with exit code -11. All of its output:",
            "python failed with exit code -11",
        ),
        ("python failed with exit code 4. All of its output:", ""),
        ("[  FAILED  ] 1 test, listed below:\n", ""),
        ("ERROR tests/a.py - ImportError\n", ""),
    ],
)
def test_a_failure_is_one_of_a_test(output, test):
    assert failed_test(output) == test


def test_tests_have_to_pass_without_a_mutant_once_each(proof_of):
    other = Mutant("n", "", "b", "c", "d", MUTANT.found_by)
    elsewhere = Mutant("o", "", "b", "c", "e", MUTANT.found_by, "null")
    proof, answers = proof_of((0, ""), (0, ""))
    proof.check_tests([MUTANT, other, elsewhere])
    assert answers.asked == [[MUTANT.found_by], [MUTANT.found_by]]
    proof, _ = proof_of((1, FAILURE))
    with pytest.raises(WrongList, match=r"a test fails without any mutant:\nFAILED tests/a"):
        proof.check_tests([MUTANT])


def test_a_test_that_ci_does_not_run_finds_nothing(proof_of):
    proof, _ = proof_of()
    with pytest.raises(WrongList, match=r"\./dev test does not run tests/a.py::test_a"):
        proof.check_selection([MUTANT], lambda mutants: [it.found_by for it in mutants])
    proof.check_selection([MUTANT], lambda mutants: [])


def test_a_run_goes_on_where_another_has_ended(proof_of, tree):
    proof, _ = proof_of((0, ""), (1, FAILURE))
    proof.check_tests([MUTANT])
    proof.check_selection([MUTANT], lambda mutants: [])
    found = proof.of(MUTANT)

    proof, answers = proof_of(resume=True)
    proof.check_tests([MUTANT])
    proof.check_selection([MUTANT], lambda mutants: [it.found_by for it in mutants])
    assert proof.of(MUTANT) == found and answers.asked == []
    changed = Mutant(**{**vars(MUTANT), "new": "worse"})
    proof, answers = proof_of((0, ""), resume=True)
    assert proof.of(changed).verdict == "survived"

    (tree / "src/new.py").write_text("newer\n")
    proof, answers = proof_of((0, ""), resume=True)
    assert proof.of(MUTANT).verdict == "survived" and len(answers.asked) == 1


def test_what_took_too_long_is_tried_again(proof_of):
    proof, _ = proof_of((None, ""))
    proof.of(MUTANT)
    proof, _ = proof_of((1, FAILURE), resume=True)
    assert proof.of(MUTANT).verdict == "found"


# ---- ./dev test of the copy

DEV = """
import sys, time
print(sys.argv[1:])
if "slow" in sys.argv:
    time.sleep(60)
sys.exit(3)
"""


@pytest.fixture
def command(tmp_path):
    (tmp_path / "dev").write_text(DEV)
    return TestCommand(tmp_path)


def test_the_copys_own_dev_is_asked(command):
    outcome = command.run(["a", "b"], "null")
    assert (outcome.code, outcome.output) == (
        3,
        "['test', '--system-torch', '-x', '--on', 'null', 'a', 'b']\n",
    )


def test_what_takes_too_long_is_ended(command):
    outcome = command.run(["slow"], limit=2)
    assert outcome.code is None and outcome.seconds < 30


def test_the_command_line_says_what_there_is():
    script = ROOT / "tests/mutants/run.py"

    def run(*arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, script, *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=Path("/"))

    first, *others = AREAS["registration"]
    said = run("--list", "--area", "registration").stdout
    assert said.startswith(f"{first.name}\n    {first.breaks}\n    found by {first.test}\n")
    assert len(said.split("found by")) == len(others) + 2
    assert len(run("--list").stdout.split("found by")) == len(MUTANTS) + 1
    unknown = run("nonsense")
    assert unknown.returncode == 1 and "there is no mutant nonsense" in unknown.stderr
