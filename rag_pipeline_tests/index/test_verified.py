"""A build is compared once and verified by its checksums then; whatever is damaged in it is still found."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_pipeline import file_identity
from rag_pipeline.index import verified as module
from rag_pipeline.index.manifest import build_files
from rag_pipeline.index.verified import VerifiedBuild
from rag_pipeline.settings.build import IndexSettings
from rag_pipeline_tests.stages import build, pumps


class Counted:
    """What was really done: "contents" for a full verification, "checksums" for one of the files alone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        verify, files = module.verify_build, module.file_problems

        def contents(folder: Path, *, deep: bool = True) -> object:
            self.done.append("contents" if deep else "shallow")
            return verify(folder, deep=deep)

        def checksums(folder: Path) -> object:
            self.done.append("checksums")
            return files(folder)

        monkeypatch.setattr(module, "verify_build", contents)
        monkeypatch.setattr(module, "file_problems", checksums)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    monkeypatch.setattr(module, "_sound", {})
    yield Counted(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return build(tmp_path, pumps()).folder


def verifier(folder: Path, *, code: str = "code") -> VerifiedBuild:
    return VerifiedBuild(folder.parent.parent / "build_contents.kept", code=code)


def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_identity, "RACY_SECONDS", -3600.0)


def test_contents_are_compared_once_and_checksums_every_run(folder: Path, counted: Counted) -> None:
    assert verifier(folder)(folder) == ()
    assert verifier(folder)(folder) == ()
    assert counted.done == ["contents", "checksums"]


def test_a_process_reads_settled_files_once(folder: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(monkeypatch)
    verify = verifier(folder)
    assert [verify(folder), verifier(folder)(folder), verify(folder)] == [(), (), ()]
    assert counted.done == ["contents"]


def test_files_that_were_just_written_are_read_every_time(folder: Path, counted: Counted) -> None:
    verify = verifier(folder)
    for _ in range(3):
        verify(folder)
    assert counted.done == ["contents", "checksums", "checksums"]


def test_every_flipped_byte_is_found_whatever_was_kept(
    folder: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled(monkeypatch)
    verify = verifier(folder)
    assert verify(folder) == ()
    for name in (*build_files(folder), "manifest.json"):
        file = folder / name
        good, status = file.read_bytes(), file.stat()
        if not good:
            continue
        file.write_bytes(bytes([good[0] ^ 1]) + good[1:])
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))  # same size, same time
        assert [p.file for p in verify(folder)] == [name]
        file.write_bytes(good)
        assert verify(folder) == ()


def test_a_file_too_many_or_too_few_is_found(folder: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(monkeypatch)
    verify = verifier(folder)
    assert verify(folder) == ()
    (folder / "stranger.txt").write_text("x")
    assert [p.file for p in verify(folder)] == ["stranger.txt"]
    (folder / "stranger.txt").unlink()
    (folder / "vectors.npy").unlink()
    assert [p.file for p in verify(folder)] == ["vectors.npy"]


def test_every_build_is_compared_once(tmp_path: Path, counted: Counted) -> None:
    """One after the other: a candidate that is refused night after night, and the build in service beside it."""
    folders = [build(tmp_path, pumps(), settings=IndexSettings(k1=1.2 + n / 10)).folder for n in range(3)]
    for folder in (*folders, *folders, folders[0]):
        assert verifier(folder)(folder) == ()
    assert counted.done.count("contents") == 3


def test_the_builds_remembered_are_bounded(
    folder: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "MOST", 1)
    other = build(tmp_path / "other", pumps(), settings=IndexSettings(k1=1.5)).folder
    kept = tmp_path / "kept"
    for one in (folder, other, other):
        assert VerifiedBuild(kept, code="code")(one) == ()
    assert counted.done == ["contents", "contents", "checksums"]
    assert len(json.loads(kept.read_text())["value"]) == 1


def test_the_same_bytes_elsewhere_are_the_same_build(folder: Path, counted: Counted) -> None:
    """So a build that was compared in the folder it was made in need not be again in the one it was renamed to."""
    assert verifier(folder)(folder) == ()
    moved = folder.rename(folder.with_name("moved"))
    assert verifier(moved)(moved) == ()
    (moved / "vectors.npy").write_bytes(b"other")
    assert [p.file for p in verifier(moved)(moved)] == ["vectors.npy"]
    assert counted.done == ["contents", "checksums", "checksums"]


def test_other_code_verifies_in_full(folder: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(monkeypatch)
    verifier(folder)(folder)
    verifier(folder, code="other")(folder)
    assert counted.done == ["contents", "contents"]


def test_what_is_not_sound_is_not_kept(folder: Path, counted: Counted) -> None:
    data = bytearray((folder / "vectors.npy").read_bytes())
    data[-1] ^= 1
    (folder / "vectors.npy").write_bytes(data)
    for _ in range(2):
        assert [p.file for p in verifier(folder)(folder)] == ["vectors.npy"]
    assert counted.done == ["contents", "contents"]


def test_a_shallow_look_is_a_shallow_look(folder: Path, counted: Counted) -> None:
    assert verifier(folder)(folder, deep=False) == ()
    assert counted.done == ["shallow"]
