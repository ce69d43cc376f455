"""Every reason once, on collections made so that exactly that stage loses the passage."""

import json
from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import pytest

from rag_pipeline.evaluation.debug.values import Diagnosis
from rag_pipeline.index.open import Index
from rag_pipeline.schema import Document, LedgerEntry, Principal, Section
from rag_pipeline_tests.retrieval.fake_reranker import install
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document, pieces, pumps

Run = Callable[..., Diagnosis]


def place(found: Diagnosis, stage: str) -> int | None:
    return next(p.rank for p in found.places if p.stage == stage)


def test_found_and_where(served: Served, diagnosed: Run) -> None:
    served.publish(pumps())
    found = diagnosed("replace the filter", "pump.md#Replace the filter monthly.")
    assert (found.reason, found.rank, found.document) == ("found", 1, "pump.md")
    assert [place(found, s) for s in ("vector", "bm25", "fused", "evidence", "returned")] == [1] * 5
    assert found.suggestions == () and found.notes == ()
    assert found.strategies == {"vector": 1, "bm25": 1, "rrf": 1, "hnsw": 1}
    assert [(t.token, t.chunks, t.in_passage) for t in found.terms] == [
        ("replac", 1, True),
        ("the", 4, True),
        ("filter", 1, True),
    ]


def test_a_document_nobody_knows(served: Served, diagnosed: Run) -> None:
    served.publish(pumps())
    found = diagnosed("filter", "pmp.md#anything")
    assert (found.reason, found.document, found.places) == ("unknown_document", None, ())
    assert "'pump.md'" in found.message


@pytest.mark.parametrize(
    ("entry", "path", "message", "advice"),
    [
        (
            LedgerEntry("a.md", "read", "skipped", "too_large", "9 bytes"),
            "a.md",
            "too_large (9 bytes)",
            "max_file_bytes",
        ),
        (LedgerEntry("old/", "read", "skipped", "excluded"), "old/a/b.md", "old/ was skipped", "exclude"),
        (LedgerEntry("a.md", "read", "failed", "malformed", "SECRET"), "a.md", "failed", "mend"),
        (LedgerEntry("a.md", "read", "skipped", "some_new_rule"), "a.md", "some_new_rule", "re-index"),
    ],
)
def test_an_input_that_was_not_read(
    served: Served, diagnosed: Run, entry: LedgerEntry, path: str, message: str, advice: str
) -> None:
    served.publish(pumps(), left_out=[entry])
    found = diagnosed("filter", path)
    assert found.reason == "not_indexed"
    assert message in found.message and "SECRET" not in found.message
    assert advice in found.suggestions[0].advice and found.suggestions[0].works is None
    told = diagnosed("filter", path, principal=Principal.system()).message
    assert entry.detail in told


def test_a_duplicate_is_found_under_the_other_name(served: Served, diagnosed: Run) -> None:
    copy = document("copy.md", "Replace the filter monthly.", title="Pump", canonical_id="pump.md")
    served.publish([*pumps(), copy])
    found = diagnosed("replace the filter", "copy.md")
    assert (found.reason, found.document, found.rank) == ("found", "pump.md", 1)
    assert "copy.md" in found.notes[0]


def test_a_passage_that_is_not_in_the_document(served: Served, diagnosed: Run) -> None:
    served.publish(pumps())
    assert diagnosed("filter", "pump.md#Replace it daily.").reason == "no_such_passage"
    assert diagnosed("filter", "pump.md#Replace  the filter\nmonthly.").reason == "found"


def test_a_piece_that_was_left_out(served: Served, diagnosed: Run) -> None:
    page = document("page.md", "The first paragraph stays.", "dGhlIHNlY29uZA==", body_start=8)
    sections, chunks = pieces(page)
    lost = LedgerEntry("page.md", "chunk", "filtered", "base64", start=sections[1].start, end=sections[1].end)
    served.publish([page], sections=sections[:1], chunks=chunks[:1], left_out=[lost])
    found = diagnosed("second", "page.md#dGhlIHNlY29uZA==")
    assert found.reason == "passage_filtered"
    assert f"base64 at {lost.start}:{lost.end}" in found.message
    assert "front matter" in diagnosed("page", "page.md#Page").message


def test_a_chunk_without_a_vector(served: Served, diagnosed: Run) -> None:
    page = document("page.md", "The first paragraph stays.", "The second has no vector.")
    served.publish([page], rows=[0])
    found = diagnosed("second", "page.md#The second has no vector.")
    assert found.reason == "passage_filtered"
    assert "not_finite" in found.message and "vector" in found.suggestions[0].advice


