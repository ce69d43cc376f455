"""A reply as it is written: server-sent events of both wire forms, with a limit on every wait, on time and on size.

Pieces of text come first, the `Reply` last and always. A stream that ends before its server said so is a failure
("cut"): half an answer must not pass for one. Only a call that has given nothing yet is tried again.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rag_pipeline.errors import MissingExtra
from rag_pipeline.http_json import RETRIED
from rag_pipeline.llm.reply import Reply
from rag_pipeline.llm.settings import LlmSettings
from rag_pipeline.llm.wire import Prompt, request

if TYPE_CHECKING:
    import httpx

MAX_EVENT_BYTES = 200_000
"""Of one event; far more than a token takes."""


@runtime_checkable
class StreamingLlm(Protocol):
    """A language model that can also be read while it writes."""

    def stream(self, prompt: Prompt) -> Iterator[str | Reply]: ...


@dataclass(frozen=True, slots=True)
class Heard:
    """What one event says."""

    text: str = ""
    done: bool = False
    cut: bool = False
    """The model ran out of tokens."""
    failed: bool = False
    """An error of the server's, or another shape."""


class Streamer:
    """Safe to use from several threads; a connection a call. Raises MissingExtra without httpx."""

    def __init__(self, settings: LlmSettings) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtra("httpx", "llm") from error
        self.settings = settings
        self._httpx = httpx

    def stream(self, prompt: Prompt) -> Iterator[str | Reply]:
        """`http.seconds` bound the whole reply, and so does each wait for its next piece."""
        settings, started = self.settings, time.monotonic()
        if len(prompt.user) + len(prompt.system) > settings.max_prompt_chars:
            yield Reply("", "prompt_too_long")
            return
        deadline = started + settings.http.seconds
        attempt, written, failure, cut = 0, "", "timeout", False
        while attempt < settings.http.attempts:
            attempt += 1
            failure, cut, retry = "", False, False
            for heard in self._once(prompt, deadline):
                if isinstance(heard, _Failed):
                    failure, retry = heard.reason, heard.retry
                    break
                cut = cut or heard.cut
                room = settings.max_reply_chars - len(written)
                if heard.text and room > 0:
                    written += heard.text[:room]
                    yield heard.text[:room]
                if len(heard.text) > room:
                    cut = True
                    break
            pause = min(settings.http.wait * 2 ** (attempt - 1), max(0.0, deadline - time.monotonic()))
            if not retry or written or attempt == settings.http.attempts or time.monotonic() + pause >= deadline:
                break
            time.sleep(pause)
        failure = failure or ("" if written.strip() else "empty")
        yield Reply(written, failure or None, cut, attempts=attempt, seconds=time.monotonic() - started)

    def _once(self, prompt: Prompt, deadline: float) -> "Iterator[Heard | _Failed]":
        httpx, settings = self._httpx, self.settings
        sent = request(prompt, settings)
        left = deadline - time.monotonic()
        if left <= 0:
            yield _Failed("timeout")
            return
        content = json.dumps({**sent.body, "stream": True}, ensure_ascii=False).encode("utf-8", "replace")
        headers = {"content-type": "application/json", "accept": "text/event-stream", **sent.headers}
        try:
            with (
                httpx.Client(follow_redirects=False) as client,  # a redirect would carry the key to another host
                client.stream("POST", sent.url, headers=headers, content=content, timeout=left) as response,
            ):
                if response.status_code != 200:
                    yield _Failed(f"http_{response.status_code}", retry=response.status_code in RETRIED)
                    return
                yield from self._heard(response, deadline)
        except httpx.TimeoutException:
            yield _Failed("timeout")
        except (httpx.TransportError, httpx.DecodingError):
            yield _Failed("unreachable", retry=True)

    def _heard(self, response: "httpx.Response", deadline: float) -> "Iterator[Heard | _Failed]":
        events, size = _Events(), 0
        for raw in response.iter_bytes():
            size += len(raw)
            if size > self.settings.http.max_bytes or events.pending > MAX_EVENT_BYTES:
                yield _Failed("too_large")
                return
            for data in events.feed(raw):
                heard = read_event(data, self.settings)
                if heard.failed:
                    yield _Failed("malformed")
                    return
                yield heard
                if heard.done:
                    return
            if time.monotonic() > deadline:  # a server that drips never lets one read time out
                yield _Failed("timeout")
                return
        # Something that is no event stream at all is another fault than one that stopped.
        yield _Failed("cut" if events.seen else "malformed")


def read_event(data: str, settings: LlmSettings) -> Heard:
    """The `data` of one event. Events that carry no text (pings, roles, token counts) say nothing."""
    if settings.wire == "openai" and data.strip() == "[DONE]":
        return Heard(done=True)
    try:
        value = json.loads(data)
        return _anthropic(value) if settings.wire == "anthropic" else _openai(value)
    except (ValueError, RecursionError, KeyError, IndexError, TypeError, AttributeError):
        return Heard(failed=True)


def _openai(value: Mapping[str, Any]) -> Heard:
    if value.get("error"):
        return Heard(failed=True)
    if not value["choices"]:  # the last one may hold the token counts alone
        return Heard()
    choice = value["choices"][0]
    finish = choice.get("finish_reason")
    text = (choice.get("delta") or {}).get("content") or ""
    return Heard(_text(text), done=finish is not None, cut=finish == "length")


def _anthropic(value: Mapping[str, Any]) -> Heard:
    kind = value["type"]
    if kind == "error":
        return Heard(failed=True)
    if kind == "content_block_delta" and value["delta"]["type"] == "text_delta":
        return Heard(_text(value["delta"]["text"]))
    if kind == "message_delta":
        return Heard(cut=value["delta"].get("stop_reason") == "max_tokens")
    return Heard(done=kind == "message_stop")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value


@dataclass(frozen=True, slots=True)
class _Failed:
    reason: str
    retry: bool = False


class _Events:
    """Bytes to the `data` of events, as the HTML standard has it: lines end in LF, CR or CRLF, a blank one ends the
    event, `data` lines of one event are joined, a colon first is a comment, other fields say nothing here.
    """

    def __init__(self) -> None:
        self.seen = False
        self._raw = bytearray()
        self._data: list[str] = []
        self._size = 0

    @property
    def pending(self) -> int:
        """Bytes of the event that is not complete yet."""
        return len(self._raw) + self._size

    def feed(self, raw: bytes) -> Iterator[str]:
        self._raw += raw
        held = b"\r" if self._raw.endswith(b"\r") else b""  # perhaps the first half of CRLF
        text = self._raw[: len(self._raw) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = text.split(b"\n")
        self._raw = bytearray(rest) + held
        for line in lines:
            if not line:
                if self._data:
                    self.seen = True
                    yield "\n".join(self._data)
                self._data, self._size = [], 0
            elif line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" ").decode("utf-8", "replace"))
                self._size += len(line)
