"""Defects of generators/cli: the command `outback`, and torch_outback.load."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="new_writes_into_a_folder_with_files",
        breaks="outback new --dir overwrites what is there.",
        file="generators/cli/torch_outback/new.py",
        old='any(entry.name != ".git" for entry in folder.iterdir())',
        new='all(entry.name != ".git" for entry in folder.iterdir())',
        found_by="tests/package/test_new.py::test_what_is_there_already_is_left_alone",
    ),
    Mutant(
        name="update_remembers_what_was",
        breaks="Each outback update takes the last one's changes for the author's edits.",
        file="generators/cli/torch_outback/update.py",
        old="            files[pristine / path] = now.get(path)",
        new="            files[pristine / path] = was.get(path)",
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
        file="generators/cli/torch_outback/answers.py",
        old='    if _numbers(given.get("outback", "0.0")) > _numbers(version):',
        new='    if given.get("outback", "0.0") > version:',
        found_by="tests/package/test_update.py::test_releases_are_numbers",
    ),
    Mutant(
        name="half_a_module_is_whole",
        breaks="torch_outback.load loads what a build that was killed has left.",
        file="generators/cli/torch_outback/cache.py",
        old="    return sealed == _sealed(module, sizes)",
        new="    return len(sealed) == len(_sealed(module, sizes))",
        found_by="tests/package/test_load.py::test_what_is_not_whole_is_built_again",
    ),
    Mutant(
        name="fix_removes_what_is_built_meanwhile",
        breaks="outback doctor --fix takes a build from a process that has just made it whole.",
        file="generators/cli/torch_outback/doctor/fixing.py",
        old="            if cached_builds.kind_now(root, build, key) != build.kind:",
        new="            if cached_builds.kind_now(root, build, key) is None:",
        found_by="tests/package/test_doctor_cache.py"
        "::test_a_build_that_became_whole_meanwhile_stays",
    ),
    Mutant(
        name="fix_leaves_the_cache",
        breaks="outback doctor --fix removes a folder outside of the cache, to which a link leads.",
        file="generators/cli/torch_outback/doctor/cached_builds.py",
        old="    return folder if is_its_own and cache.is_scratch(folder) else None",
        new="    return entry.resolve()",
        found_by="tests/package/test_doctor_cache.py::test_links_are_not_followed_out_of_the_cache",
    ),
    Mutant(
        name="doctor_prints_secrets",
        breaks="outback doctor prints what CXXFLAGS and variables of unknown readers have in them.",
        file="generators/cli/torch_outback/doctor/known_variables.py",
        old="    return ours or (",
        new="    return name in OURS or (",
        found_by="tests/package/test_doctor_variables.py"
        "::test_values_that_are_not_ours_are_not_printed",
    ),
    Mutant(
        name="doctor_waits_for_ever",
        breaks="outback doctor does not end where a backend's import does not.",
        file="generators/cli/torch_outback/doctor/child.py",
        old="            self._process.send_signal(signal.SIGABRT)",
        new="            self._process.send_signal(signal.SIGCONT)",
        found_by="tests/package/test_doctor.py"
        "::test_a_backend_that_hangs_is_ended_and_told_by_its_line",
    ),
    Mutant(
        name="half_an_update",
        breaks="An update that a full disk stops leaves a half of its files.",
        file="generators/cli/torch_outback/writing.py",
        old="                    undo.callback(place.put, old)",
        new="                    pass",
        found_by="tests/package/test_update.py::test_an_update_that_fails_has_changed_nothing",
    ),
    Mutant(
        name="conflicts_are_up_to_date",
        breaks="outback update calls a project up to date that does not compile for its conflicts.",
        file="generators/cli/torch_outback/cli.py",
        old="    elif not state.behind:",
        new="    if not state.behind:",
        found_by="tests/package/test_update.py::test_with_conflicts_in_it_nothing_is_up_to_date",
    ),
    Mutant(
        name="load_compiles_for_any_name",
        breaks="torch_outback.load compiles for minutes for a name that cannot be a device's.",
        file="generators/cli/torch_outback/loading.py",
        old="    if names.problem(name):",
        new="    if not name:",
        found_by="tests/package/test_names.py::test_load_looks_at_the_name_before_anything_else",
    ),
    Mutant(
        name="anybody_may_write_to_the_cache",
        breaks="torch_outback.load runs what another user has put into a shared cache.",
        file="generators/cli/torch_outback/trust.py",
        old="    if not mode & stat.S_IWOTH and not for_group:",
        new="    if not mode & stat.S_IWOTH or not for_group:",
        found_by="tests/package/test_trust.py::"
        "test_what_anybody_can_write_is_refused_wherever_it_is_on_the_path",
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
