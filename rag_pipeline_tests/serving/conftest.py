import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import documents, serving, write_keys


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    """A collection without a release."""
    served = Served(tmp_path / "home", monkeypatch)
    served.paths.root.mkdir(parents=True)
    return served


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with `documents()` in service, built once and copied for each test."""
    home = tmp_path_factory.mktemp("published") / "home"
    with pytest.MonkeyPatch.context() as patch:
        Served(home, patch).publish(documents())
    return home


@pytest.fixture
def served(empty: Served, published: Path) -> Served:
    shutil.copytree(published, empty.home.root, dirs_exist_ok=True)
    return empty


@pytest.fixture
def client(served: Served) -> Iterator[TestClient]:
    """Without keys, as from this machine."""
    with serving(served) as client:
        yield client


@pytest.fixture
def keyed(served: Served, tmp_path: Path) -> Iterator[TestClient]:
    """With the keys of `api.KEYS`."""
    with serving(served, keys=write_keys(tmp_path / "keys.toml")) as client:
        yield client
