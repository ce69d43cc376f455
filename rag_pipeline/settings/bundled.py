"""Where the corpus and the questions lie that ship with the package."""

from pathlib import Path

BUNDLED = "bundled:agent_platform"
"""Stands for the bundled corpus, or its questions, wherever the package lies."""


def bundled_corpus() -> Path:
    """The corpus that ships with the package: inside a wheel, or beside the package in a checkout."""
    package = Path(__file__).parent.parent
    inside = package / "eval_sets" / "agent_platform" / "corpus"
    return inside if inside.is_dir() else package.parent / "eval_sets" / "agent_platform" / "corpus"


def bundled_eval_set() -> Path:
    """The questions about the bundled corpus; the folder that holds it."""
    return bundled_corpus().parent


def bundled_answer_set() -> Path:
    """The labelled answers that judges are measured on."""
    return bundled_eval_set().parent / "faithfulness"
