from rag_pipeline.chunking.boilerplate import block_key, find_boilerplate
from rag_pipeline_tests.chunking.support import assert_sound, chunk, document

FOOTER = "This page is licensed under the terms of the licence."
BODY = "Pump {} needs oil every week, and its filter has to be changed once a year."


def corpus(n: int, *, with_footer: int) -> list[str]:
    return [f"# P{i}\n{BODY.format(i)}\n\n{FOOTER}\n" if i < with_footer else f"{BODY.format(i)}\n" for i in range(n)]


def test_a_block_of_many_documents_is_boilerplate() -> None:
    found = find_boilerplate([document(t) for t in corpus(10, with_footer=4)], share=0.3, min_documents=10)
    assert found == {block_key(FOOTER)}


def test_below_the_share_or_the_number_of_documents_nothing_is() -> None:
    assert find_boilerplate([document(t) for t in corpus(10, with_footer=3)], share=0.3, min_documents=10) == set()
    assert find_boilerplate([document(t) for t in corpus(9, with_footer=9)], share=0.3, min_documents=10) == set()


def test_duplicates_do_not_count() -> None:
    documents = [document(t, canonical_id="other") for t in corpus(10, with_footer=10)]
    assert find_boilerplate(documents, share=0.3, min_documents=2) == set()


def test_short_blocks_and_white_space() -> None:
    assert block_key("Example:") is None
    assert block_key(FOOTER.replace(" ", "\n  ")) == block_key(FOOTER)


def test_boilerplate_is_cut_out_and_reported() -> None:
    source = document(corpus(1, with_footer=1)[0])
    made = chunk(source, boilerplate=frozenset({block_key(FOOTER) or ""}))
    assert [e.rule for e in made.ledger] == ["boilerplate"]
    assert source.text[made.ledger[0].start : made.ledger[0].end] == FOOTER
    assert FOOTER not in made.chunks[0].text
    assert_sound(source, made, limit=256)
