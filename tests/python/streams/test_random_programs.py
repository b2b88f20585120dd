"""Random programs of stream calls, where the device runs things as late and as mixed as it may."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.turns_on_memory

PROGRAMS = Path(__file__).with_name("stream_programs.py")


@pytest.fixture
def run_programs(run_python):
    def run(seed: int, *arguments: str):
        return run_python(
            f"""
            import runpy, sys
            sys.argv = {[str(PROGRAMS), *arguments]!r}
            runpy.run_path(sys.argv[0], run_name="__main__")
            """,
            check=False,
            OUTBACK_HOST_ADVERSARIAL=str(seed),
            FAKE_CUDA_ADVERSARIAL=str(seed),
            OUTBACK_ZE_ADVERSARIAL=str(seed),
        )

    return run


@pytest.mark.parametrize("seed", [1, 2])
def test_they_do_what_a_program_without_streams_does(run_programs, seed):
    done = run_programs(seed)
    assert done.code == 0, done
    assert done.output == "ran"


def test_a_program_that_forgets_to_wait_is_found_out(run_programs, real_streams):
    done = run_programs(1, "--forget-to-wait")
    assert done.code != 0 and "AssertionError" in done.errors
