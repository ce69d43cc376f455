from pathlib import Path

from rag_pipeline.index.open import open_build
from rag_pipeline.retrieval.parents import section_texts
from rag_pipeline.retrieval.scope import scope
from rag_pipeline.schema import Principal
from rag_pipeline_tests.stages import build, document


def test_parents_are_fetched_under_the_same_mask(tmp_path: Path) -> None:
    """Permissions applied to the search but not to the parent fetch leak the document."""
    documents = [document("a.md", "é öffentlich", "more"), document("s.md", "secret", access=("user:ann",))]
    index = open_build(build(tmp_path, documents).folder)
    wanted = ["a.md#s0", "a.md#s1", "s.md#s0", "nowhere"]
    public = {"a.md#s0": "é öffentlich", "a.md#s1": "more"}
    for principal, expected in (
        (None, public),
        (Principal("bob"), public),
        (Principal("ann"), {**public, "s.md#s0": "secret"}),
        (Principal.system(), {**public, "s.md#s0": "secret"}),
    ):
        assert section_texts(index, wanted, mask=scope(index, filters=None, principal=principal)) == expected
    assert section_texts(index, [], mask=None) == {}
    index.close()
