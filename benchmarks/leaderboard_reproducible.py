"""Does the same index give the same leaderboard twice? A Markdown table; exit code 1 where a digit differs.

    python -m benchmarks.leaderboard_reproducible [--corpus kubernetes-qa] [--home /tmp/bench] [--rounds 2]

Each round asks every question through every offline strategy in a process of its own, and hashes each question's
metrics (every bit of them), ranked sections and their scores. Timings are left out: they are all that may differ.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.corpora import DATA, LABELLED, asked, build, questions
from rag_pipeline.evaluation.eval_set import Query
from rag_pipeline.evaluation.experiment import QueryRun, Retrieve, run_experiment
from rag_pipeline.evaluation.resolve import resolve
from rag_pipeline.evaluation.split import Half
from rag_pipeline.paths import Home
from rag_pipeline.schema import RetrievalResult

STRATEGIES = (
    "vector",
    "bm25",
    "hybrid",
    "alpha_25",
    "alpha_50",
    "alpha_75",
    "rrf",
    "hybrid_expanded",
    "hybrid_rerank",
)
"""All that need neither network nor language model."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", action="append", choices=sorted(LABELLED))
    parser.add_argument("--home", type=Path, default=Path("/tmp/rag_pipeline_bench"))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--strategy", action="append", choices=STRATEGIES)
    parser.add_argument("--one-round", action="store_true", help="ask once and print the hashes as JSON")
    arguments = parser.parse_args()
    strategies = arguments.strategy or STRATEGIES
    if arguments.one_round:
        (name,) = arguments.corpus
        print(json.dumps(hashes(name, arguments.home, strategies)))
        return
    print("| corpus | strategy | nDCG@10 | hash of each round | same |")
    print("|---|---|---|---|---|")
    same = True
    for name in arguments.corpus or LABELLED:
        rounds = [fresh_process(name, arguments.home, strategies) for _ in range(arguments.rounds)]
        for strategy in strategies:
            seen = [found[strategy] for found in rounds]
            equal = all(value == seen[0] for value in seen)
            same &= equal
            shown = " ".join(str(value["hash"])[:16] for value in seen)
            print(f"| {name} | {strategy} | {seen[0]['ndcg']} | {shown} | {'yes' if equal else 'NO'} |", flush=True)
    sys.exit(0 if same else 1)


def fresh_process(name: str, home: Path, strategies: tuple[str, ...]) -> dict[str, dict[str, object]]:
    command = [sys.executable, "-m", "benchmarks.leaderboard_reproducible", "--one-round", "--corpus", name]
    command += ["--home", str(home), *(part for s in strategies for part in ("--strategy", s))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, dict[str, object]] = json.loads(done.stdout)
    return found


def hashes(name: str, home: Path, strategies: tuple[str, ...]) -> dict[str, dict[str, object]]:
    labelled = LABELLED[name]
    chunking: dict[str, object] = {"chunker": labelled.chunker}
    built = build(name.replace("-", "_"), DATA / labelled.documents, Home(home), chunking=chunking, strategies={})
    eval_set = questions(labelled)
    scores: dict[str, dict[str, tuple[float, ...]]] = {strategy: {} for strategy in strategies}
    run = run_experiment(
        eval_set,
        half=Half.BOTH,
        resolution=resolve(eval_set, built.corpus),
        strategies={s: _keeping(asked(built, s), scores[s]) for s in strategies},
        release_id=built.opened.release.release_id,
        build_key=built.opened.release.build_key,
    )
    return {s: _summed(rows, scores[s]) for s, rows in run.runs.items()}


def _keeping(retrieve: Retrieve, scores: dict[str, tuple[float, ...]]) -> Retrieve:
    def keeping(query: Query) -> RetrievalResult:
        result = retrieve(query)
        scores[query.id] = tuple(hit.score for hit in result.hits)
        return result

    return keeping


def _summed(rows: tuple[QueryRun, ...], scores: dict[str, tuple[float, ...]]) -> dict[str, object]:
    if failed := [f"{row.query_id}: {row.error}" for row in rows if row.state == "failed"]:
        raise SystemExit(f"{len(failed)} questions failed, the first: {failed[0]}")
    digest = hashlib.sha256()
    for row in rows:
        # Floats by repr: every bit counts.
        kept = [row.query_id, sorted(row.metrics.items()), row.sections, scores[row.query_id]]
        digest.update(json.dumps(kept).encode() + b"\n")
    values = [row.metrics["document_ndcg_at_10"] for row in rows if row.state == "scored"]
    return {"hash": digest.hexdigest(), "ndcg": repr(sum(values) / len(values))}


if __name__ == "__main__":
    main()
