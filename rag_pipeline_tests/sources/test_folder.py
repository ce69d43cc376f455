"""Walking local folders and fsspec URLs: links, hidden names, odd names."""

import os
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from rag_pipeline.errors import InvalidSource
from rag_pipeline.sources.folder import Folder, open_folder


def kinds(folder: Folder) -> dict[str, str]:
    return {f.path: f.kind for f in folder.walk(lambda _: "")}


def content(folder: Folder, path: str) -> bytes:
    with folder.open(path) as file:
        return file.read()


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_files_and_hidden_names(tmp_path: Path) -> None:
    write(tmp_path / "a.md")
    write(tmp_path / "b" / "c.md")
    write(tmp_path / ".hidden")
    write(tmp_path / ".git" / "config")
    assert kinds(open_folder(str(tmp_path))) == {
        "a.md": "file",
        "b/c.md": "file",
        ".hidden": "hidden",
        ".git/": "hidden",
    }


def test_links(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(source / "a.md", "inside")
    write(source / "b" / "c.md")
    write(tmp_path / "secret.md", "secret")
    write(tmp_path / "source-2" / "x.md")
    (source / "inside.md").symlink_to("a.md")
    (source / "gone.md").symlink_to("./missing")
    (source / "below.md").symlink_to("a.md/x")
    (source / "self.md").symlink_to("self.md")
    (source / "out.md").symlink_to("../secret.md")
    (source / "sibling").symlink_to("../source-2")
    (source / "root").symlink_to("/")
    (source / "twice").symlink_to("b")
    (source / "b" / "up").symlink_to("..")
    (source / "b" / "chain.md").symlink_to("../out.md")
    folder = open_folder(str(source))
    assert kinds(folder) == {
        "a.md": "file",
        "b/c.md": "file",
        "inside.md": "file",
        "gone.md": "dangling_link",
        "below.md": "dangling_link",
        "self.md": "link_loop",
        "out.md": "outside",
        "sibling": "outside",
        "root": "outside",
        "twice": "linked_folder",
        "b/up": "link_loop",
        "b/chain.md": "outside",
    }
    with folder.open("inside.md") as file:
        assert file.read() == b"inside"


def test_a_file_replaced_by_a_link_after_the_walk_is_not_opened(tmp_path: Path) -> None:
    source = tmp_path / "source"
    page = write(source / "a.md")
    write(tmp_path / "secret.md", "secret")
    folder = open_folder(str(source))
    page.unlink()
    page.symlink_to("../secret.md")
    with pytest.raises(OSError, match="out of the source"):
        folder.open("a.md")
    with pytest.raises(OSError, match="out of the source"):
        folder.open("../secret.md")


def test_a_source_that_is_itself_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real" / "a.md")
    (tmp_path / "link").symlink_to("real")
    folder = open_folder(str(tmp_path / "link"))
    assert kinds(folder) == {"a.md": "file"}
    assert content(folder, "a.md") == b"x"
    assert folder.location("a.md") == str(tmp_path / "link" / "a.md")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert kinds(open_folder(str(tmp_path))) == {"pipe.md": "not_a_file"}


@pytest.mark.parametrize("name", ["a b.md", "ünï.md", "a\nb.md", "quote'\".md", "%41.md", "-x.md", "東京.md", "#1.md"])
def test_odd_names(tmp_path: Path, name: str) -> None:
    write(tmp_path / name)
    folder = open_folder(str(tmp_path))
    assert kinds(folder) == {name: "file"}
    assert content(folder, name) == b"x"


def test_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.md")
    (tmp_path / name).write_bytes(b"x")
    folder = open_folder(str(tmp_path))
    assert kinds(folder) == {name: "file"}
    assert content(folder, name) == b"x"


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.md")
    write(tmp_path / "closed" / "b.md")
    scandir = os.scandir

    def refusing(path: Path) -> Iterator[os.DirEntry[str]]:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert kinds(open_folder(str(tmp_path))) == {"a.md": "file", "closed/": "unreadable"}
    with pytest.raises(InvalidSource, match="check its permissions"):
        kinds(open_folder(str(tmp_path / "closed")))


def test_pruned_folders_are_one_entry(tmp_path: Path) -> None:
    write(tmp_path / "keep" / "a.md")
    write(tmp_path / "drop" / "deep" / "b.md")
    found = {
        f.path: f.kind for f in open_folder(str(tmp_path)).walk(lambda path: "excluded" if path == "drop/" else "")
    }
    assert found == {"keep/a.md": "file", "drop/": "excluded"}


def test_memory_url() -> None:
    files = fsspec.filesystem("memory")
    files.pipe(
        {"/walk/a.md": b"aa", "/walk/b/c.md": b"c", "/walk/.git/x": b"", "/walk/.git/y": b"", "/walk/d/e.md": b""}
    )
    try:
        folder = open_folder("memory://walk")
        found = {f.path: (f.kind, f.size) for f in folder.walk(lambda path: "excluded" if path == "d/" else "")}
        assert found == {
            "a.md": ("file", 2),
            "b/c.md": ("file", 1),
            ".git/": ("hidden", None),
            "d/": ("excluded", None),
        }
        assert content(folder, "b/c.md") == b"c"
        assert folder.location("b/c.md") == "memory:///walk/b/c.md"
        with pytest.raises(InvalidSource, match="not a folder"):
            open_folder("memory://walk/a.md")
        with pytest.raises(InvalidSource, match="does not exist"):
            open_folder("memory://elsewhere")
    finally:
        files.rm("/walk", recursive=True)


def test_a_file_url_keeps_the_rules_for_links(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    write(tmp_path / "secret.md")
    (source / "out.md").symlink_to("../secret.md")
    assert kinds(open_folder(source.as_uri())) == {"out.md": "outside"}


def test_sources_that_cant_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InvalidSource, match="does not exist"):
        open_folder(str(tmp_path / "missing"))
    with pytest.raises(InvalidSource, match="empty path"):
        open_folder(" ")
    with pytest.raises(InvalidSource, match="is a file, not a folder"):
        open_folder(str(write(tmp_path / "a.md")))
    with pytest.raises(InvalidSource, match="check the URL"):
        open_folder("nosuchprotocol://x")
