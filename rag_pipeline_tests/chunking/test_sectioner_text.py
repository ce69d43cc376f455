from rag_pipeline.chunking.sectioner_text import parse_text
from rag_pipeline.chunking.sectioners import SECTIONERS, sectioner_for
from rag_pipeline.sources.registry import READERS
from rag_pipeline_tests.chunking.support import chunk, document, paths


def test_paragraphs_are_what_blank_lines_leave() -> None:
    text = "one\ntwo\n \t\n\nthree\r\n\r\nfour"
    (part,) = parse_text(document(text), size=lambda start, end: 0, cap=1).parts
    assert [text[b.start : b.end].strip() for b in part.blocks] == ["one\ntwo", "three", "four"]


def test_hashes_in_plain_text_are_no_headings() -> None:
    assert paths(chunk("# not a heading\n\nbody text", format="text")) == [("Doc",)]


def test_an_unknown_format_is_plain_text() -> None:
    assert sectioner_for("cobol") is parse_text


def test_every_reader_has_a_sectioner_or_is_plain() -> None:
    """A format renamed in a reader would silently be chunked as plain text."""
    formats = {reader.format for reader in READERS.values()}
    assert formats - set(SECTIONERS) <= {"toml", "json"}
