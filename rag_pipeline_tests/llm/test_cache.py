from pathlib import Path

from rag_pipeline.llm.cache import ReplyCache, reply_key


def test_the_least_recently_used_goes_first() -> None:
    cache = ReplyCache(2)
    cache.put("a", "1")
    cache.put("b", "2")
    assert cache.get("a") == "1"
    cache.put("c", "3")
    assert (cache.get("b"), cache.get("a"), cache.get("c")) == (None, "1", "3")
    assert (cache.hits, cache.misses) == (3, 1)


def test_none_is_kept_where_none_may_be(tmp_path: Path) -> None:
    cache = ReplyCache(0, folder=tmp_path)
    cache.put("a", "1")
    assert cache.get("a") is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_outlives_the_process(tmp_path: Path) -> None:
    ReplyCache(5, folder=tmp_path / "llm").put("a", "grüße")
    assert ReplyCache(5, folder=tmp_path / "llm").get("a") == "grüße"


def test_the_folder_is_bounded(tmp_path: Path) -> None:
    cache = ReplyCache(3, folder=tmp_path)
    for number in range(120):
        cache.put(f"k{number}", "x")
    assert len(list(tmp_path.glob("*.json"))) <= 3 + 50


def test_a_broken_or_foreign_file_is_a_miss(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.json").write_text('{"key": "c", "text": "other"}')
    cache = ReplyCache(5, folder=tmp_path)
    assert (cache.get("a"), cache.get("b")) == (None, None)


def test_a_folder_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = ReplyCache(5, folder=tmp_path / "file")
    cache.put("a", "1")
    assert cache.get("a") == "1"


def test_keys_differ_with_anything_asked() -> None:
    assert reply_key({"a": 1, "b": 2}) == reply_key({"b": 2, "a": 1})
    assert reply_key({"a": 1}) != reply_key({"a": 2})
