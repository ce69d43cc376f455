import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.cli.main import main
from rag_pipeline.defs.launch import reindex
from rag_pipeline_tests.sites import COLLECTION, data_directory, site_settings, write_site


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """The command line in this process, in a folder without settings."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Answer:
        with pytest.raises(SystemExit) as raised:
            main(arguments)
        captured = capsys.readouterr()
        code = raised.value.code
        return Answer(code if isinstance(code, int) else 0, captured.out, captured.err)

    return call


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, exported_models: Path) -> Path:
    """A data directory whose collection "site" has one release."""
    folder = tmp_path_factory.mktemp("published")
    home = data_directory(folder / "home", exported_models)
    reindex(site_settings(home, write_site(folder / "site")), COLLECTION)
    return home
