"""From settings or a fingerprint to an embedder.

`load_embedder` is for builds: it finds the model, exports it where that has not happened yet, and may import torch.
`open_embedder` is for readers: it opens what a build left in the models folder.
"""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rag_pipeline.durable import temporary_name
from rag_pipeline.embedding.base import Embedder
from rag_pipeline.embedding.description import ModelDescription, describe_model
from rag_pipeline.embedding.export import check_exportable, export_model
from rag_pipeline.embedding.exported import CARD, TOKENIZER, ExportedModel, read_exported, verify_model, write_card
from rag_pipeline.embedding.fingerprint import ModelIdentity, fingerprint
from rag_pipeline.embedding.publish import publish_folder
from rag_pipeline.embedding.runtimes import check_runtime, open_exported
from rag_pipeline.embedding.source import ModelSource, resolve_model
from rag_pipeline.embedding.token_export import add_token_model, lacks_token_model
from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.settings.build import EmbeddingSettings

__all__ = ["load_embedder", "open_embedder", "verify_model"]

logger = logging.getLogger(__name__)


def load_embedder(settings: EmbeddingSettings, models: Path) -> Embedder:
    """The embedder of these settings; its files are in `<models>/<fingerprint>/` afterwards.

    Raises ModelUnavailable, or MissingExtra where the [build] extra is needed and absent.
    """
    source = resolve_model(settings.model)
    description = describe_model(source.folder)
    for name, prompt in description.prompts.items():
        own = settings.query_prefix if name == "query" else settings.document_prefix
        if not own:
            logger.warning("%s was trained with the %s prefix %r; set it in [embedding]", source.model, name, prompt)
    return _LOADERS[settings.runtime](settings, source, description, models)


def open_embedder(models: Path, fingerprint: str) -> Embedder:
    """The embedder that a build was made with; imports torch only where that build's runtime is sentence-transformers.

    Raises ModelUnavailable naming the fingerprint when it isn't there or isn't that model.
    """
    exported = read_exported(models, fingerprint)
    return _OPENERS[exported.identity.runtime](exported)


def _load_exported(
    settings: EmbeddingSettings, source: ModelSource, description: ModelDescription, models: Path
) -> Embedder:
    check_exportable(description)
    check_runtime(settings.runtime, settings.precision)
    identity = _identity(settings, description, description.dimension, description.max_tokens)
    key = fingerprint(identity)
    if not (models / key / CARD).is_file():
        export_model(description, identity, model=source.model, models=models)
    exported = read_exported(models, key)
    if lacks_token_model(exported):
        add_token_model(exported, source.folder)
    return open_exported(exported, threads=settings.threads, batch_tokens=settings.batch_tokens)


def _load_sentence_transformers(
    settings: EmbeddingSettings, source: ModelSource, description: ModelDescription, models: Path
) -> Embedder:
    from rag_pipeline.embedding.sentence_transformers_runtime import SentenceTransformersEmbedder, limit_of, load_model

    live = load_model(source.folder, threads=settings.threads)
    identity = _identity(settings, description, live.get_embedding_dimension(), limit_of(live))
    if not (models / fingerprint(identity) / CARD).is_file():
        _record(source, identity, live, models)
    return SentenceTransformersEmbedder(read_exported(models, fingerprint(identity)), live)


def _open_sentence_transformers(exported: ExportedModel) -> Embedder:
    from rag_pipeline.embedding.sentence_transformers_runtime import SentenceTransformersEmbedder, load_model

    source = resolve_model(exported.model)
    found = describe_model(source.folder)
    identity = exported.identity
    for what in ("weights_sha256", "tokenizer_sha256", "config_sha256"):
        if getattr(found, what) != getattr(identity, what):
            raise ModelUnavailable(
                f"{source.folder} has {what} {getattr(found, what)}, the index was built with "
                f"{getattr(identity, what)}; restore that model or run a reindex"
            )
    return SentenceTransformersEmbedder(exported, load_model(source.folder))


def _identity(
    settings: EmbeddingSettings, description: ModelDescription, dimension: int | None, limit: int | None
) -> ModelIdentity:
    if dimension is None or limit is None:
        raise ModelUnavailable(f"{description.folder} states no dimension or no limit; complete the folder")
    pooled = description.modules in (("Transformer", "Pooling"), ("Transformer", "Pooling", "Normalize"))
    return ModelIdentity(
        weights_sha256=description.weights_sha256,
        tokenizer_sha256=description.tokenizer_sha256,
        config_sha256=description.config_sha256,
        dimension=dimension,
        max_tokens=limit,
        pooling=description.pooling if pooled else "+".join(description.modules),
        normalize=True,
        runtime=settings.runtime,
        precision=settings.precision,
        query_prefix=settings.query_prefix,
        document_prefix=settings.document_prefix,
    )


def _record(source: ModelSource, identity: ModelIdentity, live: Any, models: Path) -> None:
    """What open_embedder needs to find the model again: its tokenizer and its description."""
    folder = models / fingerprint(identity)
    partial = temporary_name(folder)
    partial.mkdir(parents=True)
    try:
        own = source.folder / TOKENIZER
        if own.is_file():
            shutil.copyfile(own, partial / TOKENIZER)
        else:
            live.tokenizer.backend_tokenizer.save(str(partial / TOKENIZER))
        write_card(partial, model=source.model, identity=identity, files=(TOKENIZER,))
        publish_folder(partial, folder, last=CARD)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


_Loader = Callable[[EmbeddingSettings, ModelSource, ModelDescription, Path], Embedder]
_LOADERS: dict[str, _Loader] = {
    "onnxruntime": _load_exported,
    "openvino": _load_exported,
    "sentence-transformers": _load_sentence_transformers,
}
_OPENERS: dict[str, Callable[[ExportedModel], Embedder]] = {
    "onnxruntime": open_exported,
    "openvino": open_exported,
    "sentence-transformers": _open_sentence_transformers,
}
