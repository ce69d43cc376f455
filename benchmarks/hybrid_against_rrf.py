"""Is the shipped `hybrid` better than what a plain pipeline does? On held-out questions, paired: a Markdown table.

    python -m benchmarks.hybrid_against_rrf [--corpus kubernetes-qa] [--home /tmp/bench]

The plain pipeline has the same chunks without title and header path in front, and fuses the legs by reciprocal rank,
weighted 0.7 (vectors) and 0.3 (BM25), k 60, with neither document evidence nor exact identifiers. nDCG@10, by document
or by section as the labels name them. p is of a sign-flip randomisation test.
"""

import argparse
from pathlib import Path

from benchmarks.corpora import CORPORA, DATA, asked, build, questions
from benchmarks.paired import Pairs, held_out, pairs, print_rows
from rag_pipeline.evaluation.experiment import QueryRun, run_experiment
from rag_pipeline.evaluation.resolve import resolve
from rag_pipeline.evaluation.split import Half
from rag_pipeline.paths import Home

PLAIN = {"fusion": "rrf", "vector_weight": 0.7, "rrf_k": 60, "evidence": 0.0, "exact": 0.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", action="append", choices=sorted(CORPORA))
    parser.add_argument("--home", type=Path, default=Path("/tmp/rag_pipeline_bench"))
    arguments = parser.parse_args()
    found: dict[str, Pairs] = {}
    for name in arguments.corpus or CORPORA:
        labelled = CORPORA[name]
        plain = answers(name, arguments.home, {"prefix_tokens": 0}, PLAIN)
        shipped = answers(name, arguments.home, {}, {})
        ids = held_out(labelled, questions(labelled))
        found[name] = pairs(plain, shipped, metric=labelled.metric, ids=ids)
    print_rows(found, old="weighted RRF", new="hybrid")


def answers(name: str, home: Path, chunking: dict[str, object], override: dict[str, object]) -> tuple[QueryRun, ...]:
    labelled = CORPORA[name]
    built = build(
        name.replace("-", "_"),
        DATA / labelled.documents,
        Home(home),
        chunking={"chunker": labelled.chunker, **chunking},
        strategies={},
    )
    eval_set = questions(labelled)
    run = run_experiment(
        eval_set,
        half=Half.BOTH,
        resolution=resolve(eval_set, built.corpus),
        strategies={"hybrid": asked(built, "hybrid", **override)},
        release_id=built.opened.release.release_id,
        build_key=built.opened.release.build_key,
    )
    return run.runs["hybrid"]


if __name__ == "__main__":
    main()
