"""./dev gpu's part that builds: all at once, and a target that does not compile stops no other."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from dev.environment import Environment
from dev.gpu import building, needs, programs
from dev.gpu.results import Failed


@pytest.fixture
def build(monkeypatch, tmp_path):
    """Builds `a`, `b` and `c`, of which `broken` do not compile, within or beyond the limit."""
    monkeypatch.setattr("dev.build.configuring", lambda _, preset, *words: [preset, *words])
    commands = []

    def run(*broken, limit=None):
        def answer(command, **_):
            commands.append([str(word) for word in command])
            code = int(any(target in command for target in broken))
            over = limit if code else None
            return programs.Finished("cmake", code, ["an error\n"], tmp_path / "log", over)

        found = needs.Provisions(["a", "b", "c"], [], {}, {}, set(), None)
        work = SimpleNamespace(
            environment=Environment(Path(sys.executable), "2.13.0", tmp_path),
            folder=tmp_path,
            provisions=found,
            not_built=set(),
            run=answer,
        )
        try:
            building.build_targets(work)
        except Failed as failure:
            return work.not_built, commands, failure.note
        return work.not_built, commands, ""

    return run


def test_all_is_built_at_once_and_without_the_network(build):
    not_built, commands, note = build()
    assert (not_built, note) == (set(), "")
    configure, making = commands
    assert configure == ["gpu", "FETCHCONTENT_FULLY_DISCONNECTED=ON"]
    assert making[making.index("--target") + 1 :][:3] == ["a", "b", "c"]
    assert "-k" in making


def test_what_compiles_is_built_beside_what_does_not(build):
    not_built, _, note = build("b")
    assert not_built == {"b"}
    assert note == "not built: b"


def test_when_the_time_is_over_nothing_is_tried_again(build):
    not_built, commands, note = build("b", limit=1.0)
    assert len(commands) == 2
    assert not_built == {"a", "b", "c"}
    assert note == "not done in time"
