"""`outback wheel` from a new project to its user, with the installed torch. Other releases take
gigabytes: docs/shipping.md says what was tried with them."""

import json
import os
import re
import zipfile

import pytest
import torch
from conftest import Environment, call

MINOR = ".".join(torch.__version__.split(".")[:2])
ONES = "import torch; print(torch.ones(2).acme().sum().item())"


@pytest.fixture
def user(tmp_path):
    return Environment(tmp_path / "user")


def test_a_wheel_is_made_installed_renewed_and_removed(own_outback, user, tmp_path):
    project = tmp_path / "acme"
    variables = own_outback.activated()
    call(["outback", "new", "acme", "--yes", "--dir", project], **variables)
    command = ["outback", "wheel", project, "--torch", MINOR, "--no-repair"]
    said = call(command, **variables)
    assert "it imports, and computes 10 operators as the CPU does" in said
    (wheel,) = (project / "dist").glob("*.whl")
    assert said.splitlines()[-1].startswith(f"{wheel}, ")

    with zipfile.ZipFile(wheel) as made:
        manifest = json.loads(made.read("torch_acme/_half/manifest.json"))
        files = {name: made.read(name) for name in made.namelist()}
    (half,) = (it for name, it in manifest["files"].items() if "/_C." in name)
    assert half["torch"] == torch.__version__ and half["glibc"]
    # Relative ones are ccache's, which these tests tell to make them.
    path = re.compile(rb"(?<!\.)" + re.escape(os.fsencode(tmp_path)))
    assert not [name for name, text in files.items() if path.search(text)]

    user.pip("install", "-q", "--no-deps", "--no-index", wheel)
    assert user.run(ONES).stdout == "2.0\n"

    before = wheel.read_bytes()
    with (project / "torch_acme/__init__.py").open("a") as package:
        package.write("RENEWED = True\n")
    call(["outback", "wheel", project, "--runtime-only", "--no-repair"], **variables)
    assert wheel.read_bytes() != before
    user.pip("install", "-q", "--no-deps", "--no-index", "--force-reinstall", wheel)
    done = user.run("import torch, torch_acme; print(torch_acme.RENEWED)")
    assert done.stdout == "True\n", done.stderr

    user.pip("uninstall", "-q", "-y", "torch_acme")
    assert not list(user.site.glob("*acme*"))
