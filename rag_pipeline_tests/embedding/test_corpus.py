import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from rag_pipeline.embedding import corpus
from rag_pipeline.embedding.corpus import embed_corpus
from rag_pipeline.embedding.vectors import VectorsInfo, vectors_key
from rag_pipeline.errors import IncompatibleBuild, InvalidSource, ModelUnavailable
from rag_pipeline.parquet import read_rows, write_rows
from rag_pipeline.paths import Home
from rag_pipeline.schema import Chunk, LedgerEntry, Progress
from rag_pipeline_tests.fakes import WordEmbedder


class Faulty(WordEmbedder):
    """Gives `bad` as the vector of texts that hold the word "poison", and stops at a text that holds "stop"."""

    def __init__(self, bad: float = np.nan, **sizes: int) -> None:
        super().__init__(**sizes)
        self.bad = bad

    def embed(self, texts: Sequence[str], role: Literal["document", "query"] = "document") -> np.ndarray:
        if any("stop" in t for t in texts):
            raise RuntimeError("the accelerator is gone")
        out = super().embed(texts, role)
        out[["poison" in t for t in texts]] = self.bad
        return out


def chunking(home: Home, *texts: str, name: str = "chunking-1") -> Path:
    folder = home.collection("c").chunking(name)
    folder.mkdir(parents=True)
    rows = [
        Chunk(f"d.md#c{i}", f"d.md#s{i}", "d.md", i, 10 * i, 10 * i + 9, text, "", text, len(text.split()), "prose")
        for i, text in enumerate(texts)
    ]
    write_rows(folder / "chunks.parquet", Chunk, rows)
    return folder


def embed(home: Home, folder: Path, embedder: WordEmbedder, **more: Any) -> VectorsInfo:
    paths = home.collection("c")
    return embed_corpus(folder, embedder, cache=home.embeddings(embedder.fingerprint), paths=paths, **more)


def asked(embedder: WordEmbedder) -> list[str]:
    return [text for call in embedder.calls for text in call]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_writes_a_vector_a_chunk(home: Home) -> None:
    embedder = WordEmbedder()
    folder = chunking(home, "red pump", "blue valve", "green pipe")
    info = embed(home, folder, embedder)
    assert (info.chunks, info.embedded, info.reused, info.rejected) == (3, 3, 0, 0)
    assert info.key == info.folder.name == vectors_key("chunking-1", embedder.fingerprint)
    vectors = np.load(info.folder / "vectors.npy")
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, embedder.embed(["red pump", "blue valve", "green pipe"]))
    rows = np.load(info.folder / "rows.npy")
    assert (rows.tolist(), rows.dtype) == ([0, 1, 2], np.int64)
    assert list(read_rows(info.folder / "ledger.parquet", LedgerEntry)) == []


def test_the_same_again_does_nothing(home: Home) -> None:
    folder = chunking(home, "red pump", "blue valve")
    first = embed(home, folder, WordEmbedder())
    embedder = WordEmbedder()
    again = embed(home, folder, embedder)
    assert (again.folder, again.embedded, again.reused) == (first.folder, 0, 2)
    assert embedder.calls == []


def test_equal_texts_are_embedded_once(home: Home) -> None:
    embedder = WordEmbedder()
    info = embed(home, chunking(home, "same", "other", "same", "same"), embedder)
    assert sorted(asked(embedder)) == ["other", "same"]
    assert (info.chunks, info.embedded, info.reused) == (4, 2, 2)
    vectors = np.load(info.folder / "vectors.npy")
    np.testing.assert_array_equal(vectors[0], vectors[3])


def test_only_changed_texts_are_embedded(home: Home) -> None:
    embed(home, chunking(home, "one", "two", name="chunking-1"), WordEmbedder())
    embedder = WordEmbedder()
    info = embed(home, chunking(home, "one", "two", "three", name="chunking-2"), embedder)
    assert asked(embedder) == ["three"]
    assert (info.embedded, info.reused) == (1, 2)


def test_another_model_starts_afresh(home: Home) -> None:
    """A cache shared by two models, or two dimensions, would put one's vectors into the other's index."""
    folder = chunking(home, "one", "two")
    small, large = WordEmbedder(dimension=64), WordEmbedder(dimension=128)
    first, second = embed(home, folder, small), embed(home, folder, large)
    assert sorted(asked(large)) == ["one", "two"]
    assert first.folder != second.folder
    assert np.load(second.folder / "vectors.npy").shape == (2, 128)
    assert np.load(first.folder / "vectors.npy").shape == (2, 64)


