"""A language model that says what a test scripts, and remembers what it was asked."""

from typing import Any

from rag_pipeline.llm.client import JsonReply
from rag_pipeline.llm.json_reply import Shape, parse_object
from rag_pipeline.llm.reply import Reply
from rag_pipeline.llm.wire import Prompt


class StubLlm:
    fingerprint = "stub"

    def __init__(self, text: str = "", *, failure: str | None = None) -> None:
        self.text = text
        self.failure = failure
        self.asked: list[Prompt] = []

    def complete(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        if self.failure or not self.text.strip():
            return Reply("", self.failure or "empty", seconds=0.5)
        return Reply(self.text.strip(), seconds=0.5)

    def complete_json(self, prompt: Prompt, shape: Shape) -> JsonReply:
        reply = self.complete(prompt)
        parsed: Any = parse_object(reply.text, shape)
        return JsonReply(parsed.value, reply.failure or ("invalid_json" if parsed.problem else None), parsed.problem)
