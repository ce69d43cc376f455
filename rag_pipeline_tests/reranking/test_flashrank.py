import hashlib
import io
import logging
import tempfile
import zipfile
from pathlib import Path

import pytest

from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.reranking.base import Passage
from rag_pipeline.reranking.flashrank import FlashRankReranker, file_sha256
from rag_pipeline.reranking.flashrank_fetch import fetch_model
from rag_pipeline_tests.local_server import Answer, LocalServer, local_server
from rag_pipeline_tests.reranking.tiny_models import write_cross_encoder

pytest.importorskip("flashrank")

NAME, FILE = "ms-marco-TinyBERT-L-2-v2", "flashrank-TinyBERT-L-2-v2.onnx"
PASSAGES = (Passage("a", "oil"), Passage("b", "valve valve"), Passage("c", "pump oil"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_cross_encoder(tmp_path / NAME, FILE, ("pump", "valve", "oil"), (2.0, -1.0, 0.0))
    return tmp_path / NAME


@pytest.fixture
def server():
    with local_server() as served:
        yield served


def test_the_best_was_last_and_comes_first(folder: Path) -> None:
    ranked = FlashRankReranker(folder).rerank("pump", PASSAGES)
    # Sigmoids of 2, 0 and -2.
    assert ranked == (("c", 0.880797), ("a", 0.5), ("b", 0.119203))
    assert [type(score) for _, score in ranked] == [float] * 3


def test_the_callers_list_is_not_sorted_nor_added_to(folder: Path) -> None:
    passages = list(PASSAGES)
    FlashRankReranker(folder).rerank("pump", passages, top_k=1)
    assert passages == list(PASSAGES)


def test_more_than_one_batch_keeps_every_id(folder: Path) -> None:
    many = [Passage(f"{n:03}", "pump" if n == 77 else "oil") for n in range(100)]
    ranked = FlashRankReranker(folder).rerank("pump", many)
    assert ranked[0][0] == "077"
    assert len({i for i, _ in ranked}) == 100
    assert FlashRankReranker(folder).rerank("pump", []) == ()


def test_nothing_happens_on_the_side(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's own loader sets up the root logger and makes and fills a cache in the temporary folder."""
    monkeypatch.setattr(logging, "basicConfig", lambda **_: pytest.fail("logging was set up"))
    before = set(Path(tempfile.gettempdir()).iterdir())
    files = sorted(folder.iterdir())
    FlashRankReranker(folder).rerank("pump", PASSAGES)
    assert sorted(folder.iterdir()) == files
    assert not [name for name in set(Path(tempfile.gettempdir()).iterdir()) - before if "marco" in name.name]


@pytest.mark.parametrize("missing", [FILE, "config.json", "tokenizer.json", "special_tokens_map.json"])
def test_half_a_folder_is_not_a_model(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(ModelUnavailable, match="not complete"):
        FlashRankReranker(folder)


def test_a_broken_file_is_not_a_model(folder: Path) -> None:
    (folder / FILE).write_bytes(b"not onnx")
    with pytest.raises(ModelUnavailable, match="can't be loaded"):
        FlashRankReranker(folder)


def test_the_pinned_hash(folder: Path) -> None:
    right = file_sha256(folder / FILE)
    assert right[:12] in FlashRankReranker(folder, sha256=right.upper()).name
    with pytest.raises(ModelUnavailable, match=right):
        FlashRankReranker(folder, sha256="0" * 64)


@pytest.mark.parametrize("name", ["my-model", "rank_zephyr_7b_v1_full"])
def test_a_folder_of_another_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(ModelUnavailable, match=name):
        FlashRankReranker(tmp_path / name)


def archive(folder: Path, *, prefix: str = f"{NAME}/") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as zipped:
        for file in sorted(folder.iterdir()):
            zipped.write(file, prefix + file.name)
    return made.getvalue()


def sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def test_fetched_checked_and_used(folder: Path, tmp_path: Path, server: LocalServer) -> None:
    raw = archive(folder)
    server.script(Answer(raw))
    models = tmp_path / "models"
    fetched = fetch_model(NAME, models, sha256=sha256(raw), url=server.url + "/m.zip")
    assert FlashRankReranker(fetched).rerank("pump", PASSAGES)[0][0] == "c"
    fetch_model(NAME, models, sha256=sha256(raw), url=server.url + "/m.zip")
    assert len(server.asked) == 1, "what is complete is not fetched again"
    assert [path.name for path in models.iterdir()] == [NAME], "nothing temporary is left"


def test_a_half_unpacked_folder_is_replaced(folder: Path, tmp_path: Path, server: LocalServer) -> None:
    raw = archive(folder)
    server.script(Answer(raw))
    (tmp_path / "models" / NAME).mkdir(parents=True)
    fetched = fetch_model(NAME, tmp_path / "models", sha256=sha256(raw), url=server.url)
    assert FlashRankReranker(fetched).rerank("pump", PASSAGES)


def test_what_may_not_be_fetched(folder: Path, tmp_path: Path, server: LocalServer) -> None:
    raw = archive(folder)
    models = tmp_path / "models"
    for answer, pin, what in (
        (Answer(raw), "0" * 64, "nothing was unpacked"),
        (Answer(raw), "", "no sha256"),
        (Answer(b"gone", status=404), "0" * 64, "404"),
        (Answer(b"no zip"), sha256(b"no zip"), "no zip file"),
    ):
        server.script(answer)
        with pytest.raises(ModelUnavailable, match=what):
            fetch_model(NAME, models, sha256=pin, url=server.url)
    server.script(Answer(raw))
    with pytest.raises(ModelUnavailable, match="more than"):
        fetch_model(NAME, models, sha256=sha256(raw), url=server.url, max_bytes=100)
    server.script(Answer(raw, drip=0.01))
    with pytest.raises(ModelUnavailable, match="longer than"):
        fetch_model(NAME, models, sha256=sha256(raw), url=server.url, seconds=0.2)
    with pytest.raises(ModelUnavailable, match="can't be fetched"):
        fetch_model(NAME, models, sha256=sha256(raw), url="http://127.0.0.1:9/m.zip")
    assert list(models.iterdir()) == []


def test_no_path_of_the_archive_is_followed(folder: Path, tmp_path: Path, server: LocalServer) -> None:
    raw = archive(folder, prefix="../../outside/")
    server.script(Answer(raw))
    models = tmp_path / "a" / "b" / "models"
    fetched = fetch_model(NAME, models, sha256=sha256(raw), url=server.url)
    assert fetched == models / NAME
    assert not (tmp_path / "a" / "outside").exists()


def test_an_archive_without_the_files(folder: Path, tmp_path: Path, server: LocalServer) -> None:
    (folder / "config.json").unlink()
    raw = archive(folder)
    server.script(Answer(raw))
    with pytest.raises(ModelUnavailable, match=r"lacks config\.json"):
        fetch_model(NAME, tmp_path / "models", sha256=sha256(raw), url=server.url)
