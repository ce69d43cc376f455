import gc
import threading
from pathlib import Path

import pytest

from rag_pipeline.errors import CorruptBuild, IncompatibleBuild, NoRelease, UnknownName
from rag_pipeline.index.lease import is_held
from rag_pipeline.paths import Home
from rag_pipeline.retrieval import reader
from rag_pipeline.retrieval.reader import collections, existing_collection, open_current, open_release
from rag_pipeline.retrieval.release_file import read_release, release_id, write_release
from rag_pipeline.schema import Release
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document, pumps


def test_opened_once(served: Served) -> None:
    served.publish(pumps())
    assert open_current(served.paths) is open_current(served.paths)


def test_a_moved_pointer_is_noticed_at_once_and_running_calls_finish(served: Served) -> None:
    first = served.publish(pumps())
    running = open_current(served.paths)
    second = served.publish([document("new.md", "a new page")], name="2")
    assert open_current(served.paths).release.release_id == second.release_id
    assert running.release.release_id == first.release_id
    assert running.index.fetch([0])[0].doc_id == "agents.md"
    assert served.ask("new page").hits[0].doc_id == "new.md"


def test_a_build_is_held_while_somebody_uses_it(served: Served) -> None:
    first = served.publish(pumps())
    lease = served.paths.lease(first.build_key)
    assert not is_held(lease)
    running = open_current(served.paths)
    served.publish([document("new.md", "a new page")], name="2")
    open_current(served.paths)
    assert is_held(lease)
    del running
    gc.collect()
    assert not is_held(lease)


def test_publishing_while_others_read(served: Served) -> None:
    """New requests see the new release; every answer belongs to the release it names."""
    one = served.publish([document("one.md", "the page")])
    two = served.publish([document("two.md", "the page")], name="2")
    owner = {one.release_id: "one.md", two.release_id: "two.md"}
    stop, wrong, seen = threading.Event(), [], set()

    def read() -> None:
        while not stop.is_set():
            result = served.ask("page", strategy="bm25")
            seen.add(result.release_id)
            if result.hits[0].doc_id != owner[result.release_id]:
                wrong.append(result)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(4):
        for release in (one, two):
            partial = served.paths.current.with_name("next")
            partial.write_text(release.release_id + "\n")
            partial.replace(served.paths.current)
            assert served.ask("page", strategy="bm25").release_id == release.release_id
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert seen == set(owner)


def test_no_release(served: Served) -> None:
    served.paths.root.mkdir(parents=True)
    with pytest.raises(NoRelease, match="run `rag-pipeline reindex -c test`"):
        open_current(served.paths)


def test_a_damaged_build_is_refused_and_not_held(served: Served) -> None:
    release = served.publish(pumps())
    (served.paths.build(release.build_key) / "vectors.npy").write_bytes(b"")
    with pytest.raises(CorruptBuild, match=r"vectors\.npy"):
        open_current(served.paths)
    gc.collect()
    assert not is_held(served.paths.lease(release.build_key))


def test_a_build_that_went_meanwhile(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """gc may remove the old build between reading CURRENT and opening: look again."""
    old = served.publish(pumps())
    new = served.publish([document("new.md", "a new page")], name="2")
    names = iter([old.release_id, new.release_id, new.release_id])
    monkeypatch.setattr(reader, "read_current", lambda _: next(names))
    (served.paths.build(old.build_key) / "manifest.json").unlink()
    assert open_current(served.paths).release == new


def test_a_release_of_another_model_than_its_build(served: Served) -> None:
    release = served.publish(pumps())
    content = {
        "collection": release.collection,
        "build_key": release.build_key,
        "embedder": {**release.embedder, "fingerprint": "other"},
        "strategies": release.strategies,
        "default_strategy": release.default_strategy,
        "contexts": release.contexts,
    }
    other = Release(release_id=release_id(**content), created=release.created, **content)  # type: ignore[arg-type]
    write_release(served.paths.release(other.release_id), other)
    with pytest.raises(IncompatibleBuild, match=r"by other, its build .* by words-64-256; .*rollback -c test`"):
        open_release(served.paths, other.release_id)
    assert read_release(served.paths.release(other.release_id)) == other


def test_collections(tmp_path: Path) -> None:
    home = Home(tmp_path / "data")
    assert collections(home) == ()
    with pytest.raises(UnknownName, match="none"):
        existing_collection(home, "docs")
    for name in ("docs", "models", "embeddings", "Bad-Name", "zoo"):
        (home.root / name).mkdir(parents=True)
    (home.root / "file").touch()
    assert collections(home) == ("docs", "zoo")
    assert existing_collection(home, "docs").root == home.root / "docs"
    with pytest.raises(UnknownName, match="docs, zoo"):
        existing_collection(home, "..")