def test_another_models_cache_is_refused_naming_both(home: Home) -> None:
    folder = chunking(home, "one")
    small, large = WordEmbedder(dimension=64), WordEmbedder(dimension=128)
    embed(home, folder, small)
    with pytest.raises(IncompatibleBuild) as caught:
        embed_corpus(folder, large, cache=home.embeddings(small.fingerprint), paths=home.collection("c"))
    assert small.fingerprint in str(caught.value)
    assert large.fingerprint in str(caught.value)


@pytest.mark.parametrize(
    ("bad", "rule"), [(np.nan, "nan_vector"), (np.inf, "nan_vector"), (0.0, "zero_vector"), (3.0, "not_unit_length")]
)
def test_an_unsound_vector_leaves_its_chunk_out_and_says_so(home: Home, bad: float, rule: str) -> None:
    folder = chunking(home, "red pump", "poison", "blue valve", "poison")
    info = embed(home, folder, Faulty(bad))
    assert (info.chunks, info.embedded, info.reused, info.rejected) == (4, 2, 0, 2)
    assert np.load(info.folder / "rows.npy").tolist() == [0, 2]
    vectors = np.load(info.folder / "vectors.npy")
    np.testing.assert_array_equal(vectors, WordEmbedder().embed(["red pump", "blue valve"]))
    entries = list(read_rows(info.folder / "ledger.parquet", LedgerEntry))
    assert [(e.path, e.stage, e.outcome, e.rule, e.start, e.end) for e in entries] == [
        ("d.md", "embed", "failed", rule, 10, 19),
        ("d.md", "embed", "failed", rule, 30, 39),
    ]
    assert entries[0].detail.startswith("d.md#c1: ")


def test_a_healthy_run_after_a_rejection_is_another_folder(home: Home) -> None:
    """A model that failed once must not leave its chunk out for ever, nor change what is already written."""
    folder = chunking(home, "red pump", "poison")
    first = embed(home, folder, Faulty())
    repeated = embed(home, folder, Faulty())
    assert (repeated.folder, repeated.rejected, repeated.embedded) == (first.folder, 1, 0)
    embedder = WordEmbedder()
    healthy = embed(home, folder, embedder)
    assert asked(embedder) == ["poison"]
    assert healthy.folder != first.folder
    assert (healthy.rejected, healthy.embedded, healthy.reused) == (0, 1, 1)
    assert np.load(first.folder / "rows.npy").tolist() == [0]


def test_a_model_without_one_sound_vector_is_refused(home: Home) -> None:
    with pytest.raises(ModelUnavailable, match="no sound vector for any of 2 chunks"):
        embed(home, chunking(home, "poison", "poison too"), Faulty())


def test_an_embedder_that_gives_too_few_vectors_is_refused(home: Home) -> None:
    class Short(WordEmbedder):
        def embed(self, texts: Sequence[str], role: Literal["document", "query"] = "document") -> np.ndarray:
            return super().embed(texts, role)[:-1]

    with pytest.raises(ModelUnavailable, match="1 vectors for 2 texts"):
        embed(home, chunking(home, "a", "b"), Short())


def test_no_chunks_at_all(home: Home) -> None:
    info = embed(home, chunking(home), WordEmbedder())
    assert (info.chunks, info.embedded, info.reused, info.rejected) == (0, 0, 0, 0)
    assert np.load(info.folder / "vectors.npy").shape == (0, 64)


def test_a_missing_chunking_is_named(home: Home) -> None:
    with pytest.raises(InvalidSource, match="chunk the documents again"):
        embed(home, home.root / "nothing", WordEmbedder())


def test_an_embedder_that_fails_loses_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "CALL_TEXTS", 2)
    old = embed(home, chunking(home, "old text"), WordEmbedder())
    before = (old.folder / "vectors.npy").read_bytes()
    folder = chunking(home, "much longer one", "much longer two", "longer 3", "longer 4", "stop", name="chunking-2")
    with pytest.raises(RuntimeError, match="the accelerator is gone") as caught:
        embed(home, folder, Faulty())
    assert "4 of 5 texts are embedded and kept" in caught.value.__notes__[0]
    assert (old.folder / "vectors.npy").read_bytes() == before
    assert not home.collection("c").vectors(vectors_key("chunking-2", WordEmbedder().fingerprint)).exists()
    embedder = WordEmbedder()
    assert embed(home, folder, embedder).embedded == 1
    assert asked(embedder) == ["stop"]


