"""A second reader never sees the first one's text, by whatever way it asks."""

import json
from collections.abc import Iterator
from dataclasses import asdict

import pytest

from rag_pipeline.schema import Principal
from rag_pipeline.settings.load import load_settings
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.retrieval.fake_reranker import install
from rag_pipeline_tests.served import CONTEXTS, Served
from rag_pipeline_tests.stages import document, pumps

STRATEGIES = {name: s.model_dump(mode="json") for name, s in load_settings(environ={}).strategies.items()}
OWNER = Principal("ada", ("g",))
STRANGERS = (None, Principal("bob"), Principal("bob", ("h",)), Principal("g"), Principal("group:g"))
SECRET = "zanzibar"
QUERY = f"the {SECRET} pump"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        served = Served(tmp_path_factory.mktemp("leaks") / "home", patch, embedder=WordEmbedder(512))
        secret = [
            document(f"hidden/{n}.md", f"the {SECRET} pump is number {n}", title=SECRET, access=("group:g",))
            for n in range(3)
        ]
        served.content = {"strategies": STRATEGIES}
        served.publish([*pumps(), *secret])
        yield served


@pytest.mark.parametrize("context", [None, *CONTEXTS])
@pytest.mark.parametrize("strategy", [None, *STRATEGIES])
def test_no_strategy_context_explanation_or_citation_leaks(
    world: Served, monkeypatch: pytest.MonkeyPatch, strategy: str | None, context: str | None
) -> None:
    fake = install(monkeypatch, lambda _, passage: float(len(passage.text)))
    options = {"strategy": strategy, "context": context, "explain": True}
    for more in ({}, {"reranker": "fake", "diversity": 0.5}):
        owner = world.ask(QUERY, principal=OWNER, **options, **more)
        assert SECRET in json.dumps(asdict(owner)["hits"])  # and now everything is in the caches
        fake.calls.clear()
        for reader in STRANGERS:
            result = world.ask(QUERY, principal=reader, **options, **more)
            told = json.dumps(asdict(result)).replace(QUERY, "")
            assert SECRET not in told and "hidden/" not in told
            assert all(rank <= result.candidates["union"] for hit in result.hits for rank in hit.ranks.values())
        assert SECRET not in "".join(p.text for _, passages in fake.calls for p in passages)
