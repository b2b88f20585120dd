"""`outback doctor`: torch and the backends, each wrong in its own way."""

import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import patient as patients
import pytest
from click.testing import CliRunner
from conftest import ROOT
from patient import REGISTERS, Patient

sys.path.insert(0, str(ROOT))
from torch_outback.doctor import backends, command, explaining, python, pytorch
from torch_outback.doctor.child import Report
from torch_outback.doctor.finding import Finding
from torch_outback.doctor.installed import Backend, Installed

from conformance import by_schema

SCHEMA = json.loads((ROOT / "generators/cli/torch_outback/doctor/schema/report-1.json").read_text())


@pytest.fixture(scope="session")
def small_python(tmp_path_factory) -> Path:
    return patients.python(tmp_path_factory.mktemp("python"))


@pytest.fixture
def patient(small_python, tmp_path) -> Patient:
    return Patient(small_python, tmp_path)


def fits(document: dict) -> bool:
    wrong = list(by_schema.problems(document, SCHEMA, SCHEMA))
    assert not wrong, wrong
    return True


# ---- Nothing wrong


def test_a_healthy_environment_has_no_problem_and_one_contact(patient):
    patient.torch()
    patient.backend("acme")
    said = patient.examined()
    assert said.status == 0 and fits(said.document) and said.document["problems"] == 0
    assert said.not_ok() == []
    assert said.found("torch", "version")["found"] == "2.13.0"
    assert said.found("torch", "build")["found"] == "CPU, C++11 ABI"
    assert said.found("backends", "import torch")["found"] == "loads acme"
    assert said.found("contact", "acme:0")["found"] == "Small device, 3.0 GiB"
    for step in ("a byte there and back", "a stream", "an event"):
        assert said.found("contact", f"acme: {step}")["found"] == "works"


def test_the_text_says_the_same_in_lines(patient):
    patient.torch()
    patient.backend("acme", "def load(): raise RuntimeError('no luck')")
    said = patient.doctor()
    assert said.status == 1
    lines = said.out.splitlines()
    assert "torch" in lines and "  ok       version: 2.13.0" in lines
    assert any(line.startswith("  PROBLEM  torch_acme: does not load: RuntimeError: no luck")
               for line in lines)  # fmt: skip
    assert lines[-1].startswith("2 problems, no notes; ")
    assert "\x1b" not in said.out  # it is no terminal


def test_one_process_imports_torch_and_makes_the_contact(patient):
    tell = "import os, sys\nopen('imported', 'a').write(f'{sys.argv[0]}\\n')"
    patient.torch(more=tell)
    patient.backend("acme")
    assert patient.examined().found("contact", "acme: an event")["found"] == "works"
    (program,) = (patient.folder / "imported").read_text().split()
    assert program.endswith("torch_probe.py")  # it is not the command's own


@pytest.mark.parametrize("wrong", ["--nothing", "--timeout=0", "--timeout=nan", "--timeout=soon"])
def test_a_wrong_option_is_wrong_usage(wrong):
    assert CliRunner().invoke(command.doctor, [wrong]).exit_code == 2


# ---- torch


def test_without_torch_it_says_how_to_get_one(patient):
    (patient.site / "torch").mkdir()  # an empty folder is none
    said = patient.examined()
    found = said.problem("torch", "import")
    assert found["found"].endswith("has no torch")
    assert found["command"].endswith("-m pip install torch")
    assert fits(said.document)


def test_a_torch_that_cannot_be_imported_is_explained(patient):
    error = "libcudart.so.12: cannot open shared object file: No such file or directory"
    patient.torch(more=f"raise ImportError('{error}')")
    patient.backend("acme")
    said = patient.examined()
    found = said.problem("torch", "import")
    assert found["found"].startswith(f"import torch fails: ImportError: {error}")
    assert "libcudart.so.12 of this build of torch is missing" in found["advice"]
    # The backend is not blamed for it.
    assert [it for it in said.not_ok() if it[0] != "torch"] == []


