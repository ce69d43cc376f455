"""Who asks: the key's principal and scopes, or the user that a chatbot's key names.

A key with the scope `act-as` names the user it asks for in two headers, percent-encoded UTF-8:

    X-Act-As: maria            X-Act-As-Groups: people-ops,board

The request then reads exactly as that user, whatever the key itself could read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote

from rag_pipeline.schema import Principal
from rag_pipeline.serving.keys import Key, Scope
from rag_pipeline.serving.problems import Problem

LOCAL_SCOPES: frozenset[Scope] = frozenset({"read", "operate"})
ACT_AS = "x-act-as"
ACT_AS_GROUPS = "x-act-as-groups"
MOST_GROUPS = 200
MOST_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Caller:
    name: str
    """Of the key, for logs and records."""
    principal: Principal | None
    """None reads public documents only."""
    scopes: frozenset[Scope]

    def require(self, scope: Scope) -> None:
        if scope not in self.scopes:
            raise Problem(403, "Forbidden", f"this key has no scope {scope!r}; ask an operator for one that has")


LOCAL = Caller("local", None, LOCAL_SCOPES)
"""Whoever reaches a server without keys, which listens on loopback only."""


def caller_with(key: Key) -> Caller:
    return Caller(key.name, key.principal, frozenset(key.scopes))


def acting_as(caller: Caller, headers: Mapping[str, str]) -> Caller:
    """The caller as the user it names, itself where it names none. Raises Problem (403, 422)."""
    identity, groups = headers.get(ACT_AS), headers.get(ACT_AS_GROUPS)
    if identity is None and groups is None:
        return caller
    caller.require("act-as")
    name = _decoded(identity or "")
    if not name:
        raise Problem(422, "InvalidRequest", "X-Act-As names no user; give an identity, or leave both headers out")
    members = tuple(group for part in (groups or "").split(",") if (group := _decoded(part)))
    if len(members) > MOST_GROUPS:
        raise Problem(422, "InvalidRequest", f"X-Act-As-Groups has more than {MOST_GROUPS} groups")
    return replace(caller, principal=Principal(name, members))


def bearer(headers: Mapping[str, str]) -> str | None:
    """The key in `Authorization: Bearer <key>`."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def _decoded(value: str) -> str:
    try:
        text = unquote(value, errors="strict").strip()
    except UnicodeDecodeError:
        text = ""
        bad = True
    else:
        bad = len(text) > MOST_CHARACTERS or not text.isprintable()
    if bad:
        raise Problem(422, "InvalidRequest", "X-Act-As holds no percent-encoded UTF-8 name of at most 200 characters")
    return text
