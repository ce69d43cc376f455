"""What a later snapshot says of a folder: what moved, changed, went, or is there twice."""

import os
from pathlib import Path

import pytest

from rag_pipeline.errors import TooManyFailures
from rag_pipeline.sources.checks import ledger_reconciles
from rag_pipeline.sources.fingerprint import sources_fingerprint
from rag_pipeline_tests.sources.corpus import Corpus, documents, ledger


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
