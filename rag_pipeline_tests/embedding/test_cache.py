import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pipeline.embedding.cache import VectorCache, as_keys, text_key
from rag_pipeline.errors import CorruptBuild, IncompatibleBuild


def opened(folder: Path, *, dimension: int = 2) -> VectorCache:
    return VectorCache(folder, fingerprint="model-a", dimension=dimension)


def keys(*texts: str) -> np.ndarray:
    return as_keys([text_key(t, role="document") for t in texts])


def angle(*degrees: float) -> np.ndarray:
    turned = np.radians(degrees)
    return np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)


def test_what_was_put_is_found_by_this_and_by_later_openings(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    assert cache.put(keys("a", "b"), angle(10, 20)) == ()
    cache.put(keys("c"), angle(30))
    for each in (cache, opened(tmp_path)):
        np.testing.assert_array_equal(each.get_many(keys("c", "a", "a", "b")), angle(30, 10, 10, 20))
        assert each.find(keys("a", "x", "c")).tolist() == [True, False, True]
        assert each.problems == []


def test_an_absent_key_raises(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="1 of 1"):
        opened(tmp_path).get_many(keys("a"))
    assert opened(tmp_path).get_many(keys()).shape == (0, 2)
    assert opened(tmp_path).find(keys()).tolist() == []


def test_role_and_exact_text_make_the_key() -> None:
    made = {
        text_key("Straße", role="document"),
        text_key("Straße", role="query"),
        text_key("Strasse", role="document"),
        text_key("Straße ", role="document"),
        text_key("caf\u00e9", role="document"),
        text_key("cafe\u0301", role="document"),
        text_key("\ud800", role="document"),
    }
    assert len(made) == 7
    assert {len(k) for k in made} == {32}


def test_unsound_vectors_are_returned_and_never_stored(tmp_path: Path) -> None:
    """DuckDB accepts a NaN vector and then fails every distance query: it must not come this far."""
    cache = opened(tmp_path)
    vectors = np.array([[1, 0], [np.nan, 1], [0, 0], [0.6, 0.8], [2, 0]], np.float32)
    rejected = cache.put(keys("a", "b", "c", "d", "e"), vectors)
    assert [(r.position, r.rule) for r in rejected] == [
        (1, "nan_vector"),
        (2, "zero_vector"),
        (4, "not_unit_length"),
    ]
    assert opened(tmp_path).find(keys("a", "b", "c", "d", "e")).tolist() == [True, False, False, True, False]
    np.testing.assert_array_equal(cache.get_many(keys("d", "a")), vectors[[3, 0]])


def test_another_dimension_stores_nothing(tmp_path: Path) -> None:
    rejected = opened(tmp_path).put(keys("a"), np.array([[1, 0, 0]], np.float32))
    assert [r.rule for r in rejected] == ["wrong_dimension"]
    assert not list(tmp_path.glob("*.npy"))


def test_numbers_of_keys_and_vectors_must_agree(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1 keys for 2 vectors"):
        opened(tmp_path).put(keys("a"), angle(1, 2))


@pytest.mark.parametrize(("fingerprint", "dimension"), [("model-b", 2), ("model-a", 3)])
def test_another_model_is_refused_naming_both(tmp_path: Path, fingerprint: str, dimension: int) -> None:
    opened(tmp_path)
    with pytest.raises(IncompatibleBuild) as caught:
        VectorCache(tmp_path, fingerprint=fingerprint, dimension=dimension)
    assert "model-a" in str(caught.value)
    assert fingerprint in str(caught.value)


def test_an_unreadable_card_says_what_to_delete(tmp_path: Path) -> None:
    opened(tmp_path)
    (tmp_path / "cache.json").write_text("{")
    with pytest.raises(CorruptBuild, match="delete"):
        opened(tmp_path)


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\x00"])
def test_a_damaged_card_heals_where_the_folder_is_named_for_the_model(tmp_path: Path, damage: bytes) -> None:
    cache = opened(tmp_path / "model-a")
    cache.put(keys("a"), angle(10))
    (cache.folder / "cache.json").write_bytes(damage)
    again = opened(cache.folder)
    assert again.get_many(keys("a")).tolist() == angle(10).tolist()
    assert "cache.json" in again.problems[0]
    assert opened(cache.folder).problems == []


@pytest.mark.parametrize("what", ["keys", "vectors"])
@pytest.mark.parametrize("left", [0, 10, 128, 130, -1])
def test_a_torn_segment_is_left_out_and_reported(tmp_path: Path, what: str, left: int) -> None:
    cache = opened(tmp_path)
    cache.put(keys("a", "b"), angle(10, 20))
    (torn,) = tmp_path.glob(f"*.{what}.npy")
    cache.put(keys("c"), angle(30))
    torn.write_bytes(torn.read_bytes()[:left])
    again = opened(tmp_path)
    assert again.find(keys("a", "b", "c")).tolist() == [False, False, True]
    assert len(again.problems) == 1
    again.put(keys("a"), angle(10))
    np.testing.assert_array_equal(opened(tmp_path).get_many(keys("a", "c")), angle(10, 30))


def test_vectors_without_keys_are_not_committed(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.put(keys("a"), angle(10))
    next(tmp_path.glob("*.keys.npy")).unlink()
    again = opened(tmp_path)
    assert not again.find(keys("a")).any()
    assert "not committed" in again.problems[0]


def test_keys_and_vectors_of_different_segments_are_left_out(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.put(keys("a", "b"), angle(10, 20))
    cache.put(keys("c"), angle(30))
    first, second = sorted(tmp_path.glob("*.keys.npy"))
    second.write_bytes(first.read_bytes())
    again = opened(tmp_path)
    assert again.find(keys("a", "b", "c")).tolist() == [True, True, False]
    assert len(again.problems) == 1


def test_a_damaged_vector_counts_as_absent_and_the_newest_one_wins(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.put(keys("a", "b"), angle(10, 20))
    (path,) = tmp_path.glob("*.vectors.npy")
    data = np.load(path)
    data[0] = 0
    np.save(path, data)
    again = opened(tmp_path)
    assert again.find(keys("a", "b")).tolist() == [False, True]
    again.put(keys("a"), angle(10))
    np.testing.assert_array_equal(opened(tmp_path).get_many(keys("a", "b")), angle(10, 20))


def test_a_shared_first_word_is_a_miss_and_never_anothers_vector(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    one = np.array([[7, 1, 1, 1]], np.uint64)
    two = np.array([[7, 2, 2, 2]], np.uint64)
    cache.put(one, angle(10))
    assert cache.find(two).tolist() == [False]
    cache.put(two, angle(20))
    np.testing.assert_array_equal(cache.get_many(two), angle(20))
    assert cache.find(one).tolist() == [False]


@settings(max_examples=25)  # every put waits for the disk
@given(puts=st.lists(st.dictionaries(st.text(max_size=4), st.floats(0, 359), max_size=6), max_size=6), data=st.data())
def test_behaves_as_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, puts: list[dict[str, float]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    model: dict[str, np.ndarray] = {}
    cache = opened(folder)
    for put in puts:
        cache.put(keys(*put), angle(*put.values()))
        model |= dict(zip(put, angle(*put.values()), strict=True))
        if data.draw(st.booleans()):
            cache = opened(folder)
    wanted = [*model, "never put"]
    assert cache.find(keys(*wanted)).tolist() == [True] * len(model) + [False]
    if model:
        np.testing.assert_array_equal(cache.get_many(keys(*model)), list(model.values()))


def _writer(folder: Path, number: int) -> None:
    cache = opened(folder)
    for i in range(10):
        cache.put(keys(f"{number}-{i}", "shared"), angle(number * 10 + i, 45))


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_writer, args=(tmp_path, n)) for n in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    cache = opened(tmp_path)
    assert cache.problems == []
    wanted = [(f"{n}-{i}", n * 10 + i) for n in range(3) for i in range(10)]
    np.testing.assert_array_equal(cache.get_many(keys(*(t for t, _ in wanted))), angle(*(a for _, a in wanted)))
    np.testing.assert_array_equal(cache.get_many(keys("shared")), angle(45))


def test_a_kill_at_any_moment_leaves_a_readable_cache(tmp_path: Path) -> None:
    """Only whole segments count after a kill, and every one that a put returned for is there."""
    code = f"""
import sys
from pathlib import Path
from rag_pipeline_tests.embedding.test_cache import angle, keys, opened
cache = opened(Path({str(tmp_path)!r}))
for i in range(100_000):
    cache.put(keys(f"{{i}}", f"{{i}}b"), angle(i % 360, i % 360))
    print(i, flush=True)
"""
    for wait in (0.0, 0.003, 0.011, 0.02):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
        told = [int(line) for line in process.communicate()[0].splitlines() if line.strip()]
        done = max(told, default=0)
        cache = opened(tmp_path)
        texts = [t for i in range(done + 1) for t in (f"{i}", f"{i}b")]
        expected = angle(*(i % 360 for i in range(done + 1) for _ in "ab"))
        np.testing.assert_array_equal(cache.get_many(keys(*texts)), expected)


def test_many_keys_are_looked_up_quickly(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    many = np.random.default_rng(0).integers(0, 2**63, (200_000, 4)).astype(np.uint64)
    for part in np.array_split(many, 20):
        cache.put(part, angle(*np.zeros(len(part))))
    started = time.process_time()
    assert opened(tmp_path).find(many).all()
    assert time.process_time() - started < 5
