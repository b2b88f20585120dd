"""Defects of generators/cli: the command `outback`, and torch_outback.load."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="new_writes_into_a_folder_with_files",
        breaks="outback new --dir overwrites what is there.",
        file="generators/cli/torch_outback/new.py",
        old="    if folder.exists() and any(folder.iterdir()):",
        new="    if folder.exists() and not any(folder.iterdir()):",
        found_by="tests/package/test_new.py::test_what_is_there_already_is_left_alone",
    ),
    Mutant(
        name="update_remembers_what_was",
        breaks="Each outback update takes the last one's changes for the author's edits.",
        file="generators/cli/torch_outback/update.py",
        old="    new.write(pristine, now)",
        new="    new.write(pristine, was)",
        found_by="tests/package/test_update.py::test_a_second_update_has_nothing_to_do",
    ),
    Mutant(
        name="update_deletes_edited_files",
        breaks="outback update deletes a file that Outback gave up, and the author's edits too.",
        file="generators/cli/torch_outback/update.py",
        old="            if mine == before:",
        new="            if mine is not None:",
        found_by="tests/package/test_update.py::test_an_edited_file_that_outback_gave_up_is_kept",
    ),
    Mutant(
        name="releases_are_compared_as_text",
        breaks="Outback 0.10 refuses a project that 0.9 made, as one of a newer Outback.",
        file="generators/cli/torch_outback/update.py",
        old="    if _numbers(given.outback) > _numbers(version):",
        new="    if given.outback > version:",
        found_by="tests/package/test_update.py::test_releases_are_numbers",
    ),
    Mutant(
        name="half_a_module_is_whole",
        breaks="torch_outback.load loads what a build that was killed has left.",
        file="generators/cli/torch_outback/cache.py",
        old="        if sealed != _digest(trust.read_trusted(module_in(folder))):",
        new="        if len(sealed) != len(_digest(trust.read_trusted(module_in(folder)))):",
        found_by="tests/package/test_load.py::test_what_is_not_whole_is_built_again",
    ),
    Mutant(
        name="anybody_may_write_to_the_cache",
        breaks="torch_outback.load runs what another user has put into a shared cache.",
        file="generators/cli/torch_outback/trust.py",
        old="    if not others or (",
        new="    if others or (",
        found_by="tests/package/test_trust.py::test_what_is_this_users_is_read",
    ),
    Mutant(
        name="compilers_outlive_their_build",
        breaks="A build that is killed leaves its compilers running.",
        file="generators/cli/torch_outback/lifeline.py",
        old="    while others := _others():",
        new="    while others := []:",
        found_by="tests/package/test_cache.py::test_a_killed_build_takes_its_compilers_along",
    ),
)
