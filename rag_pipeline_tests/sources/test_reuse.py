"""Documents that are taken over from the snapshot before are, to the byte, those that would be read anew."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.sources import inputs as module
from rag_pipeline.sources import reuse
from rag_pipeline.sources.snapshot import SnapshotInfo, take_snapshot
from rag_pipeline_tests.sources.corpus import Corpus, documents

LONG = " ".join(f"The pump number {n} is oiled once a week by its keeper." for n in range(12))
TEXTS = (
    "# A\n\nThe pump.",
    f"# Long\n\n{LONG}",
    f"# Long\n\n{LONG} Revised.",
    "---\ntitle: Filters\ntags: [a, b]\naccess: [group:staff]\n---\nChange the filter.",
    "---\ntitle: [broken\n---\nText.",
    "",
    "bad \x00 byte and caf\u00e9",
)
NAMES = ("a.md", "b.md", "sub/a.md", "sub/c.txt", "sub/deep/d.md", "e.xyz", "_defaults.toml", "sub/_defaults.toml")
STATES = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(TEXTS), min_size=1, max_size=len(NAMES))
DEFAULTS = ('author = "Ann"', 'author = "Bob"\ntags = ["x"]', 'nonsense = "x"')


@contextmanager
def counted() -> Iterator[list[str]]:
    """Ids of the documents that are really read."""
    read: list[str] = []
    original = module.read_document

    def counting(data: bytes, **named: Any) -> object:
        read.append(named["doc_id"])
        return original(data, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "read_document", counting)
        yield read


def content(info: SnapshotInfo) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(info.folder.iterdir())}


def told(info: SnapshotInfo) -> tuple[object, ...]:
    return info.key, info.counts, info.rules, info.documents, info.added, info.changed, info.moved, info.deleted


@given(history=st.lists(STATES, min_size=2, max_size=4), policy=st.sampled_from(["collapse", "keep"]))
def test_after_any_history_the_files_are_those_of_a_reading_from_nothing(
    history: list[dict[str, str]], policy: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Edits, additions, deletions, renames, other folder defaults: whatever leads from one state to the next."""
    root = tmp_path_factory.mktemp("history")
    try:
        corpus = Corpus(root)
        settings = corpus.settings(duplicates=policy, max_failed_share=1.0)
        before: SnapshotInfo | None = None
        keys: set[str] = set()
        for number, state in enumerate(history):
            shutil.rmtree(corpus.folder)
            corpus.folder.mkdir()
            corpus.write({n: DEFAULTS[len(t) % 3] if n.endswith(".toml") else t for n, t in state.items()})
            previous = before.folder if before is not None else None
            grown = take_snapshot(settings, corpus.paths, previous=previous)
            again = take_snapshot(settings, corpus.paths, previous=previous)
            anew = type(corpus.paths)(root / f"fresh-{number}")
            fresh = take_snapshot(settings, anew, previous=previous)
            assert told(grown) == told(fresh) == told(again)
            # What is no document (the size of a file without a reader) is not in the key: an older ledger stays.
            seen = {"documents.parquet"} if grown.key in keys else set(content(fresh))
            assert {n: content(grown)[n] for n in seen} == {n: content(fresh)[n] for n in seen}
            keys.add(grown.key)
            before = grown
    finally:
        shutil.rmtree(root)


def test_only_what_changed_is_parsed(corpus: Corpus) -> None:
    corpus.write({f"{n}.md": f"# P{n}\n\nPage {n}." for n in range(5)})
    first = corpus.snapshot()
    corpus.write({"1.md": "# Other"})
    (corpus.folder / "2.md").rename(corpus.folder / "moved.md")
    with counted() as read:
        second = corpus.snapshot(first.folder)
    assert read == ["1.md", "moved.md"]
    assert (second.reused, second.changed, second.moved) == (3, ("1.md",), (("2.md", "moved.md"),))


def test_nothing_is_parsed_where_nothing_changed_and_it_is_the_same_snapshot(corpus: Corpus) -> None:
    corpus.write({"a.md": "# A", "b.md": "# B", "c.xyz": "?", ".hidden": "x"})
    first = corpus.snapshot()
    made = {path.name: path.stat().st_mtime_ns for path in first.folder.iterdir()}
    with counted() as read:
        second = corpus.snapshot(first.folder)
    assert read == []
    assert told(second)[:4] == told(first)[:4]
    assert (second.added, second.changed, second.reused, second.problems) == ((), (), 2, ())
    assert {path.name: path.stat().st_mtime_ns for path in second.folder.iterdir()} == made


