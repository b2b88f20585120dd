"""The page of a run: what is in it, and that nothing of a document can break out of it."""

import html.parser
import json
import re

import pytest
import synthetic_document

from conformance import baseline
from conformance.report import html as page
from conformance.report import page_data, score


class Parsed(html.parser.HTMLParser):
    """The texts of a page in order, by the names of the elements around each; and its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.around: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.policy = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        if dict(attributes).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attributes)["content"]
        if tag not in ("meta", "input", "img", "br"):
            self.around.append(tag)

    def handle_endtag(self, tag):
        assert self.around.pop() == tag

    def handle_data(self, data):
        if self.around and self.around[-1] == "script":
            self.scripts.append(data)
        elif "body" in self.around and data.strip():
            self.texts.append(" ".join(data.split()))

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def entry(verdict="pass", suite="operators", name="add", **others) -> dict:
    return {"suite": suite, "name": name, "verdict": verdict, **others}


def parsed(document, baseline=None) -> Parsed:
    return Parsed(page.page_of(document, baseline))


def embedded(document) -> dict:
    return json.loads(parsed(document).scripts[0])


def test_the_first_line_counts_each_verdict_and_what_is_declared_unsupported():
    document = synthetic_document.of(
        [entry(), entry("unsupported"), entry("unsupported"), entry("fail")]
    )
    first_line = re.search(r"<h1>.*?</h1>", page.page_of(document), re.DOTALL).group()
    assert "acme · 1 pass F 1 fail" in Parsed(f"<body>{first_line}</body>").text
    assert "U 2 declared unsupported" in Parsed(f"<body>{first_line}</body>").text


def test_device_level_versions_machine_environment_and_samples_are_told():
    text = parsed(synthetic_document.of([entry()])).text
    for told in (
        "Level standard",
        "torch 2.13.0+cpu",
        "torch_acme 1.4.2",
        "Machine Linux x86_64, 2 CPUs",
        "Started 2026-11-25 19:00 UTC",
        "Took 10 min 41 s",
        "OUTBACK_LOG <warn>",
        "dtypes float32, bfloat16",
        "Sampled: 702 operators of 702",
    ):
        assert told in text


def test_each_suite_has_its_score_and_counts():
    entries = [entry(suite="streams")] * 2 + [entry("fail", "streams"), entry("skipped", "rng")]
    text = parsed(synthetic_document.of(entries)).text
    assert "streams Work is ordered by streams, and only by them 66.6 % 2 1 0 0 0 0 0" in text
    assert "rng Generators and their state no score 0 0 0 0 0 0 1" in text


def test_an_incomplete_run_says_so_before_all_numbers():
    text = parsed(synthetic_document.of([entry()], complete=False)).text
    assert "acme incomplete · 1 pass" in text
    assert "This run did not end." in text
    assert "incomplete" not in parsed(synthetic_document.of([entry()])).text


def test_a_run_of_nothing_has_no_score():
    text = parsed(synthetic_document.of([])).text
    assert "no score No entry passed or failed" in text
    assert "100 %" not in text


@pytest.mark.parametrize(
    ("totals", "shown"),
    [
        ({"pass": 3}, "100 %"),
        ({"pass": 9999, "fail": 1}, "99.9 %"),
        ({"pass": 1, "unsupported": 8, "skipped": 1}, "100 %"),
        ({"pass": 1, "expected": 1}, "50.0 %"),
        ({"fail": 2}, "0.0 %"),
        ({"unsupported": 2}, "no score"),
    ],
)
def test_a_score_is_rounded_down_and_leaves_out_the_unsupported(totals, shown):
    assert score.shown(score.of(totals)) == shown


def test_findings_carry_all_that_is_said_of_them_and_passes_nothing():
    said = {field: f"the {field}" for field in page_data.FIELDS}
    data = embedded(
        synthetic_document.of([{"verdict": "fail", **said}, entry(promise="of a pass")])
    )
    [finding] = data["findings"]
    verdict, *numbers = finding
    assert data["verdicts"][verdict] == ["fail", "F"]
    assert dict(zip(data["fields"], (data["texts"][n] for n in numbers), strict=True)) == said
    assert "of a pass" not in data["texts"]


def test_findings_come_worst_first_and_share_their_texts():
    document = synthetic_document.of(
        [
            entry("skipped", reason="why"),
            entry("fail"),
            entry("skipped", reason="why"),
            entry("crash"),
            entry("unsupported", reason="why"),
        ]
    )
    data = embedded(document)
    verdicts = [data["verdicts"][row[0]][0] for row in data["findings"]]
    assert verdicts == ["crash", "fail", "unsupported", "skipped", "skipped"]
    assert data["texts"].count("why") == 1


def test_a_heat_map_has_a_letter_for_each_dtype_and_phase():
    document = synthetic_document.of(
        [
            entry(dtype="int64", phase="forward"),
            entry("fail", dtype="float32", phase="backward"),
            entry("crash", name="sub", dtype="float8_e4m3fn", phase="forward"),
            entry("unsupported", name="sub"),
            entry(suite="streams", name="has no dtype"),
        ]
    )
    assert embedded(document)["maps"] == [
        {
            "suite": "operators",
            "dtypes": ["float32", "int64", "float8_e4m3fn", ""],
            "phases": ["forward", "backward", ""],
            "rows": [["add", " F ·        "], ["sub", "      C    U"]],
        }
    ]


def test_entries_of_one_cell_and_phase_show_the_worst():
    same = {"dtype": "bool", "phase": "forward"}
    document = synthetic_document.of([entry(**same), entry("fail", **same), entry(**same)])
    assert embedded(document)["maps"][0]["rows"] == [["add", "F"]]


def test_a_pass_is_not_hidden_by_what_was_skipped_beside_it():
    same = {"dtype": "bool", "phase": "forward"}
    document = synthetic_document.of([entry("skipped", **same), entry(**same)])
    assert embedded(document)["maps"][0]["rows"] == [["add", "·"]]


@pytest.mark.parametrize("hostile", synthetic_document.HOSTILE)
def test_hostile_texts_stay_texts(hostile, tmp_path):
    said = dict.fromkeys(page_data.FIELDS, hostile)
    document = synthetic_document.of(
        [{"verdict": "fail", **said}, {"verdict": "pass", **said}],
        device=hostile,
        level=hostile,
        machine=hostile,
        sampled=hostile,
        versions={hostile: hostile},
        environment={hostile: hostile},
        settings={hostile: [hostile]},
    )
    baseline = synthetic_document.of([{"verdict": "pass", **said}], device=hostile)
    page.write(document, tmp_path / "page.html", baseline)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    found = Parsed(text)
    assert len(found.scripts) == 3
    assert "<img" not in text and "<!--" not in text
    kept = hostile.replace("\x1b[31m", "").replace("\x1b[0m", "")
    assert kept in json.loads(found.scripts[0])["texts"]
    shown = hostile.replace("\udc80", "\\udc80")
    assert " ".join(shown.split()) in found.text


def test_the_page_asks_nothing_of_a_network():
    text = page.page_of(synthetic_document.document(operators=20, entries=2000))
    assert set(re.findall(r'(?:src|href|action)="([^"]*)"', text)) == {"#findings"}
    assert "url(" not in text and "@import" not in text
    assert "default-src 'none'" in Parsed(text).policy


def test_the_policy_lets_the_page_s_own_scripts_run_and_no_others():
    found = parsed(synthetic_document.of([entry()]))
    hashes = re.findall("'(sha256-[^']+)'", found.policy)
    assert hashes == [page._hash(script) for script in found.scripts[1:]]


def test_a_whole_run_is_a_small_page():
    document = synthetic_document.document()
    assert len(document["entries"]) == 13_000
    assert len(page.page_of(document).encode()) < 500_000


def test_a_run_in_which_everything_fails_is_still_a_page_that_opens():
    document = synthetic_document.of(
        [
            entry("fail", name=f"op_{n}", message=f"{n}" * 500, reproduction="x" * n, trace="<" * n)
            for n in range(13_000)
        ]
    )
    text = page.page_of(document)
    assert len(text.encode()) < 2_000_000
    data = json.loads(Parsed(text).scripts[0])
    assert len(data["findings"]) == 13_000
    assert data["left_out"] > 0


def test_a_long_text_loses_its_end_and_a_trace_its_beginning():
    long = "begin" + "-" * 2 * page_data.ONE_TEXT + "end"
    texts = embedded(synthetic_document.of([entry("fail", message=long, trace=long)]))["texts"]
    [message] = [text for text in texts if text.startswith("begin")]
    [trace] = [text for text in texts if text.endswith("end")]
    assert message.endswith("… (6008 characters more)")
    assert trace.startswith("(6008 characters more) …")


def test_what_changed_since_the_baseline_is_told_by_kind():
    now = synthetic_document.of(
        [
            entry("fail", name="broken", message="is <off> by one\nand more"),
            entry("unsupported", name="undeclared"),
            entry(name="mended"),
            entry("crash", name="worse"),
            entry("skipped", name="elsewhere"),
            entry(name="as before"),
            entry(name="newcomer"),
        ]
    )
    before = synthetic_document.of(
        [
            entry(name="broken"),
            entry(name="undeclared"),
            entry("expected", name="mended"),
            entry("fail", name="worse"),
            entry(name="elsewhere"),
            entry(name="as before"),
            entry(name="retired"),
        ],
        versions={"torch": "2.11.0+cpu", "torch_acme": "1.4.2"},
    )
    found = baseline.compare(before, now)
    worse = ["operators/broken", "operators/undeclared", "operators/worse"]
    assert [change.id for change in found.broke] == worse
    assert [change.id for change in found.mended] == ["operators/mended"]
    assert [change.id for change in found.other] == ["operators/elsewhere"]
    assert [change.id for change in found.new] == ["operators/newcomer"]
    assert [change.id for change in found.gone] == ["operators/retired"]

    text = parsed(now, before).text
    assert "torch 2.11.0+cpu 2.13.0+cpu (differs)" in text
    assert "torch_acme 1.4.2 1.4.2 3 broke" in text
    assert "3 broke worse than in the baseline" in text
    assert "pass → became F fail operators/broken is <off> by one" in text
    assert "and more" not in text
    assert "operators/as before" not in text


def test_a_baseline_with_the_same_verdicts_says_so():
    document = synthetic_document.of([entry(), entry("fail", name="sub")])
    assert (
        "Each entry has the verdict that it had in the baseline." in parsed(document, document).text
    )


def test_a_long_list_of_changes_ends_in_its_count():
    new = synthetic_document.of([entry(name=f"op_{n}") for n in range(250)])
    text = parsed(new, synthetic_document.of([])).text
    assert "250 new only in this run operators 250" in text
    assert "and 50 more" in text
