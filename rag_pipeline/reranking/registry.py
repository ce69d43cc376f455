"""Rerankers by the names that strategies use, each opened from the same small settings."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.reranking.base import Reranker
from rag_pipeline.reranking.colbert import ColbertReranker
from rag_pipeline.reranking.cross_encoder import CrossEncoderReranker
from rag_pipeline.reranking.flashrank import FlashRankReranker
from rag_pipeline.reranking.flashrank_fetch import fetch_model
from rag_pipeline.reranking.hosted import HostedReranker
from rag_pipeline.reranking.lexical import LexicalReranker
from rag_pipeline.reranking.maxsim import WINDOW, MaxSimReranker
from rag_pipeline.reranking.pin import check_pin
from rag_pipeline.reranking.token_model import open_token_model
from rag_pipeline.settings.base import pick
from rag_pipeline.text.analyzer import Analyzer

FLASHRANK_MODEL = "ms-marco-MiniLM-L-12-v2"


@dataclass(frozen=True, slots=True)
class RerankerOptions:
    """What a reranker may need to open; each takes what it knows."""

    models: Path
    """Where models lie: the embedding models, and fetched ones under `rerankers/`."""
    fingerprint: str = ""
    """Of the release's embedding model, for "maxsim"."""
    language: str = "english"
    """Of the release's analyzer, for "lexical"."""
    model: str = ""
    """A model's name, or a folder; "" = the reranker's default."""
    url: str = ""
    """Where a FlashRank model is fetched from, or a hosted reranker answers."""
    sha256: str = ""
    """Of what is fetched, or of a folder's weights."""
    download: bool = False
    """Allow a cross-encoder or a FlashRank model to be downloaded."""
    window: int = WINDOW
    precision: str = "fp32"
    """Of the token vectors of "maxsim"."""
    cache_mb: int = 64
    """Most memory for token vectors of passages that were read, for "maxsim"."""
    max_tokens: int = 512
    threads: int = 0
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    """Where hosted rerankers find their keys; never shown."""


def _maxsim(options: RerankerOptions) -> Reranker:
    encoder = open_token_model(
        options.models,
        options.fingerprint,
        precision=options.precision,
        threads=options.threads,
        cache_bytes=options.cache_mb * 1_000_000,
    )
    return MaxSimReranker(encoder, window=options.window)


def _colbert(options: RerankerOptions) -> Reranker:
    check_pin(options.model, options.sha256)
    return ColbertReranker(Path(options.model).expanduser(), window=options.window)


def _lexical(options: RerankerOptions) -> Reranker:
    return LexicalReranker(Analyzer(options.language))


def _cross_encoder(options: RerankerOptions) -> Reranker:
    if not options.model:
        raise ModelUnavailable("no cross-encoder is named; give a model's name or a folder")
    check_pin(options.model, options.sha256)
    return CrossEncoderReranker(options.model, max_tokens=options.max_tokens, download=options.download)


def _flashrank(options: RerankerOptions) -> Reranker:
    name = options.model or FLASHRANK_MODEL
    folder = Path(name) if Path(name).is_dir() else options.models / "rerankers" / name
    if not folder.is_dir() and (options.url or options.download):
        folder = fetch_model(name, folder.parent, sha256=options.sha256, url=options.url)
    return FlashRankReranker(folder, max_tokens=options.max_tokens, threads=options.threads)


def _hosted(service: str) -> Callable[[RerankerOptions], Reranker]:
    return lambda options: HostedReranker(service, model=options.model, url=options.url, environ=options.environ)


RERANKERS: Mapping[str, Callable[[RerankerOptions], Reranker]] = {
    "maxsim": _maxsim,
    "colbert": _colbert,
    "lexical": _lexical,
    "cross_encoder": _cross_encoder,
    "flashrank": _flashrank,
    "cohere": _hosted("cohere"),
    "voyage": _hosted("voyage"),
    "jina": _hosted("jina"),
}


def open_reranker(name: str, options: RerankerOptions) -> Reranker:
    """Raises UnknownName, ModelUnavailable, MissingExtra, StageFailed (a hosted one without a key)."""
    return pick(RERANKERS, name, "reranker")(options)
