"""Which code answered and scored, so that a stored evaluation is not taken for one of today's code."""

import hashlib
from functools import cache
from pathlib import Path

import rag_pipeline

MEASURING = ("text", "embedding", "index", "retrieval", "reranking", "llm", "evaluation")
"""Sub-packages whose code can change a ranking or a score."""


ANSWERING = ("context", "answering")
"""Further ones whose code can change an answer."""


@cache
def code_fingerprint(*further: str) -> str:
    """First 20 hex digits of sha256 over the source files of those sub-packages and of `further` ones, by name."""
    package = Path(rag_pipeline.__file__).parent
    digest = hashlib.sha256()
    for name in (*MEASURING, *further):
        for file in sorted((package / name).rglob("*.py")):
            digest.update(f"{file.relative_to(package).as_posix()}\n".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:20]
