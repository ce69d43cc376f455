"""The gate inside the job, with the real model: what retrieves worse is not published."""

import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from rag_pipeline.defs.automation import job_name
from rag_pipeline.defs.evaluation import compare_job_name
from rag_pipeline.defs.graph import all_definitions
from rag_pipeline.defs.launch import QUIET, reindex
from rag_pipeline.errors import RagPipelineError, ReleaseRefused
from rag_pipeline.paths import Home
from rag_pipeline.release.verdict import read_verdict
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.retrieval.retrieve import retrieve
from rag_pipeline.settings.bundled import bundled_corpus
from rag_pipeline.settings.load import Settings, load_settings
from rag_pipeline_tests.sites import COLLECTION, data_directory, site_settings

pytestmark = pytest.mark.model

BUNDLED = "agent_platform"


def run(settings: Settings, job: str) -> dict[str, dict[str, Any]]:
    """Metadata by asset of one job in this process."""
    with dg.DagsterInstance.ephemeral() as instance:
        result = (
            all_definitions(settings).resolve_job_def(job).execute_in_process(instance=instance, run_config=dict(QUIET))
        )
        return {
            event.asset_key.path[-1]: {
                name: value.value for name, value in event.step_materialization_data.materialization.metadata.items()
            }
            for event in result.get_asset_materialization_events()
        }


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory, exported_models: Path, embedding_cache: Path):
    """(settings, metadata by asset) of the bundled corpus, indexed once."""
    home = data_directory(tmp_path_factory.mktemp("bundled") / "home", exported_models)
    (home / "embeddings").symlink_to(embedding_cache, target_is_directory=True)
    settings = load_settings(environ={})
    few = {name: settings.strategies[name] for name in ("bm25", "vector", "hybrid")}
    settings = settings.model_copy(update={"home": home, "strategies": few, "contexts": {}})
    return settings, run(settings, job_name(BUNDLED))


def rows(table: Any) -> list[dict[str, Any]]:
    return [dict(record.data) for record in table.records]


def test_the_bundled_questions_judge_the_bundled_corpus(bundled):
    settings, found = bundled
    paths = Home(settings.home).collection(BUNDLED)
    verdict = read_verdict(paths.release(read_current(paths)))
    assert verdict.decision == "publish" and all(verdict.checks.values())
    assert {"pinned_queries", "latency_within_budget", "quality_coverage"} <= set(verdict.checks)
    quality = found["retrieval_quality"]
    assert quality["eval_set_hash"] == verdict.eval_set_hash == found["gate_verdict"]["eval_set_hash"]
    assert quality["questions"] > 200
    (hybrid,) = rows(quality["strategies"])
    assert (hybrid["strategy"], hybrid["coverage"], hybrid["failed"]) == ("hybrid", 1.0, 0)
    assert hybrid["ndcg@10"] > 0.6 and " to " in hybrid["recall@5 95 %"]
    assert {"identifier", "paraphrase", "multi_hop", "vague"} <= {row["tag"] for row in rows(quality["tags"])}
    assert "total" in {row["stage"] for row in rows(found["latency"]["stages"])}


def test_every_strategy_is_compared_by_a_job_of_its_own(bundled):
    settings, first = bundled
    assert "leaderboard" not in first
    found = run(settings, compare_job_name(BUNDLED))
    board = rows(found["leaderboard"]["leaderboard"])
    assert {row["strategy"] for row in board} == set(settings.strategies)
    assert [row["ndcg@10"] for row in board] == sorted((row["ndcg@10"] for row in board), reverse=True)
    assert {row["verdict"] for row in board if row["strategy"] == found["leaderboard"]["reference"]} == {"reference"}


@pytest.fixture
def docs(tmp_path: Path, exported_models: Path, embedding_cache: Path):
    """A few real pages without labels, so that probes judge them."""
    source = tmp_path / "docs"
    source.mkdir()
    for page in sorted((bundled_corpus() / "docs").glob("*.md"))[:8]:
        shutil.copy(page, source)
    home = data_directory(tmp_path / "home", exported_models)
    (home / "embeddings").symlink_to(embedding_cache, target_is_directory=True)
    return home, source


def test_children_of_forty_characters_are_refused_and_an_edited_page_is_not(docs):
    home, source = docs
    good = reindex(site_settings(home, source), COLLECTION)
    crumbs = {"section_tokens": 16, "child_tokens": 8, "min_chars": 1, "prefix_tokens": 0}
    with pytest.raises(RagPipelineError) as refused:
        reindex(site_settings(home, source, chunking=crumbs), COLLECTION)
    assert refused.value.exit_code == ReleaseRefused.exit_code
    assert "lost" in str(refused.value) and "worse: " in str(refused.value)
    assert retrieve("agent", collection=COLLECTION, home=home).release_id == good.release

    page = next(iter(sorted(source.glob("*.md"))))
    page.write_text(page.read_text("utf-8") + "\nThis last sentence was added after the first release.\n", "utf-8")
    equal = reindex(site_settings(home, source), COLLECTION)
    assert (equal.previous, equal.changed) == (good.release, True)
