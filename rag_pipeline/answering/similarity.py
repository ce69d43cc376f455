"""Similarity of sentences to a question, by the query model that a release's retrieval has open already."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.answering.extractive import Similarity
from rag_pipeline.retrieval.query_vector import query_model


def model_similarity(models: Path, fingerprint: str) -> Similarity:
    """The model is opened with the first question. Raises ModelUnavailable then, where it is not on this machine."""

    def cosines(question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        embedder = query_model(models, fingerprint)
        asked = embedder.embed([question], "query")[0]
        found: NDArray[np.float32] = np.asarray(embedder.embed(list(texts), "document") @ asked, np.float32)
        return found

    return cosines
