"""Judging in the terminal: one passage, one answer, one line. Reads any standard input, a person's or a pipe's."""

from collections.abc import Callable
from dataclasses import dataclass, field

from rag_pipeline.cli.output import visible
from rag_pipeline.evaluation.judging import Judging, Task
from rag_pipeline.evaluation.pooling import Pool

PROMPT = "grade 0-3, or s u q ?: "
NOTHING = "Is the answer not in these documents at all? y: tag it unanswerable, n: leave it out, or s u q: "
HELP = """  3  answers the question fully      2  answers it in part
  1  related and useful              0  no use for this question
  s  leave this question for later   u  take the last grade back
  q  stop; what was judged is kept   ?  this help"""


@dataclass
class Terminal:
    """`read` gives the next line without its end, None where there is none; `say` writes a line, `prompt` a part."""

    read: Callable[[], str | None]
    say: Callable[[str], None]
    prompt: Callable[[str], None]
    skipped: set[str] = field(default_factory=set)


def judge(judging: Judging, terminal: Terminal) -> bool:
    """Until all is judged (True) or the judge stops (False). Every grade is stored before the next passage is shown."""
    shown: str | None = None
    while True:
        for pool in judging.unsettled():
            if pool.query.id not in terminal.skipped and not _settle(judging, pool, terminal):
                return False
        task = judging.next(skipped=frozenset(terminal.skipped))
        if task is None:
            return True
        if task.pool.query.id != shown:
            _show_question(judging, task.pool, terminal)
            shown = task.pool.query.id
        _show_passage(task, terminal)
        if not _answer(judging, task, terminal):
            return False


def _answer(judging: Judging, task: Task, terminal: Terminal) -> bool:
    """One answer to one passage; False to stop."""
    while True:
        terminal.prompt(PROMPT)
        line = terminal.read()
        said = line.strip().lower() if line is not None else "q"
        if said == "q":
            return False
        if said in ("0", "1", "2", "3"):
            judging.grade(task, int(said))
            return True
        if said == "s":
            terminal.skipped.add(task.pool.query.id)
            return True
        if said == "u":
            if judging.undo():
                return True
            terminal.say("nothing to take back")
            continue
        terminal.say(HELP)


def _settle(judging: Judging, pool: Pool, terminal: Terminal) -> bool:
    """What becomes of a question without a passage that answers; False to stop."""
    terminal.say(f"\nNo passage answers {visible(pool.query.text)!r}.")
    while True:
        terminal.prompt(
            "Is the answer not in these documents at all? y: tag it unanswerable, n: leave it out, or s u q: "
        )
        line = terminal.read()
        said = line.strip().lower() if line is not None else "q"
        if said == "q":
            return False
        if said in ("y", "n"):
            judging.settle(pool.query.id, "unanswerable" if said == "y" else "left_out")
            return True
        if said == "s":
            terminal.skipped.add(pool.query.id)
            return True
        if said == "u" and judging.undo():
            return True


def _show_question(judging: Judging, pool: Pool, terminal: Terminal) -> None:
    number = list(judging.pools).index(pool.query.id) + 1
    terminal.say(f"\nQuestion {number} of {len(judging.pools)}: {visible(pool.query.text)}")
    if pool.query.filters:
        terminal.say(f"  filters: {visible(str(dict(pool.query.filters)))}")
    if pool.query.principal is not None:
        terminal.say(f"  asked as {visible(pool.query.principal.identity)}")


def _show_passage(task: Task, terminal: Terminal) -> None:
    passage = task.passage
    path = " > ".join(dict.fromkeys((passage.title, *passage.headers)))
    terminal.say(f"\n[{task.number}/{len(task.pool.passages)}] {visible(passage.document)}: {visible(path)}")
    for line in [*passage.lead.split("\n"), *passage.text.split("\n")]:
        if line.strip():
            terminal.say(f"  | {visible(line)}")
