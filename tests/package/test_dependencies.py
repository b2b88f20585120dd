"""What a build needs of the system: named in one sentence, before anything is downloaded."""

import os
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, clean_environment

PROJECT = f"""
cmake_minimum_required(VERSION 3.24)
project(somebodys LANGUAGES NONE)
include("{ROOT}/cmake/OutbackDependencies.cmake")
outback_need_gtest()
"""
# Stands in for git: notes what it is asked, and reaches nothing beyond what the test allows.
GIT = """#!/bin/sh
echo "$@" >> "$GIT_LOG"
[ "$1" = "$GIT_REACHES" ]
"""
HIDDEN = "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON"


@pytest.fixture
def configure(tmp_path):
    """Configures a project that needs GoogleTest; answers what was said, and what git was asked."""
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text(GIT)
    (tmp_path / "bin/git").chmod(0o755)
    log = tmp_path / "git.log"
    log.touch()

    def run(*options: str, reaches: str = "nothing") -> tuple[int, str, list[str]]:
        ours = clean_environment()
        ours |= {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{ours['PATH']}"}
        ours |= {"GIT_LOG": str(log), "GIT_REACHES": reaches}
        done = subprocess.run(
            ["cmake", "-S", tmp_path, "-B", tmp_path / "build", *options],
            env=ours,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        asked = [line.split()[0] for line in log.read_text().splitlines()]
        return done.returncode, " ".join(done.stdout.split()), asked

    return run


def provided(folder: Path) -> str:
    """A GoogleTest that somebody has downloaded."""
    folder.mkdir()
    lines = ("add_library(gmock INTERFACE)", "add_library(GTest::gmock ALIAS gmock)")
    (folder / "CMakeLists.txt").write_text("\n".join(lines))
    return f"-DFETCHCONTENT_SOURCE_DIR_GTEST={folder}"


def test_without_googletest_and_network_one_sentence_names_the_packages(configure):
    failed, said, asked = configure(HIDDEN)
    assert failed and asked == ["ls-remote"]
    assert (
        "Outback: this system has no GoogleTest, and https://github.com/google/googletest.git "
        "cannot be reached: install libgtest-dev libgmock-dev (Debian's name)."
    ) in said
    assert said.count("CMake Error") == 1


def test_a_download_is_announced_with_the_packages_that_would_save_it(configure):
    failed, said, asked = configure(HIDDEN, reaches="ls-remote")
    assert failed  # git clones nothing here
    sentence = (
        "-- Outback: this system has no GoogleTest (on Debian: libgtest-dev libgmock-dev), "
        "downloading release-1.12.1 of https://github.com/google/googletest.git"
    )
    assert said.index(sentence) < said.index("CMake Error")
    assert asked[0] == "ls-remote"


def test_what_was_downloaded_already_is_not_asked_for(configure, tmp_path):
    failed, said, asked = configure(HIDDEN, provided(tmp_path / "googletest"))
    assert not failed and not asked and "downloading" not in said


def test_googletest_without_gmock_is_named_and_nothing_is_downloaded_beside_it(configure, tmp_path):
    (tmp_path / "GTestConfig.cmake").touch()
    failed, said, asked = configure(f"-DGTest_DIR={tmp_path}", reaches="ls-remote")
    assert failed and not asked
    assert "the GoogleTest of this system has no GTest::gmock; install libgtest-dev" in said
