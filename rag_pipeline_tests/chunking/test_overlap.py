from rag_pipeline.chunking.overlap import overlapped
from rag_pipeline.chunking.sizes import Scale
from rag_pipeline.chunking.split import Piece
from rag_pipeline_tests.chunking.support import WORDS, assert_sound, chunk, document


def test_a_piece_begins_some_words_earlier() -> None:
    text = "one two three four five six"
    found = [Piece(0, 14, "prose"), Piece(14, len(text), "prose")]
    out = overlapped(text, found, Scale(text, WORDS), units=2)
    assert [text[p.start : p.end] for p in out] == ["one two three ", "two three four five six"]


def test_a_line_is_preferred() -> None:
    text = "one two three\nfour five\nsix seven"
    found = [Piece(0, 24, "prose"), Piece(24, len(text), "prose")]
    out = overlapped(text, found, Scale(text, WORDS), units=4)
    assert text[out[1].start : out[1].end] == "four five\nsix seven"


def test_without_overlap_nothing_moves() -> None:
    found = [Piece(0, 3, "prose"), Piece(3, 6, "prose")]
    assert overlapped("abcdef", found, Scale("abcdef", WORDS), units=0) == found


def test_table_rows_do_not_overlap() -> None:
    text = "one two three four"
    found = [Piece(0, 8, "prose"), Piece(8, len(text), "table", (0, 3))]
    assert overlapped(text, found, Scale(text, WORDS), units=2) == found


def test_overlap_counts_towards_the_size() -> None:
    source = document("word and more words here. " * 100)
    made = chunk(source, child_tokens=50, child_overlap_tokens=10)
    assert max(WORDS.count(c.text) for c in made.chunks) <= 50 + 50 // 8
    assert all(
        a.start < b.start < a.end < b.end
        for a, b in zip(made.chunks, made.chunks[1:], strict=False)
        if a.section_id == b.section_id
    )
    assert_sound(source, made, limit=256)
