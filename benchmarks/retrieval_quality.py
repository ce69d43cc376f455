"""Document-level quality of the strategies on the labelled corpora: a Markdown table.

    python -m benchmarks.retrieval_quality [--corpus kubernetes-qa] [--home /tmp/bench] \
        [--set chunking.child_tokens=150]
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks.corpora import DATA, LABELLED, Built, build, questions
from rag_pipeline.evaluation.eval_set import Query
from rag_pipeline.evaluation.experiment import Retrieve, run_experiment
from rag_pipeline.evaluation.resolve import resolve
from rag_pipeline.evaluation.split import Half
from rag_pipeline.evaluation.summary import summarise
from rag_pipeline.paths import Home
from rag_pipeline.retrieval.retrieve import retrieve_from
from rag_pipeline.schema import RetrievalResult

METRICS = ("document_ndcg_at_10", "document_recall_at_5", "document_mrr_at_10")
# Documents are what the labels name, and one document can fill many sections of a ranking.
SECTIONS = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", action="append", choices=sorted(LABELLED))
    parser.add_argument("--home", type=Path, default=Path("/tmp/rag_pipeline_bench"))
    parser.add_argument("--strategy", action="append")
    parser.add_argument("--set", action="append", default=[], metavar="chunking.FIELD=VALUE | FIELD=VALUE")
    arguments = parser.parse_args()
    chunking, override = {}, {}
    for item in arguments.set:
        key, _, value = item.partition("=")
        parsed = json.loads(value) if value[:1].isdigit() or value in ("true", "false") else value
        (chunking if key.startswith("chunking.") else override)[key.removeprefix("chunking.")] = parsed
    print("| corpus | questions | strategy | nDCG@10 | Recall@5 | MRR@10 | p50 ms | p95 ms | chunks |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in arguments.corpus or LABELLED:
        labelled = LABELLED[name]
        built = build(
            name.replace("-", "_"),
            DATA / labelled.documents,
            Home(arguments.home),
            chunking={"chunker": labelled.chunker, **chunking},
            strategies={},
        )
        eval_set = questions(labelled)
        strategies = {
            strategy: asked(built, strategy, override)
            for strategy in arguments.strategy or ("bm25", "vector", "hybrid")
        }
        run = run_experiment(
            eval_set,
            half=Half.BOTH,
            resolution=resolve(eval_set, built.corpus),
            strategies=strategies,
            release_id=built.opened.release.release_id,
            build_key=built.opened.release.build_key,
        )
        for strategy, rows in run.runs.items():
            summary = summarise(rows)
            latency = summary.latency
            assert latency is not None
            for kind, metrics in {"all": summary.metrics, **summary.by_tag}.items():
                cells = [f"{metrics[m].value:.3f}" for m in METRICS]
                n = metrics[METRICS[0]].n
                times = f"{latency.p50:.1f} | {latency.p95:.1f}"
                row = f"| {name} | {kind} ({n}) | {strategy} | {' | '.join(cells)} | {times} | {built.chunks} |"
                print(row, flush=True)


def asked(built: Built, strategy: str, override: Mapping[str, object]) -> Retrieve:
    def retrieve(query: Query) -> RetrievalResult:
        return retrieve_from(
            built.opened, query.text, models=built.home.models, strategy=strategy, top_k=SECTIONS, **override
        )

    return retrieve


if __name__ == "__main__":
    main()
