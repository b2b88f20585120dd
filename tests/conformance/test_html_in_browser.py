"""The page in a real browser: its filter, its search, its keys, its colours.

Needs Chromium, by OUTBACK_CHROMIUM or on the PATH, and `pip install playwright`, whose own browsers
are not used.
"""

import os
import shutil

import pytest
import synthetic_document

from conformance.report import html

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install it")

CHROMIUM = os.environ.get("OUTBACK_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="needs chromium on the PATH, or OUTBACK_CHROMIUM=/path/to/it"
)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The page of a whole run."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    html.write(synthetic_document.of(ENTRIES), path)
    return path


def sample(name, dtype, phase, verdict="pass", **others):
    return {"suite": "operators", "name": name, "dtype": dtype, "phase": phase} | {
        "verdict": verdict,
        **others,
    }


REPRODUCTION = 'import torch\n\nassert torch.ones(3, device="acme").sum() < 4 & 7  # </pre>\n'
ENTRIES = [
    *synthetic_document.document()["entries"],
    sample("unique_add", "float32", "forward"),
    sample("unique_add", "float32", "backward", "fail", message="off by one, uniquely"),
    sample("unique_add", "int64", "forward"),
    sample("unique_crash", "bool", "forward", "crash", message="bang", reproduction=REPRODUCTION),
    sample("unique_crash", "int8", "forward", "crash", message=synthetic_document.HOSTILE[0]),
    *(sample(f"unique_same_{n}", "bool", "out", "skipped", reason="twins") for n in range(3)),
]


@pytest.fixture
def page(browser, path):
    """The page opened; whatever it asks for, or writes as an error, fails the test."""
    page, wrong = opened(browser, path)
    yield page
    page.close()
    assert wrong == []


def opened(browser, path, **options):
    page = browser.new_page(viewport={"width": 1280, "height": 900}, **options)
    page.set_default_timeout(20_000)
    wrong = []
    page.on("request", lambda r: wrong.append(r.url) if r.url != path.as_uri() else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text))
    page.goto(path.as_uri())
    return page, wrong


def rows(page):
    return page.locator("#cells tbody th:visible").all_text_contents()


def titles(page):
    return page.locator(".finding > summary > code").all_inner_texts()


def search(page, query):
    page.locator("#query").fill(query)
    drawn(page)


def drawn(page):
    """Waits until the page has drawn what was typed: it does with the next frame."""
    page.evaluate("() => new Promise(requestAnimationFrame)")


def press(page, verdict):
    page.locator(f"#verdicts [data-verdict={verdict}]").click()


def test_all_operators_are_in_the_heat_map_at_first(page):
    assert page.locator("#cells tbody tr:visible").count() == 702 + 5
    assert page.locator("#map-count").inner_text() == "707 of 707 rows"


def test_a_search_limits_heat_map_and_findings(page):
    search(page, "unique_add")
    assert page.locator("#map-count").text_content() == "1 of 707 rows"
    assert rows(page) == ["unique_add"]
    assert titles(page) == ["operators/unique_add/float32/backward"]
    search(page, "uniquely OFF")
    assert page.locator("#findings-count").text_content().startswith("1 of ")
    assert rows(page) == ["unique_add"]


def test_verdicts_limit_both_and_show_all_takes_it_back(page):
    search(page, "unique")
    press(page, "fail")
    press(page, "crash")
    assert rows(page) == ["unique_add", "unique_crash"]
    assert len(titles(page)) == 3
    press(page, "fail")
    assert rows(page) == ["unique_crash"]
    page.locator("#reset").click()
    drawn(page)
    assert page.locator("#map-count").text_content() == "707 of 707 rows"
    assert page.locator("#query").input_value() == ""
    assert page.locator("[aria-pressed=true]").count() == 0


def test_a_search_that_nothing_matches_says_so(page):
    search(page, "no such operator")
    assert page.locator("#map-count").text_content() == "0 of 707 rows"
    assert page.locator("#none").is_visible()
    assert titles(page) == []


def test_a_phase_changes_what_the_cells_show(page):
    search(page, "unique_add")
    cell = page.locator("#cells td[aria-label^=float32]:visible")
    assert cell.count() == 1
    assert (cell.text_content(), cell.get_attribute("class")) == ("F", "fail")
    page.locator("#phase").select_option("forward")
    assert (cell.text_content(), cell.get_attribute("class")) == ("·", "pass")
    page.locator("#phase").select_option("noncontiguous")
    assert rows(page) == []


