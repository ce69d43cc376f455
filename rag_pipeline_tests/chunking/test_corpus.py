import os
from pathlib import Path

import pytest

from rag_pipeline.chunking import corpus as module
from rag_pipeline.chunking.checks import check_limit, check_no_empty_chunks, check_parents, check_spans
from rag_pipeline.chunking.corpus import chunk_corpus, chunking_key
from rag_pipeline.errors import InvalidSource, UnknownName
from rag_pipeline.parquet import read_rows, write_rows
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import Chunk, Document, LedgerEntry, Progress, Section
from rag_pipeline.settings.build import ChunkingSettings, SourceSettings
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.sources.snapshot import take_snapshot
from rag_pipeline_tests.chunking.support import COUNT, WORDS, assert_sound, document

SHARED = Path(os.environ.get("RAG_PIPELINE_SHARED", Path(__file__).parents[2] / "../shared/data"))
FOOTER = "All pages of this manual end with the same long line."


def snapshot(paths: CollectionPaths, documents: list[Document]) -> Path:
    folder = paths.snapshot("snap")
    folder.mkdir(parents=True)
    write_rows(folder / "documents.parquet", Document, documents)
    return folder


@pytest.fixture
def paths(tmp_path: Path) -> CollectionPaths:
    return CollectionPaths(tmp_path / "manual")


def test_a_snapshot_becomes_three_files(paths: CollectionPaths) -> None:
    pages = [document(f"# P{i}\nPage number {i}.\n\n{FOOTER}\n", doc_id=f"{i:02}.md") for i in range(12)]
    folder = snapshot(paths, [*pages, document("# P0", doc_id="copy.md", canonical_id="00.md")])
    reports: list[Progress] = []
    info = chunk_corpus(folder, ChunkingSettings(), WORDS, limit=256, paths=paths, progress=reports.append)
    assert info.folder == paths.chunking(info.key)
    assert (info.documents, info.sections, info.chunks, info.truncated, info.reused) == (12, 12, 12, 0, False)
    assert info.rejected == {"boilerplate": 12}
    assert sorted(p.name for p in info.folder.iterdir()) == [
        "chunking.json",
        "chunks.parquet",
        "ledger.parquet",
        "sections.parquet",
    ]
    chunks = list(read_rows(info.folder / "chunks.parquet", Chunk))
    sections = list(read_rows(info.folder / "sections.parquet", Section))
    assert [c.doc_id for c in chunks] == [p.doc_id for p in pages]
    assert info.max_tokens == max(c.tokens for c in chunks)
    assert len(list(read_rows(info.folder / "ledger.parquet", LedgerEntry))) == 12
    assert check_no_empty_chunks(chunks).passed
    assert check_parents(chunks, sections).passed
    assert check_limit(chunks, COUNT, limit=256).passed
    assert check_spans(chunks, {p.doc_id: p.text for p in pages}).passed
    assert [(r.done, r.total) for r in reports] == [(12, 12)]


def test_duplicates_do_not_make_boilerplate(paths: CollectionPaths) -> None:
    page = document(f"# P\nThe only page.\n\n{FOOTER}\n", doc_id="a.md")
    copies = [document(page.text, doc_id=f"copy-{n}.md", canonical_id="a.md") for n in range(20)]
    others = [document(f"# P{n}\nPage number {n}.\n", doc_id=f"p{n}.md") for n in range(9)]
    info = chunk_corpus(snapshot(paths, [page, *copies, *others]), ChunkingSettings(), WORDS, limit=256, paths=paths)
    assert info.rejected == {}


def test_the_same_inputs_are_not_chunked_twice(paths: CollectionPaths) -> None:
    folder = snapshot(paths, [document("# A\nbody")])
    first = chunk_corpus(folder, ChunkingSettings(), WORDS, limit=256, paths=paths)
    before = (first.folder / "chunks.parquet").stat().st_mtime_ns
    second = chunk_corpus(folder, ChunkingSettings(), WORDS, limit=256, paths=paths)
    assert (second.reused, second.key, second.chunks) == (True, first.key, first.chunks)
    assert (first.folder / "chunks.parquet").stat().st_mtime_ns == before


