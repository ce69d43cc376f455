"""Asking a stored release's questions through an answerer, and keeping what came of it beside the release."""

import hashlib
import re
import time
from collections.abc import Callable
from pathlib import Path

from rag_pipeline.answering.base import Answerer
from rag_pipeline.answering.extractive import NAME as EXTRACTIVE
from rag_pipeline.answering.registry import open_answerer
from rag_pipeline.answering.similarity import model_similarity
from rag_pipeline.context.escape import escape
from rag_pipeline.errors import RagPipelineError
from rag_pipeline.evaluation.answer_quality import AnswerQuality, Given, score_answers
from rag_pipeline.evaluation.answer_recorded import read_recorded
from rag_pipeline.evaluation.code_fingerprint import ANSWERING, code_fingerprint
from rag_pipeline.evaluation.eval_set import EvalSet, Query
from rag_pipeline.evaluation.judges.ragas_judge import RagasScorer
from rag_pipeline.evaluation.judges.registry import Judges, open_judges
from rag_pipeline.evaluation.results import read_value, write_value
from rag_pipeline.llm.client import Llm
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.query_vector import query_model
from rag_pipeline.retrieval.reader import OpenRelease, open_release
from rag_pipeline.retrieval.release_file import read_release
from rag_pipeline.retrieval.retrieve import retrieve_from
from rag_pipeline.schema import Passage, Progress, Release
from rag_pipeline.settings.base import pick

RECORDED = "recorded"
CONTEXT = "chatbot"
"""Preset that questions are answered from where none is named."""
CALL_FAILURES = frozenset({"timeout", "unreachable", "malformed", "too_large", "too_long", "empty", "prompt_too_long"})
BY_CONSTRUCTION = "extractive answers quote their passages, so they are faithful by construction; key facts count"
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,60}")
"""Names of presets that a file name may hold as they are; of others it holds a hash."""
Report = Callable[[Progress], None]


def answer_quality(
    paths: CollectionPaths,
    release_id: str,
    eval_set: EvalSet,
    *,
    models: Path,
    answerer: str = EXTRACTIVE,
    context: str | None = None,
    llm: Llm | None = None,
    progress: Report | None = None,
) -> AnswerQuality:
    """Measured once for a release, its questions and this code; what an LLM answered is asked again each time, through
    the client's cache. Raises UnknownName for an answerer or a preset, InvalidSettings where it needs a model."""
    folder = paths.evaluation(release_id, eval_set.content_hash)
    opened = open_release(paths, release_id)
    usual = _default_context(opened)
    preset = context or usual
    pick(opened.release.contexts, preset, "context")
    name = stored_name(answerer, context=None if preset == usual else preset)
    stored = read_value(folder, name, AnswerQuality)
    today = (code_fingerprint(*ANSWERING), preset)
    if answerer == EXTRACTIVE and stored is not None and (stored.code, stored.context) == today:
        return stored
    embedder = query_model(models, opened.release.embedder_fingerprint)
    maker = open_answerer(answerer, llm=llm, similarity=model_similarity(models, opened.release.embedder_fingerprint))
    given = answers_of(opened, eval_set, maker, models=models, context=preset, progress=progress)
    if answerer == EXTRACTIVE:
        judges = Judges((), {"lexical, semantic, llm, ragas": BY_CONSTRUCTION})
    else:
        judges = open_judges(embedder, llm=llm, cache=paths.verdicts)
    measured = score_answers(
        eval_set,
        given,
        answerer=answerer,
        model=llm.fingerprint if llm is not None and answerer != EXTRACTIVE else None,
        release_id=release_id,
        embedder=embedder,
        judges=judges,
        scorer=RagasScorer(llm, embedder) if llm is not None and "ragas" not in judges.not_run else None,
        context=preset,
        code=code_fingerprint(*ANSWERING),
    )
    write_value(folder, name, measured)
    return measured


def recorded_quality(
    paths: CollectionPaths,
    release_id: str,
    eval_set: EvalSet,
    file: Path,
    *,
    models: Path,
    llm: Llm | None = None,
) -> AnswerQuality:
    """Answers from a file, judged by every judge that can run here, with the release's embedder. Raises InvalidEvalSet
    for a file that can't be used."""
    given = read_recorded(file, eval_set)
    embedder = query_model(models, read_release(paths.release(release_id)).embedder_fingerprint)
    judges = open_judges(embedder, llm=llm, cache=paths.verdicts)
    measured = score_answers(
        eval_set,
        given,
        answerer=RECORDED,
        model=None,
        release_id=release_id,
        embedder=embedder,
        judges=judges,
        scorer=RagasScorer(llm, embedder) if llm is not None and "ragas" not in judges.not_run else None,
        code=code_fingerprint(*ANSWERING),
    )
    write_value(paths.evaluation(release_id, eval_set.content_hash), stored_name(RECORDED), measured)
    return measured


def why_not_asked(release: Release, eval_set: EvalSet) -> str | None:
    """Why measuring answers would tell nothing; None where it would."""
    if not release.contexts:
        return "the release has no contexts, which answers are made from"
    if not any(query.key_facts or query.reference_answer for query in eval_set.queries):
        return "no question has key facts or a reference answer"
    return None


def answers_of(
    opened: OpenRelease,
    eval_set: EvalSet,
    answerer: Answerer,
    *,
    models: Path,
    context: str,
    progress: Report | None = None,
) -> dict[str, Given]:
    """By query id; a question whose retrieval or answer raises is that question's failure."""
    began = time.perf_counter()
    given = {}
    for n, query in enumerate(eval_set.queries, start=1):
        given[query.id] = _asked(opened, query, answerer, models=models, context=context)
        if progress is not None and (n % 10 == 0 or n == len(eval_set.queries)):
            progress(Progress("answer", n, len(eval_set.queries), time.perf_counter() - began))
    return given


def stored_name(answerer: str, *, context: str | None = None) -> str:
    """`context` where it is not the default one. What names one does not begin with "answers", since tracking reads
    those files as the answerer's usual result."""
    name = "answers" if answerer == EXTRACTIVE else f"answers_{answerer}"
    if context is None:
        return name
    safe = context if _SAFE.fullmatch(context) else hashlib.sha256(context.encode()).hexdigest()[:20]
    return f"context_{safe}_{name}"


def shown(passage: Passage) -> str:
    """A passage as its reader saw it: headings, then its text, with delimiters and marks made harmless."""
    headings = [title for _, title in passage.headers] or [passage.title]
    return escape("\n".join([" > ".join(headings), "", *passage.pieces]))


def _asked(opened: OpenRelease, query: Query, answerer: Answerer, *, models: Path, context: str) -> Given:
    try:
        result = retrieve_from(
            opened, query.text, models=models, context=context, filters=query.filters, principal=query.principal
        )
        answer = answerer.answer(query.text, result)
    except RagPipelineError as error:
        return Given("", (), abstained=False, failure=f"{type(error).__name__}: {error}")
    failed = answer.abstained and _is_failure(answer.reason)
    return Given(
        text=answer.text,
        passages=tuple(shown(p) for p in result.passages),
        abstained=answer.abstained and not failed,
        reason=answer.reason,
        tokens=result.total_tokens,
        markers=(*result.markers, *answer.markers),
        failure=answer.reason if failed else None,
    )


def _is_failure(reason: str | None) -> bool:
    """A model that could not be asked has not decided to abstain."""
    return reason is not None and (reason in CALL_FAILURES or reason.startswith("http_"))


def _default_context(opened: OpenRelease) -> str:
    contexts = opened.release.contexts
    return CONTEXT if CONTEXT in contexts or not contexts else sorted(contexts)[0]
