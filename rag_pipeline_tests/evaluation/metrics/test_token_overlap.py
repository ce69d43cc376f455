import csv
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.evaluation.metrics.token_overlap import Overlap, token_overlap

SHARED = Path(os.environ.get("RAG_PIPELINE_SHARED", Path(__file__).parents[4] / "shared" / "data"))


@pytest.mark.parametrize(
    ("returned", "labelled", "expected"),
    [
        # 100-200 returned, 150-250 labelled: 50 in common of 100, 100 and 150
        ([("d", 100, 200)], [("d", 150, 250)], Overlap(0.5, 0.5, 50 / 150)),
        # two labelled passages of 20 and 30, of which 20 + 10 lie in what was returned (100 + 50)
        ([("d", 0, 100), ("d", 200, 250)], [("d", 40, 60), ("d", 240, 270)], Overlap(30 / 50, 30 / 150, 30 / 170)),
        # overlapping passages count once, on both sides
        ([("d", 0, 60), ("d", 40, 100), ("d", 0, 60)], [("d", 50, 80), ("d", 70, 90)], Overlap(1.0, 0.4, 0.4)),
        # spans that touch
        ([("d", 0, 10), ("d", 10, 20)], [("d", 0, 20)], Overlap(1.0, 1.0, 1.0)),
        ([("d", 0, 10)], [("d", 10, 20)], Overlap(0.0, 0.0, 0.0)),
        # the same offsets of another document
        ([("e", 0, 10)], [("d", 0, 10)], Overlap(0.0, 0.0, 0.0)),
        ([("e", 0, 10), ("d", 0, 10)], [("d", 0, 10)], Overlap(1.0, 0.5, 0.5)),
        ([], [("d", 0, 10)], Overlap(0.0, 0.0, 0.0)),
        ([("d", 5, 5)], [("d", 0, 10)], Overlap(0.0, 0.0, 0.0)),
    ],
)
def test_hand_worked(returned, labelled, expected):
    found = token_overlap(returned, labelled)
    assert (found.recall, found.precision, found.iou) == pytest.approx(
        (expected.recall, expected.precision, expected.iou)
    )


@pytest.mark.parametrize("labelled", [[], [("d", 3, 3)]])
def test_no_labelled_text_is_refused(labelled):
    with pytest.raises(ValueError, match="score questions without an answer apart"):
        token_overlap([("d", 0, 1)], labelled)


spans = st.lists(
    st.tuples(st.sampled_from("de"), st.integers(0, 30), st.integers(1, 8)).map(lambda s: (s[0], s[1], s[1] + s[2])),
    max_size=6,
)


@given(spans, spans.filter(bool))
def test_agrees_with_sets_of_characters(returned, labelled):
    mine = {(d, i) for d, start, end in returned for i in range(start, end)}
    theirs = {(d, i) for d, start, end in labelled for i in range(start, end)}
    found = token_overlap(returned, labelled)
    assert found.recall == pytest.approx(len(mine & theirs) / len(theirs))
    assert found.precision == pytest.approx(len(mine & theirs) / len(mine) if mine else 0)
    assert found.iou == pytest.approx(len(mine & theirs) / len(mine | theirs))


@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"no shared data at {SHARED}")
def test_published_spans_hold_their_quotes_and_are_found_whole():
    text = (SHARED / "chunking-eval" / "state_of_the_union.md").read_text("utf-8")
    with (SHARED / "chunking-eval" / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["corpus_id"] == "state_of_the_union"]
    assert rows
    for row in rows:
        references = json.loads(row["references"])
        labelled = [("doc", r["start_index"], r["end_index"]) for r in references]
        assert all(text[start:end] == r["content"] for (_, start, end), r in zip(labelled, references, strict=True))
        characters = {i for _, start, end in labelled for i in range(start, end)}
        whole = token_overlap([("doc", 0, len(text))], labelled)
        assert whole.recall == 1.0
        assert whole.precision == whole.iou == pytest.approx(len(characters) / len(text))
