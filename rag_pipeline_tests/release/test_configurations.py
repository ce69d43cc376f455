from pathlib import Path

import duckdb
import pytest

from rag_pipeline.errors import UnknownName
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.create import create_release
from rag_pipeline.release.verify import verify_release
from rag_pipeline.settings.load import Settings, load_settings
from rag_pipeline.settings.strategy import ContextSettings, StrategySettings
from rag_pipeline_tests.release.standin import EMBEDDER, make_build, settings, verify


def made(paths: CollectionPaths, given: Settings) -> Path:
    """The folder of a release with these settings."""
    release = create_release(
        paths, collection="wiki", build_key=make_build(paths, "s1"), embedder=EMBEDDER, settings=given
    )
    return paths.release(release.release_id)


def test_the_presets_as_a_table_for_sql(paths: CollectionPaths) -> None:
    folder = made(paths, load_settings(environ={}))
    rows = duckdb.sql(
        "SELECT context, strategy, vector_weight, keyword_weight, transform, parents, diversity, max_chunks, max_tokens"
        f" FROM '{folder}/rag_configurations.parquet' WHERE release_id = '{folder.name}' ORDER BY context"
    ).fetchall()
    assert rows == [
        ("agent", "hybrid", 0.6, 0.4, "none", True, 0.1, 5, 1500),
        ("chatbot", "hybrid", 0.6, 0.4, "template", True, 0.3, 8, 2000),
        ("context_engineering", "hybrid", 0.6, 0.4, "template", True, 0.3, 10, 2500),
        ("search", "hybrid", 0.6, 0.4, "template", False, 0.4, 12, 3000),
        ("workflow", "hybrid", 0.6, 0.4, "none", True, 0.0, 5, 1500),
    ]


def test_another_preset_is_another_release(paths: CollectionPaths) -> None:
    key = make_build(paths, "s1")
    ids = set()
    for tokens in (1000, 1000, 2000):
        given = settings().model_copy(update={"contexts": {"mine": ContextSettings(max_tokens=tokens)}})
        release = create_release(paths, collection="wiki", build_key=key, embedder=EMBEDDER, settings=given)
        assert release.contexts["mine"]["max_tokens"] == tokens
        ids.add(release.release_id)
    assert len(ids) == 2
    assert verify_release(paths, release.release_id, verify=verify)["strategies_are_known"].passed


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Settings(strategies={"hybrid": StrategySettings(transform="hide")}), "unknown transform 'hide'"),
        (Settings(strategies={"hybrid": StrategySettings(reranker="maxim")}), r"'maxim' \(did you mean 'maxsim'"),
        (
            Settings(strategies={"hybrid": StrategySettings()}, contexts={"mine": ContextSettings(strategy="hybrd")}),
            "unknown strategy 'hybrd'",
        ),
    ],
)
def test_names_that_no_query_could_use_are_refused_before_anything_is_written(
    paths: CollectionPaths, given: Settings, message: str
) -> None:
    with pytest.raises(UnknownName, match=message):
        made(paths, given)
    assert not paths.releases.exists()
