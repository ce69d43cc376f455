"""Which file of a release's embedding model gives token vectors, and what runs it.

The choice is the reranker's own: a release whose vectors are fp32 may be reranked in less. It holds the weights a
second time, beside the embedder's.
"""

from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.embedding.exported import MODEL, TOKENIZER, TOKENS, read_exported
from rag_pipeline.embedding.runtimes import open_encoder
from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.reranking.token_vectors import ModelTokenEncoder
from rag_pipeline.settings.base import pick


@dataclass(frozen=True, slots=True)
class TokenModel:
    file: str
    runtime: str
    precision: str


TOKEN_MODELS = {
    "fp32": TokenModel(MODEL, "onnxruntime", "fp32"),
    "bf16": TokenModel(MODEL, "openvino", "bf16"),
    "int8": TokenModel(TOKENS, "onnxruntime", "int8"),
}
"""By the precision that settings name; "int8" is the small form, with fewer layers."""


def open_token_model(
    models: Path, fingerprint: str, *, precision: str = "fp32", threads: int = 0, cache_bytes: int = 0
) -> ModelTokenEncoder:
    """Raises ModelUnavailable, also where that embedding model was not exported or the processor lacks the precision;
    MissingExtra without openvino, UnknownName for a precision that isn't."""
    chosen = pick(TOKEN_MODELS, precision, "token vector precision")
    exported = read_exported(models, fingerprint)
    if chosen.file not in exported.files:
        raise ModelUnavailable(
            f"{exported.folder} holds no {chosen.file}, so the model {exported.model!r} ({exported.identity.runs_on})"
            f" gives no token vectors in {precision}; a reindex adds the file to a model that is exported, else choose"
            " another precision or reranker"
        )
    # model.onnx may itself be in int8: it is run as what it is.
    written = exported.identity if chosen.file == MODEL and chosen.runtime == exported.identity.runtime else chosen
    encoder = open_encoder(
        exported.folder / chosen.file, runtime=chosen.runtime, precision=written.precision, threads=threads
    )
    return ModelTokenEncoder(
        encoder,
        exported.folder / TOKENIZER,
        # By its hash, because the embedding model's fingerprint does not cover it.
        fingerprint=f"{fingerprint}-{precision}-{exported.files[chosen.file][1][:8]}",
        threads=threads,
        cache_bytes=cache_bytes,
    )
