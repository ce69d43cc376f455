import hashlib
import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.errors import CorruptBuild
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.release_file import (
    _TYPES,
    content_id,
    read_current,
    read_release,
    release_id,
    write_release,
)
from rag_pipeline.schema import Release

CONTENT: dict[str, Any] = {
    "collection": "wiki",
    "build_key": "b1",
    "embedder": {
        "fingerprint": "f",
        "model": "m",
        "runtime": "r",
        "dimension": 4,
        "max_tokens": 8,
        "query_prefix": "",
    },
    "strategies": {"hybrid": {"vector_weight": 0.6}},
    "default_strategy": "hybrid",
    "contexts": {"agent": {"max_tokens": 1500}},
}


def make(**changes: Any) -> Release:
    content = {**CONTENT, "calibration": None, **changes}
    return Release(release_id=release_id(**content), created="2026-01-01T00:00:00Z", **content)


def test_id_is_the_sha256_of_the_canonical_json() -> None:
    text = (
        '{"build_key":"b1","calibration":null,"collection":"wiki","contexts":{"agent":{"max_tokens":1500}},'
        '"default_strategy":"hybrid",'
        '"embedder":{"dimension":4,"fingerprint":"f","max_tokens":8,"model":"m","query_prefix":"","runtime":"r"},'
        '"strategies":{"hybrid":{"vector_weight":0.6}}}'
    )
    assert release_id(**CONTENT) == hashlib.sha256(text.encode()).hexdigest()[:20]


@pytest.mark.parametrize(
    "changes",
    [
        {"collection": "other"},
        {"build_key": "b2"},
        {"embedder": {**CONTENT["embedder"], "query_prefix": "query: "}},
        {"strategies": {"hybrid": {"vector_weight": 0.7}}},
        {"calibration": {"slope": 1.0}},
        {"contexts": {"agent": {"max_tokens": 1000}}},
    ],
)
def test_everything_but_created_is_in_the_id(changes: dict[str, Any]) -> None:
    assert make(**changes).release_id != make().release_id
    assert content_id(replace(make(), created="2030-01-01T00:00:00Z")) == make().release_id


def test_round_trip(tmp_path: Path) -> None:
    release = make(calibration={"slope": 1.25, "intercept": -0.1}, collection="日本")
    write_release(tmp_path / "new" / release.release_id, release)
    assert read_release(tmp_path / "new" / release.release_id) == release
    assert [p.name for p in (tmp_path / "new" / release.release_id).iterdir()] == ["release.json"]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab{}"é'), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text('ab"\\é\n'), json_values, max_size=3))
def test_any_calibration_survives_the_file(
    tmp_path_factory: pytest.TempPathFactory, calibration: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("r")
    write_release(folder, make(calibration=calibration))
    assert read_release(folder) == make(calibration=calibration)


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    release = make()
    data = {f.name: getattr(release, f.name) for f in fields(release)}
    data = json.loads(json.dumps(data))
    change(data)
    return json.dumps(data)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (changed(lambda d: d.update(extra=1)), "unknown key extra"),
        (changed(lambda d: d.pop("build_key")), "key build_key is missing"),
        (changed(lambda d: d["embedder"].pop("runtime")), "key embedder.runtime is missing"),
        (changed(lambda d: d["embedder"].update(x=1)), "unknown key embedder.x"),
        (changed(lambda d: d["embedder"].update(dimension=True)), "embedder.dimension has the wrong type"),
        (changed(lambda d: d.update(build_key=7)), "build_key has the wrong type"),
        (changed(lambda d: d["strategies"].update(x=1)), "strategies.x is not an object"),
        (changed(lambda d: d["contexts"].update(x=1)), "contexts.x is not an object"),
        (changed(lambda d: d.pop("contexts")), "key contexts is missing"),
        (changed(lambda d: d.update(default_strategy="gone")), "default_strategy 'gone' is not among"),
        ("[1]", "the top level is not an object"),
        ("{", "is not JSON"),
        ('{"a": NaN}', "holds NaN"),
        ("\udcff", "is not JSON"),
    ],
)
def test_anything_unexpected_is_corrupt(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "release.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(CorruptBuild, match=message):
        read_release(tmp_path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CorruptBuild, match=r"release\.json: is missing"):
        read_release(tmp_path / "none")


def test_what_to_do_names_the_collection(tmp_path: Path) -> None:
    """Without a name, going back would act on the default collection, which is sound."""
    with pytest.raises(CorruptBuild) as raised:
        read_release(CollectionPaths(tmp_path / "guides").release("0" * 20))
    assert "`rag-pipeline reindex -c guides`" in str(raised.value)
    assert "`rag-pipeline release rollback -c guides`" in str(raised.value)


def test_an_edited_file_is_corrupt_and_both_ids_are_named(tmp_path: Path) -> None:
    """Weights edited by hand in a served release would be served without ever having been measured."""
    write_release(tmp_path, make())
    file = tmp_path / "release.json"
    file.write_text(file.read_text().replace("0.6", "0.7"))
    other = make(strategies={"hybrid": {"vector_weight": 0.7}}).release_id
    with pytest.raises(
        CorruptBuild, match=rf"says it is release {make().release_id}, but its content is that of {other}"
    ):
        read_release(tmp_path)


def test_a_wrong_id_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(CorruptBuild):
        write_release(tmp_path / "r", replace(make(), release_id="0" * 20))
    assert not (tmp_path / "r").exists()


def test_current(tmp_path: Path) -> None:
    paths = CollectionPaths(tmp_path)
    assert read_current(paths) is None
    paths.current.write_text(make().release_id + "\n")
    assert read_current(paths) == make().release_id


@pytest.mark.parametrize("content", [b"", b"../../etc\n", b"\xff\n", b"a" * 20 + b"\n" + b"b" * 20])
def test_current_that_names_nothing(tmp_path: Path, content: bytes) -> None:
    paths = CollectionPaths(tmp_path / "guides")
    paths.root.mkdir()
    paths.current.write_bytes(content)
    with pytest.raises(CorruptBuild, match=r"is not a release id; .*`rag-pipeline release rollback -c guides`"):
        read_current(paths)


def test_every_field_of_a_release_has_a_type_here() -> None:
    assert _TYPES.keys() == {f.name for f in fields(Release)}
