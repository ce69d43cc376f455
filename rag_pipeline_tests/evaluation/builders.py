"""Small eval sets, corpora and runs for the tests of this folder."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rag_pipeline.evaluation.eval_set import EvalSet, Judgement, Query
from rag_pipeline.evaluation.experiment import Experiment, QueryRun
from rag_pipeline.evaluation.split import Half
from rag_pipeline.schema import Hit, RetrievalResult, Section


def write_set(folder: Path, queries: Sequence[object], judgements: Sequence[object]) -> Path:
    """Each row is an object to be written as JSON, or a line as it stands."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("queries.jsonl", queries), ("judgements.jsonl", judgements)):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def section(doc_id: str, start: int, end: int, *headers: str) -> Section:
    path = tuple(enumerate(headers or (doc_id,), start=1))
    return Section(f"{doc_id}#{start}", doc_id, start, start, end, path, "prose")


def eval_set(labels: Mapping[str, Sequence[str]]) -> EvalSet:
    """Query id -> documents that answer it; a query without one is unanswerable."""
    queries = tuple(Query(q, f"question {q}", () if docs else ("unanswerable",)) for q, docs in labels.items())
    return EvalSet("small", queries, tuple(Judgement(q, doc) for q, docs in labels.items() for doc in docs))


def result(*sections: str, release_id: str = "r1") -> RetrievalResult:
    """Sections named "document#start", ten characters each."""
    hits = []
    for rank, name in enumerate(sections, start=1):
        doc_id, start = name.split("#")
        begin = int(start)
        hits.append(
            Hit(
                rank=rank,
                chunk_id=f"{name}/0",
                section_id=name,
                doc_id=doc_id,
                source=doc_id,
                title=doc_id,
                headers=((1, doc_id),),
                content="",
                lead="",
                start=begin,
                end=begin + 10,
                section_start=begin,
                section_end=begin + 10,
                kind="prose",
                score=1 / rank,
                scores={},
            )
        )
    return RetrievalResult("q", "c", "hybrid", release_id, "b1", tuple(hits), {"vector": 1.0}, {})


def scored(values: Sequence[float | None], *, tags: Sequence[str] = ()) -> tuple[QueryRun, ...]:
    """A run with these nDCG@10 values; None is a question whose labels don't resolve."""
    return tuple(
        QueryRun(f"q{i:03}", f"question {i}", tuple(tags), "unresolved")
        if value is None
        else QueryRun(f"q{i:03}", f"question {i}", tuple(tags), "scored", metrics={"ndcg_at_10": value})
        for i, value in enumerate(values)
    )


def experiment(release_id: str, runs: Mapping[str, Sequence[QueryRun]], *, eval_set_hash: str = "e" * 64) -> Experiment:
    return Experiment(
        eval_set="small",
        eval_set_version="1",
        eval_set_hash=eval_set_hash,
        half=Half.BOTH,
        release_id=release_id,
        build_key=f"build-{release_id}",
        runs={name: tuple(run) for name, run in runs.items()},
        warm_up=0,
    )
