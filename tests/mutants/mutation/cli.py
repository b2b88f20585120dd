"""The command line of tests/mutants/run.py."""

import argparse
import sys
from collections import Counter

from . import mutants as lists
from . import proof
from .copy import Copy
from .mutant import Mutant, WrongList
from .proof import Proof
from .results import Result, Results
from .selection import ROOT, not_selected
from .test_command import TestCommand

WORK = ROOT / "build/mutants"

_DESCRIPTION = """\
Puts the defects of tests/mutants/defects into a copy of the tree, one at a time, and sees that the
test that each names fails. The exit code is 1 where one does not. What has been found out is in
build/mutants/results.json.
"""


def main() -> int:
    arguments = _parser().parse_args()
    areas = lists.by_area()
    try:
        chosen = _chosen(areas, arguments)
        lists.check((it for area in areas.values() for it in area), ROOT)
        if arguments.list:
            for mutant in chosen:
                print(f"{mutant.name}\n    {mutant.breaks}\n    found by {mutant.test}")
            return 0
        return _prove(chosen, arguments.resume)
    except WrongList as problem:
        print(problem, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=_DESCRIPTION)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these mutants, instead of all")
    parser.add_argument("--area", metavar="AREA", help="those of a file of defects/")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    parser.add_argument(
        "--resume", action="store_true", help="go on where a run over the same tree has ended"
    )
    return parser


def _chosen(areas: dict[str, tuple[Mutant, ...]], arguments: argparse.Namespace) -> list[Mutant]:
    if arguments.area and arguments.area not in areas:
        raise WrongList(f"there is no area {arguments.area}: there are {', '.join(areas)}")
    wanted = [arguments.area] if arguments.area else list(areas)
    all_of_them = [mutant for area in wanted for mutant in areas[area]]
    unknown = set(arguments.names) - {mutant.name for mutant in all_of_them}
    if unknown:
        raise WrongList(f"there is no mutant {sorted(unknown)[0]}: --list says which there are")
    return [it for it in all_of_them if not arguments.names or it.name in arguments.names]


def _prove(chosen: list[Mutant], resume: bool) -> int:
    copy = Copy(ROOT, WORK / "tree")
    tree = copy.update()
    command = TestCommand(copy.folder)
    this = Proof(copy, command, Results(WORK / "results.json", tree, resume))
    print("the tests without a defect, and whether CI runs them ...", flush=True)
    this.check_tests(chosen)
    this.check_selection(chosen, lambda tests: not_selected(copy.folder, tests))
    results = []
    for mutant in chosen:
        results.append(this.of(mutant))
        print(_line(mutant, results[-1]), flush=True)
    print(_summary(results))
    return 0 if proof.is_proof(results) else 1


def _line(mutant: Mutant, result: Result) -> str:
    return f"  {result.verdict:<14} {result.seconds:6.1f} s  {mutant.name}  ({mutant.test})"


def _summary(results: list[Result]) -> str:
    counts = Counter(result.verdict for result in results)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
