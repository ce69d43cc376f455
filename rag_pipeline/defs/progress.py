"""Progress of long stages: into the Dagster log every few seconds, and to the terminal where one listens."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import dagster as dg

from rag_pipeline.schema import Progress

LOG_EVERY_SECONDS = 5.0

_listener: ContextVar[Callable[[Progress], None] | None] = ContextVar("progress_listener", default=None)


@contextmanager
def listening(listener: Callable[[Progress], None] | None) -> Iterator[None]:
    """Steps that run in this process report to `listener` too."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def reporter(context: dg.AssetExecutionContext) -> Callable[[Progress], None]:
    """A callback for pure code, writing a line when a stage ends and at most every few seconds before."""
    last = 0.0

    def report(progress: Progress) -> None:
        nonlocal last
        listener = _listener.get()
        if listener is not None:
            listener(progress)
        now = time.monotonic()
        if now - last >= LOG_EVERY_SECONDS or progress.done >= progress.total:
            last = now
            context.log.info(describe(progress))

    return report


def describe(progress: Progress) -> str:
    left = progress.seconds_left
    ahead = f", {left:.0f} s left" if left is not None and progress.done < progress.total else ""
    note = f" ({progress.note})" if progress.note else ""
    return f"{progress.stage}: {progress.done} of {progress.total}, {progress.rate:.0f}/s{ahead}{note}"
