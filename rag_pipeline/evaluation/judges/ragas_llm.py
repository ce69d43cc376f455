"""Our language-model client in the place where ragas expects one of its own, with every reply read strictly.

ragas 0.4.3 takes a verdict of 7 or -1 for "supported", an empty list of statements for a perfect answer, and verdicts
on the worked examples of its own prompt, which small models repeat, for verdicts on the row; here such replies are
asked for once more and then are failures of their row. Only called by ragas_judge.py: importing this loads
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
OWN_INPUT = "Now perform the same with the following input"
"""Stands in ragas' prompts between its examples and what is asked."""
LEAST_COPIED = 15
"""Characters: a shorter statement may be an example's by chance."""
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
        asked = Prompt(prompt, max_tokens=MAX_TOKENS, schema=_strict(response_model.model_json_schema()))
        problem = ""
        for attempt in (asked, None):
            again = replace(asked, user=REPAIR.format(problem=problem, task=prompt))
            reply = self._llm.complete(attempt or again)
            if reply.failure:
                raise RowFailed(reply.failure)
            value, problem = parsed(reply.text, response_model)
            if value is None:
                continue
            if not (problem := copied(value, prompt)):
                self.returned.append(value)
                return value
        raise RowFailed("copies_an_example" if value is not None else "invalid_json")


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


def copied(value: BaseModel, prompt: str) -> str:
    """What is wrong where a statement is one of the prompt's examples and not of its input; "" where nothing is."""
    examples, _, own = prompt.rpartition(OWN_INPUT)
    for statement in _statements(value.model_dump()):
        said = json.dumps(statement, ensure_ascii=False)[1:-1]  # as it stands in the prompt
        if len(said) >= LEAST_COPIED and said in examples and said not in own:
            return "it repeats an example of the task instead of doing it"
    return ""


def _statements(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if key in ("statement", "statements"):
            yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _statements(inner, str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from _statements(inner, key)


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


def _strict(schema: Any, key: str = "") -> Any:
    """The schema as strictly as replies are read, for servers that enforce it: no key more, 0 or 1, no empty list."""
    if isinstance(schema, list):
        return [_strict(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {name: _strict(inner, name) for name, inner in schema.items()}
    if strict.get("type") == "object":
        strict["additionalProperties"] = False
    if key in BINARY and strict.get("type") == "integer":
        strict["enum"] = [0, 1]
    if key in LISTS and strict.get("type") == "array":
        strict |= {"minItems": 1, "maxItems": MOST_STATEMENTS}
    return strict
