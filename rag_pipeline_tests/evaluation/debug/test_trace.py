"""The trace repeats the order of retrieval's stages; this holds the two together."""

from dataclasses import replace

import pytest

from rag_pipeline.evaluation.debug.trace import trace
from rag_pipeline.evaluation.debug.values import Asked
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline.schema import Principal
from rag_pipeline_tests.served import CONTEXTS, STRATEGIES, Served
from rag_pipeline_tests.stages import document, pumps


@pytest.mark.parametrize("context", [None, *CONTEXTS])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_it_finds_what_retrieve_finds(served: Served, strategy: str, context: str | None) -> None:
    german = document("pumpe.md", "Die Pumpe, the pump", language="de")
    served.publish([*pumps(), german, document("hidden.md", "the pump of the owner", access=("user:ada",))])
    question = "the oil pump"
    for text, who, filters, more in (
        (question, None, {}, {}),
        (question, Principal("ada"), {"format": "markdown"}, {"diversity": 0.5, "min_relevance": 0.2}),
        (question, None, {"category": "none"}, {}),
        ("german pages about the pump", None, {}, {"read_filters": "rules"}),
    ):
        asked = Asked(text, strategy, context, filters, who, more)
        found = trace(open_current(served.paths), asked, models=served.home.models)
        result = served.ask(text, strategy=strategy, context=context, filters=filters, principal=who, **more)
        assert [replace(h, ranks={}) for h in found.hits] == [replace(h, ranks={}) for h in result.hits]
        assert found.passages is None or len(found.passages) == len(result.citations)
        assert found.read == result.read_filters
        if result.hits:
            assert set(found.markers) == set(result.markers)
    assert found.read == {"language": "de"} and [h.doc_id for h in found.hits] == ["pumpe.md"]