def test_a_document_that_the_principal_may_not_read(served: Served, diagnosed: Run) -> None:
    """Neither its words nor where it would rank is told: which of the query's words it holds is its text, too."""
    secret = document("hidden.md", "zanzibar pays for the pump", "short", access=("group:g",))
    served.publish([*pumps(), secret])
    for reader in (None, Principal("ada"), Principal("ada", ("h",))):
        found = diagnosed("who pays for the pump", "hidden.md#zanzibar pays for the pump", principal=reader)
        assert (found.reason, found.document) == ("not_permitted", None)
        assert (found.places, found.terms, found.nearness, found.strategies) == ((), (), None, {})
        assert found == diagnosed("who pays for the pump", "hidden.md#zanzibar pays for the pump", principal=reader)
        assert "short" not in json.dumps(asdict(found))
    wrong = diagnosed("pump", "hidden.md#not in it", principal=None)
    assert wrong.reason == "not_permitted"  # and not "no such passage", which would tell
    assert diagnosed("who pays for the pump", "hidden.md", principal=Principal("ada", ("g",))).reason == "found"


def test_counts_of_words_are_of_what_the_principal_may_read(served: Served, diagnosed: Run) -> None:
    served.publish([*pumps(), document("hidden.md", "zanzibar pays", access=("group:g",))])
    terms = {t.token: t.chunks for t in diagnosed("zanzibar pump", "pump.md").terms}
    assert terms == {"zanzibar": 0, "pump": 3}


def test_a_filter_that_leaves_it_out(served: Served, diagnosed: Run) -> None:
    served.publish([document("a.md", "oil pump", category="oil"), document("b.md", "water pump", category="water")])
    found = diagnosed("oil pump", "a.md", filters={"category": "water", "source": {"in": ["a.md", "b.md"]}})
    assert (found.reason, found.message) == ("filtered_out", "the filter on category leaves it out")
    (advice,) = found.suggestions
    assert (advice.settings, advice.works, advice.rank) == ({"filters": {"source": {"in": ["a.md", "b.md"]}}}, True, 1)


def test_a_filter_that_was_read_from_the_question(served: Served, diagnosed: Run) -> None:
    served.publish([document("a.md", "the pump"), document("b.md", "the pump, die Pumpe", language="de")])
    found = diagnosed("german pages about the pump", "a.md", read_filters="rules")
    assert (found.reason, found.message) == ("filtered_out", "the filter on language leaves it out")
    (advice,) = found.suggestions
    assert (advice.settings, advice.works) == ({"read_filters": "none"}, True)


def test_filters_that_leave_it_out_only_together(served: Served, diagnosed: Run) -> None:
    page = document("a.md", "oil pump", category="oil", tags=("x",))
    other = document("b.md", "oil pump too", category="oil", tags=("y",))
    served.publish([page, other])
    found = diagnosed("oil", "a.md", filters={"category": "oil", "tags": ["y"]})
    assert found.message == "the filter on tags leaves it out"


def test_deeper_than_the_candidates(served: Served, diagnosed: Run) -> None:
    served.publish([document(f"{n:02}.md", "pump " * (9 - n) + "oil " * n) for n in range(6)])
    found = diagnosed("pump", "05.md", candidates=2, top_k=2)
    assert found.reason == "not_a_candidate"
    assert found.message == "no leg has it among its first 2: vector ranks it 6 of 6; bm25 ranks it 6 of 6"
    assert (place(found, "vector"), place(found, "fused")) == (6, None)
    working = [s.settings for s in found.suggestions if s.works]
    assert working == [{"candidates": 100, "top_k": 6}]
    assert found.nearness is not None
    assert found.nearness.passage < found.nearness.last_candidate < found.nearness.best


def test_a_leg_that_the_strategy_does_not_use(served: Served, diagnosed: Run) -> None:
    """Row order must not stand in for a BM25 rank where no word is shared."""
    served.publish([document("a.md", "oil"), document("b.md", "pump pump pump"), document("c.md", "a pump")])
    found = diagnosed("oil wells", "a.md", strategy="bm25", candidates=1, top_k=1)
    assert found.reason == "found"
    found = diagnosed("pumps", "a.md", strategy="bm25")
    assert found.reason == "not_a_candidate"
    assert found.message.endswith("bm25 has no word of the query in it")
    vector = next(p for p in found.places if p.stage == "vector")
    assert not vector.used and vector.rank is not None
    assert any(s.settings == {"vector_weight": 0.6} and s.works for s in found.suggestions)


