import pytest

from rag_pipeline.cli.assignments import assignment
from rag_pipeline.errors import InvalidSettings


@pytest.mark.parametrize(
    ("given", "key", "value"),
    [
        ("candidates=200", "candidates", 200),
        ("min_relevance = 0.25", "min_relevance", 0.25),
        ("strict=true", "strict", True),
        ("reranker=maxsim", "reranker", "maxsim"),
        ('reranker="none"', "reranker", "none"),
        ("chunking.unit=words", "chunking.unit", "words"),
        ("a=b=c", "a", "b=c"),
        ("include=['*.md']", "include", ["*.md"]),
    ],
)
def test_values_are_toml_or_text(given: str, key: str, value: object) -> None:
    assert assignment(given) == (key, value)


@pytest.mark.parametrize("given", ["candidates", "=1", "candidates=", ""])
def test_nothing_to_set(given: str) -> None:
    with pytest.raises(InvalidSettings, match="KEY=VALUE"):
        assignment(given)
