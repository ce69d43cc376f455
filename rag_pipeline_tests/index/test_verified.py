"""The build in service is verified by its checksums; whatever is damaged in it is still found."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_pipeline import file_identity
from rag_pipeline.index import verified as module
from rag_pipeline.index.manifest import build_files
from rag_pipeline.index.verified import VerifiedBuild
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
    return VerifiedBuild(folder, kept=folder.parent.parent / "build_contents.kept", code=code)


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


def test_any_other_build_is_verified_in_full(folder: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(monkeypatch)
    other = VerifiedBuild(folder.with_name("other"), kept=folder.parent / "kept", code="code")
    nothing = VerifiedBuild(None, kept=folder.parent / "kept", code="code")
    for verify in (other, other, nothing, nothing):
        assert verify(folder) == ()
    assert counted.done == ["contents"] * 4


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
