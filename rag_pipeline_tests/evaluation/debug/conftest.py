from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.evaluation.debug.passage import parse_expected
from rag_pipeline.evaluation.debug.report import examine
from rag_pipeline.evaluation.debug.values import Asked, Diagnosis
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.served import Served


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    """A collection without a release, whose embedder gives nearly every word a slot of its own."""
    return Served(tmp_path / "home", monkeypatch, embedder=WordEmbedder(1024))


@pytest.fixture
def diagnosed(served: Served) -> Callable[..., Diagnosis]:
    """The diagnosis of one passage; every setting it says works is tried through `retrieve` itself."""

    def run(question: str, expected: str, *, context: str | None = None, strategy: str = "hybrid", **more: Any) -> Any:
        opened = open_current(served.paths)
        known = frozenset(
            name for (name,) in opened.index.cursor().execute("SELECT path FROM input_outcomes").fetchall()
        )
        scope = {"filters": more.pop("filters", {}), "principal": more.pop("principal", None)}
        asked = Asked(question, strategy, context, overrides=more, **scope)
        report = examine(opened, asked, models=served.home.models, expected=(parse_expected(expected, known),))
        (found,) = report.diagnoses
        for suggestion in found.suggestions:
            assert suggestion.rank is None or suggestion.works
            if suggestion.works:
                options = {"strategy": strategy, "context": context, **scope, **more, **suggestion.settings}
                hit = served.ask(question, **options).hits[suggestion.rank - 1]
                assert hit.doc_id == found.document
        return found

    return run
