"""The real client, asked for a few words only: a test waits for plumbing, not for prose."""

from collections.abc import Iterator
from dataclasses import replace

from rag_pipeline.llm.client import JsonReply, LlmClient
from rag_pipeline.llm.json_reply import Shape
from rag_pipeline.llm.reply import Reply
from rag_pipeline.llm.wire import Prompt


class Short:
    def __init__(self, client: LlmClient, tokens: int) -> None:
        self.client, self.tokens = client, tokens
        self.fingerprint = client.fingerprint

    def _short(self, prompt: Prompt) -> Prompt:
        return replace(prompt, max_tokens=min(self.tokens, prompt.max_tokens))

    def complete(self, prompt: Prompt) -> Reply:
        return self.client.complete(self._short(prompt))

    def complete_json(self, prompt: Prompt, shape: Shape) -> JsonReply:
        return self.client.complete_json(self._short(prompt), shape)

    def stream(self, prompt: Prompt) -> Iterator[str | Reply]:
        return self.client.stream(self._short(prompt))
