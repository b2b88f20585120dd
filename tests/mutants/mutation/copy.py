"""The copy of the working tree that defects are put into: a user's own files stay as they are."""

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .mutant import Mutant

# What the copy makes itself, and a run keeps for the next one. It is a repository, empty as it is:
# ./dev test asks git which files there are, and git sees nothing below a folder that it ignores.
_KEPT = ("build", ".git")


class Copy:
    """The files that git knows in `root`, as they are now, and those that it does not ignore."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        self._root = root

    def update(self) -> str:
        """Brings the copy up to date, also after a run that was killed; answers what is in it.

        A file that has not changed keeps its time, so that nothing is built for its sake.
        """
        known = self._known()
        self._remove_all_but(known)
        subprocess.run(["git", "init", "--quiet", self.folder], check=True)
        digest = hashlib.sha256()
        for name in sorted(known):
            source, target = self._root / name, self.folder / name
            content = source.read_bytes()
            if not target.is_file() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            shutil.copymode(source, target)
            if not name.startswith("tests/mutants/"):  # another mutant leaves the results of these
                digest.update(f"{name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()[:16]

    @contextmanager
    def carrying(self, mutant: Mutant) -> Iterator[None]:
        """Puts the defect in, and takes it out again."""
        file = self.folder / mutant.file
        text = file.read_text(encoding="utf-8")
        file.write_text(mutant.applied_to(text), encoding="utf-8")
        try:
            yield
        finally:
            # With a new time: what was compiled of the defect is older than this.
            file.write_text(text, encoding="utf-8")

    def _remove_all_but(self, known: set[str]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for top in self.folder.iterdir():
            if top.name in _KEPT:
                continue
            for file in (top, *top.rglob("*")):
                if file.is_file() and file.relative_to(self.folder).as_posix() not in known:
                    file.unlink()

    def _known(self) -> set[str]:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self._root,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        return {name for name in listed.split("\0") if name and (self._root / name).is_file()}
