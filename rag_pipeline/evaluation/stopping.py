"""When a strategy is not asked any further: what it lacks, it lacks for every question, and each would wait in vain.

A missing model, package or setting stops it at once. A time-out or a server's error may pass, so that takes several in
a row; what is one question's own (a refusal, a malformed reply) never stops anything.
"""

from rag_pipeline.errors import InvalidSettings, MissingExtra, ModelUnavailable, StageFailed

LASTING = frozenset(
    {"unconfigured", "missing_extra", "unavailable", "uncalibrated", "http_401", "http_403", "http_404"}
)
PASSING = frozenset({"timeout", "busy", "unreachable", "http_429", "http_500", "http_502", "http_503", "http_504"})
AT_FIRST = 2
"""Passing failures in a row before anything was answered."""
LATER = 5
"""Passing failures in a row once something was."""


class Stop:
    """Of one strategy in one run."""

    def __init__(self) -> None:
        self.reason: str | None = None
        """Why no further question is asked; None as long as they are."""
        self._answered = False
        self._in_a_row = 0

    def answered(self) -> None:
        self._answered = True
        self._in_a_row = 0

    def failed(self, error: Exception) -> None:
        if is_lasting(error):
            self.reason = str(error)
            return
        if not (isinstance(error, StageFailed) and error.reason in PASSING):
            return
        self._in_a_row += 1
        if self._in_a_row >= (LATER if self._answered else AT_FIRST):
            self.reason = f"{self._in_a_row} questions in a row: {error}"


def is_lasting(error: Exception) -> bool:
    if isinstance(error, StageFailed):
        return error.reason in LASTING
    return isinstance(error, InvalidSettings | MissingExtra | ModelUnavailable)
