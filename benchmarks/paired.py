"""Two strategies on the same held-out questions; shared by the benchmarks that compare, not a benchmark itself."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import Labelled
from rag_pipeline.evaluation.eval_set import EvalSet
from rag_pipeline.evaluation.experiment import QueryRun
from rag_pipeline.evaluation.split import Half, select
from rag_pipeline.evaluation.statistics.bootstrap import bootstrap_interval
from rag_pipeline.evaluation.statistics.randomization import sign_flip_test

COLUMNS = "| corpus | held-out questions | {old} | {new} | difference | 95 % interval | p (two-sided) |"
Pairs = NDArray[np.float64]


def held_out(labelled: Labelled, eval_set: EvalSet) -> frozenset[str]:
    """Ids of the questions that no setting was chosen on. scifact's settings were chosen on its training queries, so
    all of its test queries are held out; the others have a tuning half."""
    kept = eval_set if labelled.name == "scifact" else select(eval_set, Half.HELD_OUT)
    return frozenset(query.id for query in kept.queries)


def pairs(old: Sequence[QueryRun], new: Sequence[QueryRun], *, metric: str, ids: frozenset[str]) -> Pairs:
    """(questions, 2): the metric of both on the questions of `ids`. A question that failed stops the benchmark."""
    failed = [f"{run.query_id}: {run.error}" for run in (*old, *new) if run.state == "failed"]
    if failed:
        raise SystemExit(f"{len(failed)} questions failed, the first: {failed[0]}")
    before = {run.query_id: run.metrics[metric] for run in old if run.state == "scored"}
    after = {run.query_id: run.metrics[metric] for run in new if run.state == "scored"}
    both = [query_id for query_id in after if query_id in before and query_id in ids]
    return np.array([(before[q], after[q]) for q in both], np.float64).reshape(-1, 2)


def print_rows(by_corpus: Mapping[str, Pairs], *, old: str, new: str) -> None:
    """One row a corpus, and one over the questions of all."""
    print(COLUMNS.format(old=old, new=new))
    print("|---|---|---|---|---|---|---|")
    every = {"all of them": np.concatenate(list(by_corpus.values()))} if len(by_corpus) > 1 else {}
    for name, found in {**by_corpus, **every}.items():
        change = found[:, 1] - found[:, 0]
        low, high = bootstrap_interval(change)
        p = sign_flip_test(change, alternative="two-sided")
        means = f"{found[:, 0].mean():.4f} | {found[:, 1].mean():.4f} | {change.mean():+.4f}"
        print(f"| {name} | {len(found)} | {means} | {low:+.4f} to {high:+.4f} | {p:.4f} |", flush=True)