def test_every_input_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    base = chunking_key("snap", ChunkingSettings(), WORDS, limit=256)
    others = {
        chunking_key("other", ChunkingSettings(), WORDS, limit=256),
        chunking_key("snap", ChunkingSettings(min_chars=51), WORDS, limit=256),
        chunking_key("snap", ChunkingSettings(), WORDS, limit=255),
    }
    monkeypatch.setattr(module, "CHUNKER_VERSION", 99)
    others.add(chunking_key("snap", ChunkingSettings(), WORDS, limit=256))
    assert len(others) == 4
    assert base not in others


def test_an_empty_corpus_gives_empty_files(paths: CollectionPaths) -> None:
    info = chunk_corpus(snapshot(paths, []), ChunkingSettings(), WORDS, limit=256, paths=paths)
    assert (info.documents, info.chunks, info.max_tokens, info.mean_tokens) == (0, 0, 0, 0.0)
    assert list(read_rows(info.folder / "chunks.parquet", Chunk)) == []


def test_truncations_are_counted(paths: CollectionPaths) -> None:
    folder = snapshot(paths, [document("word " * 500), document("short", doc_id="b.md")])
    chosen = ChunkingSettings(chunker="whole_document")
    info = chunk_corpus(folder, chosen, WORDS, limit=64, paths=paths)
    assert (info.chunks, info.truncated, info.max_tokens) == (2, 1, 64)
    assert info.notices == {"truncated": 1}


def test_a_failed_run_leaves_nothing(paths: CollectionPaths) -> None:
    folder = snapshot(paths, [document("# A\nbody")])
    with pytest.raises(UnknownName):
        chunk_corpus(folder, ChunkingSettings(chunker="nope"), WORDS, limit=256, paths=paths)
    assert list(paths.chunking("x").parent.iterdir()) == []


def test_a_snapshot_that_is_gone(paths: CollectionPaths) -> None:
    with pytest.raises(InvalidSource, match=r"no documents.parquet; read the sources again"):
        chunk_corpus(paths.snapshot("gone"), ChunkingSettings(), WORDS, limit=256, paths=paths)


@pytest.mark.shared_data
def test_real_pages_with_a_changelog_of_700_kb(paths: CollectionPaths) -> None:
    folder = SHARED / "docs-fastapi" / "en" / "docs"
    if not folder.is_dir():
        pytest.skip(f"no shared data at {SHARED}")
    chosen = CollectionSettings(sources=(SourceSettings(path=str(folder), include=("*.md",)),))
    taken = take_snapshot(chosen, paths)
    info = chunk_corpus(taken.folder, ChunkingSettings(), WORDS, limit=256, paths=paths)
    documents = {d.doc_id: d for d in read_rows(taken.folder / "documents.parquet", Document)}
    chunks = list(read_rows(info.folder / "chunks.parquet", Chunk))
    assert max(len(d.text) for d in documents.values()) > 500_000
    assert {c.doc_id for c in chunks} == set(documents)
    assert check_spans(chunks, {d.doc_id: d.text for d in documents.values()}).passed
    assert check_no_empty_chunks(chunks).passed
    assert info.max_tokens <= 256


@pytest.mark.shared_data
def test_admonitions_nested_fences_and_comments_of_a_real_site(paths: CollectionPaths) -> None:
    folder = SHARED / "docs-mkdocs-material" / "docs" / "reference"
    if not folder.is_dir():
        pytest.skip(f"no shared data at {SHARED}")
    from rag_pipeline_tests.chunking.support import chunk

    taken = take_snapshot(CollectionSettings(sources=(SourceSettings(path=str(folder)),)), paths)
    for source in read_rows(taken.folder / "documents.parquet", Document):
        assert_sound(source, chunk(source, min_chars=50), limit=256)
