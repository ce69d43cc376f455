"""Folder defaults, and what becomes of an access list in a file that can't be used."""

import pytest

from rag_pipeline.sources.defaults import FolderDefaults, broken_defaults, defaults_for, parse_defaults
from rag_pipeline.sources.metadata import Metadata


def test_parse() -> None:
    found = parse_defaults(
        b'\xef\xbb\xbfcategory = "code"\r\ntags = ["a"]\r\nupdated = 2026-08-20\r\naccess = ["group:ops"]\r\n'
    )
    assert not found.problem
    assert found.metadata == Metadata(
        category="code", tags=("a",), updated="2026-08-20T00:00:00Z", access=("group:ops",)
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"category = ", "TOML"),
        (b'\xff = "x"', "TOML"),
        (b'acess = ["group:ops"]', "did you mean 'access'"),
        (b'access = "group:ops"', "not a list"),
        (b'updated = "soon"', "updated"),
    ],
)
def test_a_file_that_cant_be_used(data: bytes, said: str) -> None:
    found = parse_defaults(data)
    assert said in found.problem
    assert found.metadata.access == ()


def test_the_nearest_folder_wins_key_by_key() -> None:
    folders = {
        "": FolderDefaults(Metadata(category="all", author="Ada", access=("group:all",))),
        "a": FolderDefaults(Metadata(category="a")),
        "a/b": FolderDefaults(Metadata(access=("group:b",))),
        "other": FolderDefaults(Metadata(author="Bo")),
    }
    assert defaults_for("x.md", folders).category == "all"
    assert defaults_for("a/b/c/x.md", folders) == Metadata(category="a", author="Ada", access=("group:b",))
    assert defaults_for("ab/x.md", folders).category == "all"
    assert defaults_for("x.md", {}) == Metadata()


def test_below_a_broken_file_nobody_is_admitted() -> None:
    """The file may have held the access list of the whole folder; its documents must not turn public."""
    folders = {"": FolderDefaults(Metadata(access=("group:all",))), "a": broken_defaults("not TOML")}
    found = defaults_for("a/b/x.md", folders)
    assert found.access == ()
    assert "a/_defaults.toml" in found.notices[0]
    assert defaults_for("x.md", folders).access == ("group:all",)
    assert Metadata(access=("user:ada",)).over(found).access == ("user:ada",)


def test_a_nearer_list_holds_below_a_broken_file() -> None:
    folders = {"": broken_defaults("not TOML"), "a": FolderDefaults(Metadata(access=("group:a",)))}
    assert defaults_for("a/x.md", folders).access == ("group:a",)
    assert defaults_for("x.md", folders).access == ()
