"""Who asked, as a keyed hash: the same user gives the same hash, and without the key nobody can try names against it.

The key is $RAG_PIPELINE_QUERY_LOG_KEY, else a file of random bits beside the log, made once with mode 600. Groups are
no part of the hash: a user whose groups changed is still the one who asked.
"""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from rag_pipeline.durable import temporary_name
from rag_pipeline.errors import InvalidSettings
from rag_pipeline.schema import Principal

VARIABLE = "RAG_PIPELINE_QUERY_LOG_KEY"
FILE = "asker.key"
LEAST_CHARACTERS = 32


def asker_of(principal: Principal | None, key: bytes) -> str:
    """32 hex digits of HMAC-SHA256 (RFC 2104). Everyone who reads public documents only is one asker."""
    if principal is None:
        who = ["public"]
    elif principal.is_system:
        who = ["system"]
    else:
        who = ["user", principal.identity]
    said = json.dumps(who, ensure_ascii=True).encode("ascii")
    return hmac.new(key, said, hashlib.sha256).hexdigest()[:32]


def asker_key(folder: Path, *, environ: Mapping[str, str] = os.environ, make: bool = False) -> bytes | None:
    """The key; None where there is none and `make` is False. Raises InvalidSettings, OSError."""
    given = environ.get(VARIABLE, "").strip()
    if given:
        if len(given) < LEAST_CHARACTERS:
            raise InvalidSettings(
                f"{VARIABLE} is shorter than {LEAST_CHARACTERS} characters; set a random one, as from `openssl rand"
                " -hex 32`, or unset it to have one made"
            )
        return given.encode("utf-8", "surrogateescape")
    file = folder / FILE
    if make and not file.exists():
        _make(file)
    if not file.exists():
        return None
    key = file.read_bytes().strip()
    if len(key) < LEAST_CHARACTERS:
        raise InvalidSettings(f"{file}: holds no usable key; remove it to have a new one made")
    return key


def _make(file: Path) -> None:
    """Several processes may start at once: the first link wins, and all read that one."""
    partial = temporary_name(file)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(secrets.token_hex(32).encode("ascii") + b"\n")
            out.flush()
            os.fsync(out.fileno())
        try:
            os.link(partial, file)
        except FileExistsError:
            return
    finally:
        partial.unlink(missing_ok=True)
