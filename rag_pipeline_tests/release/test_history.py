import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.history import Change, catch_up, last_served, read_history, record, served

A, B, C = "a" * 20, "b" * 20, "c" * 20


def changes(text: str) -> tuple[Change, ...]:
    """ "a b <a": publish a, publish b, roll back to a."""
    words = text.split()
    return tuple(
        Change("t", "w", "rolled_back" if w.startswith("<") else "published", w.lstrip("<"), None, "") for w in words
    )


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("", ""),
        ("a", "a"),
        ("a b c", "cba"),
        ("a b c <b", "ba"),
        ("a b c <b <a", "a"),
        ("a b <a c", "ca"),
        ("a b a", "ab"),
        ("a b c <b c", "cba"),
        ("a b <x", "xba"),
    ],
)
def test_the_way_back(events: str, expected: str) -> None:
    """Rolling back twice goes back two releases; it must not return to the one that was just left."""
    assert "".join(served(changes(events))) == expected


@pytest.mark.parametrize(
    ("events", "expected"), [("", ""), ("a b c", "cba"), ("a b c <a", "acb"), ("a b <a c <a", "acb")]
)
def test_last_served(events: str, expected: str) -> None:
    assert "".join(last_served(changes(events))) == expected


@given(st.lists(st.sampled_from(["a", "b", "c", "<a", "<b", "<c"]), min_size=1))
def test_the_last_change_is_on_top_and_nothing_twice(events: list[str]) -> None:
    stack = served(changes(" ".join(events)))
    assert stack[0] == events[-1].lstrip("<")
    assert len(set(stack)) == len(stack)
    assert set(stack) <= set(last_served(changes(" ".join(events))))


def test_one_line_a_change(paths: CollectionPaths) -> None:
    assert read_history(paths) == ()
    paths.releases.mkdir(parents=True)
    record(paths, "published", A, previous=None, reason="first\u2028line\nnext", who="ada@host")
    record(paths, "rolled_back", B, previous=A, reason="")
    first, second = read_history(paths)
    assert (first.action, first.release_id, first.reason, first.who) == (
        "published",
        A,
        "first\u2028line\nnext",
        "ada@host",
    )
    assert (second.previous, second.action) == (A, "rolled_back")
    assert "@" in second.who and first.at < second.at
    assert len(paths.history.read_text().split("\n")) == 3


def test_a_half_line_is_left_out_and_closed(paths: CollectionPaths) -> None:
    paths.releases.mkdir(parents=True)
    record(paths, "published", A, previous=None, reason="")
    with paths.history.open("a") as file:
        file.write('{"at": "2026')
    record(paths, "published", B, previous=A, reason="")
    assert [c.release_id for c in read_history(paths)] == [A, B]


def test_a_change_without_a_line_is_found(paths: CollectionPaths) -> None:
    paths.releases.mkdir(parents=True)
    catch_up(paths)
    assert read_history(paths) == ()
    paths.current.write_text(A + "\n")
    catch_up(paths)
    catch_up(paths)
    assert [(c.action, c.release_id, c.previous) for c in read_history(paths)] == [("found", A, None)]
    paths.current.write_text(C + "\n")
    catch_up(paths)
    assert json.loads(paths.history.read_text().splitlines()[-1])["previous"] == A
    paths.current.write_text("garbage")
    catch_up(paths)
    assert len(read_history(paths)) == 2
