from pathlib import Path

import pytest

from rag_pipeline.evaluation.source_sections import source_sections
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline.schema import Principal
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document


def test_only_sections_that_may_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = Served(tmp_path / "home", monkeypatch)
    served.publish([document("a.md", "one", "two"), document("s.md", "secret", access=("group:board",))])
    index = open_current(served.paths).index
    found = source_sections(index, principal=None)
    assert [(s.document, s.content, s.title, s.headers) for s in found] == [
        ("a.md", "one", "A", ("A", "Part 0")),
        ("a.md", "two", "A", ("A", "Part 1")),
    ]
    board = source_sections(index, principal=Principal("ann", ("board",)))
    assert [s.content for s in board] == ["one", "two", "secret"]


def test_a_collection_that_is_restricted_by_default_shows_nobody_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = Served(tmp_path / "home", monkeypatch)
    served.publish([document("a.md", "one")], default_access="restricted")
    index = open_current(served.paths).index
    assert source_sections(index, principal=None) == []
    assert len(source_sections(index, principal=Principal.system())) == 1
