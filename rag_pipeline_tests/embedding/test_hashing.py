import hashlib
import os
from pathlib import Path

from rag_pipeline.embedding.hashing import file_sha256, files_sha256


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    os.utime(path, ns=(1, 1))
    assert file_sha256(path) == hashlib.sha256(b"one").hexdigest()
    path.write_bytes(b"two")
    assert file_sha256(path) == hashlib.sha256(b"two").hexdigest()


def test_one_file_has_its_own_hash_and_several_one_together(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"one")
    b.write_bytes(b"two")
    assert files_sha256(tmp_path, [a]) == file_sha256(a)
    together = files_sha256(tmp_path, [a, b])
    assert together == files_sha256(tmp_path, [b, a])
    assert together not in (file_sha256(a), file_sha256(b))
    b.rename(tmp_path / "c")
    assert files_sha256(tmp_path, [a, tmp_path / "c"]) != together
