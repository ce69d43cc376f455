import errno
import fcntl
import multiprocessing
import os
from datetime import date, timedelta
from pathlib import Path

import pytest

from rag_pipeline.querylog import segments as module
from rag_pipeline.querylog.segments import append, first_day, prune, segment_path, segments

TODAY = date(2026, 9, 12)


def write(folder: Path, day: str, size: int) -> Path:
    path = folder / f"{day}.jsonl"
    path.write_bytes(b"x" * (size - 1) + b"\n")
    return path


def test_only_our_files_are_segments_oldest_first(tmp_path: Path) -> None:
    for name in ("2026-09-12.jsonl", "2026-09-01.jsonl", "2026-13-01.jsonl", "notes.jsonl", "asker.key"):
        (tmp_path / name).touch()
    assert [s.path.name for s in segments(tmp_path)] == ["2026-09-01.jsonl", "2026-09-12.jsonl"]
    assert segments(tmp_path / "none") == ()


def test_what_is_too_old_goes_today_counting_as_the_first_day(tmp_path: Path) -> None:
    assert first_day(TODAY, 1) == TODAY and first_day(TODAY, 3) == date(2026, 9, 10)
    for day in ("2026-09-09", "2026-09-10", "2026-09-12"):
        write(tmp_path, day, 10)
    (tmp_path / "notes.txt").touch()
    assert prune(tmp_path, today=TODAY, days=3, most_bytes=1000) == 10
    assert sorted(p.name for p in tmp_path.iterdir()) == ["2026-09-10.jsonl", "2026-09-12.jsonl", "notes.txt"]


def test_what_is_too_much_goes_oldest_first_but_never_today(tmp_path: Path) -> None:
    for day in ("2026-09-10", "2026-09-11", "2026-09-12"):
        write(tmp_path, day, 100)
    assert prune(tmp_path, today=TODAY, days=30, most_bytes=300) == 200
    assert prune(tmp_path, today=TODAY, days=30, most_bytes=300, room=1) == 100
    assert prune(tmp_path, today=TODAY, days=30, most_bytes=50) == 0
    assert [s.day for s in segments(tmp_path)] == [TODAY]


def test_a_line_is_added_for_its_owner_alone(tmp_path: Path) -> None:
    path = segment_path(tmp_path, TODAY)
    assert append(path, b"one\n", most_bytes=8) is None
    assert append(path, b"two\n", most_bytes=8) is None
    assert append(path, b"3\n", most_bytes=8) == "full"
    assert path.read_bytes() == b"one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_half_a_line_of_a_power_cut_swallows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'{"kind":"qu')
    assert append(path, b"whole\n", most_bytes=100) is None
    assert path.read_bytes() == b'{"kind":"qu\nwhole\n'


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    append(path, b"first\n", most_bytes=100)
    real, calls = os.write, []

    def half(descriptor: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) == 1:
            return real(descriptor, data[:3])
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(module.os, "write", half)
    with pytest.raises(OSError, match="no space"):
        append(path, b"second\n", most_bytes=100)
    assert path.read_bytes() == b"first\n"


def test_another_writer_is_not_waited_for_long(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with path.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert append(path, b"x\n", most_bytes=100) == "busy"
    assert append(path, b"x\n", most_bytes=100) is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        append(tmp_path / "a", b"x\n", most_bytes=100)
    assert not (tmp_path / "elsewhere").exists()


def _prune_and_append(folder: Path, number: int) -> int:
    """Bytes of the other days that this process saw last."""
    left = 0
    for turn in range(100):
        left = prune(folder, today=TODAY, days=30, most_bytes=500, room=turn)
        assert append(segment_path(folder, TODAY), f"{number} {turn}\n".encode(), most_bytes=100_000) in (None, "busy")
    return left


def test_several_processes_remove_the_same_days_beside_those_who_write(tmp_path: Path) -> None:
    """Every worker of a server does, when it starts and at the same hour."""
    for days in range(1, 60):
        write(tmp_path, (TODAY - timedelta(days=days)).isoformat(), 100)
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        left = pool.starmap(_prune_and_append, [(tmp_path, n) for n in range(3)])
    lines = segment_path(tmp_path, TODAY).read_text().splitlines()
    assert len(set(lines)) == len(lines) >= 250 and all(line.count(" ") == 1 for line in lines)
    others = [segment.path for segment in segments(tmp_path) if segment.day != TODAY]
    assert sum(path.stat().st_size for path in others) == min(left)