@pytest.mark.parametrize(
    "error, advice",
    [
        ("libmkl_rt.so.2: cannot open shared object file", "libmkl_rt.so.2 is missing"),
        ("libtorch_cuda.so: cannot open shared object file", "libtorch_cuda.so is torch's own"),
        ("No module named 'sympy'", "sympy is missing"),
        ("/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found", "an older libstdc++ is"),
        ("/lib/libc.so.6: version `GLIBC_2.38' not found", "whose C library has GLIBC_2.38"),
        ("_C.so: undefined symbol: _ZN3c1021throwNullDataPtrErrorEv", "for another torch than"),
        ("_C.so: undefined symbol: driver_open", "no library that it is linked with has driver_o"),
        ("torch_acme was built for torch 2.11 and this is torch 2.13.0: ...", "or torch 2.11 for"),
        ("cannot register b: this process's PrivateUse1 backend is a already", "room for one"),
        ("OUTBACK_VALIDATE=perhaps: expected 0 or 1", "set OUTBACK_VALIDATE to what is"),
        ("_C.so: invalid ELF header", "damaged"),
        ("whatever else", ""),
    ],
)
def test_errors_of_imports_are_explained(error, advice):
    found = explaining.of(f"ImportError: {error}")[0]
    assert advice in found and bool(advice) == bool(found)


