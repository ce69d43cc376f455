"""The two wire forms: OpenAI's chat completions, which most servers speak, and Anthropic's messages. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_pipeline.llm.settings import LlmSettings

ANTHROPIC_VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True)
class Prompt:
    user: str
    system: str = ""
    max_tokens: int = 512
    temperature: float = 0.0
    schema: Mapping[str, Any] | None = None
    """JSON schema of the object asked for; None = plain text."""


@dataclass(frozen=True, slots=True)
class Request:
    url: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    cut: bool
    """The model stopped because it ran out of tokens."""


def request(prompt: Prompt, settings: LlmSettings) -> Request:
    return _anthropic(prompt, settings) if settings.wire == "anthropic" else _openai(prompt, settings)


def said(value: Any, settings: LlmSettings) -> Said | None:
    """The text in a decoded answer; None where it has another shape."""
    try:
        if settings.wire == "anthropic":
            blocks = [block for block in value["content"] if block["type"] == "text"]
            return Said("".join(_text(block["text"]) for block in blocks), value.get("stop_reason") == "max_tokens")
        choice = value["choices"][0]
        return Said(_text(choice["message"]["content"] or ""), choice.get("finish_reason") == "length")
    except (KeyError, IndexError, TypeError, AttributeError):
        return None


def _openai(prompt: Prompt, settings: LlmSettings) -> Request:
    messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
    body: dict[str, Any] = {
        "model": settings.model,
        "messages": [*messages, {"role": "user", "content": prompt.user}],
        "max_tokens": prompt.max_tokens,
        "temperature": prompt.temperature,
    }
    if prompt.schema is not None and settings.json_mode == "schema":
        named = {"name": "reply", "strict": True, "schema": prompt.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    elif prompt.schema is not None and settings.json_mode == "object":
        body["response_format"] = {"type": "json_object"}
    headers = {"authorization": f"Bearer {settings.key}"} if settings.key else {}
    return Request(_ending(settings.url, "/chat/completions"), headers, body)


def _anthropic(prompt: Prompt, settings: LlmSettings) -> Request:
    body: dict[str, Any] = {
        "model": settings.model,
        "max_tokens": prompt.max_tokens,
        "temperature": prompt.temperature,
        "messages": [{"role": "user", "content": prompt.user}],
    }
    if prompt.system:
        body["system"] = prompt.system
    headers = {"anthropic-version": ANTHROPIC_VERSION}
    if settings.key:
        headers["x-api-key"] = settings.key
    url = settings.url
    if not url.endswith(("/v1", "/messages")):
        url += "/v1"
    return Request(_ending(url, "/messages"), headers, body)


def _ending(url: str, path: str) -> str:
    return url if url.endswith(path) else url + path


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value
