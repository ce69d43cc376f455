"""What `evalset new` does with a person: pools for the questions, judged in the terminal, added to the set."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rag_pipeline.cli.evalset_judge import Terminal, judge
from rag_pipeline.errors import InvalidEvalSet, InvalidQuery, InvalidSettings, UnknownName
from rag_pipeline.evaluation.eval_set import Query
from rag_pipeline.evaluation.judging import Judging
from rag_pipeline.evaluation.labels import QUERIES, read_queries
from rag_pipeline.evaluation.pooling import pool_question
from rag_pipeline.evaluation.question_file import read_questions, typed_questions
from rag_pipeline.evaluation.set_writer import add_questions
from rag_pipeline.retrieval.reader import OpenRelease
from rag_pipeline.retrieval.scope import readable_documents
from rag_pipeline.schema import Principal

Say = Callable[[str], None]


def judge_pools(
    folder: Path,
    opened: OpenRelease,
    *,
    questions: Path | None,
    strategies: Sequence[str],
    depth: int,
    seed: int,
    principal: Principal | None,
    models: Path,
    say: Say,
    prompt: Say,
) -> dict[str, Any]:
    """Pool the questions that are new, go on judging, and add what is judged in full. Returns what to report."""
    judging = Judging(folder)
    if judging.unreadable:
        say(f"{judging.unreadable} lines were cut off by a crash; what they said is asked again")
    if questions is not None:
        asked = read_questions(questions, principal=principal)
    elif judging.next() is None and not judging.unsettled():
        asked = _typed(say, principal)
    else:
        asked = ()
    there = _ids(folder)
    fresh = [q for q in asked if q.id not in judging.pools and q.id not in there]
    for query in fresh:
        try:
            pool = pool_question(opened, query, models=models, strategies=strategies, depth=depth, seed=seed)
        except (InvalidQuery, InvalidSettings, UnknownName) as error:
            raise InvalidEvalSet(f"question {query.text!r}: {error}") from error
        if len(pool.failures) < len(strategies):  # else it was a bad minute, and another start tries again
            judging.add(pool)
        for strategy, why in pool.failures.items():
            say(f"{strategy} adds nothing to the pool of {query.text!r}: {why}")
    say(f"{len(fresh)} questions pooled from {', '.join(strategies)}; {len(asked) - len(fresh)} were there already")
    try:
        done = judge(judging, Terminal(read_line, say, prompt))
    finally:
        # Also when the judge leaves by Ctrl-C: what is complete belongs to the set.
        pooled = f"Pooled: depth {depth} of {', '.join(strategies)}; seed {seed}."
        report = _finish(folder, opened, judging, description=pooled)
        say(
            f"\n{report['added']} questions added with {report['labels']} labels; {report['waiting']} not judged in"
            f" full, {report['left_out']} left out"
        )
        for problem in report["problems"]:
            say(f"not added: {problem}")
    return report | {"finished": done}


def _finish(folder: Path, opened: OpenRelease, judging: Judging, *, description: str) -> dict[str, Any]:
    documents = sorted({p.document for pool in judging.pools.values() for p in pool.passages})
    labelled, problems = judging.labelled(opened.index.document_texts(documents))
    public = frozenset(readable_documents(opened.index, principal=None))
    restricted = any(label.document not in public for _, labels in labelled for label in labels)
    name = opened.release.collection
    about: dict[str, str | bool] = {"name": f"{name}_judged", "description": description, "restricted": restricted}
    added = add_questions(folder, labelled, about=about)
    left_out = sum(verdict == "left_out" for verdict in judging.verdicts.values())
    return {
        "added": added.questions,
        "labels": added.judgements,
        "already_there": added.kept,
        "left_out": left_out,
        "waiting": judging.waiting,
        "restricted": restricted,
        "problems": problems,
    }


def read_line() -> str | None:
    """The next line of standard input, None at its end."""
    line = sys.stdin.buffer.readline()
    return line.decode("utf-8", "replace").rstrip("\r\n") if line else None


def _typed(say: Say, principal: Principal | None) -> tuple[Query, ...]:
    say("Questions, one a line; an empty line ends them:")
    lines = []
    while line := read_line():
        lines.append(line)
    return typed_questions(lines, principal=principal)


def _ids(folder: Path) -> frozenset[str]:
    """Of the questions that are in the set already."""
    if not (folder / QUERIES).is_file():
        return frozenset()
    return frozenset(query.id for query in read_queries(folder / QUERIES)[0])