def test_a_torch_that_crashes_is_told_by_its_signal_and_line(patient):
    folder = patient.torch(more="import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    found = patient.examined().problem("torch", "import")["found"]
    assert found.startswith("died of SIGSEGV in import torch: ")
    assert str(folder / "__init__.py") in found


def of_torch(known: tuple[str, ...] = ("2.13.0",), **told) -> dict[str, Finding]:
    """What is said of a torch that told this, where pip's list has those versions."""
    death = told.pop("death", "")
    here = Installed(Path("/site/torch"), "2.13.0", known)
    report = Report({"file": "/site/torch", "version": "2.13.0"} | told, death=death)
    if death:
        report.told.clear()
    return {it.name: it for it in pytorch.findings(here, report)}


def test_a_torch_without_an_instruction_of_this_processor():
    assert "lacks an instruction" in of_torch(death="died of SIGILL")["import"].advice


def test_a_torch_that_crashes_as_it_looks_for_devices(patient):
    patient.torch(
        cuda="12.6", more="import ctypes\ncuda.device_count = lambda: ctypes.string_at(0)"
    )
    patient.backend("acme")
    said = patient.examined()
    found = said.problem("torch", "process")["found"]
    assert found.startswith("died of SIGSEGV in torch.cuda.device_count(): ")
    assert said.found("torch", "import")["status"] == "ok"


@pytest.mark.parametrize("version, status", [("2.10.1", "problem"), ("2.16.0.dev1", "note")])
def test_a_torch_outside_the_supported_ones(version, status):
    assert of_torch(version=version)["version"].status == status


def test_two_torches_in_pips_list():
    found = of_torch(known=("2.13.0+cpu", "2.11.0"))["installed"]
    assert found.status == "problem" and "torch 2.13.0+cpu and torch 2.11.0" in found.found


def test_a_torch_that_hides_the_one_of_pip():
    found = of_torch(known=("2.12.0",))["installed"]
    assert found.status == "note"
    assert "pip's list has torch 2.12.0, and Python imports 2.13.0" in found.found
    assert "installed" not in of_torch(known=("2.13.0+cpu",))


def test_what_a_folder_further_on_has_is_hidden(patient):
    """As by the packages of the system, in an environment that sees them."""
    patient.torch("2.13.0")
    patient.backend("acme")
    there = Patient(patient.python, patient.folder / "system")
    there.torch("2.11.0")
    there.backend("acme", "raise SystemExit", requires="torch==2.11.*")
    patient.site = f"{patient.site}{os.pathsep}{there.site}"
    said = patient.examined()
    assert said.status == 0 and said.not_ok() == []


def test_a_torch_without_headers_is_a_problem_for_who_builds(patient):
    shutil.rmtree(patient.torch() / "include")
    assert "ATen.h" in patient.examined().problem("torch", "headers")["found"]


def test_a_build_is_told_with_its_kinds():
    told = of_torch(cuda="12.6", xpu=None, cxx11_abi=True, debug=True)["build"]
    assert told.found == "CUDA 12.6, C++11 ABI, debug"
    assert of_torch(cxx11_abi=False)["build"].status == "note"


def test_a_folder_that_hides_torch_is_named(patient):
    patient.torch()
    (patient.folder / "torch.py").write_text("")
    found = patient.examined().problem("python", "this folder")
    assert str(patient.folder / "torch.py") in found["found"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become a user who may enter less")
def test_a_folder_of_anothers_that_may_not_be_entered_hides_no_torch():
    """As one in /tmp. Python imports the installed torch there."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        barred = Path(folder, "torch")
        barred.mkdir(mode=0o700)
        (barred / "__init__.py").write_text("")
        os.seteuid(54321)
        try:
            assert list(python.hiding(Path(folder), Installed())) == []
        finally:
            os.seteuid(0)
        assert [it.name for it in python.hiding(Path(folder), Installed())] == ["this folder"]


def test_a_file_that_hides_a_module_of_pythons_is_a_note(patient):
    patient.torch()
    (patient.folder / "queue.py").write_text("raise SystemExit")
    # The command itself has to start: not with -m, for which the folder comes first.
    command = "import sys; sys.path.remove(''); from torch_outback.cli import main; main()"
    patient.program("outback", f'#!/bin/sh\nexec "{patient.python}" -c "{command}" "$@"\n')
    done = patient.run(patient.folder / "tools/outback", "doctor", "--json")
    assert done.status == 0
    assert done.found("python", "this folder")["status"] == "note"
    assert "queue.py" in done.found("python", "this folder")["found"]


# ---- Backends


def test_a_backend_for_another_torch_is_a_problem_of_versions(patient):
    patient.torch("2.13.0+cpu")
    patient.of_outback("acme", torch="2.11")
    said = patient.examined()
    found = said.problem("backends", "torch_acme: torch")
    assert found["found"] == "torch_acme 0.1.0 is for torch 2.11, and this is 2.13.0+cpu"
    assert found["command"] == "pip install 'torch==2.11.*'"
    assert "was built for torch 2.11" in said.problem("backends", "import torch")["found"]
    assert "was built for torch 2.11" in said.problem("contact", "torch_acme")["found"]


def test_another_vendors_backend_says_in_its_metadata_which_torch_it_wants(patient):
    patient.torch("2.13.0+cpu")
    patient.backend("acme", requires="torch==2.11.*")
    found = patient.examined().problem("backends", "torch_acme: torch")
    assert found["command"] == "pip install 'torch==2.11.*'"


def test_a_torch_that_its_metadata_allows_is_no_problem(patient):
    patient.torch("2.13.0+cpu")
    wanted = ("torch>=2.11", "torch (>=2.9,<3)", "torchvision==0.1", "")
    for number, requires in enumerate(wanted):
        patient.backend(f"acme_{'abcd'[number]}", requires=requires)
    assert [it for it in patient.examined().not_ok() if it[1].endswith(": torch")] == []


def test_a_backend_for_another_python(patient):
    patient.torch()
    patient.of_outback("acme", extension="_C.cpython-39-x86_64-linux-gnu.so")
    found = patient.examined().problem("backends", "torch_acme: compiled part")
    assert "_C.cpython-39-x86_64-linux-gnu.so" in found["found"]


def test_an_entry_point_whose_package_is_gone(patient):
    patient.torch()
    patient.backend("acme").unlink()
    said = patient.examined()
    assert said.problem("backends", "torch_acme")["command"] == "pip uninstall torch_acme"
    assert "Failed to load the backend" in said.problem("backends", "import torch")["found"]


def test_a_package_without_its_entry_point_is_found_and_tried(patient):
    patient.torch()
    patient.of_outback("acme")
    (patient.site / "torch_acme-0.1.0.dist-info/entry_points.txt").unlink()
    said = patient.examined()
    assert "does not load it" in said.found("backends", "torch_acme")["found"]
    assert said.found("contact", "acme: an event")["found"] == "works"
    assert said.status == 0


def test_a_package_that_is_half_installed_is_named(patient):
    patient.torch()
    patient.backend("acme")
    (patient.site / "torch_acme-1.0.dist-info/METADATA").unlink()
    found = patient.examined().problem("backends", "metadata")
    assert "torch_acme-1.0.dist-info" in found["found"]


def test_a_backend_that_crashes_at_its_import(patient):
    patient.torch()
    patient.backend("acme", "import ctypes\nctypes.string_at(0)\n")
    said = patient.examined()
    found = said.problem("contact", "torch_acme")["found"]
    assert found.startswith("died of SIGSEGV in loading torch_acme: ")
    assert said.found("torch", "import")["status"] == "ok"
    found = said.problem("backends", "import torch")
    assert found["command"] == "export TORCH_DEVICE_BACKEND_AUTOLOAD=0"


def test_a_backend_that_hangs_is_ended_and_told_by_its_line(patient):
    patient.torch()
    file = patient.backend("acme", "import time\nwhile True:\n    time.sleep(60)\n")
    said = patient.examined("--timeout=2")
    found = said.problem("contact", "torch_acme")["found"]
    assert found == f'no end after 2 s in loading torch_acme: "{file}", line 3'
    assert said.document["seconds"] < 30


def test_what_a_hanging_backend_has_started_ends_with_it(patient):
    patient.torch()
    source = "import subprocess, time\n"
    source += "other = subprocess.Popen(['/bin/sleep', '60'])\n"
    source += "open('pids', 'a').write(f'{other.pid}\\n')\ntime.sleep(60)\n"
    patient.backend("acme", source)
    patient.examined("--timeout=2")
    for pid in (patient.folder / "pids").read_text().split():
        status = Path("/proc", pid, "stat")
        assert not status.exists() or ") Z " in status.read_text()


def test_a_backend_that_prints_does_not_spoil_the_document(patient):
    patient.torch()
    source = "import os\nprint('{}')\nos.write(1, b'}\\n')\nos.write(2, b'psst\\n')\n"
    patient.backend("acme", source + REGISTERS.format(name="acme", count=1))
    said = patient.examined()
    assert said.status == 0 and fits(said.document)
    found = said.found("contact", "acme: prints")
    assert found["status"] == "note" and found["found"].endswith("program's own output goes: }")


def test_a_backend_that_ends_the_process(patient):
    patient.torch()
    patient.backend("acme", "import os\nos._exit(0)\n")
    found = patient.examined().problem("contact", "torch_acme")["found"]
    assert found == "exit status 0 in loading torch_acme"


def test_a_backend_that_crashes_at_the_end_of_python(patient):
    patient.torch()
    crash = "import atexit, ctypes\natexit.register(lambda: ctypes.string_at(0))\n"
    patient.backend("acme", crash + REGISTERS.format(name="acme", count=1))
    found = patient.examined().problem("contact", "acme: process")["found"]
    assert found.startswith("died of SIGSEGV in the end of Python")


def test_a_thread_of_a_backends_that_keeps_python_from_ending(patient):
    patient.torch()
    wait = "import threading, time\n"
    wait += "threading.Thread(target=time.sleep, args=(60,)).start()\ndef load(): pass\n"
    patient.backend("acme", wait)
    found = patient.examined("--timeout=2").problem("contact", "torch_acme")
    assert found["found"].startswith("no end after 2 s in the end of Python: ")
    assert "a thread that it has started" in found["advice"]


def test_an_error_of_another_package_names_that_one(patient):
    patient.torch(more="import numpy")
    (patient.site / "numpy.py").write_text("raise RuntimeError('compiled with another')")
    found = patient.examined().problem("torch", "import")
    assert found["command"] == "pip install --force-reinstall numpy"


def test_a_backend_without_a_device_tells_why(patient):
    patient.torch()
    patient.backend("acme", REGISTERS.format(name="acme", count=0))
    found = patient.examined().problem("contact", "acme: devices")["found"]
    assert found == "no device: the driver is on holiday"


def test_an_error_without_a_text_is_told_by_its_kind(patient):
    patient.torch(more="def empty(size, device): raise RuntimeError")
    patient.backend("acme", REGISTERS.format(name="acme", count=0))
    assert patient.examined().problem("contact", "acme: devices")["found"] == "RuntimeError"


def test_a_report_of_operators_is_not_written_by_its_probes(patient):
    patient.torch()
    writes = """
import os
for name in ("OUTBACK_OPERATORS", "OUTBACK_TRACE"):
    if name in os.environ:
        open(os.environ[name], "w").write("a probe's")
"""
    patient.backend("acme", writes + REGISTERS.format(name="acme", count=1))
    kept = patient.folder / "report.json"
    kept.write_text("mine")
    patient.variables |= {"OUTBACK_OPERATORS": str(kept), "OUTBACK_TRACE": str(kept)}
    patient.examined()
    assert kept.read_text() == "mine"


def test_a_byte_that_comes_back_changed(patient):
    patient.torch(more="Tensor.tolist = lambda self: [1, 2, 0, 0]")
    patient.backend("acme")
    found = patient.examined().problem("contact", "acme: a byte there and back")["found"]
    assert found == "1, 2, 254, 255 came back as 1, 2, 0, 0"


def test_a_device_without_streams_is_a_note(patient):
    patient.torch(more="def Stream(device): raise NotImplementedError('acme: no streams')")
    patient.backend("acme")
    said = patient.examined()
    assert said.not_ok() == [("contact", "acme: a stream", "note")] and said.status == 0


def test_two_backends_have_room_for_one(patient):
    patient.torch()
    patient.backend("acme")
    patient.backend("beta")
    said = patient.examined()
    assert "torch_acme and torch_beta" in said.problem("backends", "conflict")["found"]
    assert "is acme already" in said.problem("backends", "import torch")["found"]
    for name in ("acme", "beta"):  # each works by itself
        assert said.found("contact", f"{name}: an event")["found"] == "works"


def test_two_backends_are_a_note_where_import_torch_loads_none(patient):
    patient.torch()
    patient.backend("acme")
    patient.backend("beta")
    said = patient.examined(TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert said.found("backends", "conflict")["status"] == "note" and said.status == 0
    assert said.found("backends", "import torch")["found"].startswith("loads no backend by itself")


def test_a_backend_that_its_import_compiles_for_this_torch_has_no_problem(patient):
    patient.torch("2.13.0+cpu")
    patient.of_outback("acme", torch="2.11")
    names = [name for _, name, _ in patient.examined(OUTBACK_COMPILE="1").not_ok()]
    assert "torch_acme: torch" not in names


def test_beside_a_cuda_build_it_says_what_breaks(patient):
    patient.torch("2.13.0+cu126", cuda="12.6", devices=2)
    patient.backend("acme")
    found = patient.examined().problem("backends", "beside CUDA")
    assert "pytorch#161129" in found["found"] and "backward()" in found["found"]
    assert found["command"] == "export TORCH_DEVICE_BACKEND_AUTOLOAD=0"


def test_a_cuda_build_without_a_device_breaks_nothing():
    backend = Backend("torch_acme", "_torch_acme_autoload:load_unless_cuda", halves={"2.13": ()})
    here = Installed(Path("/site/torch"), "2.13.0", backends=(backend,))
    torch = Report({"version": "2.13.0", "cuda": "12.6", "cuda_devices": 0, "loaded": "acme"})
    (found,) = (it for it in backends.findings(here, torch, {}) if it.name == "beside CUDA")
    assert found.status == "ok" and "pytorch#161129" in found.found


def test_beside_cuda_a_backend_that_import_torch_leaves_out_is_a_note(patient):
    patient.torch("2.13.0+cu126", cuda="12.6", devices=1)
    patient.of_outback("acme")
    autoload = patient.site / "_torch_acme_autoload.py"
    text = autoload.read_text().replace("load_unless_cuda = load\n", "")
    text += "import os, sys\ndef load_unless_cuda():\n"
    text += "    if os.environ.get('OUTBACK_AUTOLOAD') == '1': return load()\n"
    text += "    print('torch_acme was not loaded, since', file=sys.stderr)\n"
    autoload.write_text(text)
    said = patient.examined()
    assert said.found("backends", "beside CUDA")["status"] == "note"
    assert "says: torch_acme was not loaded" in said.found("backends", "import torch")["found"]
    assert said.found("contact", "acme: an event")["found"] == "works"
    assert said.status == 0


# ---- The real ones


def test_a_real_torch_and_a_real_backend_are_healthy(build_tree, small_python, tmp_path):
    real = Patient(small_python, tmp_path)
    real.site = f"{build_tree / 'python'}:{Path(patients.TORCH)}"
    said = real.examined()
    assert said.status == 0 and fits(said.document)
    assert [it for it in said.not_ok() if it[0] in ("torch", "backends", "contact")] == []
    assert said.found("contact", "acme:0")["found"].startswith("Outback host device, ")
    for step in ("a byte there and back", "a stream", "an event"):
        assert said.found("contact", f"acme: {step}")["found"] == "works"


# ---- What is written about it


PAGE = (ROOT / "docs/doctor.md").read_text()


def test_the_page_has_each_section_of_the_document():
    sections = SCHEMA["properties"]["findings"]["items"]["properties"]["section"]["enum"]
    assert re.findall(r"^\| `([a-z ]+)` \|", PAGE, re.MULTILINE) == sections


def test_the_page_shows_what_is_printed(patient):
    patient.torch("2.15.0+cu132", cuda="13.2")
    patient.of_outback("acme", torch="2.13")
    said = patient.doctor(OUTBACK_VALIDTE="1")
    (shown,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    # Neither seconds nor folders.
    own = [line for line in shown.splitlines() if line and "~/venv" not in line]
    assert len(own) > 10
    lines = {line.rstrip(",") for line in said.out.splitlines()}
    for line in own:
        assert any(it.startswith(line.rstrip(",")) for it in lines), line
    (found,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert json.loads(found) in patient.examined().document["findings"]
    (of_readme,) = re.findall(r"^  PROBLEM .*\n.*\n.*\n", (ROOT / "README.md").read_text(), re.M)
    assert of_readme in said.out
