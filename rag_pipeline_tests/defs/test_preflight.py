from pathlib import Path

import pytest

from rag_pipeline.defs.preflight import check_collection
from rag_pipeline.errors import UnknownName
from rag_pipeline.settings.build import SourceSettings
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.gate import GateSettings
from rag_pipeline.settings.load import Settings, load_settings


def settings(source: Path, gate: GateSettings) -> Settings:
    (source / "a.md").write_text("# A")
    own = CollectionSettings(sources=(SourceSettings(path=str(source)),), gate=gate)
    return load_settings(environ={}).model_copy(update={"collections": {"docs": own}})


@pytest.mark.parametrize("gate", [GateSettings(metric="ndcg_at_9"), GateSettings(floors={"ndcg_at_9": 0.5})])
def test_a_metric_that_nobody_measures_costs_no_work(tmp_path: Path, gate: GateSettings) -> None:
    with pytest.raises(UnknownName, match=r"metric in \[collections\.docs\.gate\] 'ndcg_at_9'.*ndcg_at_5"):
        check_collection(settings(tmp_path, gate), "docs")


def test_known_metrics_pass(tmp_path: Path) -> None:
    check_collection(settings(tmp_path, GateSettings(metric="recall_at_5", floors={"mrr_at_10": 0.1})), "docs")
