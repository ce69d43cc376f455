"""What a vector depends on besides the text, and its short hash. Pure."""

import hashlib
import json
from dataclasses import asdict, dataclass

EMBEDDER_VERSION = "1"
"""Raise it by hand when a change here makes other vectors from the same model."""


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Content, never names: two local models may share a name and a revision."""

    weights_sha256: str
    tokenizer_sha256: str
    config_sha256: str
    """The settings of the layers: equal weights under another configuration are another model."""
    dimension: int
    max_tokens: int
    """The model's own limit, special tokens included."""
    pooling: str
    """"mean" or "cls"; for models with further modules the list of them."""
    normalize: bool
    runtime: str
    precision: str
    query_prefix: str
    document_prefix: str

    @property
    def runs_on(self) -> str:
        """Runtime and precision in one word, for people: "onnxruntime", "openvino-bf16"."""
        return self.runtime if self.precision == "fp32" else f"{self.runtime}-{self.precision}"


def fingerprint(identity: ModelIdentity, *, version: str = EMBEDDER_VERSION) -> str:
    """First 16 hex digits of sha256 over the identity's canonical JSON and the version."""
    canonical = json.dumps([version, asdict(identity)], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
