"""`retrieve` with a preset, over the presets that the package ships."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace

import pytest

from rag_pipeline.context.citations import check_citations
from rag_pipeline.errors import InvalidQuery, InvalidSettings, UnknownName
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.served import CONTEXTS, Served
from rag_pipeline_tests.stages import document, pumps

EVERY = pytest.mark.parametrize("context", CONTEXTS)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        served = Served(tmp_path_factory.mktemp("presets") / "home", patch, embedder=WordEmbedder(1024))
        long = [document(f"long/{n}.md", *(f"pump {n} {k} " + "words " * 150 for k in range(3))) for n in range(9)]
        equal = [document(f"equal/{n}.md", "five identical chunks", title="Equal") for n in (3, 1, 4, 0, 2)]
        served.publish([*pumps(), *long, *equal])
        yield served


def test_the_shipped_presets() -> None:
    shown = {
        name: (c["expand"], c["parents"], c["diversity"], c["max_chunks"], c["max_tokens"])
        for name, c in CONTEXTS.items()
    }
    assert shown == {
        "chatbot": (True, True, 0.3, 8, 2000),
        "agent": (False, True, 0.1, 5, 1500),
        "search": (True, False, 0.4, 12, 3000),
        "workflow": (False, True, 0.0, 5, 1500),
        "context_engineering": (True, True, 0.3, 10, 2500),
    }


@EVERY
def test_a_context_within_its_budget(world: Served, context: str) -> None:
    result = world.ask("pump words", context=context)
    preset = CONTEXTS[context]
    text = result.formatted_context
    assert text.startswith("# Retrieved Knowledge\n\nQuery: pump words\n")
    assert result.total_tokens == world.embedder.tokenizer.count(text) <= preset["max_tokens"]
    assert 0 < len(result.hits) <= preset["max_chunks"]
    assert result.context == context and result.strategy == "hybrid"
    assert [source.doc_id for source in result.sources] == list(dict.fromkeys(h.doc_id for h in result.hits))
    assert "format" in result.timings_ms
    json.dumps(asdict(result), allow_nan=False)


@EVERY
def test_only_what_is_presented_is_numbered(world: Served, context: str) -> None:
    result = world.ask("pump words", context=context, max_tokens=200)
    numbers = [citation.number for citation in result.citations]
    assert numbers == list(range(1, len(numbers) + 1)) and 0 < len(numbers) < len(result.hits)
    assert "context=left_out" in result.markers
    for number in numbers:
        assert f'<passage id="{number}">' in result.formatted_context
    assert {c.section_id for c in result.citations} < {hit.section_id for hit in result.hits}
    assert any(not source.citations for source in result.sources)
    found = check_citations(f"So it is [1], and [{len(numbers) + 1}].", presented=len(numbers))
    assert (found.cited, found.invalid_count) == ((1,), 1)


@EVERY
@pytest.mark.parametrize("query", ["", " \t", "\u200b"])
def test_nothing_asked(world: Served, context: str, query: str) -> None:
    world.embedder.calls.clear()
    with pytest.raises(InvalidQuery):
        world.ask(query, context=context)
    assert world.embedder.calls == []


@EVERY
def test_nothing_found_is_said(world: Served, context: str) -> None:
    result = world.ask("pump", context=context, filters={"language": "xx"})
    assert (result.hits, result.empty_reason, result.sources, result.citations) == ((), "filter_empty", (), ())
    assert "Documents: 0, sections: 0" in result.formatted_context


@EVERY
def test_the_same_question_gives_the_same_bytes(world: Served, context: str) -> None:
    first, second = (
        json.dumps(asdict(replace(world.ask("five identical chunks", context=context), timings_ms={}, cached={})))
        for _ in range(2)
    )
    assert first == second


def test_equal_chunks_are_ordered_by_their_document(world: Served) -> None:
    found = [hit.doc_id for hit in world.ask("five identical chunks", context="workflow").hits]
    assert found == [f"equal/{n}.md" for n in range(5)]


def test_overrides_last_one_call(world: Served) -> None:
    assert len(world.ask("pump words", context="chatbot", max_chunks=2).hits) == 2
    assert len(world.ask("pump words", context="chatbot").hits) == 8
    form = world.ask("pump words", context="agent", form="json").formatted_context
    assert json.loads(form)["query"] == "pump words"
    with pytest.raises(UnknownName, match="unknown override 'max_chunk'"):
        world.ask("pump", context="chatbot", max_chunk=2)
    with pytest.raises(UnknownName, match="unknown override 'max_chunks'"):
        world.ask("pump", max_chunks=2)  # a field of presets, and no preset is used
    with pytest.raises(UnknownName, match="known: agent, chatbot"):
        world.ask("pump", context="telepathy")
    with pytest.raises(InvalidSettings, match=r"tokenizer '/none' can't be read"):
        world.ask("pump", context="agent", tokenizer="/none")


def test_parents_or_chunks(world: Served) -> None:
    with_parents = world.ask("pump words", context="agent", max_tokens=1_000_000)
    without = world.ask("pump words", context="agent", max_tokens=1_000_000, parents=False)
    for hit in without.hits:
        assert hit.content.strip() in without.formatted_context
    for hit in with_parents.hits:
        assert hit.section_content.strip() in with_parents.formatted_context


def test_without_a_preset_there_is_no_context(world: Served) -> None:
    result = world.ask("pump")
    assert (result.context, result.formatted_context, result.total_tokens) == (None, None, None)
    assert (result.sources, result.citations) == ((), ())
    assert all(hit.ranks == {} for hit in result.hits)


def test_an_explanation_ranks_each_result_in_every_stage(world: Served) -> None:
    plain = world.ask("replace the filter", context="agent")
    result = world.ask("replace the filter", context="agent", explain=True)
    assert [hit.chunk_id for hit in result.hits] == [hit.chunk_id for hit in plain.hits]
    first = result.hits[0]
    assert first.ranks == {"vector": 1, "bm25": 1, "fused": 1, "evidence": 1}
    assert all(hit.ranks.keys() <= hit.scores.keys() for hit in result.hits)
    assert all("bm25" not in hit.ranks for hit in result.hits if hit.scores["bm25"] == 0)


@EVERY
def test_passages_are_what_is_presented_as_it_stands_in_the_source(world: Served, context: str) -> None:
    result = world.ask("pump words", context=context, form="markdown")
    assert [p.number for p in result.passages] == [c.number for c in result.citations]
    shown = {hit.section_id: hit.lead + hit.content + hit.section_content for hit in result.hits}
    for passage, citation in zip(result.passages, result.citations, strict=True):
        assert (passage.section_id, passage.doc_id) == (citation.section_id, citation.doc_id)
        assert passage.pieces and all(piece in shown[passage.section_id] for piece in passage.pieces)
        assert all(piece.strip() in (result.formatted_context or "") for piece in passage.pieces)
    assert world.ask("pump words").passages == ()
