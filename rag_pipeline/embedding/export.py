"""A sentence-transformers model as one ONNX file, written once a fingerprint.

The transformer alone is exported; pooling and unit length stay in the runtime, so the token states remain available.
torch is imported for it (torch_export.py) and nowhere on the query path.
"""

import logging
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from rag_pipeline.durable import temporary_name
from rag_pipeline.embedding.base import Embedder
from rag_pipeline.embedding.description import ModelDescription
from rag_pipeline.embedding.exported import CARD, MODEL, TOKENIZER, TOKENS, read_exported, write_card
from rag_pipeline.embedding.fingerprint import ModelIdentity, fingerprint
from rag_pipeline.embedding.onnx_int8 import quantise
from rag_pipeline.embedding.publish import publish_folder
from rag_pipeline.embedding.quiet import quiet
from rag_pipeline.embedding.runtimes import open_exported
from rag_pipeline.embedding.token_export import write_token_model
from rag_pipeline.embedding.torch_export import load_model, write_onnx
from rag_pipeline.errors import ModelUnavailable

LEAST_COSINE = {"fp32": 0.9999, "bf16": 0.9995, "int8": 0.97}
"""With the original's vectors, by precision; over texts that were chosen to be hard."""
EXPORTABLE = ({"Transformer", "Pooling"}, {"Transformer", "Pooling", "Normalize"})
_OTHER = 'set runtime = "sentence-transformers" in [embedding]'
# The texts that a wrong tokenizer, limit, pooling or traced shape gets wrong.
_PROBES = (
    "a",
    "How do I rotate the API key of a service account?",
    "Déjà VU: ÅNGSTRÖM straße Ⅷ",
    "東京大学で自然言語処理を学ぶ。",
    "def f(x):\n    return {k: v ** 2 for k, v in x.items()}  # 🙂",
    "The limit cuts this text off. " * 200,
)

logger = logging.getLogger(__name__)


def check_exportable(description: ModelDescription) -> None:
    """Raises ModelUnavailable for a model that is more than a transformer with mean or cls pooling."""
    if set(description.modules) not in EXPORTABLE or description.modules[0] != "Transformer":
        raise ModelUnavailable(
            f"the model in {description.folder} has the modules {', '.join(description.modules)}; an exported one is "
            f"Transformer, Pooling and Normalize only: {_OTHER}"
        )
    if description.pooling not in ("mean", "cls"):
        raise ModelUnavailable(
            f"the model in {description.folder} pools by {description.pooling!r}; an exported one by mean or cls: "
            + _OTHER
        )
    if description.dimension is None or description.max_tokens is None:
        raise ModelUnavailable(
            f"the files in {description.folder} state no {'dimension' if description.dimension is None else 'limit'}; "
            + _OTHER
        )


def export_model(description: ModelDescription, identity: ModelIdentity, *, model: str, models: Path) -> Path:
    """Write `<models>/<fingerprint>/`; a folder that another process wrote meanwhile is as good.

    Raises MissingExtra without torch, ModelUnavailable where the ONNX file's vectors differ from the model's own.
    """
    folder = models / fingerprint(identity)
    models.mkdir(parents=True, exist_ok=True)
    parent = temporary_name(folder)
    partial = parent / folder.name
    partial.mkdir(parents=True)
    try:
        _write(description, identity, model, partial)
        publish_folder(partial, folder, last=CARD)
    finally:
        shutil.rmtree(parent, ignore_errors=True)
    return folder


def _write(description: ModelDescription, identity: ModelIdentity, model: str, folder: Path) -> None:
    live = load_model(description.folder)
    found = (live.get_embedding_dimension(), live.max_seq_length)
    if found != (identity.dimension, identity.max_tokens):
        raise ModelUnavailable(
            f"sentence-transformers gives {description.folder} (dimension, limit) {found}, its files say "
            f"{(identity.dimension, identity.max_tokens)}; {_OTHER}"
        )
    try:
        with quiet():
            write_onnx(live, folder / MODEL)
            if (identity.runtime, identity.precision) == ("onnxruntime", "int8"):
                quantise(folder / MODEL)
    except Exception as error:
        raise ModelUnavailable(f"{description.folder} can't be exported to ONNX ({error!r:.300}); {_OTHER}") from error
    own = description.folder / TOKENIZER
    if own.is_file():
        shutil.copyfile(own, folder / TOKENIZER)
    else:
        live.tokenizer.backend_tokenizer.save(str(folder / TOKENIZER))
    tokens = (TOKENS,) if write_token_model(live, folder) else ()
    write_card(folder, model=model, identity=identity, files=(MODEL, TOKENIZER, *tokens))
    _compare(live, identity, open_exported(read_exported(folder.parent, folder.name)))


def _compare(live: Any, identity: ModelIdentity, embedder: Embedder) -> None:
    with quiet():
        own = live.encode(
            [identity.document_prefix + t for t in _PROBES],
            prompt="",
            normalize_embeddings=True,
            show_progress_bar=False,
        )
    cosines = (own * embedder.embed(_PROBES)).sum(axis=1)
    worst = int(np.argmin(cosines))
    least = LEAST_COSINE[identity.precision]
    if not cosines[worst] >= least:
        raise ModelUnavailable(
            f"the exported model's vector of {_PROBES[worst][:40]!r} has cosine {cosines[worst]:.6f} with the "
            f"original's, less than {least} in {identity.precision}; {_OTHER}"
        )
    logger.info("exported %s, least cosine with the original %.7f", embedder.model, cosines[worst])
