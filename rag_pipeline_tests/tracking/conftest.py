"""An evaluation of a hand-made release, and an MLflow database that is made once and copied."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.evaluation.eval_set import EvalSet, Judgement, Query
from rag_pipeline.evaluation.measure import measure_release
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.settings.gate import GateSettings
from rag_pipeline.settings.load import Settings
from rag_pipeline.settings.tracking import TrackingSettings
from rag_pipeline.tracking.client import open_client
from rag_pipeline.tracking.destination import destination_of
from rag_pipeline.tracking.log import log_evaluation
from rag_pipeline.tracking.record import EvaluationRecord, read_record
from rag_pipeline.tracking.state import LoggedRun
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import pumps

ASKED = EvalSet(
    "pumps",
    (
        Query("oil", "pump oil valve", ("identifier", "other-language")),
        Query("agent", "create_agent", ("identifier",)),
        Query("cafe", "café opens"),
        Query("nothing", "unicorns", ("unanswerable",)),
    ),
    (
        Judgement("oil", "pump.md", quote="The pump moves oil through the valve.", grade=3),
        Judgement("agent", "agents.md", quote="Call create_agent to make an agent.", grade=3),
        Judgement("cafe", "tokyo.md", quote="The café opens at 9.", grade=3),
    ),
    version="7",
)
FAST = GateSettings(resamples=199)


@dataclass(frozen=True)
class Evaluated:
    """One release with one stored evaluation."""

    settings: Settings
    paths: CollectionPaths
    release_id: str
    models: Path

    @property
    def folder(self) -> Path:
        return self.paths.evaluation(self.release_id, ASKED.content_hash)

    def record(self) -> EvaluationRecord:
        return read_record(self.paths, self.release_id, self.folder, settings=FAST)

    def measure(self, *strategies: str) -> None:
        measure_release(self.paths, self.release_id, ASKED, models=self.models, strategies=strategies)

    def log(self, uri: str | None = None) -> LoggedRun:
        logged = log_evaluation(self.record(), settings=self.settings, environ=environ(uri))
        assert logged is not None
        return logged

    def read(self, action: Callable[[Any], Any]) -> Any:
        """What `action` finds with a client of the data directory's own database."""
        destination = destination_of(self.settings, environ={})
        assert destination is not None
        with open_client(destination) as client:
            return action(client)


def environ(uri: str | None) -> dict[str, str]:
    return {} if uri is None else {"MLFLOW_TRACKING_URI": uri}


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("mlflow")
    destination = destination_of(Settings(home=home), environ={})
    assert destination is not None
    with open_client(destination):
        pass
    return home / "mlflow.db"


@pytest.fixture
def evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_database: Path) -> Evaluated:
    served = Served(tmp_path / "home", monkeypatch)
    release = served.publish(pumps())
    shutil.copy(empty_database, tmp_path / "home" / "mlflow.db")
    settings = Settings(home=tmp_path / "home", tracking=TrackingSettings(seconds=1))
    made = Evaluated(settings, served.paths, release.release_id, served.home.models)
    made.measure("hybrid", "bm25")
    return made
