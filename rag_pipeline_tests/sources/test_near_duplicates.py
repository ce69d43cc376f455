"""Sketches of shingles, and the reports that follow from them."""

import pytest

from rag_pipeline.sources import near_duplicates
from rag_pipeline.sources.near_duplicates import NearDuplicates, similarity, sketch_of

PAGE = " ".join(f"word{i}" for i in range(200))
OTHER = " ".join(f"other{i}" for i in range(200))


def test_sketches() -> None:
    page = sketch_of(PAGE)
    other = sketch_of(OTHER)
    assert page is not None
    assert other is not None
    assert similarity(page, page) == 1
    assert similarity(page, other) == 0
    assert sketch_of("too short") is None


def test_letter_case_and_spaces_do_not_matter() -> None:
    page, again = sketch_of(PAGE), sketch_of(PAGE.upper().replace(" ", "\n  "))
    assert page is not None
    assert again is not None
    assert similarity(page, again) == 1


def test_the_estimate_is_near_the_true_similarity() -> None:
    """Half of each text is shared: 98 of 294 shingles are common, so the similarity is 0.33."""
    a = sketch_of(" ".join(f"w{i}" for i in range(200)))
    b = sketch_of(" ".join(f"w{i}" for i in range(98, 298)))
    assert a is not None
    assert b is not None
    assert similarity(a, b) == pytest.approx(98 / 294, abs=0.15)


def test_revisions_that_differ_by_a_date_are_reported() -> None:
    near = NearDuplicates()
    assert near.nearest("other", OTHER) is None
    assert near.nearest("v1", f"{PAGE} revised 2024-01-01") is None
    for version in range(2, 9):
        found = near.nearest(f"v{version}", f"{PAGE} revised 2024-0{version}-01")
        assert found is not None
        assert found[0].startswith("v")
        assert found[1] >= 0.9


def test_reports_are_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "MAX_REPORTS", 2)
    near = NearDuplicates()
    found = [near.nearest(f"v{i}", PAGE) for i in range(6)]
    assert [f is not None for f in found] == [False, True, True, False, False, False]
    assert "after 2 reports" in near.stopped


def test_a_very_long_text_is_cut_not_refused() -> None:
    assert sketch_of("many different words here " * 100_000) is not None
