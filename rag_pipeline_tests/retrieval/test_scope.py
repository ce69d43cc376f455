from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.errors import UnknownName
from rag_pipeline.index.open import Index, open_build
from rag_pipeline.retrieval.scope import CACHED_MASKS, scope
from rag_pipeline.schema import Principal
from rag_pipeline_tests.stages import build, document

RUTH = Principal("ruth", ("finance",))
BOB = Principal("bob")


def documents() -> list[Any]:
    return [
        document("public.md", "public text", category="guide", tags=("a", "b"), updated="2026-03-01T18:00:00Z"),
        document("secret.md", "secret text", "more secret", category="finance", access=("group:finance", "user:ines")),
        document("nobody.md", "nobody text", access=(), category="finance"),
        document("german.md", "deutscher text", language="de", title="Die Pumpe", created="2026-01-05T00:00:00Z"),
        document("copy.md", "public text", title="Public", canonical_id="public.md", category="archive", tags=("c",)),
    ]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    index = open_build(build(tmp_path_factory.mktemp("scope"), documents()).folder)
    yield index
    index.close()


def seen(index: Index, filters: dict[str, Any] | None = None, principal: Principal | None = None) -> list[str]:
    mask = scope(index, filters=filters, principal=principal)
    rows = range(index.chunks) if mask is None else mask.nonzero()[0].tolist()
    return [record.chunk_id for record in index.fetch(list(rows))]


PUBLIC = ["german.md#c0", "public.md#c0"]
SECRET = ["secret.md#c0", "secret.md#c1"]


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        (None, PUBLIC),
        (BOB, PUBLIC),
        (RUTH, [*PUBLIC, *SECRET]),
        (Principal("ines"), [*PUBLIC, *SECRET]),
        (Principal("finance"), PUBLIC),
        (Principal("x", ("ines",)), PUBLIC),
        (Principal("system"), PUBLIC),
        (Principal.system(), ["german.md#c0", "nobody.md#c0", *PUBLIC[1:], *SECRET]),
    ],
    ids=str,
)
def test_principals(index: Index, principal: Principal | None, expected: list[str]) -> None:
    assert seen(index, principal=principal) == expected


def test_a_restricted_default(tmp_path: Path) -> None:
    index = open_build(build(tmp_path, documents(), default_access="restricted").folder)
    assert seen(index) == []
    assert seen(index, principal=BOB) == []
    assert seen(index, principal=RUTH) == SECRET
    assert len(seen(index, principal=Principal.system())) == 5
    index.close()


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, PUBLIC),
        ({"category": "guide"}, ["public.md#c0"]),
        ({"category": "archive"}, ["public.md#c0"]),  # its duplicate matches
        ({"category": "finance"}, []),
        ({"category": ["guide", "finance"]}, ["public.md#c0"]),
        ({"category": {"in": ["guide"]}}, ["public.md#c0"]),
        ({"category": {"contains": "GUI"}}, ["public.md#c0"]),
        ({"category": []}, []),
        ({"source": "german.md"}, ["german.md#c0"]),
        ({"source": "copy.md"}, ["public.md#c0"]),
        ({"source": "secret.md"}, []),
        ({"tags": "b"}, ["public.md#c0"]),
        ({"tags": ["x", "c"]}, ["public.md#c0"]),
        ({"tags": {"contains": "a"}}, ["public.md#c0"]),
        ({"tags": "x"}, []),
        ({"language": "de"}, ["german.md#c0"]),
        ({"language": "de", "tags": "a"}, []),
        ({"title": {"contains": "pumpe"}}, ["german.md#c0"]),
        ({"format": "markdown", "kind": "prose"}, PUBLIC),
        ({"kind": "table"}, []),
        ({"h1": "Die Pumpe"}, ["german.md#c0"]),
        ({"h2": "Die Pumpe"}, []),
        ({"headers": ["Part 0"]}, PUBLIC),
        ({"headers": {"contains": "Die Pumpe"}}, ["german.md#c0"]),
        ({"updated": "2026-03-01"}, ["public.md#c0"]),
        ({"updated": {"lte": "2026-03-01"}}, ["public.md#c0"]),
        ({"updated": {"gt": "2026-03-01"}}, []),
        ({"updated": {"gte": "2026-02-01", "lt": "2026-03-02"}}, ["public.md#c0"]),
        ({"created": {"gte": "2026-01-01"}}, ["german.md#c0"]),
        ({"language": "'; DROP TABLE chunks; --"}, []),
        ({"language": "\ud800"}, []),
    ],
    ids=str,
)
def test_filters(index: Index, filters: dict[str, Any], expected: list[str]) -> None:
    assert seen(index, filters) == expected


def test_a_filter_narrows_what_a_principal_may_read(index: Index) -> None:
    assert seen(index, {"category": "finance"}, RUTH) == SECRET
    assert seen(index, {"category": "finance"}, Principal.system()) == ["nobody.md#c0", *SECRET]


def test_a_principal_must_be_one(index: Index) -> None:
    for wrong in ("ruth", {"identity": "ruth"}, True):
        with pytest.raises(UnknownName, match="form of principal"):
            scope(index, filters=None, principal=wrong)  # type: ignore[arg-type]


def test_masks_are_kept_for_the_same_question_only(index: Index) -> None:
    first = scope(index, filters={"tags": "a"}, principal=None)
    assert scope(index, filters={"tags": "a"}, principal=None) is first
    assert scope(index, filters={"tags": "a"}, principal=RUTH) is not first
    assert first is not None and not first.flags.writeable
    for n in range(CACHED_MASKS):
        scope(index, filters={"tags": str(n)}, principal=None)
    assert scope(index, filters={"tags": "a"}, principal=None) is not first


def test_everything_is_no_mask_at_all(tmp_path: Path) -> None:
    index = open_build(build(tmp_path, [document("a.md", "x"), document("b.md", "y")]).folder)
    assert scope(index, filters=None, principal=None) is None
    assert scope(index, filters={}, principal=BOB) is None
    index.close()
