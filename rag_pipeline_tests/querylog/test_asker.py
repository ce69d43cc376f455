import hashlib
import hmac
import json
import multiprocessing
from pathlib import Path

import pytest

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.querylog.asker import FILE, VARIABLE, asker_key, asker_of
from rag_pipeline.schema import Principal

KEY = b"k" * 32


def test_the_hash_is_keyed_and_by_identity() -> None:
    expected = hmac.new(KEY, json.dumps(["user", "ruth"]).encode(), hashlib.sha256).hexdigest()[:32]
    assert asker_of(Principal("ruth", ("finance",)), KEY) == expected
    assert asker_of(Principal("ruth"), KEY) == expected  # groups change, the person does not
    assert asker_of(Principal("ruth"), b"j" * 32) != expected
    different = {asker_of(who, KEY) for who in (None, Principal("ruth"), Principal("public"), Principal("system"))}
    assert len(different | {asker_of(Principal.system(), KEY)}) == 5


def test_a_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    assert asker_key(tmp_path, environ={}) is None
    made = asker_key(tmp_path, environ={}, make=True)
    assert made is not None and len(made) == 64
    assert asker_key(tmp_path, environ={}, make=True) == made == asker_key(tmp_path, environ={})
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert [p.name for p in tmp_path.iterdir()] == [FILE]


def test_the_environment_comes_first(tmp_path: Path) -> None:
    assert asker_key(tmp_path, environ={VARIABLE: "x" * 32}, make=True) == b"x" * 32
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidSettings, match="shorter than 32") as raised:
        asker_key(tmp_path, environ={VARIABLE: "hunter2"})
    assert "hunter2" not in str(raised.value)


def test_an_emptied_key_file_is_no_key(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\n")
    with pytest.raises(InvalidSettings, match="no usable key"):
        asker_key(tmp_path, environ={}, make=True)


def _make(folder: Path) -> bytes | None:
    return asker_key(folder, environ={}, make=True)


def test_processes_that_start_together_share_one_key(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert len(set(pool.map(_make, [tmp_path] * 16))) == 1