def test_a_cell_tells_its_phases_and_lists_its_findings(page):
    search(page, "unique_")
    cell = page.locator("#cells tr", has_text="unique_add").locator("td[aria-label^=float32]")
    cell.hover()
    assert page.locator("#cell").inner_text() == (
        "unique_add, float32: forward pass, backward fail"
    )
    cell.click()
    assert titles(page) == ["operators/unique_add/float32/backward"]
    page.get_by_role("button", name="only operators/unique_add/float32").click()
    assert len(titles(page)) == 4


def test_the_keyboard_reaches_search_cells_and_findings(page):
    page.keyboard.press("/")
    page.keyboard.type("unique_")
    drawn(page)
    assert page.locator("#map-count").text_content() == "5 of 707 rows"
    page.locator("#cells td[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    for _ in range(11):
        page.keyboard.press("ArrowRight")
    assert page.locator("#cell").inner_text() == "unique_crash, bool: forward crash"
    page.keyboard.press("Enter")
    assert titles(page) == ["operators/unique_crash/bool/forward"]
    page.keyboard.press("Tab")  # from the section to its check box, then to the first finding
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator(".finding[open] .reproduction pre").is_visible()


def test_a_suite_s_link_lists_its_findings(page):
    page.locator(".suites a", has_text="graphs").click()
    assert all(title.startswith("graphs") for title in titles(page))
    assert page.locator("#findings-count").inner_text().startswith("38 of ")


def test_findings_that_say_the_same_are_one_until_told_apart(page):
    search(page, "twins")
    assert page.locator(".finding").count() == 1
    page.locator(".finding summary").click()
    assert page.locator(".places li").all_inner_texts() == [
        f"operators/unique_same_{n}/bool/out" for n in range(3)
    ]
    page.locator("#together").uncheck()
    assert titles(page) == [f"operators/unique_same_{n}/bool/out" for n in range(3)]


def test_a_long_list_is_drawn_as_it_is_asked_for(page):
    page.locator("#together").uncheck()
    assert page.locator(".finding").count() == 100
    page.locator("#more").click()
    assert page.locator(".finding").count() == 200


def test_a_reproduction_is_copied_as_it_was_written(browser, path):
    page, wrong = opened(browser, path, permissions=["clipboard-read", "clipboard-write"])
    search(page, "bang")
    page.locator(".finding summary").click()
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("() => navigator.clipboard.readText()") == REPRODUCTION
    page.close()
    assert wrong == []


def test_a_hostile_message_is_shown_and_does_not_run(page):
    search(page, "window.broken")
    page.locator(".finding summary").click()
    assert page.locator(".body dd pre").inner_text() == synthetic_document.HOSTILE[0]
    assert page.evaluate("() => 'broken' in window") is False


def test_the_colours_follow_the_reader_s(browser, path):
    grounds = {}
    for scheme in ("light", "dark"):
        page, _ = opened(browser, path, color_scheme=scheme)
        grounds[scheme] = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        page.close()
    assert grounds == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_verdict_s_letter_stands_out_from_its_ground(browser, path, scheme):
    page, _ = opened(browser, path, color_scheme=scheme)
    for mark in page.locator("#verdicts .mark").all():
        ink, ground = mark.evaluate(
            "(mark) => [getComputedStyle(mark).color, getComputedStyle(mark).backgroundColor]"
        )
        assert contrast(ink, ground) >= 4.5, mark.get_attribute("class")
    page.close()


def contrast(one: str, other: str) -> float:
    """As the Web Content Accessibility Guidelines define it, of two "rgb(1, 2, 3)"."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    channels = [int(part) / 255 for part in colour.removeprefix("rgb(").rstrip(")").split(",")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_without_scripts_the_counts_and_scores_are_there(browser, path):
    page, _ = opened(browser, path, java_script_enabled=False)
    assert "declared unsupported" in page.locator("h1").inner_text()
    assert page.locator(".suites tbody tr").count() == len(synthetic_document.SUITES)
    assert page.locator("noscript").is_visible()
    assert not page.locator("#filter").is_visible()
    page.close()
