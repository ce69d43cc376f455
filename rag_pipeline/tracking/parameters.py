"""What an evaluation was made from: parameters that name the inputs, and tags that find its run again."""

import json
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import rag_pipeline
from rag_pipeline.evaluation.experiment import Experiment
from rag_pipeline.release.clock import whoami
from rag_pipeline.tracking.metrics import change
from rag_pipeline.tracking.record import EvaluationRecord

TAG_COLLECTION = "rag_pipeline.collection"
TAG_EVALUATION = "rag_pipeline.evaluation"
"""Of a parent run: the same release, questions and code."""
TAG_STRATEGY = "rag_pipeline.strategy"
TAG_CONTENT = "rag_pipeline.content"
"""Hash of what was logged; set last, so that a run without it is unfinished."""
GIT_SECONDS = 5.0


def evaluation_parameters(record: EvaluationRecord) -> dict[str, str]:
    embedder = record.release.embedder
    return {
        **_questions(record.experiment),
        "release": record.release.release_id,
        "build_key": record.release.build_key,
        "collection": record.collection,
        "default_strategy": record.release.default_strategy,
        "embedding_model": str(embedder["model"]),
        "embedding_fingerprint": str(embedder["fingerprint"]),
        "embedding_runtime": str(embedder["runtime"]),
        "code": record.experiment.code or "unknown",
        "gate": record.settings.model_dump_json(),
        **({"git_commit": commit} if (commit := git_commit()) else {}),
    }


def strategy_parameters(record: EvaluationRecord, strategy: str) -> dict[str, str]:
    """The evaluation's own, and every setting of the strategy, so that runs can be compared setting by setting."""
    settings = record.release.strategies.get(strategy, {})
    flat = {f"strategy.{name}": value for name, value in _flat(settings).items()}
    return {**evaluation_parameters(record), "strategy": strategy, **flat}


def evaluation_tags(record: EvaluationRecord) -> dict[str, str]:
    gate = record.gate
    verdict = {"rag_pipeline.verdict": gate.outcome, "rag_pipeline.decision": gate.decision} if gate else {}
    return {**_common(record), **verdict}


def strategy_tags(record: EvaluationRecord, strategy: str) -> dict[str, str]:
    effect = None if strategy == record.release.default_strategy else change(record, strategy)
    verdict = {"rag_pipeline.verdict": effect.finding} if effect is not None else {}
    why = record.experiment.could_not_run.get(strategy)
    stopped = {"rag_pipeline.could_not_run": why} if why is not None else {}
    return {**_common(record), **verdict, **stopped, TAG_STRATEGY: strategy}


def experiment_tags(collection: str) -> dict[str, str]:
    return {
        TAG_COLLECTION: collection,
        "mlflow.note.content": f"Evaluations of the collection {collection}: one run a release and eval set, "
        "one run below it for each strategy.",
    }


@cache
def git_commit() -> str | None:
    """The commit of this package's own source; None where it is not checked out from a repository."""
    package = Path(rag_pipeline.__file__).parent
    # A package in site-packages may lie inside somebody else's repository, whose commit says nothing about it.
    tracked = _git(package, "ls-files", "--error-unmatch", Path(rag_pipeline.__file__).name)
    return _git(package, "rev-parse", "HEAD") if tracked else None


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _common(record: EvaluationRecord) -> dict[str, str]:
    commit = git_commit()
    return {
        TAG_COLLECTION: record.collection,
        TAG_EVALUATION: record.key,
        "rag_pipeline.release": record.release.release_id,
        "rag_pipeline.build": record.release.build_key,
        "rag_pipeline.eval_set": record.experiment.eval_set,
        "rag_pipeline.eval_set_hash": record.experiment.eval_set_hash,
        "mlflow.user": whoami().partition("@")[0],
        "mlflow.source.name": "rag_pipeline",
        "mlflow.source.type": "JOB",
        **({"mlflow.source.git.commit": commit} if commit else {}),
    }


def _questions(experiment: Experiment) -> dict[str, str]:
    return {
        "eval_set": experiment.eval_set,
        "eval_set_version": experiment.eval_set_version or "none",
        "eval_set_hash": experiment.eval_set_hash,
        "half": experiment.half.value,
    }


def _flat(value: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, item in value.items():
        if isinstance(item, Mapping):
            found |= _flat(item, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = item if isinstance(item, str) else json.dumps(item)
    return found
