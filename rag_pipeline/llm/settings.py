"""Which language model is asked, and with what limits. The key comes from the environment and is never shown.

RAG_PIPELINE_LLM_URL     base URL, as http://127.0.0.1:8080/v1 or https://api.anthropic.com; unset = no model
RAG_PIPELINE_LLM_MODEL   the model's name on that server
RAG_PIPELINE_LLM_KEY     the key, where the server wants one
RAG_PIPELINE_LLM_WIRE    "openai" or "anthropic"; unset = by the URL's host
RAG_PIPELINE_LLM_JSON    how JSON is asked for on the OpenAI wire: "schema" (default), "object" or "none"
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast, get_args
from urllib.parse import urlsplit

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.http_json import DEFAULT_POLICY, HttpPolicy

Wire = Literal["openai", "anthropic"]
JsonMode = Literal["schema", "object", "none"]


@dataclass(frozen=True, slots=True)
class LlmSettings:
    url: str
    model: str
    key: str = field(default="", repr=False)
    wire: Wire = "openai"
    json_mode: JsonMode = "schema"
    http: HttpPolicy = DEFAULT_POLICY
    max_prompt_chars: int = 100_000
    max_reply_chars: int = 20_000
    """A longer reply is cut here and says so."""
    cache_entries: int = 1000
    """0 = no cache."""


def llm_settings(environ: Mapping[str, str] = os.environ, *, http: HttpPolicy = DEFAULT_POLICY) -> LlmSettings | None:
    """None where no model is configured. Raises InvalidSettings naming the variable."""
    url = environ.get("RAG_PIPELINE_LLM_URL", "").strip().rstrip("/")
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidSettings(f"RAG_PIPELINE_LLM_URL {url!r} is no http(s) URL; write one as http://127.0.0.1:8080/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidSettings(
            "RAG_PIPELINE_LLM_URL holds a user, a password, a query or a fragment; give the key in RAG_PIPELINE_LLM_KEY"
        )
    model = environ.get("RAG_PIPELINE_LLM_MODEL", "").strip()
    if not model:
        raise InvalidSettings("RAG_PIPELINE_LLM_URL is set but RAG_PIPELINE_LLM_MODEL is not; name the server's model")
    key = environ.get("RAG_PIPELINE_LLM_KEY", "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidSettings("RAG_PIPELINE_LLM_KEY can't go into an HTTP header; check how it was set")
    by_host = "anthropic" if parts.hostname.endswith("anthropic.com") else "openai"
    return LlmSettings(
        url=url,
        model=model,
        key=key,
        wire=cast("Wire", _one_of(environ, "RAG_PIPELINE_LLM_WIRE", get_args(Wire), by_host)),
        json_mode=cast("JsonMode", _one_of(environ, "RAG_PIPELINE_LLM_JSON", get_args(JsonMode), "schema")),
        http=http,
    )


def _one_of(environ: Mapping[str, str], name: str, choices: tuple[str, ...], default: str) -> str:
    value = environ.get(name, "").strip() or default
    if value not in choices:
        raise InvalidSettings(f"{name} {value!r} is not one of {', '.join(choices)}; correct or unset it")
    return value