def test_overlooked_by_hnsw(served: Served, diagnosed: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    served.publish(pumps())
    monkeypatch.setattr(Index, "nearest", lambda self, vector, *, limit: [0, 1])
    found = diagnosed("the filter", "pump.md#Replace the filter monthly.", strategy="hnsw", top_k=1)
    # Rows follow document ids: agents.md has rows 0 to 2.
    assert found.reason == "not_a_candidate"
    assert found.message.startswith("HNSW overlooked it")
    assert {"search": "exact"} in [s.settings for s in found.suggestions if s.works]


def common_and_rare() -> list[Document]:
    common = [document(f"c{n:02}.md", "common usual words here", title="x") for n in range(10)]
    return [*common, document("rare.md", "rare and seldom met elsewhere", title="x")]


def test_lost_in_fusion(served: Served, diagnosed: Run) -> None:
    """BM25 prefers the rare word, the vectors the page that is nearer by its common ones."""
    served.publish(common_and_rare())
    found = diagnosed("rare common usual words", "rare.md", top_k=1, evidence=0.0, vector_weight=0.9)
    assert place(found, "bm25") is not None
    assert found.reason == "fusion", found.message
    assert found.message.startswith("fusing both legs moves it from 1 by bm25 to ")
    best = found.suggestions[0]
    assert best.works and best.rank == 1


def test_lost_to_document_evidence(served: Served, diagnosed: Run) -> None:
    many = document("many.md", *(f"pump oil {n}" for n in range(3)), title="Oil")
    served.publish([document("one.md", "pump oil", title="Pump"), many, document("far.md", "a bed of roses")])
    found = diagnosed("pump oil", "one.md", top_k=1, evidence=20.0)
    assert found.reason == "evidence", found.message
    assert found.message.startswith("the evidence of other documents moves it from 1 to ")
    assert {"evidence": 0.0} in [s.settings for s in found.suggestions if s.works]


def test_lost_to_chunks_with_the_identifier(served: Served, diagnosed: Run) -> None:
    pages = {"meant.md": "agent agent agent", "named.md": "create_agent", "far.md": "roses"}
    served.publish([document(name, text, title="t") for name, text in pages.items()])
    found = diagnosed("create_agent agent", "meant.md", top_k=1, evidence=0.0, strategy="vector", exact=1.0)
    assert found.reason == "exact", found.message
    assert found.message.startswith("putting chunks with the query's identifiers in front moves it from 1 to 2")
    assert {"exact": 0.0} in [s.settings for s in found.suggestions if s.works]


def test_an_overlapping_section_stands_for_it(served: Served, diagnosed: Run) -> None:
    page = document("page.md", "alpha beta gamma delta epsilon")
    (section,), (chunk,) = pieces(page)
    half = section.start + len("alpha beta gamma")
    first = Section("s-first", "page.md", 0, section.start, half, section.headers, "prose")
    second = Section("s-second", "page.md", 1, section.start + len("alpha "), section.end, section.headers, "prose")
    chunks = [
        type(chunk)(
            **{
                **asdict(chunk),
                "chunk_id": s.section_id,
                "section_id": s.section_id,
                "ordinal": s.ordinal,
                "start": s.start,
                "end": s.end,
                "text": page.text[s.start : s.end],
                "search_text": page.text[s.start : s.end],
            }
        )
        for s in (first, second)
    ]
    served.publish([page], sections=[first, second], chunks=chunks)
    found = diagnosed("alpha beta gamma", "page.md#delta epsilon")
    assert found.reason == "overlap", found.message
    assert f"{first.start}:{first.end}" in found.message
    assert found.suggestions[-1].works is None


def test_lost_in_reranking(served: Served, diagnosed: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    served.publish(pumps())
    install(monkeypatch, lambda _, passage: -float("Replace" in passage.text))
    asked = {"reranker": "fake", "rerank_weight": 1.0, "top_k": 1, "strategy": "vector"}
    found = diagnosed("replace the filter", "pump.md#Replace the filter monthly.", **asked)
    assert found.reason == "reranking", found.message
    assert "from 1 to 8" in found.message
    assert {"reranker": "none"} in [s.settings for s in found.suggestions if s.works]
    cut = diagnosed("replace the filter", "pump.md#Replace the filter monthly.", **asked, rerank_top=3)
    assert (cut.reason, "rerank_top" in cut.message) == ("reranking", True)


def calibrated(served: Served) -> None:
    """Relevance is the logistic of 20 (cosine - 0.5)."""
    model = {"intercept": -10.0, "weights": {"cosine": 20.0}}
    served.content = {"calibration": {"models": {"bm25+vector": model, "vector": model}}}


def test_below_the_floor(served: Served, diagnosed: Run) -> None:
    calibrated(served)
    served.publish(pumps())
    found = diagnosed("gloves and other clothes", "pump.md#Wear gloves near the pump.", min_relevance=0.5)
    assert found.reason == "min_relevance", found.message
    assert "below the floor of 0.5" in found.message
    best = found.suggestions[0]
    assert best.works and 0 <= best.settings["min_relevance"] < 0.5


def test_lost_to_diversity(served: Served, diagnosed: Run) -> None:
    pages = [
        document("a.md", "pump oil valve", title="t"),
        document("b.md", "pump oil valve seal", title="t"),
        document("c.md", "pump", title="t"),
    ]
    served.publish(pages)
    found = diagnosed("pump oil valve", "b.md", diversity=0.9, top_k=2, evidence=0.0)
    assert (found.reason, place(found, "fused")) == ("diversity", 2)
    assert {"diversity": 0.0} in [s.settings for s in found.suggestions if s.works]


def test_below_top_k(served: Served, diagnosed: Run) -> None:
    served.publish([document(f"{n:02}.md", "pump " * (9 - n) + "oil " * n) for n in range(6)])
    found = diagnosed("pump", "03.md", top_k=2, evidence=0.0)
    assert (found.reason, found.message) == ("cut", "it ranks 4, and only the first 2 go on")
    assert {"top_k": 4} in [s.settings for s in found.suggestions if s.works]
    assert "strategy" not in found.suggestions[0].settings  # no other strategy returns it either


def test_another_strategy_that_returns_it_is_named(served: Served, diagnosed: Run) -> None:
    served.publish(common_and_rare())
    found = diagnosed("rare common usual words", "rare.md", strategy="vector", top_k=1)
    assert found.strategies["bm25"] == 1
    assert found.suggestions[0].settings == {"strategy": "bm25"}


def test_found_but_without_room_in_the_context(served: Served, diagnosed: Run) -> None:
    long = " ".join(f"word{n}" for n in range(300))
    served.publish([document("a.md", f"pump oil {long}", title="t"), document("b.md", f"pump {long}", title="t")])
    found = diagnosed("pump oil", "b.md", context="workflow", max_tokens=60)
    assert (found.reason, found.rank) == ("budget", 2)
    assert "finds no room within 60 tokens" in found.message
    assert {"max_tokens": 120} in [s.settings for s in found.suggestions]


def test_found_but_cut_in_the_context(served: Served, diagnosed: Run) -> None:
    long = " ".join(f"word{n}" for n in range(300))
    served.publish([document("a.md", f"pump oil {long} the end of it", title="t")])
    cut = diagnosed("pump oil", "a.md#the end of it", context="workflow", max_tokens=200)
    assert (cut.reason, cut.rank) == ("budget", 1)
    assert "is cut to fit 200 tokens" in cut.message
    assert [s.settings for s in cut.suggestions if s.works] == [{"max_tokens": 400}]
    assert diagnosed("pump oil", "a.md#pump oil word0", context="workflow", max_tokens=200).reason == "found"
    whole = diagnosed("pump oil", "a.md", context="workflow", max_tokens=200)
    assert (whole.reason, whole.message) == ("found", "it is returned, rank 1 of 1, and stands in the context as [1]")


def test_settings_for_a_context_are_the_context_s_own(served: Served, diagnosed: Run) -> None:
    served.publish([document(f"{n:02}.md", "pump " * (9 - n) + "oil " * n) for n in range(6)])
    found = diagnosed("pump", "03.md", context="workflow", max_chunks=2, evidence=0.0)
    assert found.reason == "cut"
    assert {"max_chunks": 4} in [s.settings for s in found.suggestions if s.works]


def test_a_stage_that_could_not_run_is_no_suggestion_that_failed(
    served: Served, diagnosed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no model to rerank with here: that says nothing about reranking."""
    served.publish([document(f"{n:02}.md", "pump " * (9 - n) + "oil " * n) for n in range(6)])
    found = diagnosed("pump", "03.md", top_k=2, evidence=0.0)
    (tried,) = [s for s in found.suggestions if s.settings.get("reranker") == "maxsim"]
    assert tried.works is None and "not tried" in tried.outcome


def test_vectors_of_another_text(served: Served, diagnosed: Run) -> None:
    """A chunk with a wrong vector shows as such: its words are there and its cosine is not."""
    page = document("page.md", "oil pump", "filter valve", title="t")
    vectors = served.embedder.embed(["t\nunrelated words entirely", "t\nfilter valve"])
    served.publish([page], vectors=np.asarray(vectors))
    found = diagnosed("oil pump", "page.md#oil pump", strategy="vector", top_k=1)
    assert found.reason == "cut"
    assert found.nearness is not None and found.nearness.passage < 0.2
    assert all(t.in_passage for t in found.terms)
