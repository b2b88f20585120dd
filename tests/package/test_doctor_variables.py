"""`outback doctor`: the variables that are set, and its table of all that Outback reads."""

import os

import pytest
from torch_outback import variables
from torch_outback.doctor import known_variables as known
from torch_outback.doctor import variables as of_variables
from torch_outback.doctor.finding import Finding


@pytest.fixture
def bare(monkeypatch):
    for name in list(os.environ):
        if name not in ("PATH", "HOME"):
            monkeypatch.delenv(name)
    return monkeypatch


def found(*devices: str) -> dict[str, Finding]:
    return {it.name: it for it in of_variables.findings(devices)}


def test_the_table_is_that_of_the_page():
    assert known.OURS["OUTBACK_NVML"] == (
        "a library",
        "loads this one instead of the one that is found",
    )
    assert known.OURS["OUTBACK_FALLBACK"][0] == "allow, warn or error"


def test_each_kind_of_value_is_known():
    """A list, and what is others', has other readers."""
    lists = {f"a list of {what}" for what in ("faults", "devices", "libraries", "operators")}
    others = lists | {"anything", "CMake's", "the driver's"}
    assert {kind for kind, _ in known.OURS.values()} == known._KINDS.keys() | others


def test_without_any_it_says_so(bare):
    assert list(found()) == ["none"] and found()["none"].status == "ok"


def test_a_variable_is_told_with_its_value_and_meaning(bare):
    bare.setenv("OUTBACK_VALIDATE", "1")
    assert found()["OUTBACK_VALIDATE"] == Finding(
        "variables",
        "OUTBACK_VALIDATE",
        "1: checks each call of the runtime and what each call returns",
    )


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("OUTBACK_VALIDATE", "yes", "0 or 1"),
        ("OUTBACK_HOST_DEVICES", "65", "a number, 0 to 64"),
        ("OUTBACK_HOST_DEVICES", "-1", "a number, 0 to 64"),
        ("OUTBACK_HOST_MEMORY", "0", "a number of bytes above 0"),
        ("OUTBACK_HOST_MEMORY", "1 G", "a number of bytes above 0"),
        ("OUTBACK_SUITE_SIZE", "2K", "4096 bytes or more"),
        ("OUTBACK_SUITE_TIME_LIMIT", "1.5", "a number"),
        ("OUTBACK_FALLBACK", "warning", "allow, warn or error"),
        ("OUTBACK_CUDART", "./libcudart.so", "the absolute path of a file, or a name without /"),
        ("OUTBACK_NVML", "/no/such/library.so", "the absolute path of a file"),
        ("OUTBACK_CACHE_DIR", "cache", "the absolute path of a folder"),
        ("OUTBACK_RUNTIME_SUITE", "/no/such/program", "a file"),
        ("OUTBACK_TRACE", "/no/such/folder/calls.txt", "a file that can be written"),
        ("OUTBACK_TRACE", "/tmp", "a file that can be written"),
        ("OUTBACK_TRACE", f"/tmp/{'x' * 300}", "a file that can be written"),
    ],
)
def test_what_cannot_be_read_is_a_problem(bare, name, value, expected):
    bare.setenv(name, value)
    told = found()[name]
    assert told.status == "problem" and told.command == f"unset {name}"
    assert f"expected {expected}" in told.found


@pytest.mark.parametrize(
    "name, value",
    [
        ("OUTBACK_HOST_DEVICES", "64"),
        ("OUTBACK_HOST_MEMORY", "16G"),
        ("OUTBACK_HOST_MEMORY", "64m"),
        ("OUTBACK_SUITE_SIZE", "4096"),
        ("OUTBACK_CUDART", "libcudart.so.13"),
        ("OUTBACK_TRACE", "/dev/stderr"),
        ("OUTBACK_TRACE", "{folder}/calls.json"),
        ("OUTBACK_CACHE_DIR", "/anywhere"),
        ("OUTBACK_VALIDATE", ""),
    ],
)
def test_what_can_be_read_is_none(bare, tmp_path, name, value):
    bare.setenv(name, value.format(folder=tmp_path))
    assert found()[name].status == "ok"


def test_a_trace_through_a_link_is_a_problem(bare, tmp_path):
    (tmp_path / "calls.txt").symlink_to(tmp_path / "elsewhere")
    bare.setenv("OUTBACK_TRACE", str(tmp_path / "calls.txt"))
    assert found()["OUTBACK_TRACE"].status == "problem"


def test_a_name_that_nobody_reads_is_a_note_with_the_nearest(bare):
    bare.setenv("OUTBACK_VALIDTE", "1")
    told = found()["OUTBACK_VALIDTE"]
    assert told.status == "note" and "OUTBACK_VALIDATE may be meant" in told.advice


def test_values_that_are_not_ours_are_not_printed(bare):
    secrets = ("OUTBACK_TOKEN", "CXXFLAGS", "LDFLAGS", "PYTHONPATH", "LD_LIBRARY_PATH", "CUDA_HOME")
    for name in secrets:
        bare.setenv(name, "hunter2")
    bare.setenv("PASSWORD", "hunter2")
    told = found()
    assert told.keys() >= set(secrets) and "PASSWORD" not in told
    assert "hunter2" not in repr(told)


def test_a_list_of_devices_is_the_backends(bare):
    bare.setenv("ACME_VISIBLE_DEVICES", "0,2")
    bare.setenv("BETA_VISIBLE_DEVICES", "1")
    assert found("acme")["ACME_VISIBLE_DEVICES"].found.startswith("0,2: only these devices")
    assert "BETA_VISIBLE_DEVICES" not in found("acme")


def test_an_empty_list_of_devices_hides_all(bare):
    bare.setenv("ACME_VISIBLE_DEVICES", "")
    bare.setenv("CUDA_VISIBLE_DEVICES", "")
    for name in ("ACME_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        assert found("acme")[name].status == "note"
        assert "hides all devices" in found("acme")[name].advice


@pytest.mark.parametrize(
    "name, value",
    [
        ("TORCH_DEVICE_BACKEND_AUTOLOAD", "true"),  # which torch takes for no
        ("TORCH_DEVICE_BACKEND_AUTOLOAD", "0"),
        ("TORCH_DEVICE_BACKEND_AUTOLOAD", ""),  # for torch, no 1
        ("LD_PRELOAD", "libfast.so"),
        ("LD_LIBRARY_PATH", "/usr/local/cuda/lib64/stubs"),
        ("OUTBACK_FAULTS", "mem_alloc:1=out_of_memory"),
        ("OUTBACK_HOST_FAIL_WORK", "3"),
        ("OUTBACK_LAUNCH_BLOCKING", "1"),
    ],
)
def test_what_changes_a_program_behind_its_back_is_a_note(bare, name, value):
    bare.setenv(name, value)
    assert found()[name].status == "note" and found()[name].advice


def test_a_home_that_is_no_path_is_ignored_and_told(bare):
    bare.setenv("HOME", "me")
    assert found()["HOME"].status == "note" and "it is ignored" in found()["HOME"].found


def test_controls_in_a_value_do_not_reach_the_terminal(bare):
    bare.setenv("OUTBACK_FALLBACK", "\x1b[31mred\n")
    assert found()["OUTBACK_FALLBACK"].found.isprintable()


def test_a_program_with_other_rights_takes_none(bare):
    bare.setenv("OUTBACK_VALIDATE", "1")
    bare.setattr(variables, "has_other_rights", lambda: True)
    assert list(found()) == ["all"]
