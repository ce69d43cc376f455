"""The page is opened by people from a mail: whatever stands in questions, tags and names, it must stay text."""

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from rag_pipeline.errors import MissingExtra
from rag_pipeline.evaluation.arms import arms_of
from rag_pipeline.evaluation.experiment import Experiment, QueryRun, RankedSection
from rag_pipeline.evaluation.report import plots
from rag_pipeline.evaluation.report.page import html_report
from rag_pipeline.settings.gate import GateSettings
from rag_pipeline_tests.evaluation.builders import experiment

SETTINGS = GateSettings(resamples=99)
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=https://evil.example/x onerror=alert(1)>',
    "</style><script>alert(2)</script>",
    "{{ 7 * 7 }}{% for x in y %}",
    "$\\frac{1}{0$ --> ]]> &amp; &lt;",
    "_hidden",
    "東京大学 \u202e right to left \x1b[31m\x00",
    "javascript:alert(3)",
    "a\nb",
)
VOID = {"meta", "br", "img", "link", "input", "hr"}


def questions(values, *, names=HOSTILE, ms=10.0):
    return tuple(
        QueryRun(
            f"q{i}",
            names[i % len(names)],
            (names[(i + 1) % len(names)],),
            "scored",
            (RankedSection(f"{names[i % len(names)]}#1", names[i % len(names)], 0, 5),),
            {"ndcg_at_10": value},
            timings_ms={"total": ms + i},
            recall_curve=tuple(min(1.0, value + 0.05 * k) for k in range(10)),
        )
        for i, value in enumerate(values)
    )


class Reader(HTMLParser):
    """Tags, attributes and visible text as a browser would see them; open tags must match."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] != "style":
            self.text += data


@pytest.fixture(scope="module")
def hostile() -> str:
    runs = {
        "_a<b>": questions([1.0, 0.5, 0.2] * 6),
        "$b$": questions([0.5, 0.5, 0.9] * 6),
        "<script>": (QueryRun("q0", "x", (), "failed", error="<b>E</b>"),),
    }
    found = replace(experiment("r<i>", runs), eval_set="<u>set</u>")
    return html_report([found], reference="_a<b>", settings=SETTINGS, title="<h1>x", notes=("<em>note",))


def test_hostile_texts_stay_text(hostile):
    read = Reader(hostile)
    assert not {"script", "img", "iframe", "object", "embed", "link", "form", "u", "i", "b", "em", "base"} & set(
        read.tags
    )
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    for text in (*HOSTILE[:4], "<b>E</b>", "<u>set</u>", "<em>note", "_a<b>", "$b$"):
        assert text in read.text, text


def test_the_page_needs_nothing_from_elsewhere(hostile):
    read = Reader(hostile)
    for name, value in read.attributes:
        if name in ("href", "xlink:href", "src", "action", "data"):
            assert value is not None and value.startswith("#"), (name, value)
    outside = re.sub(r"(?s)<(summary|li|td|th|strong|p|h3|h4)\b.*?</\1>", "", hostile)
    assert "http:" not in outside and "https:" not in outside and "@import" not in outside and "url(//" not in outside
    assert "default-src 'none'" in hostile


def test_the_page_is_accessible_and_adapts(hostile):
    read = Reader(hostile)
    ids = [value for name, value in read.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    used = {v[1:] for n, v in read.attributes if n in ("href", "xlink:href") and v}
    used |= set(re.findall(r"url\(#([^)]+)\)", hostile))
    used |= {v for n, v in read.attributes if n == "aria-labelledby"}
    assert used <= set(ids)
    assert hostile.count('role="img"') == 3 and hostile.count("<title") == 4
    assert ("lang", "en") in read.attributes and ("name", "viewport") in read.attributes
    assert "prefers-color-scheme: dark" in hostile and "currentColor" in hostile and plots.INK not in hostile
    scopes = [value for name, value in read.attributes if name == "scope"]
    assert scopes.count("row") > 10 and scopes.count("col") > 10
    assert next(tag for tag in read.tags if re.fullmatch("h[1-6]", tag)) == "h1"


def test_what_was_compared_and_found_is_told(hostile):
    text = " ".join(Reader(hostile).text.split())
    for part in ("r<i>", "build-r<i>", "e" * 20, "could not run: <b>E</b>", "Greatest losses", "four times in five"):
        assert part in text, part
    assert text.index("Leaderboard") < text.index("What could not run") < text.index("What was compared")


def test_the_same_values_give_the_same_bytes():
    found = experiment("r", {"a": questions([1.0, 0.5]), "b": questions([0.5, 0.5])})
    assert html_report([found], reference="a", settings=SETTINGS) == html_report(
        [found], reference="a", settings=SETTINGS
    )


def test_several_releases_stand_beside_each_other():
    old = experiment("a" * 20, {"hybrid": questions([0.5] * 20)})
    new = experiment("b" * 20, {"hybrid": questions([0.9] * 20)})
    text = " ".join(Reader(html_report([old, new], reference="hybrid", settings=SETTINGS)).text.split())
    assert "hybrid @ bbbbbbbb against hybrid @ aaaaaaaa: better" in text


@pytest.mark.parametrize("runs", [{"a": ()}, {"a": (QueryRun("q", "?", (), "unresolved"),)}, {}])
def test_a_page_about_nothing_is_a_page(runs):
    found = experiment("r", runs)
    page = html_report([found], reference="a", settings=SETTINGS)
    assert "There is nothing to compare" in Reader(page).text


def test_plots_are_well_formed_and_hold_their_names_as_text():
    arms = arms_of([Experiment(**{**_fields(), "runs": {"$x_1$": questions([0.5] * 3), "_y": questions([0.1] * 3)}})])
    for svg in (
        plots.recall_curves(arms),
        plots.latency_boxes(arms),
        plots.quality_against_latency(arms, metric="ndcg_at_10", resamples=99, seed=0),
    ):
        element = ElementTree.fromstring(svg.replace("xlink:href", "href"))
        shown = {"".join(t.itertext()) for t in element.iter("text")}
        assert "$x_1$" in shown and "\u200b_y" in shown
        assert not list(element.iter("style")) and "<metadata" not in svg


def test_the_recall_curve_is_the_mean_of_the_questions():
    arms = arms_of([experiment("r", {"a": questions([0.0, 1.0])})])
    assert plots.recall_curve(arms[0])[:3] == pytest.approx([0.5, 0.525, 0.55])


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_a_missing_package_names_the_extra(package, monkeypatch):
    for name in [n for n in sys.modules if n.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    found = experiment("r", {"a": questions([1.0, 0.5])})
    with pytest.raises(MissingExtra, match=rf"{package}.*\[eval\]"):
        html_report([found], reference="a", settings=SETTINGS)


def _fields():
    found = experiment("r", {})
    return {name: getattr(found, name) for name in found.__dataclass_fields__}
