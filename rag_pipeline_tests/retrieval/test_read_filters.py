import json
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.errors import StageFailed
from rag_pipeline.retrieval import read_filters
from rag_pipeline.retrieval.transforms.filter_llm import DAYS
from rag_pipeline.schema import Principal
from rag_pipeline_tests.retrieval.transforms.stub_llm import StubLlm
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document

PAGES = [
    document("vault.md", "The encryption used for disks is AES.", category="security", language="en"),
    document("tresor.md", "Die Platten: encryption used is AES.", category="security", language="de"),
    document("sales.md", "What encryption is used is asked by buyers.", category="sales", language="en"),
    document(
        "board.md", "The encryption used by the board.", category="board", access=("group:board",), tags=("heron",)
    ),
]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    made = Served(tmp_path / "home", monkeypatch)
    made.publish(PAGES)
    return made


def found(served: Served, query: str, **options: Any) -> set[str]:
    return {hit.doc_id for hit in served.ask(query, top_k=10, **options).hits}


def test_the_given_filter_alone_decides_for_a_plain_question(served: Served) -> None:
    """ "What encryption is used?" with the category filter returns security pages only."""
    for strategy in ("vector", "bm25", "hybrid", "rrf", "hnsw"):
        names = found(served, "What encryption is used?", strategy=strategy, filters={"category": "security"})
        assert names == {"vault.md", "tresor.md"}, strategy
        assert "sales.md" in found(served, "What encryption is used?", strategy=strategy)


def test_it_is_off_unless_wanted(served: Served) -> None:
    result = served.ask("german pages on encryption")
    assert result.read_filters == {} and "filter" not in result.timings_ms


def test_rules(served: Served) -> None:
    result = served.ask("german pages on encryption used", read_filters="rules")
    assert result.read_filters == {"language": "de"}
    assert [hit.doc_id for hit in result.hits] == ["tresor.md"]
    assert result.query == "german pages on encryption used"
    assert result.timings_ms["filter"] >= 0
    assert found(served, "encryption used category:security", read_filters="rules") == {"vault.md", "tresor.md"}


def test_a_given_filter_stands_and_a_read_one_only_narrows(served: Served) -> None:
    result = served.ask("german pages on encryption", read_filters="rules", filters={"language": "en"})
    assert result.read_filters == {}
    assert {hit.doc_id for hit in result.hits} == {"vault.md", "sales.md"}
    both = served.ask("german pages on encryption", read_filters="rules", filters={"category": "sales"})
    assert (both.hits, both.empty_reason) == ((), "filter_empty")


def test_a_hidden_value_is_not_understood(served: Served) -> None:
    """What only hidden documents have must not be told apart from what nobody has."""
    for word in ("heron", "osprey"):
        result = served.ask(f"encryption tagged {word}", read_filters="rules")
        assert result.read_filters == {}
        assert {hit.doc_id for hit in result.hits} == {"vault.md", "tresor.md", "sales.md"}
    member = Principal("ines", groups=("board",))
    assert served.ask("encryption tagged heron", read_filters="rules", principal=member).read_filters == {
        "tags": "heron"
    }
    assert found(served, "encryption tagged heron", read_filters="rules", principal=member) == {"board.md"}


def test_the_model_is_told_no_hidden_value_and_cannot_widen(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"category": ["board"], "language": [], **dict.fromkeys(DAYS, "")}
    llm = StubLlm(json.dumps(said))
    monkeypatch.setattr(read_filters, "query_llm", lambda **_: llm)
    result = served.ask("board pages on encryption used", read_filters="llm")
    assert "board" not in llm.asked[0].user.partition("<query>")[0] and "heron" not in llm.asked[0].user
    assert result.markers[0] == "filter=rules:invalid_json"
    assert "board.md" not in {hit.doc_id for hit in result.hits}


def test_the_model(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    llm = StubLlm(json.dumps({"category": ["security"], "language": ["de"], **dict.fromkeys(DAYS, "")}))
    monkeypatch.setattr(read_filters, "query_llm", lambda **_: llm)
    result = served.ask("german security pages on encryption", read_filters="llm")
    assert result.read_filters == {"category": ["security"], "language": ["de"]}
    assert [hit.doc_id for hit in result.hits] == ["tresor.md"]


def test_without_a_model_the_rules_and_a_marker(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAG_PIPELINE_LLM_URL", raising=False)
    result = served.ask("german pages on encryption", read_filters="llm")
    assert result.read_filters == {"language": "de"} and "filter=rules:unconfigured" in result.markers
    with pytest.raises(StageFailed, match="unconfigured"):
        served.ask("german pages", read_filters="llm", strict=True)
