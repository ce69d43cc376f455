"""How large and how deep a filter may be over the wire; what it means is the retrieval's business."""

from collections.abc import Iterator
from typing import Any

from rag_pipeline.text.repair import repair_text

MOST_KEYS = 32
MOST_VALUES = 1000
MOST_CHARACTERS = 1000


def bounded_filters(filters: dict[str, Any]) -> dict[str, Any]:
    """The filters with their texts repaired. Raises ValueError.

    A value is a scalar, a list of scalars, or one object of operators with such operands.
    """
    if len(filters) > MOST_KEYS:
        raise ValueError(f"more than {MOST_KEYS} filters; leave some out")
    return {repair_text(key): _operand(value, may_nest=True) for key, value in filters.items()}


def _operand(value: Any, *, may_nest: bool) -> Any:
    if isinstance(value, dict):
        if not may_nest or len(value) > MOST_KEYS:
            raise ValueError("a filter's value is a scalar, a list, or one object of operators")
        return {repair_text(key): _operand(operand, may_nest=False) for key, operand in value.items()}
    if isinstance(value, list):
        if len(value) > MOST_VALUES:
            raise ValueError(f"a filter has more than {MOST_VALUES} values; split the request")
        return list(_scalars(value))
    return next(_scalars([value]))


def _scalars(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (dict, list)):
            raise ValueError("a filter's value is a scalar, a list, or one object of operators")
        if isinstance(value, str) and len(value) > MOST_CHARACTERS:
            raise ValueError(f"a filter's value is longer than {MOST_CHARACTERS} characters")
        yield repair_text(value) if isinstance(value, str) else value
