import hashlib
import sys
from pathlib import Path

import pytest

from rag_pipeline.embedding import packaged
from rag_pipeline.embedding.packaged import PACKAGED, PackagedModel, packaged_folder
from rag_pipeline.errors import MissingExtra, ModelUnavailable

GOOD = hashlib.sha256(b"official").hexdigest()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of this test's own, whose import would fail."""
    model = tmp_path / "packaged_for_test" / "model"
    model.mkdir(parents=True)
    (model.parent / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    (model / "model.safetensors").write_bytes(b"official")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(packaged.PACKAGED, "tiny", PackagedModel("packaged_for_test", "model", GOOD))
    return model


def test_finds_the_folder_without_importing_the_package(package: Path) -> None:
    assert packaged_folder("tiny") == package
    assert "packaged_for_test" not in sys.modules


def test_other_weights_are_refused_naming_both_hashes(package: Path) -> None:
    (package / "model.safetensors").write_bytes(b"tampered")
    with pytest.raises(ModelUnavailable) as caught:
        packaged_folder("tiny")
    assert GOOD in str(caught.value)
    assert hashlib.sha256(b"tampered").hexdigest() in str(caught.value)


def test_missing_weights_are_named(package: Path) -> None:
    (package / "model.safetensors").unlink()
    with pytest.raises(ModelUnavailable, match=r"model\.safetensors is missing"):
        packaged_folder("tiny")


def test_an_absent_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(packaged.PACKAGED, "gone", PackagedModel("no_such_package_here", "model", GOOD))
    with pytest.raises(MissingExtra, match=r"\[build\]"):
        packaged_folder("gone")


@pytest.mark.model
def test_the_default_model_has_the_official_weights() -> None:
    folder = packaged_folder("all-MiniLM-L6-v2")
    assert (folder / "modules.json").is_file()
    assert PACKAGED["all-MiniLM-L6-v2"] == PACKAGED["sentence-transformers/all-MiniLM-L6-v2"]
