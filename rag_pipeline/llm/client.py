"""One client for language models: any OpenAI-compatible server, or Anthropic's. A failed call is a value.

The optional stages (transforms, judges, answers) call it; what they ask is theirs, what the wire looks like is
`wire.py`'s. Nothing here reads documents.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from rag_pipeline.errors import StageFailed
from rag_pipeline.http_json import JsonPoster
from rag_pipeline.llm.cache import ReplyCache, reply_key
from rag_pipeline.llm.json_reply import Shape, parse_object, repair_object, schema
from rag_pipeline.llm.reply import Reply
from rag_pipeline.llm.settings import LlmSettings, llm_settings
from rag_pipeline.llm.stream import Streamer
from rag_pipeline.llm.wire import Prompt, request, said

ADVICE = "check RAG_PIPELINE_LLM_URL, _MODEL and _KEY and that the server answers, or leave strict mode"
REPAIR = """Your last reply could not be used: {problem}.

The task was:
{task}

Reply again with the JSON object only: no code fence, no sentence before or after it."""


@dataclass(frozen=True, slots=True)
class JsonReply:
    value: Mapping[str, Any] | None
    """None where the call failed or the reply could not be used."""
    failure: str | None = None
    """As in `Reply`, or "invalid_json"."""
    problem: str | None = None
    """What was wrong with the last reply, for a record; never shown to a user of the service."""
    repaired: bool = False
    cached: bool = False
    seconds: float = 0.0


class Llm(Protocol):
    """What a stage needs of a language model."""

    @property
    def fingerprint(self) -> str: ...

    def complete(self, prompt: Prompt) -> Reply: ...

    def complete_json(self, prompt: Prompt, shape: Shape) -> JsonReply: ...


class LlmClient:
    """Safe to use from several threads. With `strict` a failed call raises StageFailed. Raises MissingExtra."""

    def __init__(
        self,
        settings: LlmSettings,
        *,
        cache_folder: Path | None = None,
        strict: bool = False,
        poster: JsonPoster | None = None,
    ) -> None:
        self.settings = settings
        self.strict = strict
        self.cache = ReplyCache(settings.cache_entries, folder=cache_folder)
        self._poster = poster or JsonPoster(settings.http)

    @property
    def fingerprint(self) -> str:
        """Names what answers; goes into whatever is stored about an answer."""
        return f"{self.settings.wire}:{self.settings.url}:{self.settings.model}"

    def complete(self, prompt: Prompt) -> Reply:
        """Plain text, stripped; never empty where `failure` is None."""
        key = self._key(prompt)
        reply = self._cached(key) or self._asked(prompt)
        if reply.failure and self.strict:
            raise StageFailed("llm", reply.failure, ADVICE)
        if not (reply.failure or reply.truncated or reply.cached):  # half a reply must not become the reply for good
            self.cache.put(key, reply.text)
        return reply

    def complete_json(self, prompt: Prompt, shape: Shape) -> JsonReply:
        """An object of exactly `shape`: the reply as it stands; else one repair; else a failure, which is not cached.

        The one repair is the object cut out of the sentences or the fence around it, where that makes it right; else
        the model is asked once more with the problem named, and that reply must be right as it stands.
        """
        asked = replace(prompt, schema=schema(shape))
        key = self._key(asked)
        kept = self._cached(key)
        if kept is not None and (parsed := parse_object(kept.text, shape)).value is not None:
            return JsonReply(parsed.value, cached=True)
        reply = self._answered(asked, shape)
        if reply.value is not None:
            self.cache.put(key, json.dumps(reply.value, ensure_ascii=False))
        elif self.strict:
            raise StageFailed("llm", reply.failure or "invalid_json", ADVICE)
        return reply

    def stream(self, prompt: Prompt) -> Iterator[str | Reply]:
        """Pieces as they are written, then the `Reply`, whose text they are; a cached reply is one piece.

        Only a complete one is cached, under the same key as `complete`'s. Closing the iterator hangs up.
        """
        key = self._key(prompt)
        kept = self._cached(key)
        if kept is not None:
            yield kept.text
            yield kept
            return
        for said_now in Streamer(self.settings).stream(prompt):
            if isinstance(said_now, Reply):
                if said_now.failure and self.strict:
                    raise StageFailed("llm", said_now.failure, ADVICE)
                if not (said_now.failure or said_now.truncated):
                    self.cache.put(key, said_now.text.strip())
            yield said_now

    def close(self) -> None:
        self._poster.close()

    def _answered(self, asked: Prompt, shape: Shape) -> JsonReply:
        first = self._asked(asked)
        if first.failure:
            return JsonReply(None, first.failure, seconds=first.seconds)
        parsed = parse_object(first.text, shape)
        if parsed.problem is None:
            return JsonReply(parsed.value, seconds=first.seconds)
        cut_out = repair_object(first.text, shape)
        if cut_out.problem is None:
            return JsonReply(cut_out.value, repaired=True, seconds=first.seconds)
        again = self._asked(replace(asked, user=REPAIR.format(problem=parsed.problem, task=asked.user)))
        seconds = first.seconds + again.seconds
        if again.failure:
            return JsonReply(None, again.failure, parsed.problem, seconds=seconds)
        second = parse_object(again.text, shape)
        if second.problem is None:
            return JsonReply(second.value, repaired=True, seconds=seconds)
        return JsonReply(None, "invalid_json", second.problem, seconds=seconds)

    def _asked(self, prompt: Prompt) -> Reply:
        settings = self.settings
        if len(prompt.user) + len(prompt.system) > settings.max_prompt_chars:
            return Reply("", "prompt_too_long")
        sent = request(prompt, settings)
        answer = self._poster.post(sent.url, headers=sent.headers, body=sent.body)
        if answer.failure:
            return Reply("", answer.failure, attempts=answer.attempts, seconds=answer.seconds)
        heard = said(answer.value, settings)
        if heard is None or not heard.text.strip():
            failure = "malformed" if heard is None else "empty"
            return Reply("", failure, attempts=answer.attempts, seconds=answer.seconds)
        text = heard.text.strip()
        cut = heard.cut or len(text) > settings.max_reply_chars
        return Reply(text[: settings.max_reply_chars], truncated=cut, attempts=answer.attempts, seconds=answer.seconds)

    def _key(self, prompt: Prompt) -> str:
        sent = request(prompt, self.settings)
        return reply_key({"url": sent.url, "body": sent.body, "most": self.settings.max_reply_chars})

    def _cached(self, key: str) -> Reply | None:
        text = self.cache.get(key)
        return None if text is None else Reply(text, cached=True)


def open_llm(
    environ: Mapping[str, str] = os.environ, *, cache_folder: Path | None = None, strict: bool = False
) -> LlmClient | None:
    """The model that the environment names; None where it names none. Raises InvalidSettings, MissingExtra."""
    settings = llm_settings(environ)
    return LlmClient(settings, cache_folder=cache_folder, strict=strict) if settings is not None else None
