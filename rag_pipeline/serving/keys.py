"""The key file: who may ask, as whom, and what else they may do. Only hashes of keys are stored.

    [[keys]]
    name = "support-bot"                 # shown in logs and run records, never the key
    sha256 = "9f86d081..."               # of the key, hex
    identity = "support-bot"             # as whom it reads; without one, public documents only
    groups = ["support"]
    scopes = ["read", "act-as"]          # read, operate (re-index, releases), act-as (name the user it asks for)

The same as JSON is `{"keys": [{...}]}`. Keys are long random strings made by `new_key`, so that a plain hash is enough.
"""

import hashlib
import hmac
import json
import secrets
import threading
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.schema import Principal
from rag_pipeline.settings.base import Strict, explain

Scope = Literal["read", "operate", "act-as"]


class Key(Strict):
    name: Annotated[str, Field(min_length=1, max_length=100)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    identity: Annotated[str, Field(min_length=1)] | None = None
    groups: tuple[str, ...] = ()
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _whole(self) -> "Key":
        if self.groups and self.identity is None:
            raise ValueError("groups need an identity")
        return self

    @property
    def principal(self) -> Principal | None:
        return None if self.identity is None else Principal(self.identity, self.groups)


class KeyRing(Strict):
    keys: Annotated[tuple[Key, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _distinct(self) -> "KeyRing":
        for what in ("name", "sha256"):
            values = [getattr(key, what) for key in self.keys]
            if len(set(values)) < len(values):
                raise ValueError(f"two keys have the same {what}")
        return self

    def find(self, token: str) -> Key | None:
        """Every stored hash is compared, each in constant time: how long it takes tells nothing about any key."""
        digest, found = hash_key(token), None
        for key in self.keys:
            if hmac.compare_digest(digest, key.sha256):
                found = key
        return found


class KeyFile:
    """The ring in a file, read again when the file changes, so that a key is revoked without a restart."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._ring: KeyRing | None = None

    def ring(self) -> KeyRing:
        """Raises InvalidSettings while the file can't be used: nobody gets in by a key that may have been revoked."""
        with self._lock:
            try:
                stat = self._path.stat()
            except OSError as error:
                raise InvalidSettings(f"{self._path}: key file not readable ({error.strerror}); restore it") from error
            seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if self._ring is None or seen != self._seen:
                self._ring = None
                self._ring, self._seen = read_keys(self._path), seen
            return self._ring


def read_keys(path: Path) -> KeyRing:
    """Raises InvalidSettings naming the file and the field, never a value."""
    try:
        text = path.read_text("utf-8")
        data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidSettings(f"{path}: key file not readable ({type(error).__name__}); correct it") from error
    try:
        return KeyRing.model_validate(data)
    except ValidationError as error:
        raise InvalidSettings(explain(error, str(path)) + "; see `rag-pipeline serve --help`") from error


def hash_key(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def new_key(name: str, *, identity: str | None, groups: tuple[str, ...], scopes: tuple[Scope, ...]) -> tuple[str, str]:
    """(the key, its table for the key file). The key has 256 random bits and is stored nowhere."""
    token = f"rpk_{secrets.token_urlsafe(32)}"
    key = Key(name=name, sha256=hash_key(token), identity=identity, groups=groups, scopes=scopes)
    lines = [f"{field} = {_toml(value)}" for field, value in key.model_dump(exclude_none=True).items()]
    return token, "\n".join(["[[keys]]", *lines])


def _toml(value: object) -> str:
    """Strings and lists of strings; JSON writes both as TOML reads them, once DEL is escaped too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
