"""Chunks that are taken over from the chunking before are, to the byte, those that would be made anew."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.chunking import corpus as module
from rag_pipeline.chunking import reuse
from rag_pipeline.chunking.corpus import ChunkingInfo, chunk_corpus
from rag_pipeline.chunking.reuse import document_key
from rag_pipeline.parquet import write_rows
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import Document
from rag_pipeline.settings.build import ChunkingSettings
from rag_pipeline_tests.chunking.support import WORDS, document

FOOTER = "All pages of this manual end with the same long line."
SETTINGS = ChunkingSettings(
    section_tokens=24, child_tokens=12, section_min_tokens=0, min_chars=5, boilerplate_min_documents=2
)
FILES = ("sections.parquet", "chunks.parquet", "ledger.parquet", "chunking.json")
# Blocks that a few documents share, so that an edit of one decides what is boilerplate in the others.
BLOCKS = (
    FOOTER,
    "Every pump of this house is oiled once a week by its keeper.",
    "## Filters\n\nChange the filter of a pump before it is clogged.",
    "```python\nclogged = [pump for pump in pumps if pump.filter.is_clogged()]\n```",
    "x",
    "|a|b|\n|-|-|\n|1|2|",
    "<!-- a comment that nobody is meant to read in the results -->",
)
PAGES = st.tuples(
    st.sampled_from(["# One", "# Two\n\nText.", ""]),
    st.lists(st.sampled_from(BLOCKS), max_size=5),
    st.sampled_from(["markdown", "text", "python"]),
    st.sampled_from([None, "About pumps"]),
)
CORPORA = st.dictionaries(st.sampled_from([f"{n}.md" for n in range(7)]), PAGES, max_size=7)


def pages(content: dict[str, tuple[str, list[str], str, str | None]]) -> list[Document]:
    """In the order of ids; the second of two equal texts duplicates the first."""
    made: list[Document] = []
    first: dict[str, str] = {}
    for doc_id, (head, blocks, format, description) in sorted(content.items()):
        text = "\n\n".join([head, *blocks])
        one = document(text, doc_id=doc_id, format=format, description=description)
        canonical = first.setdefault(text, doc_id)
        made.append(replace(one, canonical_id=canonical if canonical != doc_id else None))
    return made


class Manual:
    """A collection whose documents are given as they are."""

    def __init__(self, root: Path) -> None:
        self.paths = CollectionPaths(root)
        self.taken = 0

    def chunked(
        self, documents: list[Document], settings: ChunkingSettings = SETTINGS, limit: int = 64
    ) -> ChunkingInfo:
        self.taken += 1
        return self.again(documents, f"snap-{self.taken}", settings, limit)

    def again(
        self, documents: list[Document], name: str, settings: ChunkingSettings = SETTINGS, limit: int = 64
    ) -> ChunkingInfo:
        folder = self.paths.snapshot(name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_rows(folder / "documents.parquet", Document, documents)
        return chunk_corpus(folder, settings, WORDS, limit=limit, paths=self.paths)


@pytest.fixture
def manual(tmp_path: Path) -> Manual:
    return Manual(tmp_path / "manual")


def content(info: ChunkingInfo) -> dict[str, bytes]:
    return {name: (info.folder / name).read_bytes() for name in FILES}


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Ids of the documents that are really chunked."""
    chunked: list[str] = []
    original = module.chunk_document

    def counting(one: Document, *args: object, **named: object) -> object:
        chunked.append(one.doc_id)
        return original(one, *args, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(module, "chunk_document", counting)
        yield chunked


@given(history=st.lists(CORPORA, min_size=2, max_size=4))
def test_after_any_history_the_files_are_those_of_a_chunking_from_nothing(
    history: list[dict[str, tuple[str, list[str], str, str | None]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Edits, additions, deletions, renames: whatever leads from one corpus to the next."""
    root = tmp_path_factory.mktemp("history")
    try:
        manual = Manual(root / "same")
        for number, state in enumerate(history, 1):
            grown = manual.again(pages(state), f"snap-{number}")
            fresh = Manual(root / f"fresh-{number}").again(pages(state), f"snap-{number}")
            assert content(grown) == content(fresh)
            assert grown.key == fresh.key
    finally:
        shutil.rmtree(root)


def test_only_what_changed_is_chunked(manual: Manual, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [document(f"# P{n}\n\nThe pump number {n} is oiled.", doc_id=f"{n}.md") for n in range(9)]
    manual.chunked(before)
    after = [replace(before[0], text="# P0\n\nThe pump is gone."), *before[1:8], replace(before[8], doc_id="moved.md")]
    with counted(monkeypatch) as chunked:
        info = manual.chunked(after)
    assert chunked == ["0.md", "moved.md"]
    assert (info.kept, info.documents, info.problems) == (7, 9, ())


def test_an_unchanged_document_is_chunked_again_when_other_documents_make_its_footer_boilerplate(
    manual: Manual, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = [document(f"# P{n}\n\nThe pump number {n} is oiled.", doc_id=f"{n}.md") for n in range(1, 6)]
    with_footer = document(f"# P0\n\nThe pump number 0 is oiled.\n\n{FOOTER}", doc_id="0.md")
    assert manual.chunked([with_footer, *plain]).rejected == {}
    grown = [replace(page, text=f"{page.text}\n\n{FOOTER}") for page in plain[:2]] + plain[2:]
    with counted(monkeypatch) as chunked:
        info = manual.chunked([with_footer, *grown])
    assert chunked == ["0.md", "1.md", "2.md"]
    assert info.rejected == {"boilerplate": 3}
    with counted(monkeypatch) as chunked:  # and back
        assert manual.chunked([with_footer, *plain]).rejected == {}
    assert chunked == ["0.md", "1.md", "2.md"]


@pytest.mark.parametrize("file", ["sections.parquet", "chunks.parquet", "ledger.parquet"])
def test_a_damaged_file_is_not_used_and_said(manual: Manual, file: str) -> None:
    before = [document(f"# P{n}\n\nThe pump number {n} is oiled.\n\n<!-- note -->", doc_id=f"{n}.md") for n in range(4)]
    first = manual.chunked(before)
    damage(first.folder / file)
    after = [*before, document("# New", doc_id="new.md")]
    info = manual.chunked(after)
    assert (info.kept, len(info.problems)) == (0, 1)
    assert file in info.problems[0]
    assert "every document is chunked again" in info.problems[0]
    assert not first.folder.exists()
    assert content(info) == content(Manual(manual.paths.root / "fresh").again(after, "snap-2"))


def test_a_damaged_chunking_of_the_same_key_is_made_anew(manual: Manual) -> None:
    pages_ = [document("# P\n\nThe pump is oiled.", doc_id="a.md")]
    first = manual.again(pages_, "snap")
    good = content(first)
    damage(first.folder / "chunks.parquet")
    again = manual.again(pages_, "snap")
    assert (again.reused, again.key) == (False, first.key)
    assert content(again) == good


def test_a_damaged_list_of_what_is_known_is_not_used(manual: Manual) -> None:
    before = [document("# P\n\nThe pump is oiled.", doc_id="a.md")]
    first = manual.chunked(before)
    damage(manual.paths.staging / "chunked.parquet")
    info = manual.chunked([*before, document("# New", doc_id="new.md")])
    assert (info.kept, len(info.problems)) == (0, 1)
    assert first.folder.is_dir()


def test_other_settings_tokenizer_limit_or_code_take_nothing_over(
    manual: Manual, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [document("# P\n\nThe pump is oiled.", doc_id="a.md")]
    manual.chunked(before)
    assert manual.chunked(before).kept == 1
    assert manual.chunked(before, limit=65).kept == 0
    assert manual.chunked(before, SETTINGS.model_copy(update={"min_chars": 6})).kept == 0
    manual.chunked(before)
    monkeypatch.setattr(reuse, "CHUNKER_VERSION", 99)
    assert manual.chunked(before).kept == 0
    monkeypatch.undo()
    manual.chunked(before)
    monkeypatch.setattr(reuse, "BY", "other code")
    assert manual.chunked(before).kept == 0


@pytest.mark.parametrize("field", ["doc_id", "format", "title", "description", "text"])
def test_every_field_that_a_chunker_reads_is_in_the_key(field: str) -> None:
    base = document("text", description="about")
    assert document_key(replace(base, **{field: "other"})) != document_key(base)
    assert document_key(replace(base, body_start=1)) != document_key(base)
    assert document_key(replace(base, author="somebody", tags=("x",), source="/elsewhere")) == document_key(base)


def test_what_is_kept_does_not_grow_with_the_number_of_runs(manual: Manual) -> None:
    for n in range(4):
        manual.chunked([document(f"# P\n\nThe pump is oiled {n} times.", doc_id="a.md")])
    assert sorted(p.name for p in manual.paths.staging.iterdir() if p.is_file()) == ["chunked.kept", "chunked.parquet"]


def damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)
