"""Snapshots of small folders, from files to Parquet."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
import pytest

from rag_pipeline.errors import InvalidSource, TooManyFailures
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.sources.checks import ledger_reconciles, no_failed_inputs
from rag_pipeline.sources.fingerprint import sources_fingerprint
from rag_pipeline.sources.folder import LocalFolder
from rag_pipeline.sources.snapshot import take_snapshot
from rag_pipeline_tests.sources.corpus import Corpus, documents, ledger

if TYPE_CHECKING:
    from rag_pipeline.schema import Progress


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


def test_documents_below_broken_defaults_admit_nobody(corpus: Corpus) -> None:
    corpus.write({"hr/_defaults.toml": 'acess = ["group:hr"]', "hr/pay.md": "# Pay", "open.md": "# Open"})
    info = corpus.snapshot()
    assert {i: d.access for i, d in documents(info).items()} == {"hr/pay.md": (), "open.md": None}
    assert ledger(info)["hr/_defaults.toml"] == ("failed", "defaults")
    assert info.rules["notice:metadata"] == 1


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
