"""./dev test: what CI runs, with --all everything that takes longer, and by name just a few."""

from dataclasses import dataclass, field

from . import console
from .environment import Environment
from .testing import named, parts, runner, suites


@dataclass
class Options:
    names: list[str] = field(default_factory=list)
    all: bool = False
    only: list[str] = field(default_factory=list)
    resume: bool = False
    list_parts: bool = False
    on: list[str] = field(default_factory=list)
    stop: bool = False
    libraries: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Raises WrongUsage where one option says the contrary of another."""
        what = {
            "PATH_OR_NAME": self.names,
            "--all": self.all,
            "--only": self.only,
            "--list": self.list_parts,
        }
        said = [name for name, value in what.items() if value]
        if len(said) > 1:
            raise console.WrongUsage(f"{' and '.join(said)}: one of them at a time.")
        if (self.on or self.stop) and not self.names:
            raise console.WrongUsage("--on and -x say how PATH_OR_NAME is run.")
        if self.resume and self.names:
            raise console.WrongUsage("--resume is for the parts: of ./dev test, --all and --only.")
        if self.libraries and "libraries" not in self.only:
            raise console.WrongUsage("--with says which versions --only libraries tries.")
        parts.named(self.only)
        for name in self.on:
            suites.on(name)

    @property
    def is_quick(self) -> bool:
        """Whether somebody waits for few tests, not for a machine to be looked at."""
        return bool(self.names or self.list_parts)


def run(environment: Environment, options: Options) -> int:
    if options.list_parts:
        return runner.list_parts(environment, parts.PARTS, parts.of(parts.SHORT))
    if options.names:
        on = [suites.on(name) for name in options.on] or suites.PYTHON_SUITES[:1]
        return named.run(environment, options.names, on, options.stop)
    chosen = parts.named(options.only) or parts.of(parts.LONG if options.all else parts.SHORT)
    return runner.run(environment, chosen, options.resume, options.libraries)
