from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_pipeline.index.build import BuildInfo
from rag_pipeline.index.open import Index, open_build
from rag_pipeline_tests.stages import build, pumps


@pytest.fixture(scope="package")
def pump_build(tmp_path_factory: pytest.TempPathFactory) -> BuildInfo:
    """Three documents, eight chunks; not to be changed."""
    return build(tmp_path_factory.mktemp("pumps"), pumps())


@pytest.fixture(scope="package")
def pump_index(pump_build: BuildInfo) -> Iterator[Index]:
    index = open_build(pump_build.folder)
    yield index
    index.close()


@pytest.fixture
def copied_build(pump_build: BuildInfo, tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    import shutil

    return Path(shutil.copytree(pump_build.folder, tmp_path / "builds" / pump_build.key))
