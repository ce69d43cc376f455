"""Snapshots of small folders, from files to Parquet."""

import json
import os
from pathlib import Path
from typing import Any

import fsspec
import pytest

from rag_pipeline.errors import InvalidSource, TooManyFailures
from rag_pipeline.parquet import read_rows
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import Document, LedgerEntry, Progress
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.sources.checks import ledger_reconciles, no_failed_inputs
from rag_pipeline.sources.fingerprint import sources_fingerprint
from rag_pipeline.sources.folder import LocalFolder
from rag_pipeline.sources.snapshot import SnapshotInfo, take_snapshot


class Corpus:
    """A folder of files and the snapshots taken of it."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "docs"
        self.folder.mkdir()
        self.paths = CollectionPaths(tmp_path / "data")

    def write(self, files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def settings(self, **changed: Any) -> CollectionSettings:
        return CollectionSettings.model_validate({"sources": [{"path": str(self.folder)}], **changed})

    def snapshot(self, previous: Path | None = None, **changed: Any) -> SnapshotInfo:
        return take_snapshot(self.settings(**changed), self.paths, previous=previous)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


def documents(info: SnapshotInfo) -> dict[str, Document]:
    return {d.doc_id: d for d in read_rows(info.folder / "documents.parquet", Document)}


def ledger(info: SnapshotInfo) -> dict[str, tuple[str, str]]:
    entries = read_rows(info.folder / "ledger.parquet", LedgerEntry)
    return {e.path: (e.outcome, e.rule) for e in entries if e.outcome != "notice"}


def test_files_become_documents(corpus: Corpus) -> None:
    corpus.write({"a.md": "# A\nx", "b/c.txt": "words", "d.bin": b"\x00"})
    info = corpus.snapshot()
    assert sorted(documents(info)) == ["a.md", "b/c.txt"]
    assert ledger(info) == {
        "a.md": ("indexed", "markdown"),
        "b/c.txt": ("indexed", "text"),
        "d.bin": ("skipped", "unsupported"),
    }
    assert info.counts == {"indexed": 2, "skipped": 1}
    assert info.rules == {"indexed:markdown": 1, "indexed:text": 1, "skipped:unsupported": 1}
    assert (info.documents, info.added) == (2, ("a.md", "b/c.txt"))
    stored = json.loads((info.folder / "snapshot.json").read_text())
    assert (stored["key"], stored["documents"]) == (info.key, 2)
    assert info.folder == corpus.paths.snapshot(info.key)
    assert ledger_reconciles(info.folder).passed
    assert no_failed_inputs(info.folder).passed


def test_one_unreadable_file_or_dangling_link_does_not_stop_the_others(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write({"ok.md": "# OK", "closed.md": "x"})
    (corpus.folder / "gone.md").symlink_to("./missing")
    opened = LocalFolder.open

    def refusing(self: LocalFolder, path: str) -> Any:
        if path == "closed.md":
            raise PermissionError(13, "Permission denied")
        return opened(self, path)

    monkeypatch.setattr(LocalFolder, "open", refusing)
    info = corpus.snapshot()
    assert ledger(info) == {
        "ok.md": ("indexed", "markdown"),
        "closed.md": ("failed", "unreadable"),
        "gone.md": ("skipped", "dangling_link"),
    }
    check = no_failed_inputs(info.folder)
    assert not check.passed
    assert "closed.md: unreadable Permission denied" in check.message
    with pytest.raises(TooManyFailures, match=r"closed\.md: unreadable"):
        corpus.snapshot(max_failed_share=0)


def test_a_file_that_vanishes_while_reading_is_reported(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus.write({"a.md": "x", "b.md": "y"})
    opened = LocalFolder.open

    def vanishing(self: LocalFolder, path: str) -> Any:
        (corpus.folder / "b.md").unlink(missing_ok=True)
        return opened(self, path)

    monkeypatch.setattr(LocalFolder, "open", vanishing)
    assert ledger(corpus.snapshot())["b.md"] == ("failed", "unreadable")


def test_a_file_that_grows_while_reading_is_cut_off(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus.write({"a.md": "x", "b.md": "y"})
    opened = LocalFolder.open

    def growing(self: LocalFolder, path: str) -> Any:
        (corpus.folder / "b.md").write_text("y" * 200)
        return opened(self, path)

    monkeypatch.setattr(LocalFolder, "open", growing)
    assert ledger(corpus.snapshot(max_file_bytes=100))["b.md"] == ("skipped", "too_large")


def test_nothing_is_left_of_a_run_that_stops(corpus: Corpus) -> None:
    corpus.write({"a.ipynb": "{", "b.ipynb": "{", "c.md": "x"})
    with pytest.raises(TooManyFailures):
        corpus.snapshot()
    assert list(corpus.paths.snapshot("x").parent.iterdir()) == []


def test_touching_a_file_changes_nothing(corpus: Corpus) -> None:
    corpus.write({"a.md": "# A"})
    first = corpus.snapshot()
    made = (first.folder / "documents.parquet").stat().st_mtime_ns
    os.utime(corpus.folder / "a.md", (1, 1))
    second = corpus.snapshot(previous=first.folder)
    assert second.key == first.key
    assert (second.added, second.changed, second.moved, second.deleted) == ((), (), (), ())
    assert (first.folder / "documents.parquet").stat().st_mtime_ns == made
    assert len(list(first.folder.parent.iterdir())) == 1
    corpus.write({".DS_Store": "x", ".git/HEAD": "x"})
    assert corpus.snapshot().key == first.key


def test_the_data_directory_inside_a_source_is_not_read(tmp_path: Path) -> None:
    """Its manifests are JSON: each build would have become documents of the next."""
    (tmp_path / "a.md").write_text("# A")
    collection = CollectionSettings.model_validate({"sources": [{"path": str(tmp_path)}]})
    paths = CollectionPaths(tmp_path / "data" / "docs")
    first = take_snapshot(collection, paths)
    sign = sources_fingerprint(collection, data=tmp_path / "data")
    (tmp_path / "data" / "release.json").write_text("{}")
    second = take_snapshot(collection, paths)
    assert second.key == first.key
    assert second.rules == {"indexed:markdown": 1, "skipped:own_data": 1}
    assert sources_fingerprint(collection, data=tmp_path / "data") == sign
    assert sources_fingerprint(collection) != sign


def test_a_moved_file_is_one_document_at_its_new_path(corpus: Corpus) -> None:
    corpus.write({"a.md": "# A\nwords"})
    first = corpus.snapshot()
    (corpus.folder / "sub").mkdir()
    (corpus.folder / "a.md").rename(corpus.folder / "sub" / "a.md")
    second = corpus.snapshot(previous=first.folder)
    assert sorted(documents(second)) == ["sub/a.md"]
    assert (second.moved, second.added, second.deleted) == ((("a.md", "sub/a.md"),), (), ())
    assert documents(second)["sub/a.md"].content_hash == documents(first)["a.md"].content_hash


def test_renaming_again_and_again_leaves_one_document(corpus: Corpus) -> None:
    corpus.write({"page-0.md": "# A"})
    folder: Path | None = None
    for i in range(5):
        info = corpus.snapshot(previous=folder)
        assert list(documents(info)) == [f"page-{i}.md"]
        folder = info.folder
        (corpus.folder / f"page-{i}.md").rename(corpus.folder / f"page-{i + 1}.md")


def test_changed_and_deleted(corpus: Corpus) -> None:
    corpus.write({"a.md": "# A", "b.md": "# B", "c.md": "---\nversion: 1\n---\nx"})
    first = corpus.snapshot()
    corpus.write({"a.md": "# A2", "_defaults.toml": 'author = "Ada"'})
    (corpus.folder / "b.md").unlink()
    second = corpus.snapshot(previous=first.folder)
    assert (second.changed, second.deleted) == (("a.md", "c.md"), ("b.md",))
    assert second.key != first.key


def test_an_access_list_alone_makes_another_snapshot(corpus: Corpus) -> None:
    corpus.write({"a.md": "# A"})
    first = corpus.snapshot()
    corpus.write({"_defaults.toml": "access = []"})
    second = corpus.snapshot()
    assert first.key != second.key
    assert (documents(first)["a.md"].access, documents(second)["a.md"].access) == (None, ())


def test_documents_below_broken_defaults_admit_nobody(corpus: Corpus) -> None:
    corpus.write({"hr/_defaults.toml": 'acess = ["group:hr"]', "hr/pay.md": "# Pay", "open.md": "# Open"})
    info = corpus.snapshot()
    assert {i: d.access for i, d in documents(info).items()} == {"hr/pay.md": (), "open.md": None}
    assert ledger(info)["hr/_defaults.toml"] == ("failed", "defaults")
    assert info.rules["notice:metadata"] == 1


def test_exact_duplicates_share_the_first_by_path(corpus: Corpus) -> None:
    corpus.write({f"f{i}/page.md": "# Same\nwords" for i in range(10)})
    info = corpus.snapshot()
    found = documents(info)
    assert [i for i, d in found.items() if d.canonical_id is None] == ["f0/page.md"]
    assert {d.canonical_id for i, d in found.items() if i != "f0/page.md"} == {"f0/page.md"}
    assert info.counts == {"filtered": 9, "indexed": 1}
    assert ledger(info)["f3/page.md"] == ("filtered", "duplicate")
    assert ledger_reconciles(info.folder).passed
    kept = corpus.snapshot(duplicates="keep")
    assert {d.canonical_id for d in documents(kept).values()} == {None}
    assert kept.key != info.key


def test_a_copy_under_another_access_list_is_no_duplicate(corpus: Corpus) -> None:
    """Collapsed, the restricted copy would stand for the public one, or the other way round."""
    corpus.write({"a/page.md": "# Same", "b/page.md": "# Same", "b/_defaults.toml": 'access = ["group:b"]'})
    assert {d.canonical_id for d in documents(corpus.snapshot()).values()} == {None}


def test_a_shared_paragraph_keeps_both_documents(corpus: Corpus) -> None:
    corpus.write({"a.md": "# A\n\nthe same paragraph", "b.md": "# B\n\nthe same paragraph"})
    info = corpus.snapshot()
    assert {i: (d.title, d.canonical_id) for i, d in documents(info).items()} == {
        "a.md": ("A", None),
        "b.md": ("B", None),
    }


def test_near_duplicates_are_reported_only(corpus: Corpus) -> None:
    page = " ".join(f"word{i}" for i in range(150))
    corpus.write({f"v{i}.md": f"{page} revised 2024-01-0{i}" for i in range(1, 9)})
    info = corpus.snapshot()
    assert info.rules["notice:near_duplicate"] == 7
    assert {d.canonical_id for d in documents(info).values()} == {None}


def test_empty_sources(corpus: Corpus) -> None:
    with pytest.raises(InvalidSource, match="allow_empty"):
        corpus.snapshot()
    with pytest.raises(InvalidSource, match="no sources"):
        corpus.snapshot(sources=[])
    empty = corpus.snapshot(allow_empty=True)
    assert (empty.documents, empty.counts) == (0, {})
    assert corpus.snapshot(sources=[], allow_empty=True).key == empty.key
    assert ledger_reconciles(empty.folder).passed


def test_all_files_filtered_is_reported_not_raised(corpus: Corpus) -> None:
    corpus.write({"a.md": " ", "b.bin": "x"})
    info = corpus.snapshot()
    assert (info.documents, info.counts) == (0, {"filtered": 1, "skipped": 1})


def test_several_sources(corpus: Corpus, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("# Other")
    corpus.write({"a.md": "# A"})
    sources = [{"path": str(corpus.folder), "name": "x"}, {"path": str(other), "name": "b"}]
    info = corpus.snapshot(sources=sources)
    assert list(documents(info)) == ["b/a.md", "x/a.md"]
    assert corpus.snapshot(sources=sources[::-1]).key == info.key


def test_a_beir_folder(corpus: Corpus) -> None:
    lines = [{"_id": "7", "title": "T", "text": "words"}, {"_id": "8", "text": ""}]
    corpus.write(
        {
            "corpus.jsonl": "\n".join(json.dumps(line) for line in lines),
            "queries.jsonl": "",
            "_defaults.toml": 'language = "en"',
        }
    )
    info = corpus.snapshot()
    assert ledger(info) == {
        "7": ("indexed", "text"),
        "8": ("filtered", "empty"),
        "queries.jsonl": ("skipped", "not_corpus"),
        "_defaults.toml": ("skipped", "defaults"),
    }
    assert documents(info)["7"].language == "en"


def test_a_url(corpus: Corpus) -> None:
    files = fsspec.filesystem("memory")
    files.pipe(
        {"/snapshot/a.md": b"# A", "/snapshot/b/_defaults.toml": b'access = ["group:b"]', "/snapshot/b/c.md": b"c"}
    )
    try:
        info = corpus.snapshot(sources=[{"path": "memory://snapshot"}])
        found = documents(info)
        assert {i: d.access for i, d in found.items()} == {"a.md": None, "b/c.md": ("group:b",)}
        assert found["a.md"].source == "memory:///snapshot/a.md"
    finally:
        files.rm("/snapshot", recursive=True)


def test_names_that_are_no_utf8_are_stored(corpus: Corpus) -> None:
    closed = corpus.folder / os.fsdecode(b"d\xe9")
    closed.mkdir()
    for name, text in ((b"caf\xe9.md", "one"), (b"a\nb.md", "two"), ("東京.md".encode(), "three"), (b"x.\xe9", "four")):
        (corpus.folder / os.fsdecode(name)).write_text(text)
    (closed / "e.md").write_text("five")
    (closed / "_defaults.toml").write_text("broken")
    (corpus.folder / "link.md").symlink_to(os.fsdecode(b"missing\xe9"))
    info = corpus.snapshot()
    assert sorted(documents(info)) == ["a\nb.md", "caf%E9.md", "d%E9/e.md", "東京.md"]
    assert documents(info)["d%E9/e.md"].access == ()
    assert ledger(info)["x.%E9"] == ("skipped", "unsupported")


def test_two_names_with_one_id_are_both_accounted_for(corpus: Corpus) -> None:
    (corpus.folder / os.fsdecode(b"caf\xe9.md")).write_text("one")
    (corpus.folder / "caf%E9.md").write_text("two")
    info = corpus.snapshot()
    assert ledger(info) == {"caf%E9.md": ("indexed", "markdown"), "caf%E9.md (again)": ("failed", "same_id")}
    assert ledger_reconciles(info.folder).passed


def test_encodings_are_all_readable(corpus: Corpus) -> None:
    text = "Prüfung der größeren Öfen, schön\n"
    corpus.write({f"{e}.txt": text.encode(e) for e in ("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252")})
    info = corpus.snapshot()
    found = documents(info)
    assert {d.text for d in found.values()} == {text}
    assert found["utf-16.txt"].source_map == ((0, 1),)
    assert info.rules["notice:repaired"] == 4


def test_a_line_of_five_megabytes_is_read(corpus: Corpus) -> None:
    line = '{"k":[' + "1," * 2_500_000 + "1]}"
    corpus.write({"long.json": line})
    assert len(documents(corpus.snapshot())["long.json"].text) == len(line)


def test_progress_ends_with_the_total(corpus: Corpus) -> None:
    corpus.write({f"{i}.md": f"# {i}" for i in range(5)})
    seen: list[Progress] = []
    take_snapshot(corpus.settings(), corpus.paths, progress=seen.append)
    assert (seen[-1].stage, seen[-1].done, seen[-1].total) == ("documents", 5, 5)


def test_reconciling_notices_a_lost_document(corpus: Corpus) -> None:
    corpus.write({"a.md": "# A", "b.md": "# B"})
    info = corpus.snapshot()
    other = corpus.snapshot(sources=[{"path": str(corpus.folder), "include": ["a.md"]}])
    (info.folder / "documents.parquet").write_bytes((other.folder / "documents.parquet").read_bytes())
    check = ledger_reconciles(info.folder)
    assert not check.passed
    assert "no document: b.md" in check.message


def test_the_fingerprint_follows_names_sizes_and_times(corpus: Corpus) -> None:
    corpus.write({"a.md": "# A"})
    first = sources_fingerprint(corpus.settings())
    assert sources_fingerprint(corpus.settings()) == first
    os.utime(corpus.folder / "a.md", (1, 1))
    touched = sources_fingerprint(corpus.settings())
    corpus.write({"b.md": "x"})
    (corpus.folder / os.fsdecode(b"\xe9.md")).write_text("x")
    added = sources_fingerprint(corpus.settings())
    assert len({first, touched, added}) == 3
    corpus.write({".hidden": "x"})
    assert sources_fingerprint(corpus.settings()) == added
