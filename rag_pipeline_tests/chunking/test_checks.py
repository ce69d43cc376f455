from dataclasses import replace

from rag_pipeline.chunking.checks import check_limit, check_no_empty_chunks, check_parents, check_spans
from rag_pipeline_tests.chunking.support import COUNT, chunk, document

SOURCE = document("# A\nSome words.\n\n# B\nMore words.\n")
MADE = chunk(SOURCE)
FIRST = MADE.chunks[0]


def test_good_chunks_pass_everything() -> None:
    results = (
        check_no_empty_chunks(MADE.chunks),
        check_parents(MADE.chunks, MADE.sections),
        check_limit(MADE.chunks, COUNT, limit=256),
        check_spans(MADE.chunks, {SOURCE.doc_id: SOURCE.text}),
    )
    assert [r.passed for r in results] == [True] * 4
    assert results[0].numbers == {"chunks": 2, "empty": 0, "header_only": 0}


def test_an_empty_corpus_passes() -> None:
    assert check_no_empty_chunks([]).passed
    assert check_parents([], []).passed
    assert check_limit([], COUNT, limit=1).passed
    assert check_spans([], {}).passed


def test_empty_and_header_only_chunks_fail() -> None:
    assert not check_no_empty_chunks([replace(FIRST, text="\u200b ")]).passed
    bare = check_no_empty_chunks([replace(FIRST, text="# A")])
    assert not bare.passed
    assert FIRST.chunk_id in bare.message
    assert check_no_empty_chunks([replace(FIRST, text="# A", kind="outline")]).passed
    assert check_no_empty_chunks([replace(FIRST, text="# " + "long " * 60)]).passed


def test_a_chunk_outside_its_section_fails() -> None:
    assert not check_parents([replace(FIRST, end=99)], MADE.sections).passed
    assert not check_parents([replace(FIRST, section_id="gone")], MADE.sections).passed
    assert not check_parents(MADE.chunks, [replace(s, headers=()) for s in MADE.sections]).passed
    assert not check_parents([replace(FIRST, doc_id="other.md")], MADE.sections).passed


def test_a_chunk_over_the_limit_fails() -> None:
    result = check_limit(MADE.chunks, COUNT, limit=3)
    assert (result.passed, result.numbers["over"]) == (False, 2)


def test_what_the_chunker_says_of_its_tokens_is_not_believed() -> None:
    long = replace(FIRST, search_text="word " * 300, tokens=3)
    assert not check_limit([long], COUNT, limit=256).passed


def test_a_chunk_that_differs_from_its_span_fails() -> None:
    assert not check_spans([replace(FIRST, text="other")], {SOURCE.doc_id: SOURCE.text}).passed
    assert not check_spans(MADE.chunks, {}).passed