def test_progress_counts_what_is_left_to_embed(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "CALL_TEXTS", 2)
    embed(home, chunking(home, "known"), WordEmbedder())
    seen: list[Progress] = []
    embed(home, chunking(home, "known", "b", "c", "d", name="chunking-2"), WordEmbedder(), progress=seen.append)
    assert [(p.done, p.total) for p in seen] == [(0, 3), (2, 3), (3, 3)]
    assert {p.note for p in seen} == {"1 texts known already"}


def test_windows_keep_every_text_and_its_place(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "CALL_TEXTS", 3)
    monkeypatch.setattr(corpus, "WINDOW_TEXTS", 5)
    texts = [f"text {i % 13} " + "long " * (i % 7) for i in range(40)]
    embedder = WordEmbedder()
    info = embed(home, chunking(home, *texts), embedder)
    assert len(asked(embedder)) == len(set(texts))
    np.testing.assert_array_equal(np.load(info.folder / "vectors.npy"), embedder.embed(texts))


def test_a_killed_run_is_resumed_where_it_stopped(home: Home) -> None:
    """Killed past the half, the next run embeds only the rest; and there is no folder that claims to be whole."""
    texts = [f"text number {i:02d}" for i in range(40)]
    folder = chunking(home, *texts)
    code = f"""
import sys
from pathlib import Path
from rag_pipeline.embedding import corpus
from rag_pipeline.paths import Home
from rag_pipeline_tests.embedding.test_corpus import embed
from rag_pipeline_tests.fakes import WordEmbedder
corpus.CALL_TEXTS, corpus.FLUSH_SECONDS = 4, 0.0
def told(progress):
    print(progress.done, flush=True)
    if progress.done == 24:
        sys.stdin.read()
embed(Home(Path({str(home.root)!r})), Path({str(folder)!r}), WordEmbedder(), progress=told)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while process.stdout.readline().strip() != "24":
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not home.collection("c").vectors(vectors_key(folder.name, WordEmbedder().fingerprint)).exists()
    other = WordEmbedder(dimension=128)
    assert embed(home, folder, other).embedded == 40
    embedder = WordEmbedder()
    info = embed(home, folder, embedder)
    assert (info.chunks, info.embedded, info.reused) == (40, 16, 24)
    assert len(asked(embedder)) == 16
    np.testing.assert_array_equal(np.load(info.folder / "vectors.npy"), embedder.embed(texts))


def test_a_damaged_cached_vector_is_embedded_again(home: Home) -> None:
    embed(home, chunking(home, "one", "two"), WordEmbedder())
    (path,) = home.embeddings(WordEmbedder().fingerprint).glob("*.vectors.npy")
    data = np.load(path)
    data[:] = np.nan
    np.save(path, data)
    embedder = WordEmbedder()
    info = embed(home, chunking(home, "one", "two", "three", name="chunking-2"), embedder)
    assert sorted(asked(embedder)) == ["one", "three", "two"]
    np.testing.assert_array_equal(np.load(info.folder / "vectors.npy"), embedder.embed(["one", "two", "three"]))


@pytest.mark.parametrize("file", ["vectors.npy", "rows.npy", "ledger.parquet", "vectors.json"])
def test_a_flipped_bit_in_stored_vectors_is_found_and_they_are_put_together_again(home: Home, file: str) -> None:
    """Any bit: the lowest of a number leaves it finite and, nearly, of unit length."""
    folder = chunking(home, "one", "two", "three")
    made = embed(home, folder, WordEmbedder())
    assert embed(home, folder, WordEmbedder()).problems == ()
    good = {path.name: path.read_bytes() for path in made.folder.iterdir()}
    data = bytearray(good[file])
    data[-4] ^= 1
    (made.folder / file).write_bytes(data)
    embedder = WordEmbedder()
    info = embed(home, folder, embedder)
    assert asked(embedder) == []
    assert made.key in info.problems[0]
    files = {path.name: path.read_bytes() for path in made.folder.iterdir()}
    assert {**files, "vectors.json": b""} == {**good, "vectors.json": b""}
    assert embed(home, folder, WordEmbedder()).problems == ()


def test_stored_vectors_without_checksums_are_put_together_again(home: Home) -> None:
    folder = chunking(home, "one", "two")
    card = embed(home, folder, WordEmbedder()).folder / "vectors.json"
    stored = json.loads(card.read_text())
    del stored["files"]
    card.write_text(json.dumps(stored))
    assert "no checksums" in embed(home, folder, WordEmbedder()).problems[0]
    assert "files" in json.loads(card.read_text())
