"""Progress of a run on the terminal: bars where there is one, a line now and then where output goes to a file."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rag_pipeline.schema import Progress

LINE_EVERY_SECONDS = 10.0


@contextmanager
def shown(*, quiet: bool = False) -> Iterator[Callable[[Progress], None] | None]:
    """A callback for long stages. Everything goes to stderr, so that stdout stays the result."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bars() as report:
            yield report
    else:
        yield _lines()


@contextmanager
def _bars() -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    with Bars(
        TextColumn("{task.description:<10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
    ) as bars:
        tasks = {}

        def report(progress: Progress) -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = bars.add_task(progress.stage, total=progress.total, rate="")
            bars.update(
                tasks[progress.stage],
                completed=progress.done,
                total=progress.total,
                rate=f"{progress.rate:.0f}/s",
            )

        yield report


def _lines() -> Callable[[Progress], None]:
    last: dict[str, float] = {}

    def report(progress: Progress) -> None:
        now = time.monotonic()
        ended = progress.done >= progress.total
        if not ended and now - last.setdefault(progress.stage, now) < LINE_EVERY_SECONDS:
            return
        last[progress.stage] = now
        left = progress.seconds_left
        ahead = f", {left:.0f} s left" if left is not None and not ended else ""
        print(  # noqa: T201
            f"{progress.stage}: {progress.done} of {progress.total}, {progress.rate:.0f}/s{ahead}",
            file=sys.stderr,
            flush=True,
        )

    return report
