from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.index.open import open_build
from rag_pipeline.retrieval.transforms.filter_query import Vocabulary
from rag_pipeline.retrieval.vocabulary import CACHED, vocabulary_of
from rag_pipeline.schema import Principal
from rag_pipeline_tests.stages import build, document

PAGES = [
    document("a.md", "One.", category="guide", author="Ines", language="en", tags=("b", "a")),
    document("b.md", "Two.", category="guide", language="de"),
    document("c.md", "Three.", category="board", author="Gaurav", tags=("heron",), access=("user:ines",)),
]


def test_values_that_the_principal_may_read(tmp_path: Path) -> None:
    info = build(tmp_path, PAGES)
    with closing(open_build(tmp_path / "builds" / info.key)) as index:
        public = Vocabulary(("guide",), ("Ines",), ("de", "en"), ("a", "b"))
        everything = Vocabulary(("board", "guide"), ("Gaurav", "Ines"), ("de", "en"), ("a", "b", "heron"))
        for _ in range(2):
            assert vocabulary_of(index, principal=None) == public
            assert vocabulary_of(index, principal=Principal("bob")) == public
            assert vocabulary_of(index, principal=Principal("ines")) == everything
            assert vocabulary_of(index, principal=Principal.system()) == everything
            assert vocabulary_of(index, principal=Principal("system")) == public
        for n in range(CACHED + 3):
            vocabulary_of(index, principal=Principal(f"user{n}"))
        assert vocabulary_of(index, principal=None) == public


def test_an_empty_collection_has_none(tmp_path: Path) -> None:
    info = build(tmp_path, [document("a.md", "One.", access=())])
    with closing(open_build(tmp_path / "builds" / info.key)) as index:
        assert vocabulary_of(index, principal=None) == Vocabulary()


def test_each_value_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a row for every document: a collection has many more of them than values."""
    pages = [document(f"{n}.md", f"Page {n}.", category="guide", tags=("a", f"t{n % 2}")) for n in range(20)]
    info = build(tmp_path, [*pages, document("none.md", "No values.")])
    with closing(open_build(tmp_path / "builds" / info.key)) as index, index.cursor() as cursor:
        monkeypatch.setattr(index, "cursor", lambda: nullcontext(OneRow(cursor)))
        assert vocabulary_of(index, principal=Principal.system()) == Vocabulary(("guide",), (), (), ("a", "t0", "t1"))


class OneRow:
    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def execute(self, *args: Any) -> "OneRow":
        self._cursor.execute(*args)
        return self

    def fetchone(self) -> Any:
        return self._cursor.fetchone()
