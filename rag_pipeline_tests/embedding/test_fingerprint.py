from dataclasses import fields, replace

import pytest

from rag_pipeline.embedding.fingerprint import EMBEDDER_VERSION, ModelIdentity, fingerprint
from rag_pipeline_tests.embedding.tiny import identity


def test_is_short_stable_hex() -> None:
    assert fingerprint(identity()) == fingerprint(identity())
    assert len(fingerprint(identity())) == 16
    assert int(fingerprint(identity()), 16) >= 0


@pytest.mark.parametrize("name", [f.name for f in fields(ModelIdentity)])
def test_every_field_counts(name: str) -> None:
    """A cache or an index must never be shared by two models that differ in any one of these."""
    value = getattr(identity(), name)
    other = (not value) if isinstance(value, bool) else value + 1 if isinstance(value, int) else value + "x"
    assert fingerprint(replace(identity(), **{name: other})) != fingerprint(identity())


def test_a_prefix_is_not_confused_with_the_other_roles() -> None:
    assert fingerprint(identity(query_prefix="q: ")) != fingerprint(identity(document_prefix="q: "))


def test_the_code_version_counts() -> None:
    assert fingerprint(identity(), version=EMBEDDER_VERSION + "+") != fingerprint(identity())
