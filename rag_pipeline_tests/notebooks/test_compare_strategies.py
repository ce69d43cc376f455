"""The analysts' notebook, run from top to bottom on a part of the bundled corpus, and what it must show."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from rag_pipeline.chunking.corpus import chunk_corpus
from rag_pipeline.embedding.base import describe_embedder
from rag_pipeline.embedding.corpus import embed_corpus
from rag_pipeline.embedding.registry import load_embedder
from rag_pipeline.index.build import build_index
from rag_pipeline.paths import Home
from rag_pipeline.release.create import create_release
from rag_pipeline.settings.build import IndexSettings
from rag_pipeline.settings.load import load_settings
from rag_pipeline.sources.snapshot import take_snapshot
from rag_pipeline_tests.local_server import Answer, local_server
from rag_pipeline_tests.sites import data_directory

pytestmark = pytest.mark.model

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOK = FOLDER / "compare_strategies.ipynb"
COLLECTION = "agent_platform"
CONFIG = """
[collections.agent_platform]
sources = [{ path = "bundled:agent_platform", include = ["docs/**", "code/**", "sql/**"] }]
"""
SHOWN = """
import json
print(json.dumps({
    "recall": json.loads(recall[columns].to_json(orient="index")),
    "questions": int(recall["questions"].min()),
    "against_package": json.loads(against_package.to_json(orient="index")),
    "on_sample": json.loads(recall_on_sample.to_json(orient="index")),
    "sample": sorted(set(on_sample.id)),
    "rerank_by_tag": len(rerank_by_tag),
    "hyde": None if hyde is None else json.loads(hyde.to_json(orient="index")),
    "chunkings": json.loads(chunking_scores[list(BUDGETS)].to_json(orient="index")),
    "variants": {name: v.release.release_id for name, v in variants.items()},
    "answers": json.loads(answers.to_json()),
    "encryption": encryption["category = security"].to_list(),
    "filters": json.loads(filters_help["nDCG@10"].to_json()),
    "first": json.loads(first.to_json(orient="records")),
    "lost": json.loads(lost_counts.to_json()),
    "reasons": json.loads(reasons.to_json(orient="records")),
}))
"""


def serve(home: Home, config: Path) -> str:
    """Index and serve what the settings name, by the stages alone: no Dagster, no gate, which have their own tests."""
    settings = load_settings(config, environ={})
    own, paths = settings.collection(COLLECTION), home.collection(COLLECTION)
    embedder = load_embedder(own.embedding, home.models)
    snapshot = take_snapshot(own, paths).folder
    chunking = chunk_corpus(snapshot, own.chunking, embedder.tokenizer, limit=embedder.max_tokens, paths=paths).folder
    vectors = embed_corpus(chunking, embedder, cache=home.embeddings(embedder.fingerprint), paths=paths).folder
    described = describe_embedder(embedder)
    made = build_index(
        snapshot, chunking, vectors, settings=IndexSettings(hnsw=False), embedder=described, builds=paths.builds
    )
    release = create_release(paths, collection=COLLECTION, build_key=made.key, embedder=described, settings=settings)
    paths.current.write_text(release.release_id + "\n", "utf-8")
    return release.release_id


def model_reply(_: Any) -> Answer:
    passage = "The agent forgets older turns when its memory window is full; raise the window or summarise."
    return Answer({"choices": [{"message": {"role": "assistant", "content": passage}, "finish_reason": "stop"}]})


@pytest.fixture(scope="module")
def shown(
    tmp_path_factory: pytest.TempPathFactory, exported_models: Path, embedding_cache: Path
) -> Iterator[dict[str, Any]]:
    """What it shows without a language model; `with_model`: its HyDE cell again, with one."""
    folder = tmp_path_factory.mktemp("notebook")
    home = Home(data_directory(folder / "home", exported_models))
    (home.root / "embeddings").symlink_to(embedding_cache, target_is_directory=True)
    config = folder / "rag_pipeline.toml"
    config.write_text(CONFIG, "utf-8")
    served = serve(home, config)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with pytest.MonkeyPatch.context() as patch, local_server() as server:
        server.script(model_reply)
        for name in ("RAG_PIPELINE_LLM_URL", "RAG_PIPELINE_LLM_MODEL", "RAG_PIPELINE_LLM_KEY"):
            patch.delenv(name, raising=False)
        patch.setenv("RAG_PIPELINE_HOME", str(home.root))
        patch.setenv("RAG_PIPELINE_CONFIG", str(config))
        patch.setenv("RAG_PIPELINE_NOTEBOOK_SAMPLE", "8")
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR"):
            patch.setenv(name, str(folder / name))
        model = f"os.environ |= {{'RAG_PIPELINE_LLM_URL': '{server.url}/v1', 'RAG_PIPELINE_LLM_MODEL': 'stub'}}"
        (hyde,) = [cell for cell in notebook.cells if "hyde" in cell.metadata.get("tags", ())]
        added = [SHOWN, model, hyde.source, SHOWN]
        notebook.cells += [nbformat.v4.new_code_cell(source) for source in added]
        NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": FOLDER}}).execute()
    first, _, again, last = (_printed(cell) for cell in notebook.cells[-4:])
    yield {
        **json.loads(first),
        "served": served,
        "printed": "".join(_printed(cell) for cell in notebook.cells[:-4] if cell.cell_type == "code"),
        "figures": sum("image/png" in o.get("data", {}) for c in notebook.cells[:-4] for o in c.get("outputs", ())),
        "with_model": json.loads(last)["hyde"],
        "said_with_model": again,
        "current": home.collection(COLLECTION).current.read_text("utf-8").strip(),
    }


def _printed(cell: Any) -> str:
    return "".join(o["text"] for o in cell.outputs if o.output_type == "stream" and o.name == "stdout")


def test_it_is_stored_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(copy.deepcopy(notebook))
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    # Between any two code cells at most one has no text in front of it: a reader is never left alone for long.
    kinds = "".join(cell.cell_type[0] for cell in notebook.cells)
    assert "cccc" not in kinds and kinds.count("m") >= 12


def test_strategies_are_compared_at_three_depths(shown: dict[str, Any]) -> None:
    assert set(shown["recall"]) == {"bm25", "vector", "hybrid"}
    for row in shown["recall"].values():
        assert 0 < row["Recall@3"] <= row["Recall@5"] <= row["Recall@10"] <= 1
    assert shown["questions"] > 30
    best = max(shown["recall"], key=lambda name: shown["recall"][name]["nDCG@10"])
    assert best == "hybrid"
    assert shown["figures"] >= 3


def test_bm25_stands_beside_that_of_a_package_on_the_same_chunks(shown: dict[str, Any]) -> None:
    found = shown["against_package"]
    assert set(found) == {"our bm25", "rank_bm25, plain words", "rank_bm25, our tokens"}
    assert found["our bm25"] == {name: shown["recall"]["bm25"][name] for name in ("Recall@3", "Recall@5", "Recall@10")}
    for row in found.values():
        assert 0 < row["Recall@3"] <= row["Recall@5"] <= row["Recall@10"] <= 1
    # With the same tokens two BM25 formulas rank much alike; plain words lose what stands in identifiers and endings.
    assert abs(found["our bm25"]["Recall@10"] - found["rank_bm25, our tokens"]["Recall@10"]) < 0.1
    (line,) = [line for line in shown["printed"].splitlines() if "our bm25" in line]
    change = found["our bm25"]["Recall@10"] - found["rank_bm25, plain words"]["Recall@10"]
    assert f"rank_bm25 with plain words (Recall@10 {change:+.3f}" in line and line.count("95 %") == 2


def test_reranking_is_compared_on_the_sample(shown: dict[str, Any]) -> None:
    assert set(shown["on_sample"]) == {"bm25", "vector", "hybrid", "hybrid_rerank"}
    assert 0 < len(shown["sample"]) <= 8
    assert shown["rerank_by_tag"] > 0
    assert "mean change of nDCG@10" in shown["printed"]


def test_hyde_says_when_it_could_not_run_and_runs_with_a_model(shown: dict[str, Any]) -> None:
    assert shown["hyde"] is None
    assert "HyDE could not run: no language model is configured" in shown["printed"]
    assert "could not run" not in shown["said_with_model"]
    assert len(shown["with_model"]) > 0
    assert all({"hybrid", "hyde", "change"} <= row.keys() for row in shown["with_model"].values())


def test_chunkings_are_compared_beside_the_release_in_service(shown: dict[str, Any]) -> None:
    assert set(shown["chunkings"]) == {"in service", "30/100 words", "fixed 50 words"}
    for row in shown["chunkings"].values():
        assert 0 < row["100"] <= row["300"] <= row["900"] <= 1
    assert shown["current"] == shown["served"] not in shown["variants"].values()
    for answers in shown["answers"].values():
        assert len(answers) == 4 and all(answers.values())
    assert "create_agent" in json.dumps(shown["answers"])


def test_a_filter_leaves_out_what_is_not_meant(shown: dict[str, Any]) -> None:
    found = [line for line in shown["encryption"] if line is not None]
    assert found and all(line.startswith("security: ") for line in found)
    assert shown["filters"]["with their filters"] >= shown["filters"]["without"]


def test_hybrid_puts_the_best_chunk_first_on_three_of_five(shown: dict[str, Any]) -> None:
    assert [row["kind"] for row in shown["first"]] == ["code", "identifier", "paraphrase", "vague", "table"]
    assert len({row["question"] for row in shown["first"]}) == 5
    first = sum(row["hybrid"] == 1 for row in shown["first"])
    assert first >= 3
    assert f"hybrid puts the best chunk first on {first} of 5 questions" in shown["printed"]


def test_lost_questions_are_counted_and_explained(shown: dict[str, Any]) -> None:
    assert set(shown["lost"]) == {"bm25", "vector", "hybrid"}
    assert shown["lost"]["hybrid"] < shown["lost"]["vector"]
    assert all(row["lost in"] != "found" for row in shown["reasons"])
