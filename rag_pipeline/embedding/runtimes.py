"""The programs that run an exported model, by the names that settings use."""

from collections.abc import Callable, Mapping
from pathlib import Path

from rag_pipeline.embedding.encoder import RUN_TOKENS, Encoder, EncoderEmbedder
from rag_pipeline.embedding.exported import ExportedModel
from rag_pipeline.embedding.onnx_runtime import OnnxEmbedder, OnnxEncoder
from rag_pipeline.embedding.openvino_runtime import OpenVinoEmbedder, OpenVinoEncoder, check_processor

EMBEDDERS: Mapping[str, Callable[..., EncoderEmbedder]] = {"onnxruntime": OnnxEmbedder, "openvino": OpenVinoEmbedder}
ENCODERS: Mapping[str, Callable[..., Encoder]] = {"onnxruntime": OnnxEncoder, "openvino": OpenVinoEncoder}


def open_exported(exported: ExportedModel, *, threads: int = 0, batch_tokens: int = RUN_TOKENS) -> EncoderEmbedder:
    """Raises ModelUnavailable, MissingExtra; KeyError for a runtime that runs no exported models."""
    return EMBEDDERS[exported.identity.runtime](exported, threads=threads, batch_tokens=batch_tokens)


def check_runtime(runtime: str, precision: str) -> None:
    """Before the work of an export. Raises MissingExtra, ModelUnavailable where it could not run here."""
    if runtime == "openvino":
        check_processor(precision)


def open_encoder(path: Path, *, runtime: str, precision: str, threads: int = 0) -> Encoder:
    """The token states of a model file. Raises ModelUnavailable, MissingExtra."""
    return ENCODERS[runtime](path, precision=precision, threads=threads)
