"""The one role of this package: texts in, unit vectors out. No implementation lives here."""

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.text.tokenizer import Tokenizer

Role = Literal["document", "query"]
Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """A model together with everything that decides what its vectors are."""

    @property
    def fingerprint(self) -> str:
        """Two embedders share it only when the same text gives the same vector."""
        ...

    @property
    def model(self) -> str: ...

    @property
    def runtime(self) -> str:
        """What computes it, with the precision where that isn't fp32: "onnxruntime", "openvino-bf16"."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """Most tokens of one text, special tokens included and the document prefix already taken off."""
        ...

    @property
    def query_prefix(self) -> str: ...

    @property
    def tokenizer(self) -> Tokenizer: ...

    def embed(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """float32 of shape (len(texts), dimension), each row of unit length; what is over the limit is cut off."""
        ...


def describe_embedder(embedder: Embedder) -> dict[str, str | int]:
    """What a build and a release remember of the model that queries must be embedded with."""
    return {
        "fingerprint": embedder.fingerprint,
        "model": embedder.model,
        "runtime": embedder.runtime,
        "dimension": embedder.dimension,
        "max_tokens": embedder.max_tokens,
        "query_prefix": embedder.query_prefix,
    }
