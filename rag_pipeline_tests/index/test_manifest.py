from pathlib import Path

import pytest

from rag_pipeline.errors import CorruptBuild
from rag_pipeline.index.build import BuildInfo
from rag_pipeline.index.manifest import file_hash, read_manifest, write_manifest


def test_round_trip(pump_build: BuildInfo, tmp_path: Path) -> None:
    manifest = read_manifest(pump_build.folder)
    write_manifest(tmp_path, manifest)
    assert read_manifest(tmp_path) == manifest
    assert (manifest.documents, manifest.sections, manifest.chunks) == (3, 8, 8)
    assert manifest.embedder["dimension"] == 64
    assert manifest.counts["ledger"] == 3
    assert manifest.files["vectors.npy"].sha256 == file_hash(pump_build.folder / "vectors.npy")


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", '{"format_version": 1}'])
def test_anything_else_is_corrupt(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(CorruptBuild, match="build the index again"):
        read_manifest(tmp_path)


def test_an_edited_number_is_noticed(copied_build: Path) -> None:
    path = copied_build / "manifest.json"
    path.write_text(path.read_text().replace('"chunks": 8', '"chunks": 9'))
    with pytest.raises(CorruptBuild, match="own checksum"):
        read_manifest(copied_build)
