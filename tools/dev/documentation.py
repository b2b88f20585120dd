"""The site of docs/: mkdocs.yml has what is strict about it."""

from . import console, shell
from .environment import Environment
from .paths import ROOT

SITE = ROOT / "build/docs"
# mkdocs-material announces what is to come after mkdocs 1, at each build.
_QUIET = {"NO_MKDOCS_2_WARNING": "1"}


def build(environment: Environment) -> str:
    """Builds it in build/docs; fails where a link leads nowhere or a page is in no menu."""
    if not environment.has("material"):
        raise console.NotRun("mkdocs-material is missing")
    with console.step("documentation"):
        command = [environment.python, "-m", "mkdocs", "build", "--site-dir", SITE]
        shell.run("mkdocs", command, env=_QUIET)
    return f"{SITE.relative_to(ROOT)}/index.html"
