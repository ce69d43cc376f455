"""Candidates over real builds with a predictable model: a wiki of invented words, sound, damaged or slightly edited."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_pipeline.index.verify import Problem
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.release.candidate_checks import candidate_checks
from rag_pipeline.release.create import create_release
from rag_pipeline.release.judge import Judged, judge_candidate
from rag_pipeline.release.publish import Published, publish
from rag_pipeline.retrieval import query_vector, reader
from rag_pipeline.schema import Document, Release
from rag_pipeline.settings.build import IndexSettings
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.release.standin import settings
from rag_pipeline_tests.stages import build, describe, document, write_stages

_SYLLABLES = ("ba", "de", "ki", "lo", "mu", "na", "po", "ri", "so", "tu", "ve", "zi")


def word(*seed: object) -> str:
    digest = hashlib.blake2b(repr(seed).encode(), digest_size=4).digest()
    return "".join(_SYLLABLES[b % len(_SYLLABLES)] for b in digest)


def sentence(page: int, part: int) -> str:
    return f"The {' '.join(word(page, part, i) for i in range(8))} rests on the {word(page, part)}."


def pages(count: int = 20) -> list[Document]:
    return [document(f"page-{p:02}.md", *(sentence(p, s) for s in range(3)), title=word(p)) for p in range(count)]


def sound(folder: Path, *, deep: bool) -> tuple[Problem, ...]:
    """Stands in for verifying a build, which has its own tests."""
    return ()


class Wiki:
    """One collection whose candidates are made, judged and published by hand. Its default strategy is vector-heavy."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, own: CollectionSettings) -> None:
        self.home = Home(root / "home")
        self.work = root / "work"
        self.own = own
        self.embedder = WordEmbedder(dimension=256)
        reader.forget()
        query_vector.forget()
        monkeypatch.setattr(query_vector, "_embedder", lambda models, fingerprint: self.embedder)

    @property
    def paths(self) -> CollectionPaths:
        return self.home.collection("wiki")

    def candidate(
        self, documents: Sequence[Document], *, name: str, shuffled: bool = False, weight: float = 0.9, **stages: Any
    ) -> Release:
        """A release of these documents; `shuffled` gives every chunk the vector of another one."""
        if shuffled:
            _, _, vectors = write_stages(self.work / "sound", documents, embedder=self.embedder)
            stages["vectors"] = np.roll(np.load(vectors / "vectors.npy"), 7, axis=0)
        plain = IndexSettings(hnsw=False)  # loading its extension takes longer than everything else here
        made = build(
            self.work,
            documents,
            embedder=self.embedder,
            settings=plain,
            builds=self.paths.builds,
            name=name,
            **stages,
        )
        return create_release(
            self.paths,
            collection="wiki",
            build_key=made.key,
            embedder=describe(self.embedder),
            settings=settings(weight),
        )

    def judge(self, release: Release, own: CollectionSettings | None = None) -> Judged:
        own = own or self.own
        models = self.home.models
        checks = candidate_checks(self.paths, release.release_id, own, models=models, verify=sound)
        return judge_candidate(self.paths, release.release_id, own, models=models, checks=checks)

    def publish(self, release: Release, **options: Any) -> Published:
        return publish(self.paths, release.release_id, verify=sound, **options)

    def serve(self, documents: Sequence[Document], *, name: str = "first", **stages: Any) -> Release:
        release = self.candidate(documents, name=name, **stages)
        self.judge(release)
        self.publish(release)
        return release
