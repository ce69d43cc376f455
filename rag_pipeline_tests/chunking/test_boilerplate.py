from rag_pipeline.chunking.boilerplate import AskedKeys, block_key, block_keys, repeated
from rag_pipeline_tests.chunking.support import assert_sound, chunk, document

FOOTER = "This page is licensed under the terms of the licence."
BODY = "Pump {} needs oil every week, and its filter has to be changed once a year."


def corpus(n: int, *, with_footer: int) -> list[str]:
    return [f"# P{i}\n{BODY.format(i)}\n\n{FOOTER}\n" if i < with_footer else f"{BODY.format(i)}\n" for i in range(n)]


def among(texts: list[str], *, min_documents: int) -> frozenset[str]:
    return repeated((block_keys(document(t)) for t in texts), share=0.3, min_documents=min_documents)


def test_a_block_of_many_documents_is_boilerplate() -> None:
    assert among(corpus(10, with_footer=4), min_documents=10) == {block_key(FOOTER)}


def test_below_the_share_or_the_number_of_documents_nothing_is() -> None:
    assert among(corpus(10, with_footer=3), min_documents=10) == set()
    assert among(corpus(9, with_footer=9), min_documents=10) == set()


def test_boilerplate_remembers_what_it_was_asked_for() -> None:
    keys = AskedKeys({"a"})
    assert ("a" in keys, "b" in keys, keys.asked) == (True, False, {"a", "b"})
    assert AskedKeys(())  # asked even where there is none
    source = document(corpus(1, with_footer=1)[0])
    asked = AskedKeys(())
    chunk(source, boilerplate=asked)
    assert asked.asked == block_keys(source)


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
