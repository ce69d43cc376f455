"""What changed between two snapshots."""

from pathlib import Path

from rag_pipeline.sources.changes import Changes, Identity, compare, read_identities


def test_compare() -> None:
    before = {
        "same": Identity("1", "m", None),
        "text": Identity("2", "m", None),
        "meta": Identity("3", "m", None),
        "canonical": Identity("4", "m", None),
        "old/place": Identity("5", "m", None),
        "old/other": Identity("6", "m", None),
        "gone": Identity("7", "m", None),
    }
    now = {
        "same": Identity("1", "m", None),
        "text": Identity("2b", "m", None),
        "meta": Identity("3", "mb", None),
        "canonical": Identity("4", "m", "same"),
        "new/place": Identity("5", "m", None),
        "new/other": Identity("6", "another folder's category", None),
        "fresh": Identity("8", "m", None),
    }
    assert compare(before, now) == Changes(
        added=("fresh",),
        changed=("canonical", "meta", "text"),
        moved=(("old/other", "new/other"), ("old/place", "new/place")),
        deleted=("gone",),
    )


def test_a_copy_is_no_move() -> None:
    one = Identity("1", "m", None)
    assert compare({"a": one}, {"a": one, "b": one}) == Changes(added=("b",))


def test_one_origin_serves_one_move_and_the_same_metadata_goes_first() -> None:
    before = {"a": Identity("1", "x", None), "b": Identity("1", "y", None)}
    now = {"c": Identity("1", "y", None), "d": Identity("1", "z", None), "e": Identity("1", "z", None)}
    assert compare(before, now) == Changes(added=("e",), moved=(("a", "d"), ("b", "c")))


def test_a_snapshot_that_is_gone_has_no_documents(tmp_path: Path) -> None:
    assert read_identities(None) == {}
    assert read_identities(tmp_path / "missing") == {}
