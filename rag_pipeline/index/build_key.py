"""The name of a build: a hash of everything that decides its content. Pure."""

import hashlib
import json
from collections.abc import Mapping

from rag_pipeline.settings.build import IndexSettings
from rag_pipeline.text.analyzer import ANALYZER_VERSION

FORMAT_VERSION = 2
"""What readers check; raise it with every change of tables or sidecars that an older reader would misread."""

BUILDER_VERSION = 2
"""Raise it with every change of the builder that gives other content for the same inputs."""

INDEX_VERSION = f"{FORMAT_VERSION}.{BUILDER_VERSION}.{ANALYZER_VERSION}"
"""All of them in one; changes when the same inputs would give another build."""


def build_key(
    *,
    snapshot_key: str,
    chunking_key: str,
    vectors_key: str,
    fingerprint: str,
    settings: IndexSettings,
    default_access: str,
) -> str:
    """20 hex digits."""
    inputs: Mapping[str, object] = {
        "snapshot": snapshot_key,
        "chunking": chunking_key,
        "vectors": vectors_key,
        "fingerprint": fingerprint,
        "settings": settings.model_dump(mode="json"),
        "default_access": default_access,
        "versions": {"format": FORMAT_VERSION, "builder": BUILDER_VERSION, "analyzer": ANALYZER_VERSION},
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:20]