def test_a_touched_file_is_not_parsed_and_an_untouched_time_hides_nothing(corpus: Corpus) -> None:
    corpus.write({"touched.md": "# A", "same.md": "# Before"})
    first = corpus.snapshot()
    os.utime(corpus.folder / "touched.md", (1, 1))
    status = (corpus.folder / "same.md").stat()
    corpus.write({"same.md": "# Behind"[: status.st_size].ljust(status.st_size)})
    os.utime(corpus.folder / "same.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (corpus.folder / "same.md").stat().st_size == status.st_size
    with counted() as read:
        second = corpus.snapshot(first.folder)
    assert read == ["same.md"]
    assert second.changed == ("same.md",)


def test_other_defaults_of_its_folder_change_a_document_whose_file_is_the_same(corpus: Corpus) -> None:
    corpus.write({"sub/a.md": "# A", "b.md": "# B", "sub/_defaults.toml": 'access = ["group:staff"]'})
    first = corpus.snapshot()
    corpus.write({"sub/_defaults.toml": 'access = ["group:other"]'})
    with counted() as read:
        second = corpus.snapshot(first.folder)
    assert read == ["sub/a.md"]
    assert documents(second)["sub/a.md"].access == ("group:other",)


def test_failed_inputs_are_tried_again(corpus: Corpus) -> None:
    corpus.write({"a.ipynb": "{", "b.md": "# B"})
    first = corpus.snapshot(max_failed_share=1.0)
    with counted() as read:
        second = corpus.snapshot(first.folder, max_failed_share=1.0)
    assert read == ["a.ipynb"]
    assert second.counts == {"failed": 1, "indexed": 1}


def test_a_changed_setting_is_not_overlooked(corpus: Corpus) -> None:
    corpus.write({"a.md": "# A", "b.md": "# A"})
    collapsed = corpus.snapshot()
    kept = corpus.snapshot(duplicates="keep")
    assert (collapsed.counts, kept.counts) == ({"filtered": 1, "indexed": 1}, {"indexed": 2})
    assert kept.reused == 2


def test_a_corpus_file_is_read_again_only_when_it_changed(corpus: Corpus) -> None:
    corpus.write({"corpus.jsonl": '{"_id": "1", "text": "pump"}\n', "queries.jsonl": "{}\n"})
    first = corpus.snapshot()
    assert corpus.snapshot(first.folder).reused == 1
    corpus.write({"corpus.jsonl": '{"_id": "1", "text": "dump"}\n'})
    second = corpus.snapshot(first.folder)
    assert (second.reused, second.changed) == (0, ("1",))


@pytest.mark.parametrize("file", ["documents.parquet", "ledger.parquet"])
def test_a_damaged_snapshot_is_made_anew_and_said(corpus: Corpus, file: str) -> None:
    corpus.write({"a.md": "# A", "b.md": "# B"})
    first = corpus.snapshot()
    good = content(first)
    damage(first.folder / file)
    second = corpus.snapshot(first.folder)
    assert (second.key, second.reused) == (first.key, 0)
    assert second.problems == (f"{file} of snapshot {first.key} changed since; every document is read again",)
    assert content(second) == good
    assert corpus.snapshot().problems == ()


def test_a_damaged_list_of_what_is_known_is_not_used(corpus: Corpus) -> None:
    corpus.write({"a.md": "# A", "b.md": "# B"})
    first = corpus.snapshot()
    damage(corpus.paths.staging / "inputs.parquet")
    second = corpus.snapshot(first.folder)
    assert (second.key, second.reused, len(second.problems)) == (first.key, 0, 1)
    assert content(second) == content(first)


def test_what_other_code_read_is_not_taken_over(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus.write({"a.md": "# A"})
    corpus.snapshot()
    monkeypatch.setattr(reuse, "BY", "other code")
    assert corpus.snapshot().reused == 0


def test_an_older_snapshot_of_the_same_key_is_not_what_later_ones_are_made_from(corpus: Corpus) -> None:
    """A copy of the folder elsewhere has the same key and other places: the first snapshot's files stay."""
    corpus.write({"a.md": "# A"})
    first = corpus.snapshot()
    elsewhere = corpus.folder.with_name("elsewhere")
    corpus.folder.rename(elsewhere)
    corpus.folder = elsewhere
    second = corpus.snapshot(first.folder)
    assert second.key == first.key
    with counted() as read:  # it is still the snapshot of what lies there
        assert corpus.snapshot(second.folder).key == first.key
    assert read == []
    corpus.write({"b.md": "# B"})
    third = corpus.snapshot(second.folder)
    assert documents(third)["a.md"].source == str(elsewhere / "a.md")


def test_what_is_kept_does_not_grow_with_the_number_of_runs(corpus: Corpus) -> None:
    for n in range(4):
        corpus.write({"a.md": f"# A{n}"})
        corpus.snapshot()
    assert sorted(p.name for p in corpus.paths.staging.iterdir() if p.is_file()) == ["inputs.kept", "inputs.parquet"]


def damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)
