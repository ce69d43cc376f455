"""One input to one document or to a reason."""

from dataclasses import replace

import pytest

from rag_pipeline.sources.document import Outcome, read_document
from rag_pipeline.sources.metadata import Metadata
from rag_pipeline.sources.registry import READERS


def read(data: bytes, path: str = "guides/a.md", defaults: Metadata | None = None) -> Outcome:
    return read_document(data, doc_id=path, path=path, location=f"/docs/{path}", defaults=defaults or Metadata())


def rule(outcome: Outcome) -> tuple[str, str]:
    (entry,) = [e for e in outcome.entries if e.outcome != "notice"]
    return entry.outcome, entry.rule


def test_a_page() -> None:
    outcome = read(b"---\ntitle: Pump\ntags: [a]\nweight: 3\n---\n# Other\ntext")
    document = outcome.document
    assert document is not None
    assert (document.doc_id, document.source, document.format) == ("guides/a.md", "/docs/guides/a.md", "markdown")
    assert (document.title, document.tags, document.category, document.extra) == (
        "Pump",
        ("a",),
        "guides",
        '{"weight": 3}',
    )
    assert document.text[document.body_start :] == "# Other\ntext"
    assert (document.updated, document.language, document.access) == (None, None, None)
    assert rule(outcome) == ("indexed", "markdown")


def test_where_a_title_comes_from() -> None:
    def title(data: bytes, path: str, defaults: Metadata | None = None) -> str:
        document = read(data, path, defaults).document
        assert document is not None
        return document.title

    assert title(b"---\ntitle: T\n---\n# H", "a.md") == "T"
    assert title(b"# H", "a.md", Metadata(title="D")) == "H"
    assert title(b"words", "first-steps.md", Metadata(title="D")) == "D"
    assert title(b"words", "first-steps.md") == "First steps"
    assert title(b"<title>T</title><h1>H</h1>", "a.html") == "T"
    assert title(b"x = 1", "src/agent_factory.py") == "agent_factory.py"


def test_own_metadata_wins_over_the_folder() -> None:
    defaults = Metadata(author="Ada", category="code", access=("group:ops",))
    document = read(b"---\nauthor: Bo\naccess: [group:all]\n---\nx", defaults=defaults).document
    assert document is not None
    assert (document.author, document.category, document.access) == ("Bo", "code", ("group:all",))


def test_a_mistyped_access_list_admits_nobody_and_says_so() -> None:
    outcome = read(b"---\naccess: group:ops\n---\nx")
    assert outcome.document is not None
    assert outcome.document.access == ()
    (notice,) = [e for e in outcome.entries if e.outcome == "notice"]
    assert notice.rule == "metadata"
    assert "nobody is admitted" in notice.detail


def test_repairs_are_noticed() -> None:
    outcome = read(b"\xef\xbb\xbf# A\r\na\x00b")
    assert outcome.document is not None
    assert outcome.document.text == "# A\nab"
    (notice,) = [e for e in outcome.entries if e.outcome == "notice"]
    assert notice.rule == "repaired"
    assert "byte order mark" in notice.detail


@pytest.mark.parametrize(
    ("data", "path", "expected"),
    [
        (b"", "a.md", ("filtered", "empty")),
        (b"", "a.pdf", ("filtered", "empty")),
        ("\u200b\n \t".encode(), "a.md", ("filtered", "empty")),
        (b"\x00\x00", "a.md", ("skipped", "binary")),
        (b"<nav>x</nav>", "a.html", ("filtered", "empty")),
        (b"x", "a.bin", ("skipped", "unsupported")),
        (b"x", "LICENSE", ("skipped", "unsupported")),
        (b"{", "a.ipynb", ("failed", "malformed")),
    ],
)
def test_no_document_but_a_reason(data: bytes, path: str, expected: tuple[str, str]) -> None:
    outcome = read(data, path)
    assert outcome.document is None
    assert rule(outcome) == expected
    assert outcome.entries[0].detail


def test_a_reader_that_raises_fails_its_file_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        format = "broken"

        def read(self, data: bytes) -> None:
            raise ZeroDivisionError("boom")

    monkeypatch.setitem(READERS, "md", Broken())
    outcome = read(b"x")
    assert rule(outcome) == ("failed", "reader_error")
    assert "ZeroDivisionError: boom" in outcome.entries[0].detail


def test_hashes() -> None:
    def document(data: bytes, path: str = "guides/a.md", defaults: Metadata | None = None):  # type: ignore[no-untyped-def]
        found = read(data, path, defaults).document
        assert found is not None
        return found

    one = document(b"# A\nx")
    assert document(b"# A\nx") == one
    assert document(b"# A\ny").content_hash != one.content_hash
    moved = document(b"# A\nx", "guides/b.md")
    assert (moved.content_hash, moved.metadata_hash) == (one.content_hash, one.metadata_hash)
    restricted = document(b"# A\nx", defaults=Metadata(access=("group:ops",)))
    assert (restricted.content_hash == one.content_hash, restricted.metadata_hash == one.metadata_hash) == (True, False)
    closed = document(b"# A\nx", defaults=Metadata(access=()))
    assert closed.metadata_hash != one.metadata_hash
    # The same text, but its offsets in the file are others.
    crlf = document(b"# A\r\nx")
    assert (crlf.content_hash == one.content_hash, crlf.metadata_hash == one.metadata_hash) == (True, False)
    assert replace(one, canonical_id="b").metadata_hash == one.metadata_hash
