from dataclasses import replace

import pytest

from rag_pipeline.checks import CheckResult
from rag_pipeline.errors import ReleaseRefused
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.verdict import (
    Verdict,
    read_verdict,
    refusal,
    structural_verdict,
    write_verdict,
)

GOOD = Verdict("r2", "r1", "publish", "not worse", "e1", {"floor": True}, "2026-01-01T00:00:00Z")


def test_structural_verdict() -> None:
    good = structural_verdict("r2", baseline=None, checks={"a": CheckResult(True, ""), "b": CheckResult(True, "")})
    assert (good.decision, good.reason, good.checks) == (
        "publish",
        "all 2 structural checks passed",
        {"a": True, "b": True},
    )
    bad = structural_verdict(
        "r2", baseline="r1", checks={"b": CheckResult(False, "3 rows"), "a": CheckResult(True, "")}
    )
    assert (bad.decision, bad.reason, bad.baseline) == ("refuse", "b: 3 rows", "r1")


def test_no_check_allows_nothing() -> None:
    assert structural_verdict("r2", baseline=None, checks={}).decision == "refuse"


def test_stored_with_its_release_only(paths: CollectionPaths) -> None:
    paths.release("r2").mkdir(parents=True)
    assert read_verdict(paths.release("r2")) is None
    write_verdict(paths.release("r2"), GOOD)
    assert read_verdict(paths.release("r2")) == GOOD
    with pytest.raises(ReleaseRefused, match="a verdict for r3"):
        write_verdict(paths.release("r2"), replace(GOOD, release_id="r3"))


@pytest.mark.parametrize(
    ("found", "instead"),
    [('"publish"', '"yes"'), ("true", '"true"'), ("true", "1"), ("{", ""), ('"reason"', '"why"')],
)
def test_an_unreadable_verdict_allows_nothing(paths: CollectionPaths, found: str, instead: str) -> None:
    folder = paths.release("r2")
    folder.mkdir(parents=True)
    write_verdict(folder, GOOD)
    file = folder / "verdict.json"
    file.write_text(file.read_text().replace(found, instead, 1))
    with pytest.raises(ReleaseRefused, match="the verdict is void"):
        read_verdict(folder)


def test_what_a_verdict_allows() -> None:
    assert refusal(GOOD, release_id="r2", baseline="r1") is None
    assert refusal(replace(GOOD, baseline=None), release_id="r2", baseline=None) is None


@pytest.mark.parametrize(
    ("verdict", "message"),
    [
        (None, "it has no verdict"),
        (replace(GOOD, release_id="r9"), "void: it is about release r9"),
        (replace(GOOD, baseline="r0"), "void: it compared with r0, but r1 is in service now"),
        (replace(GOOD, baseline=None), "void: it compared with nothing, but r1 is in service"),
        (replace(GOOD, decision="refuse", reason="recall fell"), "refuses it: recall fell"),
        (replace(GOOD, checks={"floor": False}), "contradicts itself: it says publish, but floor failed"),
    ],
)
def test_what_it_does_not(verdict: Verdict | None, message: str) -> None:
    assert message in str(refusal(verdict, release_id="r2", baseline="r1"))
