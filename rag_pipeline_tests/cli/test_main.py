"""Help that teaches, and a command line that does not load what it does not need."""

import subprocess
import sys

import pytest

from rag_pipeline.cli.main import COMMANDS


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_is_there_for_every_command(run, command):
    answer = run(*([command] if command else []), "--help")
    assert answer.code == 0
    assert len(answer.out.splitlines()) > 8
    if command is None:
        assert all(name in answer.out for name in COMMANDS)


def test_help_and_query_load_neither_dagster_nor_torch():
    code = (
        "import sys; import rag_pipeline.cli.main, rag_pipeline.cli.query, rag_pipeline.retrieval.retrieve;"
        "print([m for m in ('dagster', 'torch', 'mlflow', 'sentence_transformers') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
