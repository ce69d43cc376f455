import asyncio
from pathlib import Path

import pytest

import rag_pipeline
from rag_pipeline.errors import UnknownName
from rag_pipeline.service import UniversalRag, get_universal_rag
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import pumps


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    return Served(tmp_path / "home", monkeypatch)


def test_many_questions_at_once(served: Served) -> None:
    served.publish(pumps())
    rag = get_universal_rag(collection=served.collection, home=served.home.root)
    assert rag is get_universal_rag(collection=served.collection, home=served.home.root)
    queries = ["wear gloves", "E-4021", "replace the filter"] * 5

    async def ask() -> list[str]:
        results = await asyncio.gather(*(rag.retrieve(query, context="agent", max_chunks=1) for query in queries))
        assert [result.query for result in results] == queries
        return [result.hits[0].content for result in results]

    expected = ["Wear gloves near the pump.", "Error E-4021 names an unknown tool.", "Replace the filter monthly."]
    assert asyncio.run(ask()) == expected * 5


def test_a_chatbot_unless_it_is_said(served: Served) -> None:
    served.publish(pumps())
    rag = UniversalRag(collection=served.collection, home=served.home.root)
    result = asyncio.run(rag.retrieve("wear gloves"))
    assert result.context == "chatbot" and "Wear gloves near the pump." in (result.formatted_context or "")
    with pytest.raises(UnknownName, match="unknown override"):
        asyncio.run(rag.retrieve("wear gloves", tokens=3))


def test_exported_by_the_package() -> None:
    assert rag_pipeline.get_universal_rag is get_universal_rag
