"""Settings that one call changes for itself: unknown ones are errors, with or without a context."""

from collections.abc import Iterable

from rag_pipeline.errors import UnknownName
from rag_pipeline.settings.base import suggestion


def check_overrides(given: Iterable[str], *, known: Iterable[str]) -> None:
    """Raises UnknownName that lists the known."""
    names = sorted(known)
    for field in given:
        if field not in names:
            raise UnknownName(f"unknown override {field!r}{suggestion(field, names)}; known: {', '.join(names)}")
