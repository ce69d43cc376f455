"""Quality of the strategies on the labelled corpora: a Markdown table, and whether reranking pays.

    python -m benchmarks.retrieval_quality [--corpus kubernetes-qa] [--home /tmp/bench] \
        [--strategy hybrid] [--split train] [--set chunking.child_tokens=150]

By document where the labels name documents, by section on the bundled corpus. With `hybrid` and `hybrid_rerank` among
the strategies a second table compares the two on the questions that no setting was chosen on.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.corpora import CORPORA, DATA, Labelled, asked, build, questions
from benchmarks.paired import Pairs, held_out, pairs, print_rows
from rag_pipeline.evaluation.experiment import QueryRun, run_experiment
from rag_pipeline.evaluation.resolve import resolve
from rag_pipeline.evaluation.split import Half, split_halves
from rag_pipeline.evaluation.summary import summarise
from rag_pipeline.paths import Home

STRATEGIES = ("bm25", "vector", "hybrid", "hybrid_rerank")
METRICS = ("ndcg_at_10", "recall_at_5", "mrr_at_10")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", action="append", choices=sorted(CORPORA))
    parser.add_argument("--home", type=Path, default=Path("/tmp/rag_pipeline_bench"))
    parser.add_argument("--strategy", action="append")
    parser.add_argument("--split", default="test", help="of a corpus with several sets of judgements")
    parser.add_argument("--set", action="append", default=[], metavar="chunking.FIELD=VALUE | FIELD=VALUE")
    arguments = parser.parse_args()
    chunking, override = _settings(arguments.set)
    strategies = arguments.strategy or STRATEGIES
    print("| corpus | questions | strategy | nDCG@10 | Recall@5 | MRR@10 | p50 ms | p95 ms | chunks |")
    print("|---|---|---|---|---|---|---|---|---|")
    compared: dict[str, Pairs] = {}
    for name in arguments.corpus or CORPORA:
        labelled = CORPORA[name]
        built = build(
            name.replace("-", "_"),
            DATA / labelled.documents,
            Home(arguments.home),
            chunking={"chunker": labelled.chunker, **chunking},
            strategies={},
        )
        eval_set = questions(labelled, split=arguments.split)
        run = run_experiment(
            eval_set,
            half=Half.BOTH,
            resolution=resolve(eval_set, built.corpus),
            strategies={strategy: asked(built, strategy, **override) for strategy in strategies},
            release_id=built.opened.release.release_id,
            build_key=built.opened.release.build_key,
        )
        halves = split_halves(eval_set).half_of
        for strategy, rows in run.runs.items():
            print_strategy(labelled, strategy, rows, chunks=built.chunks)
            for half in (Half.TUNING, Half.HELD_OUT):
                of_half = tuple(row for row in rows if halves[row.query_id] is half)
                print_strategy(labelled, strategy, of_half, chunks=built.chunks, what=f"{half.value} half")
        if {"hybrid", "hybrid_rerank"} <= run.runs.keys():
            ids = held_out(labelled, eval_set)
            both = run.runs["hybrid"], run.runs["hybrid_rerank"]
            compared[name] = pairs(*both, metric=labelled.metric, ids=ids)
    if compared:
        print()
        print_rows(compared, old="hybrid", new="hybrid_rerank")


def print_strategy(
    labelled: Labelled, strategy: str, rows: Sequence[QueryRun], *, chunks: int, what: str | None = None
) -> None:
    """One row for all questions and, unless `what` names a part of them, one for each tag of a foreign corpus."""
    summary = summarise(rows)
    prefix = labelled.metric.removesuffix(METRICS[0])
    by_tag = summary.by_tag if what is None and prefix else {}
    times = f"{summary.latency.p50:.1f} | {summary.latency.p95:.1f}" if summary.latency else "- | -"
    for kind, metrics in {what or "all": summary.metrics, **by_tag}.items():
        cells = " | ".join(f"{metrics[prefix + metric].value:.4f}" for metric in METRICS)
        n = metrics[labelled.metric].n
        print(f"| {labelled.name} | {kind} ({n}) | {strategy} | {cells} | {times} | {chunks} |", flush=True)


def _settings(items: Sequence[str]) -> tuple[dict[str, object], dict[str, object]]:
    chunking: dict[str, object] = {}
    override: dict[str, object] = {}
    for item in items:
        key, _, value = item.partition("=")
        parsed = json.loads(value) if value[:1].isdigit() or value in ("true", "false") else value
        (chunking if key.startswith("chunking.") else override)[key.removeprefix("chunking.")] = parsed
    return chunking, override


if __name__ == "__main__":
    main()
