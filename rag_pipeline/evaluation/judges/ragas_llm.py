"""Our language-model client in the place where ragas expects one of its own, with every reply read strictly.

ragas 0.4.3 takes a verdict of 7 or -1 for "supported", and an empty list of statements for a perfect answer; here such
replies are asked for once more and then are failures of their row. Only called by ragas_judge.py: importing this loads
ragas, which takes seconds.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from ragas.llms.base import InstructorBaseRagasLLM  # noqa: TID253 - see above

from rag_pipeline.llm.client import REPAIR, Llm
from rag_pipeline.llm.wire import Prompt

MAX_TOKENS = 2048
MOST_STATEMENTS = 100
BINARY = frozenset({"verdict", "attributed"})
LISTS = frozenset({"statements", "classifications"})
T = TypeVar("T", bound=BaseModel)


class RowFailed(Exception):
    """One row could not be judged; the message is the reason in a word."""


class StrictLlm(InstructorBaseRagasLLM):
    """One instance a row: it remembers what was returned, so that the row can be checked as a whole."""

    def __init__(self, llm: Llm) -> None:
        self._llm = llm
        self.returned: list[BaseModel] = []

    async def agenerate(self, prompt: str, response_model: type[T]) -> T:
        return await asyncio.to_thread(self.generate, prompt, response_model)

    def generate(self, prompt: str, response_model: type[T]) -> T:
        """Raises RowFailed."""
        asked = Prompt(prompt, max_tokens=MAX_TOKENS, schema=_closed(response_model.model_json_schema()))
        problem = ""
        for attempt in (asked, None):
            again = replace(asked, user=REPAIR.format(problem=problem, task=prompt))
            reply = self._llm.complete(attempt or again)
            if reply.failure:
                raise RowFailed(reply.failure)
            value, problem = parsed(reply.text, response_model)
            if value is not None:
                self.returned.append(value)
                return value
        raise RowFailed("invalid_json")


def parsed(text: str, response_model: type[T]) -> tuple[T | None, str]:
    """The one object that the reply is, or that stands in a fence or between sentences; else what is wrong with it."""
    try:
        start, end = text.index("{"), text.rindex("}") + 1
        value = json.loads(text[start:end])
        found = response_model.model_validate(value, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        return None, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except (ValueError, RecursionError) as error:
        return None, f"not one JSON object ({str(error)[:80]})"
    return (None, problem) if (problem := next(_problems(value), "")) else (found, "")


def _problems(value: Any, key: str = "") -> Iterator[str]:
    """Verdicts that are neither 0 nor 1, and lists that are empty or endless."""
    if key in BINARY and (isinstance(value, bool) or value not in (0, 1)):
        yield f"{key}: must be 0 or 1"
    if key in LISTS and isinstance(value, list) and not 0 < len(value) <= MOST_STATEMENTS:
        yield f"{key}: must have 1 to {MOST_STATEMENTS} entries"
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _problems(inner, str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from _problems(inner)


def _closed(schema: Any) -> Any:
    """The schema with no room for further keys, as servers want it that enforce one."""
    if isinstance(schema, dict):
        closed = {name: _closed(inner) for name, inner in schema.items()}
        if closed.get("type") == "object":
            closed["additionalProperties"] = False
        return closed
    return [_closed(inner) for inner in schema] if isinstance(schema, list) else schema
