"""The playground in a real Chromium, by keyboard alone; skipped where /usr/bin/chromium or its driver is absent."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from rag_pipeline.serving.app import create_app
from rag_pipeline.serving.settings import ServingSettings
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import SECRET_WORD, settings_of, token, write_keys
from rag_pipeline_tests.serving.browser import CHROMIUM, DRIVER, ENTER, ESCAPE, SPACE, TAB, Browser, chromium
from rag_pipeline_tests.serving.live import listening
from rag_pipeline_tests.stages import document

pytestmark = pytest.mark.skipif(
    not (CHROMIUM.exists() and DRIVER.exists()), reason="no /usr/bin/chromium with chromedriver on this machine"
)
FOCUSED = "const e = document.activeElement; return e === document.body ? '' : e.id || e.value || e.textContent"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
def address(served: Served) -> Iterator[str]:
    with listening(create_app(settings_of(served))) as address:
        yield address


def columns(browser: Browser) -> dict[str, list[str]]:
    """Documents by strategy, in rank order."""
    found: dict[str, list[str]] = browser.run(
        "return Object.fromEntries(Array.from(document.querySelectorAll('.column'), (c) => [c.dataset.strategy,"
        " Array.from(c.querySelectorAll('.hit'), (h) => h.dataset.document)]))"
    )
    return found


def search(browser: Browser, query: str) -> None:
    browser.run("document.getElementById('query').focus(); document.getElementById('query').select()")
    browser.press(query + ENTER)
    browser.wait("document.getElementById('status').textContent.endsWith('answered')")


def tab_to(browser: Browser, name: str) -> None:
    for _ in range(80):
        if name in browser.run(FOCUSED):
            return
        browser.press(TAB)
    raise AssertionError(f"no {name!r} within reach of the Tab key")


def test_compare_read_and_share_by_keyboard(browser: Browser, address: str, tmp_path: Path) -> None:
    browser.open(address)
    browser.wait("document.querySelectorAll('input[name=strategy]').length")
    assert browser.run(FOCUSED) == "query"
    search(browser, "pump oil")
    found = columns(browser)
    assert set(found) == {"bm25", "hybrid"}
    assert found["bm25"][0] == found["hybrid"][0] == "pump.md"

    # A third strategy, by Tab and Space.
    tab_to(browser, "vector")
    browser.press(SPACE)
    search(browser, "pump oil")
    assert set(columns(browser)) == {"bm25", "hybrid", "vector"}
    shown = browser.run("return document.querySelector('[data-strategy=hybrid]').innerText")
    assert "Timings by stage" in shown and "bm25: rank 1 · vector: rank 1" in shown

    # Timings and reasons are there once unfolded.
    tab_to(browser, "Timings by stage")
    browser.press(ENTER)
    assert "rank" in browser.run("return document.querySelector('.timings[open]').innerText")
    tab_to(browser, "Why here?")
    browser.press(ENTER)
    why = browser.run("return document.querySelector('.why[open]').innerText")
    assert "fused\t" in why and "Place there" in why

    # The hit in its document, and back to where one was.
    browser.run("document.querySelector('[data-strategy=hybrid] .hit h3 button').focus()")
    browser.press(ENTER)
    assert browser.wait("document.querySelector('#document-text mark')?.textContent") == "The pump moves oil."
    assert browser.run("return document.getElementById('document-text').textContent").startswith("# Pump\n\nThe pump")
    if folder := os.environ.get("RAG_PIPELINE_SCREENSHOTS"):
        browser.screenshot(Path(folder) / "document.png")
    link = browser.run("return location.href")
    browser.press(ESCAPE)
    browser.wait("!document.getElementById('document').open")
    assert browser.run(FOCUSED) == "pump.md"
    if folder:
        browser.screenshot(Path(folder) / "columns.png")

    # The link shows the same view in another tab, the opened document included.
    assert json.loads(parse_qs(urlsplit(link).fragment)["open"][0]) == ["pump.md", 8, 27]
    browser.open("about:blank")
    browser.open(link)
    browser.wait("document.querySelector('#document-text mark')?.textContent === 'The pump moves oil.'")
    assert set(columns(browser)) == {"bm25", "hybrid", "vector"}
    assert browser.run("return document.getElementById('query').value") == "pump oil"
    assert browser.log() == []


def test_filters_and_offsets_after_emoji(browser: Browser, address: str) -> None:
    browser.open(f"{address}/#q=caf%C3%A9&s=bm25")
    browser.wait("document.querySelectorAll('.hit').length")
    tab_to(browser, "add-filter")
    browser.press(ENTER)
    browser.run(
        "const [key, operator] = document.querySelectorAll('#filter-list select');"
        "key.value = 'language'; key.dispatchEvent(new Event('change'));"
        "operator.value = 'in'; operator.dispatchEvent(new Event('change'));"
        "document.querySelector('#filter-list input').focus()"
    )
    browser.press("ja, de")
    search(browser, "opens")
    assert columns(browser) == {"bm25": ["tokyo.md"]}
    assert parse_qs(urlsplit(browser.run("return location.href")).fragment)["f"] == ['["language","in","ja, de"]']
    browser.run("document.querySelector('.hit h3 button').click()")
    assert browser.wait("document.querySelector('#document-text mark')?.textContent") == "The café 👩‍🚀 opens at 9."


def test_errors_are_shown_where_they_happen(browser: Browser, address: str) -> None:
    browser.open(f"{address}/#q=x&s=bm25&f={json.dumps(['updated', 'gte', 'soon'])}")
    assert "is not a date" in browser.wait("document.querySelector('.column .problem')?.textContent")


def test_nothing_comes_from_elsewhere_and_documents_are_text(browser: Browser, served: Served) -> None:
    served.publish([document("evil.md", "<img src=x onerror=\"document.title='owned'\"> pump <b>bold</b>")], name="2")
    with listening(create_app(settings_of(served))) as address:
        browser.open(f"{address}/#q=pump&s=bm25")
        browser.wait("document.querySelectorAll('.hit').length")
        assert "<b>bold</b>" in browser.run("return document.querySelector('.excerpt').textContent")
        loaded = browser.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
        assert loaded and all(url.startswith(address) for url in loaded)
        assert browser.run("return document.title") == "Retrieval playground"
        # The policy holds even if a script got in.
        browser.run(
            "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)"
        )
        assert browser.run("return window.ran === undefined")
        assert any("Content Security Policy" in line for line in browser.log())


def test_what_answers_is_said_by_keyboard_where_questions_are_recorded(
    browser: Browser, address: str, served: Served
) -> None:
    browser.open(f"{address}/#q=pump&s=bm25")
    browser.wait("document.querySelectorAll('.hit').length")
    assert browser.run("return document.querySelectorAll('.rate').length") == 0
    assert "recorded" not in browser.run("return document.getElementById('about').textContent")
    with listening(create_app(settings_of(served), serving=ServingSettings(query_log=True))) as recording:
        browser.open(f"{recording}/#q=pump&s=bm25")
        browser.wait("document.querySelectorAll('.hit').length")
        assert browser.run("return document.getElementById('about').textContent").endswith("questions are recorded")
        names = browser.run("return Array.from(document.querySelectorAll('.rate'), (b) => b.ariaLabel)")
        hits = len(columns(browser)["bm25"])
        assert names == [
            *(f"This answers it: result {n} of bm25" for n in range(1, hits + 1)),
            "None of these: bm25",
        ]
        tab_to(browser, "This answers it")
        browser.press(ENTER)
        browser.wait("document.getElementById('status').textContent === 'Thank you, noted'")
        assert browser.run("return document.activeElement.getAttribute('aria-pressed')") == "true"
        browser.press(ENTER)  # once is enough
        tab_to(browser, "None of these")
        browser.press(SPACE)
        browser.wait("document.activeElement.getAttribute('aria-pressed') === 'true'")
        if folder := os.environ.get("RAG_PIPELINE_SCREENSHOTS"):
            browser.screenshot(Path(folder) / "feedback.png")
    (segment,) = served.home.query_log.glob("*.jsonl")
    records = [json.loads(line) for line in segment.read_text("utf-8").splitlines()]
    said = [(r["rating"], r["rank"]) for r in records if r["kind"] == "feedback"]
    assert said == [("useful", 1), ("not_useful", None)]
    assert browser.log() == []


def test_a_key_and_the_user_it_names(browser: Browser, served: Served, tmp_path: Path) -> None:
    options = ServingSettings(keys=write_keys(tmp_path / "keys.toml"))
    with listening(create_app(settings_of(served), serving=options)) as address:
        browser.open(f"{address}/#q=budget%20nine%20million&s=bm25")
        browser.wait("document.getElementById('about').textContent.startsWith('Unauthorized')")
        assert browser.run("return document.getElementById('access').open")
        browser.run("document.getElementById('key').focus()")
        browser.press(token("bot") + ENTER)
        browser.wait("document.getElementById('about').textContent === 'bot, as bot'")
        search(browser, "budget nine million")
        assert columns(browser) == {"bm25": ["budget.md"]}
        browser.run("document.getElementById('act-as').value = 'maria'")
        browser.run("document.getElementById('act-as-groups').value = 'finance, people'")
        browser.run("document.getElementById('connect').click()")
        browser.wait("document.getElementById('about').textContent === 'bot, as maria'")
        search(browser, "budget nine million")
        assert columns(browser)["bm25"][0] == "secret.md"
        link = browser.run("return location.href")
        assert token("bot") not in link and "maria" not in link and SECRET_WORD not in link
    browser.log()
