"""What `evalset new --synthetic` does: sections go to a language model, its checked questions into the set."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rag_pipeline.cli.output import visible
from rag_pipeline.errors import InvalidSettings, StageFailed
from rag_pipeline.evaluation.eval_set import Judgement, Query
from rag_pipeline.evaluation.labels import QUERIES, read_eval_set
from rag_pipeline.evaluation.set_writer import add_questions
from rag_pipeline.evaluation.source_sections import source_sections
from rag_pipeline.evaluation.synthetic import SYNTHETIC, chosen_sections, synthetic_questions
from rag_pipeline.http_json import HttpPolicy
from rag_pipeline.llm.client import LlmClient
from rag_pipeline.llm.settings import llm_settings
from rag_pipeline.retrieval.reader import OpenRelease
from rag_pipeline.retrieval.scope import readable_documents
from rag_pipeline.schema import Principal

Say = Callable[[str], None]
CALL_SECONDS = 120.0
"""Nobody waits for a reply; a small model on a busy machine takes its time."""


def ask_model(
    folder: Path, opened: OpenRelease, *, count: int, seed: int, principal: Principal | None, say: Say
) -> dict[str, Any]:
    """Until the set has `count` questions of a model's. Each is stored as it is made. Returns what to report.

    Raises InvalidSettings without a model, StageFailed where it can't be reached; what was made by then is kept.
    """
    configured = llm_settings(os.environ, http=HttpPolicy(seconds=CALL_SECONDS))
    if configured is None:
        raise InvalidSettings(
            "--synthetic needs a language model: set RAG_PIPELINE_LLM_URL and RAG_PIPELINE_LLM_MODEL, or leave it"
            " out and judge"
        )
    queries: tuple[Query, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    if (folder / QUERIES).is_file():
        there, _ = read_eval_set(folder)
        queries, judgements = there.queries, there.judgements
    labelled = {j.document: [k.quote for k in judgements if k.document == j.document and k.quote] for j in judgements}
    sections = [
        s
        for s in chosen_sections(source_sections(opened.index, principal=principal), seed=seed)
        if not any(quote in s.content for quote in labelled.get(s.document, ()))
    ]
    public = frozenset(readable_documents(opened.index, principal=None))
    about: dict[str, str | bool] = {
        "name": f"{opened.release.collection}_synthetic",
        "description": f"Questions tagged {SYNTHETIC} were written by {configured.model}.",
        "synthetic": True,
    }

    def keep(query: Query, judgement: Judgement) -> None:
        say(f"{visible(judgement.document)}: {visible(query.text)}")
        add_questions(folder, [(query, [judgement])], about={**about, "restricted": judgement.document not in public})

    llm = LlmClient(configured)
    try:
        made = synthetic_questions(
            sections,
            llm,
            count=count - sum(SYNTHETIC in query.tags for query in queries),
            principal=principal,
            known=[query.text for query in queries],
            keep=keep,
            refused=lambda section, reason: say(f"{visible(section.document)}: refused or failed, {reason}"),
        )
    finally:
        llm.close()
    say(f"{len(made.made)} questions made of {made.asked} sections asked about ({len(sections)} there are)")
    for reason, number in sorted(made.failures.items()):
        say(f"{number} refused or failed: {reason}")
    if made.stopped:
        most = max(made.failures, key=lambda reason: made.failures[reason])
        raise StageFailed("the language model", most, "check RAG_PIPELINE_LLM_URL, then run the command again")
    return {
        "added": len(made.made),
        "labels": len(made.made),
        "asked": made.asked,
        "refused": dict(made.failures),
        "restricted": any(label.document not in public for _, labels in made.made for label in labels),
    }
