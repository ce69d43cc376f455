import json
import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.schema import Principal
from rag_pipeline.serving import keys as keys_module
from rag_pipeline.serving.keys import KeyFile, KeyRing, hash_key, new_key, read_keys
from rag_pipeline_tests.serving.api import KEYS, token, write_keys


def test_the_hash_is_plain_sha256() -> None:
    assert hash_key("test") == "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    assert hash_key("\ud800") == hash_key("?")  # never an error


def test_toml_and_json_are_the_same(tmp_path: Path) -> None:
    toml = write_keys(tmp_path / "keys.toml")
    as_json = tmp_path / "keys.json"
    as_json.write_text(json.dumps(tomllib.loads(toml.read_text())))
    assert read_keys(toml) == read_keys(as_json)


def test_find(tmp_path: Path) -> None:
    ring = read_keys(write_keys(tmp_path / "keys.toml"))
    for name, (identity, groups, scopes) in KEYS.items():
        key = ring.find(token(name))
        assert key is not None and key.name == name and key.scopes == tuple(scopes)
        assert key.principal == (None if identity is None else Principal(identity, tuple(groups)))
    assert ring.find("") is None
    assert ring.find(token("ruth") + " ") is None
    assert ring.find(hash_key(token("ruth"))) is None  # the stored hash is no key


def test_every_key_is_compared_in_constant_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = read_keys(write_keys(tmp_path / "keys.toml"))
    compared: list[str] = []

    def compare(one: str, other: str) -> bool:
        compared.append(other)
        return one == other

    monkeypatch.setattr(keys_module.hmac, "compare_digest", compare)
    ring.find(token("ruth"))  # the first of them
    assert len(compared) == len(KEYS)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "keys"),
        ("keys = []", "at least 1"),
        ("not toml", "TOMLDecodeError"),
        ("[[keys]]\nname='a'\nscopes=['read']", "sha256"),
        ("[[keys]]\nname='a'\nsha256='abc'\nscopes=['read']", "sha256"),
        (f"[[keys]]\nname='a'\nsha256='{'0' * 64}'\nscopes=['admin']", "scopes"),
        (f"[[keys]]\nname='a'\nsha256='{'0' * 64}'\nscopes=[]", "scopes"),
        (f"[[keys]]\nname='a'\nsha256='{'0' * 64}'\nscopes=['read']\ngroups=['x']", "groups need an identity"),
        (f"[[keys]]\nname='a'\nsha256='{'0' * 64}'\nscopes=['read']\nkey='hunter2'", "key"),
        (
            f"[[keys]]\nname='a'\nsha256='{'0' * 64}'\nscopes=['read']\n"
            f"[[keys]]\nname='b'\nsha256='{'0' * 64}'\nscopes=['read']",
            "same sha256",
        ),
    ],
)
def test_a_key_file_that_cannot_be_used(tmp_path: Path, text: str, part: str) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(text)
    with pytest.raises(InvalidSettings) as caught:
        read_keys(file)
    assert part in str(caught.value)
    assert "hunter2" not in str(caught.value) and "0" * 64 not in str(caught.value)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    """A revoked key worked until the server was restarted."""
    file = write_keys(tmp_path / "keys.toml")
    keys = KeyFile(file)
    first = keys.ring()
    assert keys.ring() is first
    write_keys(file, ["bob"])
    assert keys.ring().find(token("ruth")) is None
    file.write_text("broken")
    for _ in range(2):
        with pytest.raises(InvalidSettings):
            keys.ring()
    file.unlink()
    with pytest.raises(InvalidSettings, match="not readable"):
        keys.ring()
    write_keys(file)
    assert keys.ring().find(token("ruth")) is not None


def test_the_same_size_at_another_time(tmp_path: Path) -> None:
    file = write_keys(tmp_path / "keys.toml", ["bob"])
    keys = KeyFile(file)
    keys.ring()
    file.write_text(file.read_text().replace(hash_key(token("bob")), hash_key(token("eve"))))
    os.utime(file, ns=(1, 1))
    assert keys.ring().find(token("eve")) is not None


@given(st.text(min_size=1, max_size=50), st.text(min_size=1, max_size=50), st.lists(st.text(max_size=20), max_size=3))
def test_a_new_key_is_what_its_table_says(name: str, identity: str, groups: list[str]) -> None:
    if any("\ud800" <= c <= "\udfff" for c in name + identity + "".join(groups)):
        return
    made, table = new_key(name, identity=identity, groups=tuple(groups), scopes=("read", "act-as"))
    ring = KeyRing.model_validate(tomllib.loads(table))
    found = ring.find(made)
    assert found is not None and (found.name, found.identity, found.groups) == (name, identity, tuple(groups))
    assert made not in table and len(made) > 40
