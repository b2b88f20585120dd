"""The committed result files are the harness's own, whole, and say what their names say."""

from __future__ import annotations

from pathlib import Path

import pytest
from opinfo import results

FILES = sorted((Path(__file__).parent / "results").glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_committed_file_is_a_full_unedited_run(file):
    document = results.load(file)
    release = document["versions"]["torch"].partition("+")[0]
    assert file.stem == f"{document['device']}-{release}-{document['label']}"
    assert document["settings"]["ops"] == []
    assert document["settings"]["shard"] == "1/1"
    of = document["denominators"]
    assert of["op_db"] == of["selected"] == len(document["ops"])


def test_there_is_a_file_for_each_way_to_serve_operators():
    assert {file.stem.rpartition("-")[2] for file in FILES} >= {"redispatch", "fallback"}
